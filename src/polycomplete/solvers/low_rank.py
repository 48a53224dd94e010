"""Low-rank completion by nuclear norm, with observed entries fitted exactly or approximately.

Both solvers repeat one step: fill the missing entries with the low-rank matrix L, then
soft-threshold the singular values. :class:`SoftImpute` lowers the threshold from stage to stage.
:class:`AugmentedLagrangian` keeps it and adds multipliers to the observed entries until L fits
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import svds

from polycomplete._devices import eigenpairs
from polycomplete._messages import check_numbers
from polycomplete.solvers.base import Callback, Monitor, PathSolver, Result, Stopped, logger, stages

#: Up to this smaller dimension, computing all singular values is faster.
SMALL = 200
#: Number of extra singular vectors, in case the rank grows.
SPARE = 10


@dataclass(eq=False, repr=False)
class AugmentedLagrangian(PathSolver):
    """Minimize ‖L‖_* subject to L = X on the observed entries.

    The inexact augmented Lagrangian (ADMM): fill the missing entries, shrink the singular values,
    update the multipliers. The step size balances the two residuals in the first iterations and is
    then kept, so that the run converges; with a growing step size it would stop too early.

    Parameters
    ----------
    max_iter : int, default=2000
        Maximum number of iterations.
    tol : float, default=1e-4
        Converged when the relative duality gap is at most this: the nuclear norm of the completion
        is then guaranteed to be within this share of the minimum.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration; the run ends
        when it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer([1.0, 2.0, 3.0, 1.0], [1.0, 1.0, 2.0])
    >>> mask = np.ones(X.shape, dtype=bool)
    >>> mask[0, 2] = False
    >>> model, result = AugmentedLagrangian(tol=1e-8).solve(X, mask)
    >>> round(float(result.X[0, 2]), 3)
    2.0
    """

    max_iter: int = 2000
    tol: float = 1e-4
    time_limit: float | None = None
    callback: Callback | None = None

    def check(self) -> None:
        """Raise if a parameter is not an allowed value."""
        check_numbers(self, "max_iter")
        check_numbers(self, "tol", zero=True)

    def solve(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        smoothing: float = 0.0,
        init: np.ndarray | None = None,
    ) -> tuple[LinearModel, Result]:
        """Return the linear model of the rows and the result."""
        run = LowRankRun(X, mask, Monitor(self.time_limit, self.callback))
        run.by, stop = run.largest / 5, "max_iter"
        try:
            for count in range(1, self.max_iter + 1):
                run.step()
                run.update_multipliers(balance=count <= 50 and count % 5 == 0)
                run.monitor.note(float(np.sum(run.values)), 1 / run.by)
                if (count % 10 == 0 or count == self.max_iter) and run.duality_gap() <= self.tol:
                    stop = "converged"
                    break
        except Stopped as ended:
            stop = ended.reason
        return run.outcome(stop, ridge=0.0)


@dataclass(eq=False, repr=False)
class SoftImpute(PathSolver):
    """Minimize ½ ‖L − X‖² over the observed entries + λ ‖L‖_*, for decreasing λ.

    Each iteration fills the missing entries with L and soft-thresholds all singular values by λ,
    which never raises the objective. Each stage is a warm start for the next.

    Parameters
    ----------
    threshold : "auto" or float, default="auto"
        The last λ, relative to the largest singular value of the zero-filled data. "auto" chooses
        it on held-out entries.
    steps_per_decade : int, default=4
        Number of stages per factor of ten in λ.
    max_iter : int, default=200
        Maximum number of iterations of a stage.
    tol : float, default=1e-4
        A stage has converged when L moves less than this, relative to its norm.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration; the run ends
        when it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
    >>> mask = np.ones(X.shape, dtype=bool)
    >>> mask[7, 5] = False
    >>> model, result = SoftImpute().solve(X, mask, 1e-4)
    >>> round(float(result.X[7, 5]))
    48
    """

    threshold: float | str = "auto"
    steps_per_decade: int = 4
    max_iter: int = 200
    tol: float = 1e-4
    time_limit: float | None = None
    callback: Callback | None = None

    path_end = 1e-3

    @property
    def smoothing(self) -> float | str:  # type: ignore[override]
        """The threshold, or "auto"."""
        return self.threshold

    def check(self) -> None:
        """Raise if a parameter is not an allowed value."""
        check_numbers(self, "max_iter", "steps_per_decade")
        check_numbers(self, "tol", zero=True)
        given = self.threshold
        if given != "auto" and not (isinstance(given, Real) and 0 < given <= 1):
            raise ValueError(f'threshold must be "auto" or a number in (0, 1], got {given!r}.')

    def solve(
        self, X: np.ndarray, mask: np.ndarray, smoothing: float, init: np.ndarray | None = None
    ) -> tuple[LinearModel, Result]:
        """Return the linear model of the rows at a threshold, and the result."""
        run, stop = LowRankRun(X, mask, Monitor(self.time_limit, self.callback)), "converged"
        try:
            for share in self._shares(smoothing):
                stop = "converged" if self._stage(run, share) else "max_iter"
        except Stopped as ended:
            stop = ended.reason
        return run.outcome(stop, ridge=run.by)

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the threshold and the low-rank matrix after each stage, solved roughly.

        The path ends early at its time limit.
        """
        rough = replace(self, tol=10 * self.tol, max_iter=max(1, self.max_iter // 10))
        run, share = LowRankRun(X, mask, Monitor(time_limit)), 1.0
        try:
            for share in self._shares(self.path_end):
                rough._stage(run, share)
                yield share, run.low
        except Stopped:
            yield share, run.low

    def _shares(self, last: float) -> list[float]:
        """Return the threshold of each stage."""
        factor = 10 ** (1 / self.steps_per_decade)
        return stages(1 / factor, last, factor)

    def _stage(self, run: LowRankRun, share: float) -> bool:
        """Minimize at one threshold; return whether L converged."""
        run.by = share * run.largest
        for _ in range(self.max_iter):
            run.step()
            missed = np.where(run.mask, run.low - run.given, 0.0)
            value = 0.5 * float(np.sum(missed**2)) + run.by * float(np.sum(run.values))
            run.monitor.note(value, share)
            moved = float(np.linalg.norm(run.low - run.before))
            if moved <= self.tol * max(float(np.linalg.norm(run.low)), 1e-300):
                return True
        return False


class LowRankRun:
    """Low-rank matrix L, its threshold, and the multipliers of ADMM, scaled by the threshold."""

    def __init__(self, X: np.ndarray, mask: np.ndarray, monitor: Monitor):
        self.mask, self.given, self.monitor = mask, np.where(mask, X, 0.0), monitor
        self.low, self.multipliers = np.zeros_like(self.given), np.zeros_like(self.given)
        self.values, self.directions = np.empty(0), np.empty((X.shape[1], 0))
        self.by, self.largest = 0.0, _largest_singular_value(self.given) or 1.0

    def step(self) -> None:
        """Fill the holes with L and soft-threshold the singular values."""
        filled = np.where(self.mask, self.given + self.multipliers, self.low)
        self.before = self.low
        self.low, self.values, self.directions = shrink(filled, self.by, self.directions)

    def update_multipliers(self, balance: bool) -> None:
        """Add the residual of the observed entries; balance both residuals by the threshold."""
        missed = np.where(self.mask, self.given - self.low, 0.0)
        self.multipliers = self.multipliers + missed
        if balance:
            primal = np.linalg.norm(missed)
            dual = np.linalg.norm((self.low - self.before)[~self.mask])
            factor = 1 / 1.5 if primal > 5 * dual else 1.5 if dual > 5 * primal else 1.0
            self.by, self.multipliers = factor * self.by, factor * self.multipliers

    def duality_gap(self) -> float:
        """Return the relative duality gap of the completion.

        The dual problem is to maximize ⟨Y, X⟩ over the observed entries with ‖Y‖₂ ≤ 1; the scaled
        multipliers are feasible.
        """
        dual = self.multipliers / self.by
        norm = float(np.linalg.norm(self.completed(), "nuc"))
        bound = float(np.sum(dual * self.given)) / max(1.0, float(np.linalg.norm(dual, 2)))
        return (norm - bound) / (norm or 1.0)

    def completed(self) -> np.ndarray:
        """Return X, with L in the holes."""
        return np.where(self.mask, self.given, self.low)

    def outcome(self, stop: str, ridge: float) -> tuple[LinearModel, Result]:
        """Return the linear model of the rows and the result."""
        logger.info("%.1f s: rank %d, %s", self.monitor.seconds, len(self.values), stop)
        model = LinearModel(self.directions, self.values, ridge)
        loose = ~model.determined(self.mask)
        return model, self.monitor.result(self.completed(), stop, ambiguous=loose)


def _largest_singular_value(X: np.ndarray) -> float:
    if min(X.shape) <= SMALL:
        return float(np.linalg.norm(X, 2))
    start = np.random.default_rng(0).standard_normal(min(X.shape))
    return float(svds(X, k=1, v0=start, return_singular_vectors=False)[0])


def shrink(
    X: np.ndarray, by: float, guess: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Soft-threshold singular values; return the matrix, the positive ones and right vectors.

    If both dimensions are large, subspace iteration from the last right vectors finds the singular
    values above the threshold. Otherwise the smaller Gram matrix is decomposed, which is several
    times faster than an SVD of X, but inaccurate for values below 1e-8 of the largest.
    """
    size = guess.shape[1] + SPARE
    while min(X.shape) > max(SMALL, 4 * size):
        shape = X.shape[1], size - guess.shape[1]
        guess = np.hstack([guess, np.random.default_rng(size).standard_normal(shape)])
        for _ in range(2):
            guess = linalg.qr(X.T @ (X @ guess), mode="economic", check_finite=False)[0]
        low, values, turned = _shrink_by_gram(X @ guess, by)
        if len(values) <= size - SPARE // 2:
            return low @ guess.T, values, guess @ turned
        size *= 2
    return _shrink_by_gram(X, by)


def _shrink_by_gram(X: np.ndarray, by: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tall = X.shape[0] >= X.shape[1]
    squares, V = eigenpairs(X.T @ X if tall else X @ X.T)
    values = np.sqrt(np.maximum(squares[::-1], 0))
    kept = values > max(by, 1e-12 * float(values[0]))
    V, factor = V[:, ::-1][:, kept], 1 - by / values[kept]
    if tall:
        return (X @ (V * factor)) @ V.T, values[kept] - by, V
    return (V * factor) @ (V.T @ X), values[kept] - by, X.T @ (V / values[kept])


@dataclass(frozen=True)
class LinearModel:
    """Linear model ``x = V a`` of rows, with the penalty ``ridge · Σ aᵢ² / sᵢ``.

    That penalty is the nuclear norm as a function of one row: given the other rows, a row of the
    solution is the ridge regression of its observed entries on the directions. For a training row,
    this gives the row of the fit.

    Attributes
    ----------
    directions : ndarray of shape (m, r)
        V, orthonormal.
    values : ndarray of shape (r,)
        The singular values s, descending.
    ridge : float
        The threshold of soft-impute; zero if observed entries are fitted exactly.
    """

    directions: np.ndarray
    values: np.ndarray
    ridge: float

    @property
    def rank(self) -> int:
        """Number of directions with 99.9 % of the squares of the singular values."""
        shares = np.cumsum(self.values**2) / max(float(np.sum(self.values**2)), 1e-300)
        return int(np.sum(shares < 0.999)) + 1

    def determined(self, mask: np.ndarray) -> np.ndarray:
        """Return which rows have at least as many observed entries as the model has rank."""
        return np.asarray(mask.sum(axis=1) >= min(self.rank, mask.shape[1]))

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row independently; return the rows and which are not determined."""
        completed = np.where(mask, X, 0.0)
        size = max(1, 4_000_000 // max(1, self.directions.size))  # rows: memory of a block
        for begin in range(0, len(X) if len(self.values) else 0, size):
            part = slice(begin, begin + size)
            completed[part] = self._predict(completed[part], mask[part])
        return np.where(mask, X, completed), ~self.determined(mask)

    def _predict(self, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Complete each row by ridge regression of its observed entries on the directions.

        Products of stacks are computed one matrix at a time, so that the bits of a row do not
        depend on the other rows.
        """
        weighted = self.directions * np.sqrt(self.values)
        seen = np.where(mask[:, :, None], weighted, 0.0)
        normal = seen.transpose(0, 2, 1) @ seen
        at = np.arange(len(self.values))
        normal[:, at, at] += max(self.ridge, 1e-12 * float(self.values[0]))
        right = seen.transpose(0, 2, 1) @ X[:, :, None]
        return (weighted @ np.linalg.solve(normal, right))[:, :, 0]
