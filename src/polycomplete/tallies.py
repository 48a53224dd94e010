"""What is known of the columns after any number of rows: it adds up to the last bit.

Sums of floats depend on their order. These are sums of whole numbers, so that the mean of a column
is the same however its rows were split into blocks, and correctly rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete._machine import in_threads, row_parts
from polycomplete.scaling import without_variation

DIGITS = 53  # of a float64
WIDTH = 26  # digits that are summed at a time: sums of 2²⁶ of them are exact
LOWEST = -1092  # sums count in units of 2 to this: a multiple of WIDTH, below the smallest float
HUGE = 900  # from this exponent on, sums and roundings are made on smaller numbers


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
        m = X.shape[1]
        tally = cls(0, np.zeros(m, int), np.full(m, np.inf), np.full(m, -np.inf), (0,) * m)
        parts = row_parts(*X.shape)
        for few in in_threads(lambda part: cls._of_few(X[part], mask[part]), parts, X.size):
            tally += few
        return tally

    @classmethod
    def _of_few(cls, X: np.ndarray, mask: np.ndarray) -> Tally:
        X = X.astype(np.float64, copy=False)
        return cls(
            rows=len(X),
            count=np.count_nonzero(mask, axis=0),
            low=np.min(np.where(mask, X, np.inf), axis=0, initial=np.inf),
            high=np.max(np.where(mask, X, -np.inf), axis=0, initial=-np.inf),
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
    """Return the exact sum of each column, in units of 2 to the LOWEST.

    Numbers are cut at fixed places into slices of WIDTH binary digits. Those of one slice are
    multiples of one unit and not many times larger, so that their sum is exact.
    """
    totals = [0] * X.shape[1]
    rest = X
    while True:
        largest = float(np.max(np.abs(rest), initial=0.0))
        if largest == 0.0:
            return tuple(totals)
        unit = (int(np.frexp(largest)[1]) - 1) // WIDTH * WIDTH
        down = HUGE if unit > HUGE else 0
        part = np.ldexp(rest, -down) if down else rest
        away = float(np.ldexp(1.5, unit - down + DIGITS - 1))
        part = (part + away) - away  # the last digits of a large number are not below its unit
        for j, sum_ in enumerate(np.ldexp(np.sum(part, axis=0), down - unit).tolist()):
            totals[j] += int(sum_) << (unit - LOWEST)
        rest = rest - (np.ldexp(part, down) if down else part)
