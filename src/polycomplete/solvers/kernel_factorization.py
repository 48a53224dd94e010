"""Kernel factorization (KFMC): every row is a combination of a few atoms in feature space.

The atoms D are rows of the data space, and φ(x) ≈ φ(D)ᵀ z. With the best codes z, the objective is
half the sum of the row energies of :mod:`polycomplete.rows`, with the atoms as landmarks,

    f(X, D) = ½ Σⱼ [k(xⱼ, xⱼ) − k(D, xⱼ)ᵀ (k(D, D) + γI)⁻¹ k(D, xⱼ)] + α/2 Σᵢ k(dᵢ, dᵢ),

γ = β · mean of k(x, x). A run has three parts:

1. *Warm-up.* β decreases from sweep to sweep. Each sweep draws atoms from the current rows and
   takes one Levenberg–Marquardt step of every row.
2. *Restarts.* Rows in a wrong minimum are restarted (:mod:`polycomplete.rows.posterior`).
3. *Descent.* Atoms are selected among the rows; then rows and atoms move jointly by L-BFGS in
   preconditioned variables, to the last β and until convergence there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral

import numpy as np
from scipy import linalg
from scipy.optimize import OptimizeResult, minimize

from polycomplete._devices import ROUNDING
from polycomplete._messages import check_numbers
from polycomplete._resources import Resources
from polycomplete.kernels import Kernel
from polycomplete.penalties import Schatten
from polycomplete.rows import (
    DAMPING,
    PLAIN,
    WIDE,
    Block,
    Holes,
    Posterior,
    learn,
    pivots,
    restart_by_folds,
    settle,
    spreads,
)
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
from polycomplete.solvers.precondition import Preconditioner, precondition_rows

DRAWN = 2  # atoms drawn in a sweep per atom to be learned: drawn atoms explain less
FEWEST_ATOMS, MOST_ATOMS = 40, 300  # of "auto"; a step costs r³
ROUND = 40  # iterations between two updates of the preconditioner
TRIM = 0.3  # eigenvalues of drawn atoms below this share of γ explain too little
ENOUGH = 4.0  # above this mean energy, in units of β, the number of atoms is the limit, not β
LEAST = 100 * ROUNDING  # smaller β are lost in rounding


@dataclass(eq=False, repr=False)
class KernelFactorization(Solver["AtomProblem"]):
    """Learn atoms that explain all rows, and complete the rows jointly with them.

    The objective is half the sum of the row energies with the atoms as landmarks; the penalty is
    ignored. The smoothing is β, the weight of the codes: how much of a row may stay unexplained,
    relative to the mean of k(x, x). Values below 1e-6 are approached as far as the number of atoms
    allows, down to 1e-12.

    Parameters
    ----------
    n_atoms : "auto" or int, default="auto"
        The number of atoms, at most half the number of rows. "auto" is twice the number of
        columns, at least 40 and at most 300.
    max_samples : int, default=2000
        Maximum number of rows to learn the atoms from.
    steps_per_decade : int, default=4
        Number of sweeps of the warm-up per factor of ten in β.
    n_restarts : int, default=1
        Maximum number of rounds that restart rows in a wrong minimum.
    max_iter : int, default=400
        Maximum number of iterations of the descent at the last β, and with each further batch.
    tol : float, default=2e-3
        Converged when the objective falls by less than this share of itself in an iteration, on
        average over a round of 40.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each sweep and iteration; the
        run ends when it returns True.

    Examples
    --------
    >>> from polycomplete import Completer, datasets, masks, metrics
    >>> X = datasets.make_polynomial_manifold(120, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> completer = Completer(solver=KernelFactorization(), random_state=0)
    >>> metrics.rse(X, completer.fit_transform(masks.apply(X, mask)), mask) < 0.05
    True
    """

    n_atoms: int | str = "auto"
    max_samples: int = 2000
    steps_per_decade: int = 4
    n_restarts: int = 1
    max_iter: int = 400
    tol: float = 2e-3
    time_limit: float | None = None
    callback: Callback | None = None

    default_smoothing = 1e-9
    path_end = 1e-6  # for smaller values, drawn atoms are too few to judge
    blend = True

    def check(self) -> None:
        """Raise if a parameter is not an allowed value."""
        check_numbers(self, "max_samples", "steps_per_decade", "max_iter")
        check_numbers(self, "tol", "n_restarts", zero=True)
        if self.time_limit is not None:
            check_numbers(self, "time_limit", zero=True)
        whole = isinstance(self.n_atoms, Integral) and int(self.n_atoms) > 0
        if self.n_atoms != "auto" and not whole:
            raise ValueError(f'n_atoms must be "auto" or a positive integer, got {self.n_atoms!r}.')

    def working(self, resources: Resources, n_rows: int) -> AbstractContextManager[Resources]:
        """Return resources with threads that map over blocks of rows."""
        return resources.pool()

    def pose(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
        resources: Resources = Resources(),  # noqa: B008  (cannot be changed)
        seed: int = 0,
    ) -> AtomProblem:
        """Return the problem of completing these rows; the kernel is resolved."""
        if noise is not None:
            raise ValueError(
                "KernelFactorization() keeps observed entries; for noise=... use solver=Exact()."
            )
        self.check()
        count = max(2 * X.shape[1], FEWEST_ATOMS)
        count = min(count, MOST_ATOMS) if isinstance(self.n_atoms, str) else int(self.n_atoms)
        return AtomProblem(X, mask, kernel, count, resources, seed)

    def path(
        self, problem: AtomProblem, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield β and the completed rows after each factor of ten of the warm-up."""
        quick = copy(self)
        quick.time_limit, quick.callback = time_limit, None
        run, grid = AtomRun(quick, problem), stages(1.0, self.path_end)
        try:
            for beta in run.sweeps(run.warm_up(1.0, self.path_end)):
                if beta <= grid[0] * (1 + 1e-9):
                    yield grid.pop(0), run.X
        except Stopped:
            yield grid[0], run.X

    def solve(
        self, problem: AtomProblem, smoothing: float, init: np.ndarray | None = None
    ) -> Result:
        """Complete the rows of a problem and learn its atoms at a β.

        ``init`` is a completion found near that β: a warm start, which needs fewer sweeps. If the
        problem already has atoms, only the descent follows, starting from them.
        """
        run, beta = AtomRun(self, problem, init), max(smoothing, LEAST)
        try:
            if problem.atoms is None:
                beta = run.begin(beta, WARM if init is not None else np.inf)
            stop = run.converge(beta)
        except Stopped as ended:
            stop = ended.reason
        return run.monitor.result(run.X, stop, problem.kernel)

    def learn(self, problem: AtomProblem, X: np.ndarray, smoothing: float) -> Posterior:
        """Return the posterior of new rows given the atoms."""
        atoms = problem.atoms
        return problem.posterior(X, smoothing, problem.select(X) if atoms is None else atoms)

    def without(
        self, problem: AtomProblem, X: np.ndarray, smoothing: float
    ) -> Iterator[tuple[np.ndarray, Posterior, None]]:
        """Yield all rows, and their posterior given the atoms, on which each has little effect."""
        yield np.arange(len(X)), self.learn(problem, X, smoothing), None


@dataclass
class AtomProblem:
    """Scaled rows to be completed with a few atoms.

    Attributes
    ----------
    X, mask : ndarrays of shape (n, m)
        Scaled rows, and True where observed.
    kernel : Kernel
        The resolved kernel.
    count : int
        Maximum number of atoms.
    resources : Resources
        Threads.
    seed : int
        Seed for drawing atoms.
    atoms : ndarray of shape (r, m) or None
        The learned atoms.
    """

    X: np.ndarray
    mask: np.ndarray
    kernel: Kernel
    count: int
    resources: Resources
    seed: int
    atoms: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def start(self) -> np.ndarray:
        """The rows with column means for missing entries."""
        return fill(np.where(self.mask, self.X, 0.0), self.mask, "mean")

    @cached_property
    def unit(self) -> float:
        """The mean of k(x, x)."""
        return float(np.mean(self.kernel.diagonal(self.start))) or 1.0

    def size(self, factor: int = 1) -> int:
        """Return how many rows to draw or select as atoms, at most half of them."""
        return max(1, min(factor * self.count, len(self.mask) // 2))

    def with_kernel(self, kernel: Kernel) -> AtomProblem:
        """Return the same problem with another kernel."""
        return replace(self, kernel=kernel)

    def select(self, X: np.ndarray, factor: int = 1) -> np.ndarray:
        """Select complete rows that explain the others well as atoms."""
        return X[pivots(self.kernel, X, self.size(factor))]

    def posterior(self, X: np.ndarray, beta: float, atoms: np.ndarray) -> Posterior:
        """Return the posterior of rows given the atoms, with completed rows to start from."""
        gamma = beta * self.unit
        energy = learn(self.kernel, atoms, gamma, in_place=False)
        usual = max(float(np.median(energy.value(X))), gamma)
        return Posterior(energy, X, spreads(X), usual, packing=PLAIN)


def evaluate(
    kernel: Kernel, X: np.ndarray, atoms: np.ndarray, gamma: float, alpha: float = 0.0
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the objective of a factorization and its gradients in the rows and in the atoms."""
    inside, K = kernel.gram(atoms), kernel.gram(X, atoms)
    Z = _codes(inside, K, gamma)
    left = kernel.diagonal(X) - np.sum(K * Z, axis=1)
    value = 0.5 * float(left.sum() + alpha * kernel.diagonal(atoms).sum())
    rows = kernel.diagonal_slope(X)[:, None] * X - kernel.pull(X, atoms, K, Z)
    moves = 0.5 * kernel.vjp(atoms, inside, Z.T @ Z) - kernel.pull(atoms, X, K.T, Z.T)
    return value, rows, moves + alpha * kernel.diagonal_slope(atoms)[:, None] * atoms


def _codes(inside: np.ndarray, K: np.ndarray, gamma: float) -> np.ndarray:
    """Return the best code of each row, (K_DD + γI)⁻¹ k(D, x)."""
    factor = linalg.cho_factor(inside + gamma * np.eye(len(inside)), lower=True, check_finite=False)
    return linalg.cho_solve(factor, K.T, check_finite=False).T


def precondition_jointly(
    kernel: Kernel, X: np.ndarray, mask: np.ndarray, atoms: np.ndarray, gamma: float
) -> Preconditioner:
    """Return the preconditioner of rows and atoms, which equalizes the curvature of directions.

    Moving an atom changes a row in proportion to its coefficient in the row's code. With fixed
    codes, the Gauss–Newton matrix of the atoms is ``ZᵀZ ∘ s(D, D)``, the same for every column if
    the atoms are close compared with the kernel's width: the relaxed Newton matrix of Fan & Udell.
    """
    energy = learn(kernel, atoms, gamma, in_place=False)

    def factor(block: Block) -> np.ndarray:
        here = energy.expand(X[block.rows], block.columns)
        return np.linalg.cholesky(here.hessian(block.padding, DAMPING))

    # Matrices of wide rows would need too much memory.
    seen = mask if mask.shape[1] <= WIDE else mask | True
    rows = precondition_rows(seen, factor)
    inside = kernel.gram(atoms)
    Z = _codes(inside, kernel.gram(X, atoms), gamma)
    H = (Z.T @ Z) * np.broadcast_to(kernel.slopes(atoms, atoms, inside)[0], inside.shape)
    H += max(DAMPING * float(np.mean(np.diag(H))), 1e-300) * np.eye(len(atoms))
    by_column = np.arange(atoms.size).reshape(atoms.shape).T + np.count_nonzero(~mask)
    C = linalg.cholesky(H, lower=True, check_finite=False)
    return Preconditioner([*rows.places, by_column], [*rows.C, C])


class AtomRun:
    """State of a factorization, and its steps."""

    def __init__(
        self, solver: KernelFactorization, problem: AtomProblem, init: np.ndarray | None = None
    ):
        self.solver, self.problem = solver, problem
        self.monitor = Monitor(solver.time_limit, solver.callback)
        self.rng = np.random.default_rng(problem.seed)
        start = problem.start
        self.X = start if init is None else np.where(problem.mask, start, init)
        self.holes = Holes(problem.mask)
        self.damping = np.full(len(self.X), 0.1)

    def begin(self, beta: float, times: float) -> float:
        """Warm up, restart rows, select atoms and descend; return the β to converge at."""
        end, size = max(beta, self.solver.path_end), self.problem.unit * len(self.X)
        for _ in self.sweeps(self.warm_up(min(1.0, times * end), end)[:-1]):
            pass  # the descent takes care of the last β
        for _ in range(int(self.solver.n_restarts)):
            if not self.restart(end):
                break
        for stage in stages(end, beta):
            self.problem.atoms = self.problem.select(self.X)
            if stage == beta or 2 * self.descend(stage, ROUND // 2) > ENOUGH * stage * size:
                break
        return stage

    def warm_up(self, first: float, last: float) -> list[float]:
        """Return each β of a warm-up."""
        return stages(max(first, last), last, 10 ** (1 / self.solver.steps_per_decade))

    def sweeps(self, betas: list[float]) -> Iterator[float]:
        """Take one step of every row with drawn atoms at each β; yield β."""
        problem, kernel = self.problem, self.problem.kernel
        for beta in betas:
            drawn = self.rng.choice(len(self.X), problem.size(DRAWN), replace=False)
            atoms = problem.select(self.X[drawn])
            energy = learn(kernel, atoms, beta * problem.unit, False, TRIM)
            mapping = problem.resources.mapping
            self.X, E, self.damping, _ = settle(
                energy, self.X, self.holes, self.damping, run=mapping
            )
            self.monitor.note(0.5 * float(E.sum()), beta)
            yield beta

    def restart(self, beta: float) -> int:
        """Restart suspicious rows; return how many moved."""
        problem, X, gamma = self.problem, self.X, beta * self.problem.unit

        def given(others: np.ndarray) -> Posterior:
            return problem.posterior(X[others], beta, problem.select(X[others], DRAWN))

        run = problem.resources.mapping
        self.X, moved = restart_by_folds(given, X, problem.mask, gamma, self.rng, run=run)
        self.damping[:] = 0.1
        logger.info("%.1f s: restarted %d rows", self.monitor.seconds, moved)
        return moved

    def descend(self, beta: float, max_iter: int) -> float:
        """Move rows and atoms jointly at one β; return the objective."""
        problem, kernel, gamma = self.problem, self.problem.kernel, beta * self.problem.unit
        X, atoms, free = self.X, problem.atoms, ~problem.mask
        assert atoms is not None
        # α keeps atoms from diverging, since long atoms allow small codes. They cannot diverge if
        # k(x, x) is constant.
        alpha = beta if np.any(kernel.diagonal_slope(X)) else 0.0
        change = precondition_jointly(kernel, X, problem.mask, atoms, gamma)
        last = begin = change.forward(np.append(X[free], atoms))
        size = np.count_nonzero(free)

        def parts(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            z, rows = change.back(y), X.copy()
            rows[free] = z[:size]
            return rows, z[size:].reshape(atoms.shape)

        def objective(y: np.ndarray) -> tuple[float, np.ndarray]:
            value, rows, moves = evaluate(kernel, *parts(y), gamma, alpha)
            slope = change.gradient(np.append(rows[free], moves))
            return value / gamma, slope / gamma

        def watch(intermediate_result: OptimizeResult) -> None:
            nonlocal last
            last = np.copy(intermediate_result.x)
            self.monitor.note(float(intermediate_result.fun) * gamma, beta)

        options = {"maxiter": max_iter, "maxcor": 10, "ftol": 1e-15, "gtol": 1e-10}
        try:
            found = minimize(
                objective, begin, jac=True, method="L-BFGS-B", callback=watch, options=options
            )
        finally:
            self.X, problem.atoms = parts(last)
        return float(found.fun) * gamma

    def converge(self, beta: float) -> str:
        """Descend at one β until the objective converges; return the stop reason."""
        before, tol = np.inf, self.solver.tol
        for left in range(int(self.solver.max_iter), 0, -ROUND):
            value = self.descend(beta, min(ROUND, left))
            if before - value <= tol * abs(value) * min(ROUND, left):
                return "converged"
            before = value
        return "max_iter"
