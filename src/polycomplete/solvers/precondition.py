"""Row-wise preconditioning: the stiff and the soft directions of each row, made alike.

As the smoothing shrinks, moving a row off the surface costs ever more than moving it along. That
is what stalls plain quasi-Newton steps. The Gauss–Newton matrix of each row's energy knows both
directions; its Cholesky factor turns the problem into one with nearly equal curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polycomplete.rows import Block, Holes
from polycomplete.solvers.problem import WIDEST, ExactProblem, row_energy

DAMPING = 1e-3  # of the row's own metric: bounds how soft a direction may be taken to be


@dataclass(frozen=True)
class Preconditioner:
    """The change of variables ``y = Cᵀ z``, C triangular and block-diagonal.

    Attributes
    ----------
    places : list of ndarray of int, shape (g, k)
        Where the variables of g blocks of the same size stand in z; −1 for padding. A variable
        without a place stays as it is.
    C : list of ndarray, shape (g, k, k) or (k, k)
        Their triangles, one for each or the same for all.
    """

    places: list[np.ndarray]
    C: list[np.ndarray]

    @cached_property
    def inverse(self) -> list[np.ndarray]:
        """The inverse of each triangle."""
        return [np.linalg.inv(part) for part in self.C]

    def forward(self, z: np.ndarray) -> np.ndarray:
        """Return y for z."""
        return self._apply([part.swapaxes(-1, -2) for part in self.C], z)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return z for y."""
        return self._apply([part.swapaxes(-1, -2) for part in self.inverse], y)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient in y for one in z."""
        return self._apply(self.inverse, g)

    def _apply(self, matrices: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        padded = np.append(vector, 0.0)
        done = padded.copy()
        for at, M in zip(self.places, matrices, strict=True):
            part = padded[at]
            done[at] = part @ M.T if M.ndim == 2 else (M @ part[:, :, None])[:, :, 0]
        return done[:-1]


def precondition_rows(mask: np.ndarray, factor: Callable[[Block], np.ndarray]) -> Preconditioner:
    """Return the preconditioner of the missing entries, given the triangles of a block of rows."""
    number, blocks = np.full(mask.shape, -1), Holes(mask).blocks
    number[~mask] = np.arange(np.count_nonzero(~mask))
    places = [np.where(block.padding, -1, block.gather(number)) for block in blocks]
    return Preconditioner(places, [factor(block) for block in blocks])


def precondition(problem: ExactProblem, z: np.ndarray, gamma: float) -> Preconditioner | None:
    """Return the preconditioner at z, or None where the data are too wide for it to pay."""
    X = problem.unpack(z)
    if X.shape[1] > WIDEST:
        return None
    energy = row_energy(problem.kernel, X, gamma)

    def factor(block: Block) -> np.ndarray:
        here = energy.expand(X[block.rows], block.columns, block.rows)
        # Noise adds its own curvature to every entry; half of it, since H is twice the metric.
        extra = 0.0 if problem.noise is None else 0.5 * problem.noise / here.a
        H = here.hessian(block.padding, DAMPING + extra)
        # A row far from the surface pulls less: the slope of log(E + γ) instead of that of E.
        share = np.clip(gamma / (np.maximum(here.energy, 0) + gamma), 1e-6, None)
        return np.linalg.cholesky(H) * np.sqrt(share)[:, None, None]

    return precondition_rows(~problem.free, factor)
