"""Row-wise preconditioning, which equalizes the curvature of the directions of each row.

As the smoothing decreases, the curvature off the surface grows relative to that along it, which
stalls plain quasi-Newton steps. The Cholesky factor of the Gauss–Newton matrix of each row's energy
gives variables with nearly equal curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polycomplete.rows import DAMPING, WIDE, Block, Holes
from polycomplete.solvers.problem import ExactProblem, row_energy


@dataclass(frozen=True)
class Preconditioner:
    """Change of variables ``y = Cᵀ z``, with C triangular and block-diagonal.

    Attributes
    ----------
    places : list of ndarray of int, shape (g, k)
        The indices in z of the variables of g blocks of equal size; −1 for padding. Other variables
        do not change.
    C : list of ndarray, shape (g, k, k) or (k, k)
        The triangular factors, one per block or the same for all.
    """

    places: list[np.ndarray]
    C: list[np.ndarray]

    @cached_property
    def inverse(self) -> list[np.ndarray]:
        """The inverse of each triangular factor."""
        return [np.linalg.inv(part) for part in self.C]

    def forward(self, z: np.ndarray) -> np.ndarray:
        """Return y for z."""
        return self._apply([part.swapaxes(-1, -2) for part in self.C], z)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return z for y."""
        return self._apply([part.swapaxes(-1, -2) for part in self.inverse], y)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient in y, given the gradient in z."""
        return self._apply(self.inverse, g)

    def _apply(self, matrices: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        padded = np.append(vector, 0.0)
        done = padded.copy()
        for at, M in zip(self.places, matrices, strict=True):
            part = padded[at]
            done[at] = part @ M.T if M.ndim == 2 else (M @ part[:, :, None])[:, :, 0]
        return done[:-1]


def precondition_rows(mask: np.ndarray, factor: Callable[[Block], np.ndarray]) -> Preconditioner:
    """Return the preconditioner of the missing entries, given the factors of each block."""
    number, blocks = np.full(mask.shape, -1), Holes(mask).blocks
    number[~mask] = np.arange(np.count_nonzero(~mask))
    places = [np.where(block.padding, -1, block.gather(number)) for block in blocks]
    return Preconditioner(places, [factor(block) for block in blocks])


def precondition(problem: ExactProblem, z: np.ndarray, gamma: float) -> Preconditioner | None:
    """Return the preconditioner at z, or None if the rows are too wide for it to pay."""
    X = problem.unpack(z)
    if X.shape[1] > WIDE:
        return None
    energy = row_energy(problem.kernel, X, gamma)

    def factor(block: Block) -> np.ndarray:
        here = energy.expand(X[block.rows], block.columns, block.rows)
        # Noise adds its own curvature to every entry; half of it, since H is twice the metric.
        extra = 0.0 if problem.noise is None else 0.5 * problem.noise / here.a
        H = here.hessian(block.padding, DAMPING + extra)
        # A row far from the surface has less weight: the slope of log(E + γ), not of E.
        share = np.clip(gamma / (np.maximum(here.energy, 0) + gamma), 1e-6, None)
        return np.linalg.cholesky(H) * np.sqrt(share)[:, None, None]

    return precondition_rows(~problem.free, factor)
