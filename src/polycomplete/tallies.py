"""What is known of the columns after any number of rows: it adds up to the last bit.

Sums of floats depend on their order. These are sums of whole numbers, so that the mean of a column
is the same however its rows were split into blocks, and correctly rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete.scaling import without_variation

__all__ = ["Tally"]

ENTRIES = 2**18  # at a time
DIGITS = 53  # of a float64
HALF = 27  # its upper and lower digits are summed apart: sums of 2²⁶ of them are exact
LOWEST = -1073 - DIGITS  # sums count in units of 2 to this: the last digit of the smallest float


@dataclass(frozen=True)
class Tally:
    """Counts, extremes and exact sums of the observed entries of each column.

    Attributes
    ----------
    rows : int
        How many rows were seen.
    count : ndarray of int, shape (m,)
        Observed entries.
    low, high : ndarray of shape (m,)
        The smallest and largest of them; ∞ and −∞ where there is none.
    total : tuple of int
        Their sums.

    Examples
    --------
    >>> X = np.array([[1e16, 2.0], [1.0, 2.0], [-1e16, np.nan]])
    >>> tally = Tally.of(X, ~np.isnan(X))
    >>> tally.mean, tally.constant
    (array([0.33333333, 2.        ]), array([False,  True]))
    >>> (Tally.of(X[:1], ~np.isnan(X[:1])) + Tally.of(X[1:], ~np.isnan(X[1:]))).total == tally.total
    True
    """

    rows: int
    count: np.ndarray
    low: np.ndarray
    high: np.ndarray
    total: tuple[int, ...]

    @classmethod
    def of(cls, X: np.ndarray, mask: np.ndarray) -> Tally:
        """Return what is known after these rows."""
        n, m = X.shape
        size = max(1, ENTRIES // max(m, 1))
        tally = cls(0, np.zeros(m, int), np.full(m, np.inf), np.full(m, -np.inf), (0,) * m)
        for begin in range(0, n, size):
            part = slice(begin, begin + size)
            tally += cls._of_few(X[part].astype(np.float64), mask[part])
        return tally

    @classmethod
    def _of_few(cls, X: np.ndarray, mask: np.ndarray) -> Tally:
        return cls(
            rows=len(X),
            count=mask.sum(axis=0),
            low=np.min(X, axis=0, where=mask, initial=np.inf),
            high=np.max(X, axis=0, where=mask, initial=-np.inf),
            total=_sums(np.where(mask, X, 0.0)),
        )

    def __add__(self, other: Tally) -> Tally:
        """Return what is known after the rows of both."""
        return Tally(
            rows=self.rows + other.rows,
            count=self.count + other.count,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            total=tuple(a + b for a, b in zip(self.total, other.total, strict=True)),
        )

    @property
    def seen(self) -> np.ndarray:
        """Which columns have an observed entry."""
        return self.count > 0

    @property
    def mean(self) -> np.ndarray:
        """The mean of each column; NaN where there is nothing."""
        pairs = zip(self.total, self.count.tolist(), strict=True)
        return np.array([sum_ / (n << -LOWEST) if n else np.nan for sum_, n in pairs])

    @property
    def constant(self) -> np.ndarray:
        """Which columns do not vary beyond rounding, those without any entry among them."""
        constant = np.ones_like(self.seen)
        constant[self.seen] = without_variation(self.low[self.seen], self.high[self.seen])
        return constant


def _sums(X: np.ndarray) -> tuple[int, ...]:
    """Return the exact sum of each column, in units of 2 to the LOWEST."""
    m = X.shape[1]
    mantissa, exponent = np.frexp(X)
    digits = np.ldexp(mantissa, DIGITS).astype(np.int64)
    least = int(exponent.min(initial=0))
    # Digits with the same exponent in the same column go to the same place.
    place = ((exponent - least) * m + np.arange(m)).ravel()
    totals = [0] * m
    for part, weight in ((digits >> HALF, HALF), (digits & (2**HALF - 1), 0)):
        found = np.bincount(place, part.ravel())
        for at in np.flatnonzero(found).tolist():
            power = at // m + least - DIGITS + weight - LOWEST
            totals[at % m] += int(found[at]) << power
    return tuple(totals)
