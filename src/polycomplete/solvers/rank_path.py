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
from polycomplete.solvers.newton import DAMPING, RENEWED, hessian, step
from polycomplete.solvers.problem import ExactProblem, LiftProblem, pays, row_energy

KERNEL = Polynomial(2, 0.0)
EXPLAINED = 1e-9  # if a smaller share of the lifts is unexplained, the path ends
FINER = 3  # ranks increase by a third each time
STEPS, RESTARTS = 6, 2  # maximum number of Newton steps, and of rounds of restarts, per rank
ROUNDS = 10  # maximum number of rounds of both at the last rank
TOL = 1e-3  # converged when a step moves entries by less than this, relative to a typical entry
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

    Parameters
    ----------
    rank : "auto" or int, default="auto"
        The number R of dimensions, or fewer if these explain everything. "auto" chooses it on
        held-out entries, along increasing ranks.
    offset : float, default=1.0
        Squared length of an additional constant coordinate, relative to that of a typical row. 0
        for none: for subspaces through the origin, whose lifts then have fewer dimensions.
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
        check_numbers(self, "offset", zero=True)
        if self.rank != "auto" and not (isinstance(self.rank, Integral) and self.rank > 0):
            raise ValueError(f'rank must be "auto" or a positive integer, got {self.rank!r}.')
        if self.time_limit is not None:
            check_numbers(self, "time_limit", zero=True)
        if self.max_memory is not None:
            check_numbers(self, "max_memory")

    def solve(
        self, X: np.ndarray, mask: np.ndarray, smoothing: float, init: np.ndarray | None = None
    ) -> tuple[RankModel, Result]:
        """Complete rows at rank 1/``smoothing``; return the model of the lifts and the result."""
        monitor, stop = Monitor(self.time_limit, self.callback), "max_iter"
        run = RankRun(self, X, mask, monitor)
        rank = round(1 / smoothing)
        if isinstance(self.rank, str):
            rank = min(rank, largest(run.problem.mask))
        try:
            for _ in run.follow(rank):
                pass
            stop = run.converge()
        except Stopped as ended:
            stop = ended.reason
        found = run.out_of_sample()
        rows = run.units.undo(found.rows, run.length, X, mask)
        return run.model(found.rows), monitor.result(rows, stop, ambiguous=~found.determined)

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the inverse of the rank and the completed rows, for increasing ranks.

        The path ends when everything is explained, or at its time limit.
        """
        run = RankRun(self, X, mask, Monitor(time_limit))
        try:
            for rank in run.follow(largest(run.problem.mask)):
                yield 1 / rank, run.units.undo(run.rows, run.length, X, mask)
        except Stopped:
            yield 1 / run.rank, run.units.undo(run.rows, run.length, X, mask)


class RankRun:
    """State of a run of the solver, and its steps."""

    def __init__(self, solver: RankPath, X: np.ndarray, mask: np.ndarray, monitor: Monitor):
        self.monitor, self.rank = monitor, 1
        self.units = UnitRows.fit(X, mask, solver.offset)
        n, M = X.shape[0], X.shape[1] + (solver.offset > 0)
        lifted = pays(KERNEL, n, M)
        Exact(max_memory=solver.max_memory).check(n, M, KERNEL.n_features(M) if lifted else None)
        Y, seen, self.length = self.units.apply(X, mask)
        kind = LiftProblem if lifted else ExactProblem
        self.problem = kind(Y, seen, KERNEL, Schatten(2.0, Skip(self.rank)))
        self.at = self.problem.evaluate(self.problem.pack(Y), GAMMA)

    @property
    def rows(self) -> np.ndarray:
        """The current completed rows."""
        return self.problem.unpack(self.at.z)

    @property
    def unexplained(self) -> float:
        """Mean unexplained share of the lifts."""
        return self.at.value(GAMMA) / len(self.problem.X)

    def follow(self, last: int) -> Iterator[int]:
        """Increase the rank up to the last one, or until everything is explained; yield each."""
        for rank in ranks(last):
            self.rank, self.problem.penalty = rank, Schatten(2.0, Skip(rank))
            self.descend()
            for _ in range(RESTARTS):
                if not self.restart():
                    break
            logger.info("%.1f s: rank %d, unexplained share %.1e",
                        self.monitor.seconds, rank, self.unexplained)  # fmt: skip
            yield rank
            if self.unexplained < EXPLAINED:
                return

    def descend(self) -> bool:
        """Take Newton steps; return whether the entries converged."""
        for i in range(STEPS if self.at.z.size else 0):
            here, before = hessian(self.at, GAMMA), self.at
            if i % RENEWED == 0:
                inverse = here.inverse(DAMPING)
            left, self.at = self.unexplained, step(before, GAMMA, here, inverse)
            self.monitor.note(self.unexplained, 1 / self.rank, left)
            moved = np.mean((self.at.z - before.z) ** 2) * self.problem.X.shape[1]
            if moved < TOL**2:
                return True
        return not self.at.z.size

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
        for _ in range(ROUNDS):
            if self.descend() and not self.restart():
                return "converged"
        return "max_iter"

    def out_of_sample(self) -> Completion:
        """Complete each row by leave-one-out."""
        every = np.arange(len(self.rows))
        return self.leave_one_out().complete(
            self.rows, self.problem.mask, exclude=every, joint=True
        )

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


def ranks(last: int) -> list[int]:
    """Return increasing ranks from one to ``last``."""
    found = [1]
    while found[-1] < last:
        found.append(min(last, found[-1] + max(1, found[-1] // FINER)))
    return found


def largest(seen: np.ndarray) -> int:
    """Return the largest rank of the path.

    It is at most half the number of rows, so that there are two for each direction, and at most the
    75 % quantile of the number of observed products: with more dimensions than that, anything fits.
    """
    observed = seen.sum(axis=1)
    products = int(np.quantile(observed * (observed + 1) / 2, 0.75))
    return max(1, min(len(seen) // 2, products, KERNEL.n_features(seen.shape[1]) - 1))
