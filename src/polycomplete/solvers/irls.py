"""Iteratively reweighted least squares: the solver of variety-based matrix completion.

Ongie et al. (2017) minimize the Schatten-p penalty through a sequence of weighted least squares
problems: with the weights W = (K + γI)^(p/2−1) of the current spectrum frozen, the missing entries
take a step that lowers tr(K(X) W), and the smoothing γ shrinks a little. Here the weights stand on
both sides of the features (:mod:`polycomplete.solvers.hessian`), and the step solves the least
squares problem by conjugate gradients instead of following its gradient. So γ can be halved every
time. A step is taken only if it lowers the objective at its γ.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np

from polycomplete._checks import check_numbers
from polycomplete.kernels import typical_distance
from polycomplete.solvers.base import Callback, Monitor, Result, Stopped, fill, logger, stages
from polycomplete.solvers.exact import GramSolver
from polycomplete.solvers.hessian import Point, evaluate
from polycomplete.solvers.newton import Newton
from polycomplete.solvers.problem import ExactProblem
from polycomplete.solvers.restart import rescue

RESCUE = 1e-6  # restarts are given here; from there on the smoothing only refines
BACK = 1e-4  # where the path begins again after restarts


class IRLS(GramSolver):
    """Solve weighted least squares problems while the smoothing shrinks.

    Parameters
    ----------
    init : {"mean", "zero", "row-column"}, default="mean"
        What the missing entries hold at first.
    initial_smoothing : float, default=1.0
        The first smoothing, relative to the mean of k(x, x).
    factor : float, default=2.0
        The smoothing is divided by this after each iteration. The method's authors take 1.01, with
        gradient steps.
    max_iter : int, default=100
        How often the last smoothing may be repeated until the entries rest.
    tol : float, default=2e-3
        Converged when the entries move less than this in an iteration, as a root mean square in
        units of a column's standard deviation.
    n_restarts : int, default=3
        Rounds of restarts for rows that settled in the wrong place.
    eigen : {"auto", "full", "partial"}, default="auto"
        As in :class:`~polycomplete.Exact`.
    max_memory : float, optional
        Bytes that may be taken; 60 % of what is free by default.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration; the run ends
        when it returns True.

    Examples
    --------
    >>> IRLS(n_restarts=0)
    IRLS(n_restarts=0)
    """

    default_smoothing = 1e-9
    path_end = RESCUE

    def __init__(
        self,
        init: str = "mean",
        initial_smoothing: float = 1.0,
        factor: float = 2.0,
        max_iter: int = 100,
        tol: float = 2e-3,
        n_restarts: int = 3,
        eigen: str = "auto",
        max_memory: float | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.init = init
        self.initial_smoothing = initial_smoothing
        self.factor = factor
        self.max_iter = max_iter
        self.tol = tol
        self.n_restarts = n_restarts
        self.eigen = eigen
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.callback = callback

    def path(
        self, problem: ExactProblem, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the smoothing and the completed matrix along the way down, without restarts.

        Choosing by hiding entries follows this path. One that runs out of time ends early.
        """
        quick = copy(self)
        quick.time_limit, quick.callback = time_limit, None
        run, smoothing = _Run(quick, problem), self.initial_smoothing
        try:
            for i, smoothing in enumerate(stages(self.initial_smoothing, RESCUE, self.factor)):
                run.step(smoothing)
                if i % 3 == 0 or smoothing == RESCUE:
                    yield smoothing, run.at.X
        except Stopped:
            yield smoothing, run.at.X

    def solve(
        self, problem: ExactProblem, smoothing: float, init: np.ndarray | None = None
    ) -> Result:
        """Minimize the problem down to a smoothing."""
        run = _Run(self, problem)
        try:
            coarse = max(smoothing, RESCUE)
            for each in stages(self.initial_smoothing, coarse, self.factor):
                run.step(each)
            run.rescue(coarse)
            for each in stages(coarse, smoothing, self.factor)[1:-1]:
                run.step(each)
            stop = run.converge(smoothing)
        except Stopped as ended:
            stop = ended.reason
        return run.monitor.result(run.at.X, stop, problem.kernel)


class _Run:
    """One run of the solver: where it stands, and its moves."""

    def __init__(self, solver: IRLS, problem: ExactProblem):
        check_numbers(solver, "initial_smoothing", "max_iter", "factor")
        check_numbers(solver, "tol", "n_restarts", zero=True)
        if solver.time_limit is not None:
            check_numbers(solver, "time_limit", zero=True)
        if not solver.factor > 1:
            raise ValueError(f"IRLS(factor=...) must be above 1, got {solver.factor!r}.")
        self.solver = solver
        self.problem = problem.fresh()
        self.monitor = Monitor(solver.time_limit, solver.callback)
        self.unit = problem.unit
        X = fill(problem.X, problem.mask, solver.init)
        self.newton = Newton(self.problem, problem.pack(X), solver.initial_smoothing * self.unit)
        # The standard deviation of a typical column, in which movements are counted.
        self.spread = typical_distance(problem.X, problem.mask) / np.sqrt(2 * X.shape[1])

    @property
    def at(self) -> Point:
        """The completion, with its spectrum."""
        return self.newton.at

    @at.setter
    def at(self, point: Point) -> None:
        self.newton.at = point

    def step(self, smoothing: float) -> float:
        """Take one step at a smoothing; return how far the entries moved."""
        if self.at.z.size == 0:
            return 0.0
        gamma, begin = smoothing * self.unit, self.at.z
        self.problem.reweigh(begin, gamma)
        before, after = self.newton.step(gamma, finer=self.solver.factor)
        moved = float(np.sqrt(np.mean((self.at.z - begin) ** 2))) / self.spread
        self.monitor.note(after, smoothing, before)
        return moved

    def rescue(self, smoothing: float) -> None:
        """Start the worst rows again; keep what lowers the objective."""
        gamma = smoothing * self.unit
        for _ in range(self.solver.n_restarts if self.at.z.size else 0):
            kept = self.at
            X, moved = rescue(self.problem, kept.X, gamma)
            logger.info("started %d rows again", moved)
            if not moved:
                return
            self.at = evaluate(self.problem, self.problem.pack(X), gamma)
            for again in stages(max(BACK, smoothing), smoothing, self.solver.factor):
                self.step(again)
            if not self.at.value(gamma) < kept.value(gamma):
                self.at = kept
                return

    def converge(self, smoothing: float) -> str:
        """Repeat the last step until the entries rest."""
        for _ in range(self.solver.max_iter):
            if self.step(smoothing) < self.solver.tol:
                return "converged"
        return "max_iter"
