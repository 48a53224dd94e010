"""Scaling of columns by their observed entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from polycomplete._devices import Array

SCALES = ("standard", "sqrt", "range", None)
#: Categories with more levels may be scaled down by ten: otherwise the few rows of a level would
#: form a surface of their own.
MANY_LEVELS, REDUCED = 10, 10.0


def column_spread(X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the observed entries of each column.

    Safe for entries of magnitude 1e300 and 1e-300, whose squares overflow or underflow.
    """
    seen = np.where(mask, X, 0).astype(np.float64)
    largest = np.max(np.abs(seen), axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    count = np.maximum(mask.sum(axis=0), 1)
    unit = seen / largest
    mean = unit.sum(axis=0) / count
    variance = np.where(mask, (unit - mean) ** 2, 0).sum(axis=0) / count
    return mean * largest, np.sqrt(variance) * largest


def _range(X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest observed entry of each column."""
    return np.min(np.where(mask, X, np.inf), axis=0), np.max(np.where(mask, X, -np.inf), axis=0)


def is_constant(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return which columns are constant up to rounding.

    A column is constant if half its range is at most 1e-12 of its largest absolute entry, or if it
    is zero up to rounding: its largest absolute entry is at most 1e-12, and at most 1e-13 of the
    median of these over the columns. Both conditions are needed: next to time stamps near 1e18,
    ordinary numbers are small, and in a table in small units all entries are.
    """
    low, high = _range(X, mask)
    largest = np.maximum(np.abs(low), np.abs(high))
    zero = (largest <= 1e-12) & (largest <= 1e-13 * np.median(largest))
    # Halved before subtracting: the range of ±1.7e308 overflows.
    return (high / 2 - low / 2 <= 1e-12 * largest) | zero


def large_groups(groups: np.ndarray | None) -> np.ndarray:
    """Return which columns belong to a category with many levels."""
    return np.array(False) if groups is None else np.bincount(groups)[groups] > MANY_LEVELS


@dataclass(frozen=True)
class ColumnScaler:
    """Affine map ``(x − centre) / scale`` of each column.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 10.0], [2.0, 30.0]])
    >>> scaler = ColumnScaler.fit(X, np.ones(X.shape, bool), "standard")
    >>> scaler.apply(X)
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> bool(np.all(scaler.undo(scaler.apply(X)) == X))
    True
    """

    centre: Array
    scale: Array

    @classmethod
    def fit(
        cls, X: np.ndarray, mask: np.ndarray, kind: str | None, groups: np.ndarray | None = None
    ) -> ColumnScaler:
        """Fit the map to the observed entries.

        ``"standard"`` divides by the standard deviation; ``"sqrt"`` by the geometric mean of it (or
        1 % of the largest, if that is more) and the largest, so that columns with a larger spread
        keep more weight; ``"range"`` maps the observed range to 0 … 1; None does nothing;
        ``"reduced"`` divides only categories with many levels, the large ``groups``, by ten.
        """
        mean, std = column_spread(X, mask)
        if kind is None:
            return cls(np.zeros_like(mean), np.ones_like(mean))
        if kind == "reduced":
            return cls(np.zeros_like(mean), np.where(large_groups(groups), REDUCED, 1.0))
        if kind == "range":
            low, high = (end.astype(np.float64) for end in _range(X, mask))
            # Halved before subtracting: the range of ±1.7e308 overflows.
            return cls(low, _guard(2 * (high / 2 - low / 2)))
        if kind == "sqrt":
            widest = std.max(initial=0.0)
            return cls(mean, _guard(np.sqrt(np.maximum(std, 0.01 * widest)) * np.sqrt(widest)))
        if kind == "standard":
            return cls(mean, _guard(std))
        raise ValueError(f'scale must be "auto" or one of {SCALES}, got {kind!r}.')

    def apply(self, X: Array) -> Array:
        """Return the scaled data."""
        return (X - self.centre) / self.scale

    def apply_observed(self, X: Array, mask: Array) -> Array:
        """Return the scaled observed entries, with zeros for missing ones."""
        xp = array_namespace(X)
        return xp.where(mask, self.apply(xp.where(mask, X, self.centre)), 0.0)

    def undo(self, X: Array) -> Array:
        """Return the data in their original units."""
        return X * self.scale + self.centre


def refuse_unsquarable(scaled: np.ndarray, low: float, high: float) -> None:
    """Raise unless the largest absolute scaled entry is between two numbers."""
    largest = float(np.max(np.abs(scaled), initial=0.0))
    if not low < largest < high:
        raise ValueError(
            f"The largest of the scaled entries is {largest:.0e}, whose square overflows or "
            'underflows; use scale="auto" or "standard".'
        )


def _guard(scale: np.ndarray) -> np.ndarray:
    """Replace invalid divisors with one."""
    return np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
