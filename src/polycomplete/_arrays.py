"""Arrays of any library that follows the array API, and what that API does not have."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace, is_numpy_array
from scipy import linalg

Array = Any  # a NumPy array, or one of another library
ROUNDING = 1e-14  # relative error that a sum of products of 64 bits may have; more would mislead 32


def median(values: Array) -> float:
    """Return the median of some numbers, wherever they are."""
    xp, n = array_namespace(values), values.shape[0]
    middle = xp.sort(values)[(n - 1) // 2 : n // 2 + 1]
    return float(xp.mean(middle))


def eigenpairs(K: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, growing, and its eigenvectors as columns."""
    if not is_numpy_array(K):
        return tuple(array_namespace(K).linalg.eigh(K))
    # Divide and conquer is the fastest; SciPy 1.12 cannot take a 1 × 1 matrix to it.
    return linalg.eigh(K, driver="evd" if len(K) > 1 else "ev", check_finite=False)
