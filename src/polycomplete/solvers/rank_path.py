"""Solver of LADMC: Newton steps for the products of two entries, along increasing ranks.

The lift of a row y is y yᵀ, and the scalar product of two lifts is (x·y)², the polynomial kernel of
degree two. The squared distance of all lifts from the best subspace of R dimensions is the sum of
the eigenvalues of the Gram matrix except for the R largest: a Schatten penalty with p = 2 that
skips R of them. The algorithm of Ongie et al. (2021) minimizes it by alternating projections; here
Newton steps do, and each rank is a warm start for the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from polycomplete._messages import check_numbers
from polycomplete.kernels import Polynomial
from polycomplete.penalties import Schatten, Skip
from polycomplete.rows import EVEN, PLAIN, Completion, Posterior, RowEnergy, restart, spreads
from polycomplete.solvers.base import Callback, Monitor, PathSolver, Result, Stopped, logger
from polycomplete.solvers.exact import Exact
from polycomplete.solvers.newton import RENEWED, SLIGHT, hessian, step
from polycomplete.solvers.problem import ExactProblem, LiftProblem, pays, row_energy

KERNEL = Polynomial(2, 0.0)
EXPLAINED = 1e-9  # if a smaller share of the lifts is unexplained, the path ends
FINE, COARSE = 4 / 3, 3.0  # factors between ranks, of a fit and of the path that chooses
GAMMA = 1.0  # the smoothing does not change a penalty with p = 2


@dataclass(frozen=True)
class UnitRows:
    """Scaling of rows to about unit length, with an additional constant coordinate.

    All rows then have similar weight. The constant adds linear terms to the products and determines
    the sign of a row.
    """

    unit: float
    offset: float

    @classmethod
    def fit(cls, X: np.ndarray, mask: np.ndarray, offset: float) -> UnitRows:
        """Learn the unit from the observed entries, whose squares may overflow."""
        largest = float(np.max(np.abs(X[mask]))) or 1.0
        return cls(largest * (float(np.sqrt(np.mean((X[mask] / largest) ** 2))) or 1.0), offset)

    def apply(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows with zeros for missing entries, their mask, and their lengths."""
        known, m = np.where(mask, X, 0.0) / self.unit, X.shape[1]
        # An additional entry of size one keeps the length of rows with few entries near the usual.
        mean = (np.sum(known**2, axis=1) + 1) / (mask.sum(axis=1) + 1)
        length = np.sqrt(m * (mean + self.offset))[:, None]
        if self.offset > 0:
            known = np.column_stack([known, np.full(len(X), np.sqrt(self.offset * m))])
            mask = np.column_stack([mask, np.ones(len(X), dtype=bool)])
        return known / length, mask, length * self.unit

    def undo(
        self, Y: np.ndarray, length: np.ndarray, X: np.ndarray, mask: np.ndarray
    ) -> np.ndarray:
        """Return completed rows in the units of X, with its observed entries."""
        return np.where(mask, X, Y[:, : X.shape[1]] * length)


@dataclass(frozen=True)
class RankModel:
    """Learned subspace of the lifts, which completes new rows."""

    units: UnitRows
    posterior: Posterior

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row independently; return the rows and which are not determined."""
        Y, seen, length = self.units.apply(X, mask)
        found = self.posterior.complete(Y, seen)
        return self.units.undo(found.rows, length, X, mask), ~found.determined


@dataclass(eq=False, repr=False)
class RankPath(PathSolver):
    """Minimize the distance of the lifted rows from a subspace of R dimensions.

    The result is the mean of each row's posterior given the others: where the rows determine the
    entries, that is the minimum, and elsewhere it stays near other rows.

    Parameters
    ----------
    rank : "auto" or int, default="auto"
        The number R of dimensions, or fewer if these explain everything. "auto" chooses it on
        held-out entries, along increasing ranks, up to half the number of rows and of products.
    offset : float, default=1.0
        Squared length of an additional constant coordinate, relative to that of a typical row. 0
        for none: for subspaces through the origin, whose lifts then have fewer dimensions.
    n_restarts : int, default=2
        Maximum number of rounds at each rank that restart rows in a wrong minimum.
    max_iter : int, default=10
        Maximum number of rounds of six Newton steps and a restart at the last rank.
    tol : float, default=1e-3
        Converged when a step moves entries by less than this, relative to a typical entry.
    max_memory : float, optional
        Maximum number of bytes; by default 60 % of the free memory. A problem that needs more is
        refused before anything is allocated.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each step, 1/R in place of the
        smoothing; the run ends when it returns True.

    Examples
    --------
    >>> from polycomplete import datasets, masks, metrics
    >>> X = datasets.make_union_of_subspaces(120, 8, n_subspaces=2, dim=1, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> model, result = RankPath(offset=0).solve(X, mask, smoothing=1 / 2)
    >>> metrics.rse(X, result.X, mask) < 0.01
    True
    """

    rank: int | str = "auto"
    offset: float = 1.0
    n_restarts: int = 2
    max_iter: int = 10
    tol: float = 1e-3
    max_memory: float | None = None
    time_limit: float | None = None
    callback: Callback | None = None

    path_end = 1e-9

    @property
    def smoothing(self) -> float | str:  # type: ignore[override]
        """The inverse of the rank, or "auto"."""
        return self.rank if isinstance(self.rank, str) else 1 / self.rank

    def check(self) -> None:
        """Raise if a parameter is not an allowed value."""
        given = [name for name in ("max_memory", "time_limit") if getattr(self, name) is not None]
        check_numbers(self, "max_iter", *set(given) - {"time_limit"})
        check_numbers(self, "offset", "n_restarts", "tol", *set(given) - {"max_memory"}, zero=True)
        if self.rank != "auto" and not (isinstance(self.rank, Integral) and self.rank > 0):
            raise ValueError(f'rank must be "auto" or a positive integer, got {self.rank!r}.')

    def solve(
        self, X: np.ndarray, mask: np.ndarray, smoothing: float, init: np.ndarray | None = None
    ) -> tuple[RankModel, Result]:
        """Complete rows at rank 1/``smoothing``; return the model of the lifts and the result."""
        run, stop = RankRun(self, X, mask, Monitor(self.time_limit, self.callback)), "max_iter"
        rank = round(1 / smoothing)
        try:
            for _ in run.follow(rank if self.rank != "auto" else min(rank, run.largest), FINE):
                run.exhaust()
            stop = run.converge()
        except Stopped as ended:
            stop = ended.reason
        found = run.out_of_sample()
        result = run.monitor.result(run.undo(found.rows), stop, ambiguous=~found.determined)
        return run.model(found.rows), result

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the inverse of the rank and the completed rows, for increasing ranks.

        Three Newton steps are taken at each rank. The path ends when everything is explained, or at
        its time limit.
        """
        run = RankRun(self, X, mask, Monitor(time_limit))
        try:
            for rank in run.follow(run.largest, COARSE):
                run.descend(RENEWED // 2)
                yield 1 / rank, run.undo(run.out_of_sample().rows)
        except Stopped:
            yield 1 / run.rank, run.undo(run.rows)


class RankRun:
    """State of a run of the solver, and its steps."""

    def __init__(self, solver: RankPath, X: np.ndarray, mask: np.ndarray, monitor: Monitor):
        self.solver, self.monitor, self.given = solver, monitor, (X, mask)
        self.units = UnitRows.fit(X, mask, solver.offset)
        n, M = X.shape[0], X.shape[1] + (solver.offset > 0)
        products = KERNEL.n_features(M) or 1
        lifted = pays(KERNEL, n, M)
        Exact(max_memory=solver.max_memory).check(n, M, products if lifted else None)
        Y, seen, self.length = self.units.apply(X, mask)
        #: The largest rank of the path: two rows, and two products, for each direction.
        self.largest, self.rank = max(1, min(n, products) // 2), 1
        kind = LiftProblem if lifted else ExactProblem
        self.problem = kind(Y, seen, KERNEL, Schatten(2.0, Skip(self.rank)))
        self.at = self.problem.evaluate(self.problem.pack(Y), GAMMA)
        #: Some directions are flat: no entry is beyond four times the largest of its column.
        largest = np.broadcast_to(4 * np.max(np.abs(Y), axis=0), Y.shape)
        self.bound = self.problem.pack(largest)

    @property
    def rows(self) -> np.ndarray:
        """The current completed rows, of about unit length."""
        return self.problem.unpack(self.at.z)

    def undo(self, Y: np.ndarray) -> np.ndarray:
        """Return completed rows in the units of the data."""
        return self.units.undo(Y, self.length, *self.given)

    @property
    def unexplained(self) -> float:
        """Mean unexplained share of the lifts."""
        return self.at.value(GAMMA) / len(self.problem.X)

    def follow(self, last: int, factor: float) -> Iterator[int]:
        """Increase the rank up to the last one, or until everything is explained; yield each."""
        for rank in ranks(last, factor):
            self.rank, self.problem.penalty = rank, Schatten(2.0, Skip(rank))
            yield rank
            logger.info("%.1f s: rank %d, unexplained share %.1e",
                        self.monitor.seconds, rank, self.unexplained)  # fmt: skip
            if self.unexplained < EXPLAINED:
                return

    def exhaust(self) -> None:
        """Minimize at a rank before the next one, with which exact data would fit too much."""
        left = np.inf
        while EXPLAINED < self.unexplained < left / 2:
            left = self.unexplained
            self.descend()
        for _ in range(self.solver.n_restarts):
            if not self.restart():
                break

    def descend(self, steps: int = RENEWED) -> bool:
        """Take Newton steps and bring back what diverged; return whether the entries converged."""
        moved, inverse = 0.0, None
        for _ in range(steps if self.at.z.size else 0):
            here, before = hessian(self.at, GAMMA), self.at
            inverse = inverse or here.inverse(SLIGHT)
            left, self.at = self.unexplained, step(before, GAMMA, here, inverse)
            self.monitor.note(self.unexplained, 1 / self.rank, left)
            moved = np.mean((self.at.z - before.z) ** 2) * self.problem.X.shape[1]
            if moved < self.solver.tol**2:
                break
        inside = np.clip(self.at.z, -self.bound, self.bound)
        if not np.array_equal(inside, self.at.z):
            self.at = self.problem.evaluate(inside, GAMMA)
        return bool(moved < self.solver.tol**2)

    def restart(self) -> bool:
        """Restart the worst rows; return whether that lowered the objective, else undo it."""
        kept, before, Y = self.at, self.unexplained, self.rows
        least = max(before, EXPLAINED)
        others = replace(self.leave_one_out(), usual=least)
        Y, moved = restart(others, Y, self.problem.mask, least, exclude=np.arange(len(Y)))
        if moved:
            self.at = self.problem.evaluate(self.problem.pack(Y), GAMMA)
            self.descend()
        if self.unexplained < before:
            return True
        self.at = kept
        return False

    def converge(self) -> str:
        """Minimize at the last rank until the entries converge; return the stop reason."""
        for _ in range(self.solver.max_iter):
            if self.descend() and not self.restart():
                return "converged"
        return "max_iter"

    def out_of_sample(self) -> Completion:
        """Complete each row by its posterior given the others; its current entries are a start.

        It is the posterior's own minimum that counts: the prior keeps directions that nothing
        determines from diverging.
        """
        Y, mask, others = self.rows, self.problem.mask, self.leave_one_out()
        every = np.arange(len(Y))
        found = others.minima(Y, mask, exclude=every, joint=True)
        return others.read(replace(found, joint=None), mask, exclude=every)

    def leave_one_out(self) -> Posterior:
        """Return the leave-one-out posterior of the rows.

        A row cannot be removed from the best subspace of R dimensions in closed form, but it can
        from a ridge regression. With the unexplained share as its smoothing, directions beyond
        these R have little effect.
        """
        gamma = max(self.unexplained, EXPLAINED)
        return self._posterior(row_energy(KERNEL, self.rows, gamma), self.rows)

    def model(self, Y: np.ndarray) -> RankModel:
        """Return the model of new rows, learned from completed rows."""
        at = self.problem.evaluate(self.problem.pack(Y), GAMMA)
        posterior = self._posterior(hessian(at, GAMMA).energy, Y)
        return RankModel(self.units, replace(posterior, packing=EVEN))

    def _posterior(self, energy: RowEnergy, Y: np.ndarray) -> Posterior:
        """Return the posterior; without a constant, multiples of rows are starts as well."""
        own = None if energy.own is None else np.arange(len(Y))
        usual = max(float(np.median(energy.value(Y, own))), EXPLAINED)
        seen, pool = self.problem.mask, Y
        if not self.units.offset:
            Y, seen = np.vstack([Y, -Y]), np.vstack([seen, seen])
            pool = np.vstack([Y, 2 * Y])
        return Posterior(energy, pool, spreads(Y, seen), usual, packing=PLAIN)


def ranks(last: int, factor: float) -> list[int]:
    """Return ranks from one to ``last`` that increase by a factor, or by one."""
    found = [1]
    while found[-1] < last:
        found.append(min(last, max(int(found[-1] * factor), found[-1] + 1)))
    return found
