"""Bringing columns to comparable scales, from their observed entries alone, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from polycomplete._devices import Array

SCALES = ("standard", "sqrt", "range", None)
#: A category of more levels may be better reduced to a tenth of its weight: each level has few
#: rows, which then look like a surface of their own.
MANY_LEVELS, REDUCED = 10, 10.0


def column_spread(X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the observed entries of each column.

    Safe for entries as large as 1e300 and as small as 1e-300, whose squares are not numbers.
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
    """Return which columns do not vary beyond rounding; see :func:`without_variation`."""
    return without_variation(*_range(X, mask))


def without_variation(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which columns do not vary beyond rounding, from their extremes.

    A column is constant if half its range is below 1e-12 of its own largest entry, or if it is a
    zero that carries rounding: no entry above 1e-12, nor above 1e-13 of what the median column's
    largest is. Both are asked for the latter, because next to time stamps near 1e18 columns of
    ordinary numbers are small, and a table in small units is small throughout.
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    zero = (largest <= 1e-12) & (largest <= 1e-13 * np.median(largest))
    # Halved before subtracting: the range of ±1.7e308 is not a number.
    return (high / 2 - low / 2 <= 1e-12 * largest) | zero


def large_groups(groups: np.ndarray | None) -> np.ndarray:
    """Return which columns belong to a group of many: a category of many levels."""
    return np.array(False) if groups is None else np.bincount(groups)[groups] > MANY_LEVELS


@dataclass(frozen=True)
class ColumnScaler:
    """The map ``(x − centre) / scale``, column by column.

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
        """Learn the map from the observed entries.

        ``"standard"`` divides by the standard deviation; ``"sqrt"`` by its square root (floored
        at 1 % of the largest, and relative to the largest), which keeps some of the columns'
        own weight; ``"range"`` maps the observed range to 0 … 1; None leaves the data alone;
        ``"reduced"`` too, but for categories of many levels, the large ones of ``groups``, which
        then hardly count.
        """
        mean, std = column_spread(X, mask)
        if kind is None:
            return cls(np.zeros_like(mean), np.ones_like(mean))
        if kind == "reduced":
            return cls(np.zeros_like(mean), np.where(large_groups(groups), REDUCED, 1.0))
        if kind == "range":
            low, high = (end.astype(np.float64) for end in _range(X, mask))
            # Halved before subtracting: the range of ±1.7e308 is not a number.
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
        """Return the scaled observed entries, with zeros in the holes."""
        xp = array_namespace(X)
        return xp.where(mask, self.apply(xp.where(mask, X, self.centre)), 0.0)

    def undo(self, X: Array) -> Array:
        """Return the data in their own units."""
        return X * self.scale + self.centre


def refuse_unsquarable(scaled: np.ndarray, low: float, high: float) -> None:
    """Raise where the largest of scaled entries is not between two numbers."""
    largest = float(np.max(np.abs(scaled), initial=0.0))
    if not low < largest < high:
        raise ValueError(
            f"The largest of the scaled entries is {largest:.0e}, whose square is beyond the range "
            'of numbers; use scale="auto" or "standard".'
        )


def _guard(scale: np.ndarray) -> np.ndarray:
    """Replace what cannot be divided by with one."""
    return np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
