"""Rows that stand for all: the pivots of an incomplete Cholesky factorization."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._arrays import ROUNDING, Array
from polycomplete.kernels import Kernel

AT_ONCE = 3000  # rows whose whole Gram matrix is quicker than one column after the other


def pivots(kernel: Kernel, X: Array, count: int) -> np.ndarray:
    """Return the indices of rows that explain the others well, found one after the other.

    The first is the one nearest to the mean, each further one the row that the rows before it
    explain least. Landmarks and atoms that begin there are near the best ones, and rows at the rim
    of the data are among them.
    """
    xp = array_namespace(X)
    left = xp.asarray(kernel.diagonal(X), copy=True)
    # What is left of a row that others explain entirely.
    rounding = ROUNDING * float(xp.max(left))
    count = min(count, X.shape[0])
    columns = xp.zeros((X.shape[0], count), dtype=X.dtype, device=device(X))
    chosen = [int(xp.argmin(xp.sum((X - xp.mean(X, axis=0)) ** 2, axis=1)))]
    K = kernel.gram(X) if X.shape[0] <= AT_ONCE else None
    for k in range(count):
        at = chosen[-1]
        column = kernel.gram(X, X[at : at + 1, :])[:, 0] if K is None else K[:, at]
        column = column - columns[:, :k] @ columns[at, :k]
        columns[:, k] = column / max(float(left[at]), rounding, 1e-300) ** 0.5
        left = left - columns[:, k] ** 2
        following = int(xp.argmax(left))
        if float(left[following]) <= rounding:
            break
        chosen.append(following)
    return np.array(chosen[:count])
