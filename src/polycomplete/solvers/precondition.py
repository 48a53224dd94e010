"""Row-wise preconditioning: the stiff and the soft directions of each row, made alike.

As the smoothing shrinks, moving a row off the surface costs ever more than moving it along. That
is what stalls plain quasi-Newton steps. The Gauss–Newton matrix of each row's energy knows both
directions; its Cholesky factor turns the problem into one with nearly equal curvature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete.rows import Holes
from polycomplete.solvers.problem import WIDEST, ExactProblem, row_energy

DAMPING = 1e-3  # of the row's own metric: bounds how soft a direction may be taken to be


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
    energy = row_energy(problem.kernel, X, gamma)
    C = np.tile(np.eye(m, dtype=X.dtype), (n, 1, 1))
    for block in Holes(~problem.free).blocks:
        who, columns = block.rows, block.columns
        here = energy.expand(X[who], columns, who)
        # Noise adds its own curvature to every entry; half of it, since H is twice the metric.
        extra = 0.0 if problem.noise is None else 0.5 * problem.noise / here.a
        H = here.hessian(block.padding, DAMPING + extra)
        # A row far from the surface pulls less: the slope of log(E + γ) instead of that of E.
        share = np.clip(gamma / (np.maximum(here.energy, 0) + gamma), 1e-6, None)
        factor = np.linalg.cholesky(H) * np.sqrt(share)[:, None, None]
        C[who[:, None, None], columns[:, :, None], columns[:, None, :]] = factor
    return RowPreconditioner(C, np.linalg.inv(C), problem.free)
