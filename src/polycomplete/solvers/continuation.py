"""The default solver: Newton steps under a shrinking smoothing, with second chances.

1. From a large smoothing γ down to a small one, Newton steps move the missing entries
   (:mod:`polycomplete.solvers.newton`); where second derivatives are not to be had, L-BFGS does, a
   factor ten at a time, in row-preconditioned variables.
2. Rows that a neighbour's start would serve much better are started again (``rescue``), and the
   last stages repeated; the result is kept only if the objective falls.
3. Where the smoothing goes on below 1e-7 the kernel is widened: on data without noise the wider
   kernel is the more accurate one.

What each step is worth is measured by ``make bench-solver``.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from polycomplete._checks import check_numbers
from polycomplete.exact import ExactProblem
from polycomplete.kernels import typical_distance
from polycomplete.solvers.newton import Newton, suits
from polycomplete.solvers.precondition import precondition
from polycomplete.solvers.restart import rescue
from polycomplete.solvers.result import Callback, Monitor, Result, Stopped, logger
from polycomplete.solvers.stages import stages
from polycomplete.solvers.start import fill

COARSE = 1e-7  # down to here with the kernel as it is; below, with the widened one
NEAR = 1e3  # so many times coarser than a completion to begin with, rows still find their place
STEPS = ("newton", "quasi-newton")
PER_TEN, HURRIED = 3, 2  # Newton steps in which the smoothing falls by ten: to solve, to choose
CHANCES = 1  # rounds of second chances to choose: enough that stuck rows do not decide
RESTING = 3  # Newton steps of a round at the last smoothing
SOLVED, RENEWED, UNUSED = 0.25, 6, 0.1  # parameters of Newton: rougher steps than its own


class Continuation(BaseEstimator):
    """Minimise at a large smoothing first and follow the solution as the smoothing shrinks.

    Parameters
    ----------
    start : {"mean", "zero", "row-column"}, default="mean"
        What the missing entries hold at first.
    first : float, default=1.0
        The first smoothing, relative to the mean of k(x, x).
    steps : {"newton", "quasi-newton"}, default="newton"
        Newton steps, or L-BFGS in row-preconditioned variables. On a GPU and for kernels whose
        second derivatives are not known "newton" is "quasi-newton"; on data with more than 256
        columns both are L-BFGS without a preconditioner.
    max_iter : int, default=40
        L-BFGS iterations of a stage, between two renewals of the preconditioner; Newton steps,
        three in each stage, are not bounded by it.
    rounds : int, default=10
        How often the last stage may be repeated until it converges; more of them where a fit did
        not converge.
    tol : float, default=1e-3
        Converged when the entries move less than this in a round, as a root mean square in units
        of a column's standard deviation.
    rescues : int, default=3
        Rounds of second chances for rows that settled in the wrong place.
    stretch : float, default=1.5
        The kernel's width is multiplied by this for smoothings below 1e-7.
    blend : bool, default=True
        Give rows that the data do not determine the mean of their plausible completions, instead
        of one of them.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each evaluation; the run ends
        when it returns True.

    Examples
    --------
    >>> Continuation(rescues=0)
    Continuation(rescues=0)
    """

    #: The smallest smoothing: where "auto" ends on data without noise.
    default_smoothing = 1e-9
    #: Where the path ends that choosing by hiding follows.
    path_end = COARSE

    def __init__(
        self,
        start: str = "mean",
        first: float = 1.0,
        steps: str = "newton",
        max_iter: int = 40,
        rounds: int = 10,
        tol: float = 1e-3,
        rescues: int = 3,
        stretch: float = 1.5,
        blend: bool = True,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.start = start
        self.first = first
        self.steps = steps
        self.max_iter = max_iter
        self.rounds = rounds
        self.tol = tol
        self.rescues = rescues
        self.stretch = stretch
        self.blend = blend
        self.time_limit = time_limit
        self.callback = callback

    def path(
        self, problem: ExactProblem, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the smoothing and the completed matrix after each stage, with fewer steps.

        Choosing the smoothing by hiding entries follows this path. The last stage comes twice,
        before and after the second chances: without them a few stuck rows would decide. A path
        that runs out of time ends early.
        """
        quick = copy(self)
        quick.max_iter, quick.time_limit = max(1, self.max_iter // 2), time_limit
        quick.callback, quick.rescues = None, min(self.rescues, CHANCES)
        run = _Run(quick, problem, per_ten=HURRIED)
        smoothing = self.first
        try:
            for smoothing in stages(self.first, COARSE):
                run.stage(smoothing)
                yield smoothing, run.problem.unpack(run.z)
            run.rescue(COARSE)
        except Stopped:
            pass
        yield smoothing, run.problem.unpack(run.z)

    def solve(
        self, problem: ExactProblem, smoothing: float, begin: np.ndarray | None = None
    ) -> Result:
        """Minimise the problem down to a smoothing.

        ``begin`` is a completion that was found near that smoothing, when it was chosen: then
        fewer stages lead there.
        """
        run = _Run(self, problem, begin)
        problem, stop = run.problem, "max_iter"
        coarse = max(smoothing, COARSE)
        first = self.first if begin is None else max(min(self.first, NEAR * coarse), coarse)
        try:
            for gamma in stages(first, coarse):
                run.stage(gamma)
            run.rescue(coarse)
            if smoothing < COARSE:
                run.problem = problem.with_kernel(problem.kernel.stretched(self.stretch))
                for gamma in stages(10 * COARSE, smoothing):
                    run.stage(gamma)
            stop = run.converge(smoothing)
        except Stopped as ended:
            stop = ended.reason
        return run.monitor.result(run.problem.unpack(run.z), stop, run.problem.kernel)


class _Run:
    """One run of the solver: where it stands, and its moves."""

    def __init__(
        self,
        solver: Continuation,
        problem: ExactProblem,
        begin: np.ndarray | None = None,
        per_ten: int = PER_TEN,
    ):
        check_numbers(solver, "first", "max_iter", "rounds", "stretch")
        check_numbers(solver, "tol", "rescues", zero=True)
        if solver.time_limit is not None:
            check_numbers(solver, "time_limit", zero=True)
        if solver.steps not in STEPS:
            raise ValueError(f"steps must be one of {STEPS}, got {solver.steps!r}.")
        self.solver, self.per_ten = solver, per_ten
        self.problem = problem.fresh()
        self.monitor = Monitor(solver.time_limit, solver.callback)
        X = fill(problem.X, problem.mask, solver.start)
        if begin is not None:
            X = np.where(problem.mask, problem.X, begin)
        self.z = problem.pack(X)
        # The standard deviation of a typical column, in which movements are counted.
        self.unit = typical_distance(problem.X, problem.mask) / np.sqrt(2 * X.shape[1])
        self.begun = False
        self.newton: Newton | None = None

    @property
    def second_order(self) -> bool:
        """Whether Newton steps are taken."""
        return self.solver.steps == "newton" and suits(self.problem)

    def stage(self, smoothing: float) -> float:
        """Come down to one smoothing and minimise there; return how far the entries moved."""
        begin = self.z
        if not begin.size:
            return 0.0
        if self.second_order:
            for i in range(self.per_ten)[::-1]:
                self.newton_step(smoothing * 10 ** (i / self.per_ten))
        else:
            self.minimise(smoothing)
        return self._moved(begin, smoothing)

    def _moved(self, begin: np.ndarray, smoothing: float) -> float:
        """Return how far the entries came from where they began, and log it."""
        moved = float(np.sqrt(np.mean((self.z - begin) ** 2))) / self.unit
        logger.info("%.1f s: smoothing %.0e, moved by %.1e of a column's spread",
                    self.monitor.seconds, smoothing, moved)  # fmt: skip
        return moved

    def _reweigh(self, gamma: float) -> None:
        """Renew the weights of an adaptive rule; the first stage has no spectrum to follow yet."""
        if self.begun:
            self.problem.reweigh(self.z, gamma)
        self.begun = True

    def newton_step(self, smoothing: float) -> None:
        """Take one Newton step."""
        problem, gamma = self.problem, smoothing * self.problem.unit
        self._reweigh(gamma)
        newton = self.newton
        if newton is None or newton.problem is not problem or newton.at.z is not self.z:
            newton = self.newton = Newton(problem, self.z, gamma, SOLVED, RENEWED, UNUSED)
        before, after = newton.step(gamma)
        self.z = newton.at.z
        self.monitor.note(after, smoothing, before)

    def minimise(self, smoothing: float) -> None:
        """Take quasi-Newton steps at one smoothing."""
        problem, solver = self.problem, self.solver
        gamma = smoothing * problem.unit
        self._reweigh(gamma)
        # Multiplied by this the slope of the penalty is at most one, whatever γ.
        scale = gamma ** (1 - problem.penalty.p / 2)
        change = precondition(problem, self.z, gamma)

        def objective(y: np.ndarray) -> tuple[float, np.ndarray]:
            z = y if change is None else change.back(y)
            value, g = problem.value_and_gradient(z, gamma)
            g = g if change is None else change.gradient(g)
            return value * scale, g * scale

        def watch(intermediate_result: object) -> None:
            y = intermediate_result.x  # type: ignore[attr-defined]
            self.z = y if change is None else change.back(y)
            self.monitor.note(intermediate_result.fun / scale, smoothing)  # type: ignore[attr-defined]

        options = {"maxiter": solver.max_iter, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-12}
        y = self.z if change is None else change.forward(self.z)
        minimize(objective, y, jac=True, method="L-BFGS-B", callback=watch, options=options)

    def rescue(self, smoothing: float) -> None:
        """Give the worst rows second chances; keep what lowers the objective."""
        gamma = smoothing * self.problem.unit
        for _ in range(self.solver.rescues):
            kept = self.z
            X, moved = rescue(self.problem, self.problem.unpack(self.z), gamma)
            logger.info("started %d rows again", moved)
            if not moved:
                return
            self.z = self.problem.pack(X)
            for again in stages(max(1e-4, smoothing), smoothing):
                self.stage(again)
            # Both with the weights of now, which an adaptive rule has renewed on the way.
            before, after = (self.problem.value_and_gradient(z, gamma)[0] for z in (kept, self.z))
            if not after < before:
                self.z = kept
                return

    def converge(self, smoothing: float) -> str:
        """Stay at the last smoothing until the entries rest."""
        for _ in range(self.solver.rounds):
            if self._round(smoothing) < self.solver.tol:
                return "converged"
        return "max_iter"

    def _round(self, smoothing: float) -> float:
        """Repeat the last stage, or some Newton steps; return how far the last of it moved."""
        if not (self.second_order and self.z.size):
            return self.stage(smoothing)
        moved = 0.0
        for _ in range(RESTING):
            begin = self.z
            self.newton_step(smoothing)
            moved = self._moved(begin, smoothing)
            if moved < self.solver.tol:
                break
        return moved
