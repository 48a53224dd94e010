"""Low-rank completion at scale: soft-impute over a path of thresholds, with a truncated SVD."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from numbers import Real

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import svds

from polycomplete._messages import check_numbers
from polycomplete.linear import LinearModel, shrink
from polycomplete.solvers.base import Callback, Monitor, PathSolver, Result, Stopped, logger, stages

#: Thresholds fall by this factor from stage to stage, and the path ends here.
FACTOR, END = 10**0.25, 1e-3
#: Matrices whose smaller side is up to this get all singular values; that is faster there.
SMALL = 200
#: Directions beyond those that were needed last, so that further ones are seen coming.
SPARE = 10


class SoftImpute(PathSolver):
    """Minimise ½ ‖L − X‖² over the observed entries + λ ‖L‖_*, along falling λ.

    Each iteration refills the holes with L and lowers all singular values by λ, which never raises
    the objective. A stage begins with the solution of the one before. Where both sides of the
    matrix are long, only the leading singular vectors are computed, by a subspace iteration that
    begins with those of the last iteration: a step costs O(n m r), r the rank of the solution.

    Parameters
    ----------
    threshold : "auto" or float, default="auto"
        The last λ, as a share of the largest singular value of the zero-filled data. "auto"
        chooses it by hiding observed entries.
    max_iter : int, default=200
        Iterations of a stage at most.
    tol : float, default=1e-4
        A stage has converged when L moves less than this, relative to its norm.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
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

    def __init__(
        self,
        threshold: float | str = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.callback = callback

    path_end = END

    @property
    def smoothing(self) -> float | str:  # type: ignore[override]
        """The threshold, or "auto"."""
        return self.threshold

    def check(self) -> None:
        """Refuse parameters that make no sense."""
        check_numbers(self, "max_iter")
        check_numbers(self, "tol", zero=True)
        given = self.threshold
        if given != "auto" and not (isinstance(given, Real) and 0 < given <= 1):
            raise ValueError(f'threshold must be "auto" or a number in (0, 1], got {given!r}.')

    def solve(
        self, X: np.ndarray, mask: np.ndarray, smoothing: float, init: np.ndarray | None = None
    ) -> tuple[LinearModel, Result]:
        """Return the linear model of the rows at a threshold, and the result."""
        monitor, stop = Monitor(self.time_limit, self.callback), "converged"
        run = _Run(self, X, mask, monitor)
        try:
            for share in stages(1 / FACTOR, smoothing, FACTOR):
                stop = "converged" if run.stage(share) else "max_iter"
        except Stopped as ended:
            stop = ended.reason
        rank = len(run.values)
        logger.info("%.1f s: rank %d at threshold %.1e", monitor.seconds, rank, smoothing)
        model = LinearModel(run.directions, run.values, run.by)
        loose = ~model.determined(mask)
        return model, monitor.result(np.where(mask, X, run.low), stop, ambiguous=loose)

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the threshold and the low-rank matrix after each stage, roughly solved.

        A path that runs out of time ends early.
        """
        rough = copy(self)
        rough.tol, rough.max_iter = 10 * self.tol, max(1, self.max_iter // 10)
        run = _Run(rough, X, mask, Monitor(time_limit))
        share = 1.0
        try:
            for share in stages(1 / FACTOR, END, FACTOR):
                run.stage(share)
                yield share, run.low
        except Stopped:
            yield share, run.low


class _Run:
    """One run: where it stands, and its stages."""

    def __init__(self, solver: SoftImpute, X: np.ndarray, mask: np.ndarray, monitor: Monitor):
        self.solver, self.mask, self.monitor = solver, mask, monitor
        self.given = np.where(mask, X, 0.0)
        self.low = np.zeros_like(self.given)
        self.values, self.directions, self.by = np.empty(0), np.empty((X.shape[1], 0)), 0.0
        self.largest = _largest(self.given) or 1.0

    def stage(self, share: float) -> bool:
        """Minimise at one threshold; return whether L came to rest."""
        self.by = share * self.largest
        for _ in range(self.solver.max_iter):
            before = self.low
            filled = np.where(self.mask, self.given, self.low)
            self.low, self.values, self.directions = _shrink(filled, self.by, self.directions)
            missed = np.where(self.mask, self.low - self.given, 0.0)
            value = 0.5 * float(np.sum(missed**2)) + self.by * float(np.sum(self.values))
            self.monitor.note(value, share)
            moved = np.linalg.norm(self.low - before)
            if moved <= self.solver.tol * max(float(np.linalg.norm(self.low)), 1e-300):
                return True
        return False


def _largest(X: np.ndarray) -> float:
    """Return the largest singular value."""
    if min(X.shape) <= SMALL:
        return float(linalg.svdvals(X)[0])
    start = np.random.default_rng(0).standard_normal(min(X.shape))
    return float(svds(X, k=1, v0=start, return_singular_vectors=False)[0])


def _shrink(
    X: np.ndarray, by: float, guess: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower the singular values, computing only those above the threshold where that pays."""
    size = guess.shape[1] + SPARE
    random = np.random.default_rng(0)
    while min(X.shape) > SMALL and 2 * size < min(X.shape):
        block = np.hstack([guess, random.standard_normal((X.shape[1], size - guess.shape[1]))])
        for _ in range(2):
            block = linalg.qr(X.T @ (X @ block), mode="economic", check_finite=False)[0]
        low, values, turned = shrink(X @ block, by)
        if len(values) <= size - SPARE // 2:
            return low @ block.T, values, block @ turned
        guess, size = block, 2 * size
    return shrink(X, by)
