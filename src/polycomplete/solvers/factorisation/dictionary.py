"""What a kernel factorisation has learned: atoms, and how further rows are completed by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from polycomplete._resources import blas_threads_for
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.rows import RowEnergy, candidates, learn, padded, settle
from polycomplete.rows.solve import BLOCK_BYTES, even_block

#: Rows are judged at no finer β than this: below, only the place that happens to be nearest counts.
JUDGE = 1e-6
#: A row with so many times the usual energy is tried from more starts.
DOUBT = 10.0


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
        The median energy of a training row under the last of ``judges``.
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

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are ambiguous."""
        found, ambiguous = np.where(mask, X, 0.0), np.zeros(len(X), dtype=bool)
        rows = np.flatnonzero(~mask.all(axis=1))
        if not len(rows):
            return found, ambiguous
        tried, energy, loose = self._try(found[rows], mask[rows], k=3, steps=2)
        hard = np.flatnonzero(loose | (energy > DOUBT * self.typical))
        if len(hard):
            again = rows[hard]
            tried[hard], _, loose[hard] = self._try(found[again], mask[again], k=10, steps=4)
        firm = np.flatnonzero(~loose)
        if len(firm) and self.beta < JUDGE:
            tried[firm] = _refine(self.finest, tried[firm], mask[rows[firm]])
        found[rows], ambiguous[rows] = np.where(mask[rows], X[rows], tried), loose
        return found, ambiguous

    def _try(
        self, X: np.ndarray, mask: np.ndarray, k: int, steps: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Complete rows from k starts; return them, their energies and which are ambiguous."""
        tried = candidates(self.judges, X, mask, self.rows, k=k, steps=steps)
        completed, loose = tried.blend(self.typical, self.unit)
        return completed, tried.best()[1], loose

    @property
    def unit(self) -> float:
        """A typical distance of two rows."""
        return typical_distance(self.rows, np.ones_like(self.mask))

    @cached_property
    def judges(self) -> list[RowEnergy]:
        """The models a row walks down; the last one judges it."""
        last = max(self.beta, JUDGE)
        first = max(last, 1e-3)
        return [
            self._energy(beta) for beta in np.unique([first, np.sqrt(first * last), last])[::-1]
        ]

    @cached_property
    def finest(self) -> RowEnergy:
        """The model at the last β."""
        return self._energy(self.beta)

    def _energy(self, beta: float) -> RowEnergy:
        # One thread within a fit and after loading alike, so that the bits are the same.
        with blas_threads_for(len(self.atoms)):
            return learn(self.kernel, self.atoms, beta * self.scale, in_place=False)

    def judging(self, X: np.ndarray) -> Dictionary:
        """Return the model with the usual energy of these training rows."""
        return replace(self, typical=float(np.median(np.maximum(self.judges[-1].value(X), 0))))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("judges", "finest")}


def _refine(energy: RowEnergy, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Let each row settle under one energy, in padded blocks of one size (see rows.solve)."""
    size = even_block(8 * X.shape[1] * len(energy.landmarks), BLOCK_BYTES)
    refined = np.empty_like(X)
    for at, inside in padded(len(X), size):
        settled, _, _ = settle(energy, X[at], mask[at], np.full(size, 1e-3), steps=3)
        refined[at[:inside]] = settled[:inside]
    return refined
