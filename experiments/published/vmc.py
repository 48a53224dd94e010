"""VMC: iteratively reweighted least squares on a polynomial kernel matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np

from experiments.published.base import Array, Mask, Published

#: The smallest smoothing, and the relative move that ends the run.
SMALLEST, STILL = 1e-16, 1e-8
#: Eigenvalues below this share of the largest are rounding.
ROUNDING = 1e-15


@dataclass(eq=False, repr=False)
class ReweightedVariety(Published):
    """Minimize the Schatten-p norm of all monomials up to a degree by projected gradient steps.

    With weights W = (K + γI)^(p/2−1) of the kernel matrix K = (x·y + c)^degree, a step goes down
    the gradient of Tr W K by γ^(1−p/2), and γ falls by the factor η. The rows are divided by the
    largest length of a zero-filled row, in whose units c is meant.
    """

    degree: int = 2
    offset: float = 1.0
    p: float = 0.5
    gamma: float = 1.0
    eta: float = 1.01

    def iterate(self, X: Array, mask: Mask) -> Iterator[tuple[Array, float]]:
        """Yield completed rows and the penalty."""
        unit = float(np.sqrt(np.max(np.sum(X * X, axis=1)))) or 1.0
        Z, gamma, power = X / unit, self.gamma, 1 - self.p / 2
        lifted = comb(X.shape[1] + self.degree, self.degree) < len(X)
        while True:
            inner = Z @ Z.T + self.offset
            values, V = self._lifted(Z) if lifted else np.linalg.eigh(inner**self.degree)
            values = np.abs(values)
            # Directions that are not among the eigenvectors have the eigenvalue zero.
            outside = gamma**-power * np.eye(len(Z))
            weights = outside + (V * ((values + gamma) ** -power - gamma**-power)) @ V.T
            gradient = self.degree * (weights * inner ** (self.degree - 1)) @ Z
            step = np.where(mask, 0.0, gamma**power * gradient)
            still = np.linalg.norm(step) < STILL * np.linalg.norm(Z)
            Z = Z - step
            gamma = max(gamma / self.eta, SMALLEST)
            yield unit * Z, float(np.sum(values ** (self.p / 2)))
            if still:
                return

    def _lifted(self, Z: Array) -> tuple[Array, Array]:
        """Return the eigenpairs of K by those of the moments of fewer monomials."""
        Y = np.column_stack([Z, np.full(len(Z), self.offset**0.5)])
        chosen = [*combinations_with_replacement(range(Y.shape[1]), self.degree)]
        ways = [factorial(self.degree) / prod(map(factorial, Counter(c).values())) for c in chosen]
        monomials = np.sqrt(ways) * np.prod(Y[:, np.array(chosen)], axis=2)
        values, R = np.linalg.eigh(monomials.T @ monomials)
        kept = values > ROUNDING * values[-1]
        return values[kept], monomials @ R[:, kept] / np.sqrt(values[kept])
