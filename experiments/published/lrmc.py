"""LRMC as the PMC paper's authors ran it: multipliers with a step size that keeps growing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.published.base import Array, Mask, Published

#: Relative residual and relative move that end the run.
CLOSE = 1e-6


@dataclass(eq=False, repr=False)
class GrowingMultipliers(Published):
    """Minimize the nuclear norm by the inexact augmented Lagrangian, with growing step size.

    The step size starts at ``step`` and grows by ``growth`` in each iteration, so that the run
    freezes before the minimum; :class:`polycomplete.AugmentedLagrangian` reaches it.
    """

    step: float = 1e-6
    growth: float = 1.01

    def iterate(self, X: Array, mask: Mask) -> Iterator[tuple[Array, float]]:
        """Yield the low-rank matrix and its nuclear norm."""
        L, E, Y, u = np.zeros_like(X), np.zeros_like(X), np.zeros_like(X), self.step
        unit = np.linalg.norm(X)
        while True:
            U, sigma, V = np.linalg.svd(X - E + Y / u, full_matrices=False)
            sigma = np.maximum(sigma - 1 / u, 0)
            new_L = (U * sigma) @ V
            new_E = np.where(mask, 0.0, X - new_L + Y / u)
            residual = X - new_L - new_E
            Y = Y + u * residual
            moved = max(np.linalg.norm(new_L - L), np.linalg.norm(new_E - E))
            L, E, u = new_L, new_E, self.growth * u
            yield L, float(np.sum(sigma))
            if np.linalg.norm(residual) < CLOSE * unit and moved < CLOSE * unit:
                return
