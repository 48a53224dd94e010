"""Row-wise preconditioning: the stiff and the soft directions of each row, made alike.

As the smoothing shrinks, moving a row off the surface costs ever more than moving it along. That
is what stalls plain quasi-Newton steps. The Gauss–Newton matrix of each row's energy knows both
directions; its Cholesky factor turns the problem into one with nearly equal curvature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete.exact import ExactProblem
from polycomplete.rows import learn

__all__ = ["RowPreconditioner", "precondition"]

DAMPING = 1e-3  # of the row's own metric: bounds how soft a direction may be taken to be
WIDEST = 256  # columns; beyond, n matrices of m × m cost more than the steps they save


@dataclass(frozen=True)
class RowPreconditioner:
    """The change of variables ``y = Cᵀ z`` with one small triangular C for each row."""

    C: np.ndarray
    inverse: np.ndarray
    free: np.ndarray

    def forward(self, z: np.ndarray) -> np.ndarray:
        """Return y for z."""
        return self._apply(self.C.transpose(0, 2, 1), z)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return z for y."""
        return self._apply(self.inverse.transpose(0, 2, 1), y)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient in y for one in z."""
        return self._apply(self.inverse, g)

    def _apply(self, blocks: np.ndarray, vector: np.ndarray) -> np.ndarray:
        rows = np.zeros(self.free.shape, dtype=vector.dtype)
        rows[self.free] = vector
        return (blocks @ rows[:, :, None])[:, :, 0][self.free]


def precondition(problem: ExactProblem, z: np.ndarray, gamma: float) -> RowPreconditioner | None:
    """Return the preconditioner at z, or None where the data are too wide for it to pay."""
    X = problem.unpack(z)
    n, m = X.shape
    if m > WIDEST:
        return None
    energy = learn(problem.kernel, X, gamma)
    C = np.empty((n, m, m), dtype=X.dtype)
    size = max(1, int(32e6 / (8 * m * max(energy.factor.shape[1], n))))
    for begin in range(0, n, size):
        who = np.arange(begin, min(begin + size, n))
        E, _, H = energy.expand(X[who], who)
        fixed = ~problem.free[who]
        H = np.where(fixed[:, :, None] | fixed[:, None, :], 0, H)
        metric = 2 * problem.kernel.metric(X[who])[0]
        if problem.noise is not None:
            metric = metric + problem.noise
        at = np.arange(m)
        H[:, at, at] += np.where(fixed, 1.0, (DAMPING * metric)[:, None])
        # A row far from the surface pulls less: the slope of log(E + γ) instead of that of E.
        share = np.clip(gamma / (np.maximum(E, 0) + gamma), 1e-6, None)
        C[who] = np.linalg.cholesky(H) * np.sqrt(share)[:, None, None]
    return RowPreconditioner(C, np.linalg.inv(C), problem.free)
