"""SRMC in its joint form: rows and their sparse representation by one another, together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from experiments.published.base import Array, Mask, Published

#: Bounds of the curvature exceed it by this factor; the largest step size; residual and move that
#: end the run.
SAFE, LARGEST, CLOSE, STILL = 1.02, 1e6, 1e-6, 1e-5


@dataclass(eq=False, repr=False)
class JointRepresentation(Published):
    """Minimize ‖C‖₁ + λ‖E‖² over C, E and the missing entries, with X = C X + E and diag C = 0.

    By the linearized alternating direction method of multipliers, with a step size that grows by
    ``growth``. ``penalty`` is λ; None for 100 over the missing rate, as in the code of the PMC
    paper's authors.
    """

    penalty: float | None = None
    step: float = 0.1
    growth: float = 1.01

    def iterate(self, X: Array, mask: Mask) -> Iterator[tuple[Array, float]]:
        """Yield completed rows and the objective."""
        penalty = 100 / max(1 - mask.mean(), 1e-12) if self.penalty is None else self.penalty
        n, u = len(X), self.step
        C, E, Q, Z = np.zeros((n, n)), np.zeros_like(X), np.zeros_like(X), X
        while True:
            bound = u * SAFE * _largest(Z)
            moved = C + u / bound * (Z - C @ Z - E + Q / u) @ Z.T
            new_C = np.sign(moved) * np.maximum(np.abs(moved) - 1 / bound, 0)
            np.fill_diagonal(new_C, 0.0)
            rest = np.eye(n) - new_C
            step = rest.T @ (rest @ Z - E + Q / u) / (SAFE * _largest(rest))
            new_Z = np.where(mask, X, Z - step)
            apart = rest @ new_Z
            new_E = u / (2 * penalty + u) * (apart + Q / u)
            Q = Q + u * (apart - new_E)
            gap = np.linalg.norm(apart - new_E) <= CLOSE * np.linalg.norm(new_Z)
            pairs = ((new_C, C), (new_Z, Z), (new_E, E))
            still = all(np.linalg.norm(a - b) <= STILL * np.linalg.norm(b) for a, b in pairs)
            C, Z, E, u = new_C, new_Z, new_E, min(LARGEST, self.growth * u)
            yield Z, float(np.sum(np.abs(C)) + penalty * np.sum(E**2))
            if gap and still:
                return


def _largest(A: Array) -> float:
    """Return the square of the largest singular value."""
    square = A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A
    last = len(square) - 1
    return float(linalg.eigvalsh(square, subset_by_index=[last, last])[0]) or 1.0
