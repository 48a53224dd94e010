"""LADMC, the iterative algorithm: alternating projections in the space of all products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.published.base import Array, Mask, Published


@dataclass(eq=False, repr=False)
class AlternatingProjections(Published):
    """Project the lifted rows on a rank and on the observed products, then take rows out of them.

    A lifted row has the products of every two entries of a row. ``inner`` times, the lifted matrix
    is replaced by the best of ``rank`` and the observed products are put back; then the leading
    eigenvector of each row's matrix of products is the row, up to a sign that the observed entries
    decide.
    """

    max_iter: int = 50
    rank: int = 10
    inner: int = 20

    def iterate(self, X: Array, mask: Mask) -> Iterator[tuple[Array, float]]:
        """Yield completed rows, and how far they moved."""
        m = X.shape[1]
        i, j = np.triu_indices(m)
        seen, given, Z = mask[:, i] & mask[:, j], X[:, i] * X[:, j], X
        while True:
            lifted = Z[:, i] * Z[:, j]
            for _ in range(self.inner):
                lifted = np.where(seen, given, _of_rank(lifted, self.rank))
            products = np.zeros((len(X), m, m))
            products[:, i, j] = products[:, j, i] = lifted
            values, vectors = np.linalg.eigh(products)
            place = np.argmax(np.abs(values), axis=1)
            rows = np.arange(len(X))
            found = np.sqrt(np.abs(values[rows, place]))[:, None] * vectors[rows, :, place]
            sign = np.where(np.sum(found * X, axis=1) < 0, -1.0, 1.0)
            found = np.where(mask, X, sign[:, None] * found)
            moved = float(np.linalg.norm(found - Z))
            Z = found
            yield Z, moved


def _of_rank(A: Array, rank: int) -> Array:
    """Return the best approximation of this rank, by the eigenvectors of A Aᵀ or Aᵀ A."""
    if A.shape[0] <= A.shape[1]:
        U = np.linalg.eigh(A @ A.T)[1][:, -rank:]
        return np.asarray(U @ (U.T @ A))
    V = np.linalg.eigh(A.T @ A)[1][:, -rank:]
    return np.asarray(A @ V @ V.T)
