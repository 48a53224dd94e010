"""The default solver: Newton steps with decreasing smoothing, and restarts.

1. From a large smoothing γ to a small one, Newton steps move the missing entries
   (:mod:`polycomplete.solvers.newton`); on a GPU, L-BFGS in row-preconditioned variables, with γ
   decreasing by factors of ten.
2. Stuck rows are restarted from their neighbors (``rescue``), and the last stages are repeated; the
   result is kept only if the objective falls.
3. For smoothings below 1e-7 the kernel is widened, which is more accurate on data without noise.

``make bench-solver`` measures the effect of each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from polycomplete._devices import find_device, free_memory
from polycomplete._messages import check_numbers
from polycomplete._resources import Resources, blas_threads_for
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.penalties import Schatten
from polycomplete.rows import PLAIN, Posterior, restart, spreads
from polycomplete.solvers.base import (
    WARM,
    Callback,
    Monitor,
    Result,
    Solver,
    Stopped,
    fill,
    logger,
    stages,
)
from polycomplete.solvers.newton import DAMPING, RENEWED, Product, hessian, step
from polycomplete.solvers.precondition import precondition
from polycomplete.solvers.problem import (
    WIDEST,
    ExactProblem,
    LiftProblem,
    Point,
    pays,
    row_energy,
)

ALGORITHMS, EIGEN = ("newton", "quasi-newton"), ("auto", "full", "partial")
COARSE = 1e-7  # below this smoothing the kernel is widened
PER_DECADE, HURRIED = 3, 2  # Newton steps per factor of ten in the smoothing: to solve, to choose

# Maximum number of n × n arrays in memory during a Newton step: Gram matrix, eigenvectors, parts of
# the Hessian and temporary arrays of products, 14 of them (tests/test_exact.py measures the peak).
# With N features these are n × N and N × N arrays.
ARRAYS = 15
# Bytes of the blocks in which rows are processed, regardless of the number of rows.
BLOCKS = 1.5e8
# Minimum number of rows for which leading eigenpairs are faster with a polynomial kernel.
PARTIAL = 600


class GramSolver(Solver[ExactProblem]):
    """Base class of solvers on the Gram matrix of all rows, or the features of a polynomial kernel.

    Examples
    --------
    >>> from polycomplete import AdamPlus
    >>> isinstance(AdamPlus(), GramSolver)
    True
    """

    eigen: str = "auto"

    def pose(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
        resources: Resources = Resources(),  # noqa: B008  (cannot be changed)
        seed: int = 0,
    ) -> ExactProblem:
        """Return the problem of completing X; raise if it does not fit into memory."""
        n, m = X.shape
        device = resources.name_for(n)
        lifted = self.eigen == "auto" and pays(kernel, n, m) and find_device(device).is_host
        size = kernel.n_features(m)
        self.check(n, m, size if lifted else None)
        if lifted:
            return LiftProblem(X, mask, kernel, penalty, noise=noise)
        partial = self.eigen == "auto" and size is not None and n >= PARTIAL
        eigen = "partial" if partial or self.eigen == "partial" else "full"
        return ExactProblem(X, mask, kernel, penalty, eigen, device, noise)

    @contextmanager
    def working(self, resources: Resources, n_rows: int) -> Iterator[Resources]:
        """Return resources with the best number of BLAS threads for this number of rows."""
        with blas_threads_for(n_rows):
            yield resources

    def learn(self, problem: ExactProblem, X: np.ndarray, smoothing: float) -> Posterior:
        """Return the posterior of new rows, learned from completed rows."""
        return next(self.without(problem, X, smoothing, in_place=False))[1]

    def without(
        self, problem: ExactProblem, X: np.ndarray, smoothing: float, in_place: bool = True
    ) -> Iterator[tuple[np.ndarray, Posterior, np.ndarray]]:
        """Yield all rows at once: the posterior can leave out each of them."""
        every, gamma = np.arange(len(X)), smoothing * problem.unit
        energy = row_energy(problem.kernel, X, gamma)
        posterior = Posterior.learned(energy, X, problem.mask, energy.left_out(X))
        if not in_place:
            posterior = replace(posterior, energy=replace(energy, own=None))
        yield every, posterior, every

    def memory_needed(self, n_rows: int, n_columns: int, n_features: int | None = None) -> int:
        """Return the peak memory of a solve in bytes, on the Gram matrix or on features."""
        if n_features is not None:
            wide = ARRAYS * n_features * (n_rows + n_features) / 2
            return int(BLOCKS + 8 * (wide + n_rows * (n_features + _per_row(n_columns))))
        return int(BLOCKS + 8 * n_rows * (ARRAYS * n_rows + _per_row(n_columns)))

    def check(self, n_rows: int, n_columns: int, n_features: int | None = None) -> None:
        """Raise if a parameter is not an allowed value or the problem does not fit into memory."""
        name = type(self).__name__
        if self.eigen not in EIGEN:
            raise ValueError(f"{name}(eigen=...) must be one of {EIGEN}, got {self.eigen!r}.")
        if self.max_memory is not None:
            check_numbers(self, "max_memory")
        budget = 0.6 * free_memory() if self.max_memory is None else float(self.max_memory)
        need = self.memory_needed(n_rows, n_columns, n_features)
        if need > budget:
            of = "" if n_features is None else f" of {n_features} monomials"
            raise MemoryError(
                f"The exact problem needs {need / 1e9:.2f} GB for {n_rows} rows{of}, more than the "
                f"{budget / 1e9:.2f} GB allowed; {self._fitting(budget, n_columns)}, or raise "
                "max_memory."
            )

    def _fitting(self, budget: float, n_columns: int) -> str:
        """Return advice on how to stay within a memory budget."""
        small = _per_row(n_columns)
        room = max(budget - BLOCKS, 0)
        fits = int(((small**2 + ARRAYS * room / 2) ** 0.5 - small) / (2 * ARRAYS))
        if fits < 2:
            least = self.memory_needed(2, n_columns)
            return (
                f"no two rows fit, which need {least / 1e9:.2f} GB, so use solver=Landmark(), "
                "if the method supports it"
            )
        return f"fit on fewer rows (for example X[:{fits}]) and transform the others"


def _per_row(n_columns: int) -> int:
    return 2 * n_columns**2 if n_columns <= WIDEST else 0


@dataclass(eq=False, repr=False)
class Exact(GramSolver):
    """Minimize at a large smoothing first, and follow the solution as the smoothing decreases.

    All rows are completed jointly, using their n × n Gram matrix: the most accurate solver for up
    to a few thousand rows.

    Parameters
    ----------
    init : {"mean", "zero", "row-column"}, default="mean"
        Initial values of the missing entries.
    initial_smoothing : float, default=1.0
        The first smoothing, relative to the mean of k(x, x).
    algorithm : {"newton", "quasi-newton"}, default="newton"
        Newton steps, or L-BFGS in row-preconditioned variables (without a preconditioner on data
        with more than 256 columns). On a GPU "newton" is "quasi-newton".
    max_iter : int, default=40
        Maximum number of L-BFGS iterations in a stage, between two updates of the preconditioner;
        it does not limit Newton steps, of which each stage takes three.
    rounds : int, default=10
        Maximum number of times to repeat the last stage until it converges; increase it if a fit
        does not converge.
    tol : float, default=1e-3
        Converged when the entries move less than this in a round, as a root mean square in units
        of a column's standard deviation.
    n_restarts : int, default=3
        Maximum number of rounds that restart stuck rows.
    stretch : float, default=1.5
        The kernel's width is multiplied by this for smoothings below 1e-7.
    blend : bool, default=True
        Complete rows that the data do not determine by the mean of their plausible completions,
        instead of one of them.
    eigen : {"auto", "full", "partial"}, default="auto"
        "full" decomposes the whole Gram matrix. "partial" computes leading eigenpairs by randomized
        subspace iteration and penalizes the rest through the trace: the paper's O(r n²) variant. It
        takes enough pairs for the rest to be negligible compared with the smoothing (all, if that
        is more than half of them), so that it is faster for large smoothings. "auto" uses the
        features of a polynomial kernel if there are few, leading pairs for a polynomial kernel on
        many rows, and "full" otherwise.
    max_memory : float, optional
        Maximum number of bytes; by default 60 % of the free memory. A problem that needs more is
        refused before anything is allocated.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each evaluation; the run ends
        when it returns True.

    Examples
    --------
    >>> Exact(n_restarts=0)
    Exact(n_restarts=0)
    >>> Exact().memory_needed(10_000, 20) / 1e9  # GB
    12.214
    """

    init: str = "mean"
    initial_smoothing: float = 1.0
    algorithm: str = "newton"
    max_iter: int = 40
    rounds: int = 10
    tol: float = 1e-3
    n_restarts: int = 3
    stretch: float = 1.5
    blend: bool = True
    eigen: str = "auto"
    max_memory: float | None = None
    time_limit: float | None = None
    callback: Callback | None = None

    default_smoothing = 1e-9
    path_end = COARSE
    limit = "rounds"

    def path(
        self, problem: ExactProblem, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the smoothing and the completed matrix after each stage, with fewer steps.

        The smoothing is chosen on held-out entries along this path. The last stage is yielded
        twice, before and after restarts: without them, a few stuck rows would decide. The path ends
        early at its time limit.
        """
        quick = copy(self)
        quick.max_iter, quick.time_limit = max(1, self.max_iter // 2), time_limit
        quick.callback, quick.n_restarts = None, min(self.n_restarts, 1)
        run = ExactRun(quick, problem, per_decade=HURRIED)
        smoothing = self.initial_smoothing
        try:
            for smoothing in stages(self.initial_smoothing, COARSE):
                run.stage(smoothing)
                yield smoothing, run.problem.unpack(run.z)
            run.restart(COARSE)
        except Stopped:
            pass
        yield smoothing, run.problem.unpack(run.z)

    def refine(self, problem: ExactProblem, X: np.ndarray, smoothing: float) -> np.ndarray:
        """Continue from the end of the path to a smaller smoothing, with fewer steps.

        Without convergence, the errors of held-out entries would be larger than those of a fit.
        """
        quick = copy(self)
        quick.time_limit = quick.callback = None
        quick.rounds = max(1, self.rounds // 3)
        run = ExactRun(quick, problem, X, per_decade=HURRIED)
        for gamma in stages(COARSE, smoothing):
            run.stage(gamma)
        run.converge(smoothing)
        return run.problem.unpack(run.z)

    def solve(
        self, problem: ExactProblem, smoothing: float, init: np.ndarray | None = None
    ) -> Result:
        """Minimize the problem at a smoothing.

        ``init`` is a completion found near that smoothing: a warm start, which needs fewer stages.
        """
        run = ExactRun(self, problem, init)
        problem, stop = run.problem, "max_iter"
        coarse = max(smoothing, COARSE)
        first = (
            self.initial_smoothing
            if init is None
            else max(min(self.initial_smoothing, WARM * coarse), coarse)
        )
        try:
            for gamma in stages(first, coarse):
                run.stage(gamma)
            run.restart(coarse)
            if smoothing < COARSE:
                run.problem = problem.with_kernel(problem.kernel.stretched(self.stretch))
                for gamma in stages(10 * COARSE, smoothing):
                    run.stage(gamma)
            stop = run.converge(smoothing)
        except Stopped as ended:
            stop = ended.reason
        return run.monitor.result(run.problem.unpack(run.z), stop, run.problem.kernel)


class ExactRun:
    """State of a run of the solver, and its steps."""

    def __init__(
        self,
        solver: Exact,
        problem: ExactProblem,
        init: np.ndarray | None = None,
        per_decade: int = PER_DECADE,
    ):
        check_numbers(solver, "initial_smoothing", "max_iter", "rounds", "stretch")
        check_numbers(solver, "tol", "n_restarts", zero=True)
        if solver.time_limit is not None:
            check_numbers(solver, "time_limit", zero=True)
        if solver.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {ALGORITHMS}, got {solver.algorithm!r}.")
        self.solver, self.per_decade = solver, per_decade
        self.problem = problem.fresh()
        self.monitor = Monitor(solver.time_limit, solver.callback)
        X = fill(problem.X, problem.mask, solver.init)
        if init is not None:
            X = np.where(problem.mask, problem.X, init)
        self.z = problem.pack(X)
        # The standard deviation of a typical column, the unit of movements.
        self.unit = typical_distance(problem.X, problem.mask) / np.sqrt(2 * X.shape[1])
        self.has_spectrum = False
        self.at: Point | None = None

    @property
    def second_order(self) -> bool:
        """Whether Newton steps are taken."""
        return self.solver.algorithm == "newton" and self.problem.device.is_host

    def stage(self, smoothing: float) -> float:
        """Decrease the smoothing to this one and minimize; return how far the entries moved."""
        begin = self.z
        if not begin.size:
            return 0.0
        if self.second_order:
            for i in range(self.per_decade)[::-1]:
                self.newton_step(smoothing * 10 ** (i / self.per_decade))
        else:
            self.quasi_newton(smoothing)
        return self._moved(begin, smoothing)

    def _moved(self, begin: np.ndarray, smoothing: float) -> float:
        """Return how far the entries moved, and log it."""
        moved = float(np.sqrt(np.mean((self.z - begin) ** 2))) / self.unit
        logger.info("%.1f s: smoothing %.0e, moved by %.1e of a column's spread",
                    self.monitor.seconds, smoothing, moved)  # fmt: skip
        return moved

    def _reweigh(self, gamma: float) -> None:
        """Update adaptive weights, except in the first stage, which has no spectrum yet."""
        if self.has_spectrum:
            self.problem.reweigh(self.z, gamma)
        self.has_spectrum = True

    def newton_step(self, smoothing: float) -> None:
        """Take one Newton step."""
        problem, gamma = self.problem, smoothing * self.problem.unit
        self._reweigh(gamma)
        if self.at is None or self.at.problem is not problem or self.at.z is not self.z:
            self.at, self.taken = problem.evaluate(self.z, gamma), 0
        here, before = hessian(self.at, gamma), self.at.value(gamma)
        if self.taken % RENEWED == 0:
            self.inverse: Product = here.inverse(DAMPING)
        self.at, self.taken = step(self.at, gamma, here, self.inverse), self.taken + 1
        self.z = self.at.z
        self.monitor.note(self.at.value(gamma), smoothing, before)

    def quasi_newton(self, smoothing: float) -> None:
        """Take L-BFGS steps at one smoothing."""
        problem, solver = self.problem, self.solver
        gamma = smoothing * problem.unit
        self._reweigh(gamma)
        # Multiplied by this, the slope of the penalty is at most one for every γ.
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

    def restart(self, smoothing: float) -> None:
        """Restart the worst rows; keep the result if it lowers the objective."""
        gamma = smoothing * self.problem.unit
        for _ in range(self.solver.n_restarts):
            kept = self.z
            X, moved = rescue(self.problem, self.problem.unpack(self.z), gamma)
            logger.info("restarted %d rows", moved)
            if not moved:
                return
            self.z = self.problem.pack(X)
            for again in stages(max(1e-4, smoothing), smoothing):
                self.stage(again)
            # Compare both with the current weights, which may be adaptive.
            before, after = (self.problem.value_and_gradient(z, gamma)[0] for z in (kept, self.z))
            if not after < before:
                self.z = kept
                return

    def converge(self, smoothing: float) -> str:
        """Minimize at the last smoothing until the entries converge; return the stop reason."""
        for _ in range(self.solver.rounds):
            if self._round(smoothing) < self.solver.tol:
                return "converged"
        return "max_iter"

    def _round(self, smoothing: float) -> float:
        """Repeat the last stage or a few Newton steps; return the last movement."""
        if not (self.second_order and self.z.size):
            return self.stage(smoothing)
        moved = 0.0
        for _ in range(self.per_decade):
            begin = self.z
            self.newton_step(smoothing)
            moved = self._moved(begin, smoothing)
            if moved < self.solver.tol:
                break
        return moved


def rescue(problem: ExactProblem, X: np.ndarray, gamma: float) -> tuple[np.ndarray, int]:
    """Restart the worst rows from their neighbors; return X and how many rows moved.

    The energy of a row given the others is its exact share of the log penalty: a row that can
    lower it a lot was stuck.
    """
    energy = row_energy(problem.kernel, X, gamma)
    posterior = Posterior(energy, X, spreads(X), gamma, packing=PLAIN)
    return restart(posterior, X, problem.mask, gamma, exclude=np.arange(len(X)))
