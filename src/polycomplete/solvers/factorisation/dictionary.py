"""What a kernel factorisation has learned: atoms, and how further rows are completed by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from polycomplete._resources import blas_threads_for
from polycomplete.kernels import Kernel
from polycomplete.rows import Posterior, RowEnergy, learn, spreads

#: Rows are judged at no finer β than this: below, only the place that happens to be nearest counts.
JUDGE = 1e-6


@dataclass(frozen=True)
class Dictionary:
    """Learned atoms, with what is needed to complete further rows and to learn on.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    atoms : ndarray of shape (r, m)
        The dictionary.
    beta, scale : float
        The weight of the codes, relative to ``scale``, the mean of k(x, x).
    rows, mask : ndarrays of shape (p, m)
        Some completed training rows, and what was observed of them.
    typical : float
        The median energy of a training row.
    seen, learned : int
        How many rows were seen so far, and how many there were when the atoms were last learned
        from the beginning.
    seed : int
        For the next step of learning.
    """

    kernel: Kernel
    atoms: np.ndarray
    beta: float
    scale: float
    rows: np.ndarray
    mask: np.ndarray
    typical: float
    seen: int
    learned: int
    seed: int

    def complete(
        self, X: np.ndarray, mask: np.ndarray, joint: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are not determined."""
        found = self.posterior.complete(X, mask, joint=joint)
        return np.where(mask, X, found.rows), ~found.determined

    @cached_property
    def posterior(self) -> Posterior:
        """How rows are completed."""
        energy = self._energy(max(self.beta, JUDGE))
        usual = max(self.typical, self.beta * self.scale, np.finfo(float).tiny)
        return Posterior(energy, self.rows, spreads(self.rows), usual)

    def _energy(self, beta: float) -> RowEnergy:
        # One thread within a fit and after loading alike, so that the bits are the same.
        with blas_threads_for(len(self.atoms)):
            return learn(self.kernel, self.atoms, beta * self.scale, in_place=False)

    def judging(self, X: np.ndarray) -> Dictionary:
        """Return the model with the usual energy of these training rows."""
        energy = self._energy(max(self.beta, JUDGE))
        return replace(self, typical=float(np.median(np.maximum(energy.value(X), 0))))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "posterior"}
