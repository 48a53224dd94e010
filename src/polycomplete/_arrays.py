"""Arrays of any library that follows the array API, and what that API does not have."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

Array = Any  # a NumPy array, or one of another library


def median(values: Array) -> float:
    """Return the median of some numbers, wherever they are."""
    xp, n = array_namespace(values), values.shape[0]
    middle = xp.sort(values)[(n - 1) // 2 : n // 2 + 1]
    return float(xp.mean(middle))
