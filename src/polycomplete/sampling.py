"""What one pass over blocks of rows finds: facts of the columns, and which rows to learn from.

Both add up to the last bit, however the rows were split and whoever looked at them first.

Sums of floats depend on their order. Those of a :class:`Tally` are sums of whole numbers, so that
the mean of a column is the same for any blocks, and correctly rounded.

Where there are too many rows to learn from, half of a :class:`Sample` are those with the most
observed entries, half are drawn among the others, those with many observed entries more often:
rows without holes may not be like the others. What is drawn for a row follows from the seed and
from its number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete._resources import by_rows
from polycomplete.scaling import without_variation

DIGITS = 53  # of a float64
WIDTH = 26  # digits that are summed at a time: sums of 2²⁶ of them are exact
LOWEST = -1092  # sums count in units of 2 to this: a multiple of WIDTH, below the smallest float
HUGE = 900  # from this exponent on, sums and roundings are made on smaller numbers
LEAST = 1e-6  # weight of a row with hardly any observed entry


@dataclass(frozen=True)
class Tally:
    """Counts, extremes and exact sums of the observed entries of each column; two of them add up.

    ``low`` and ``high`` are ∞ and −∞ where there is none; ``total`` holds Python's integers.

    Examples
    --------
    >>> X = np.array([[1e16, 2.0], [1.0, 2.0], [-1e16, np.nan]])
    >>> tally = Tally.of(X, ~np.isnan(X))
    >>> tally.mean, tally.constant
    (array([0.33333333, 2.        ]), array([False,  True]))
    """

    rows: int
    count: np.ndarray
    low: np.ndarray
    high: np.ndarray
    total: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, mask: np.ndarray) -> Tally:
        """Return what is known after these rows."""
        return reduce(add, by_rows(lambda part: cls._of_few(X[part], mask[part]), X.shape))

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
            total=self.total + other.total,
        )

    @property
    def seen(self) -> np.ndarray:
        """Which columns have an observed entry."""
        return self.count > 0

    @property
    def mean(self) -> np.ndarray:
        """The mean of each column; NaN where there is nothing."""
        pairs = zip(self.total.tolist(), self.count.tolist(), strict=True)
        return np.array([sum_ / (n << -LOWEST) if n else np.nan for sum_, n in pairs])

    @property
    def constant(self) -> np.ndarray:
        """Which columns do not vary beyond rounding, those without any entry among them."""
        constant = np.ones_like(self.seen)
        constant[self.seen] = without_variation(self.low[self.seen], self.high[self.seen])
        return constant


def _sums(X: np.ndarray) -> np.ndarray:
    """Return the exact sum of each column, in units of 2 to the LOWEST.

    Numbers are cut at fixed places into slices of WIDTH binary digits. Those of one slice are
    multiples of one unit and not many times larger, so that their sum is exact.
    """
    totals = np.zeros(X.shape[1], dtype=object)
    rest = X
    while largest := float(np.max(np.abs(rest), initial=0.0)):
        unit = (int(np.frexp(largest)[1]) - 1) // WIDTH * WIDTH
        down = HUGE if unit > HUGE else 0
        part = np.ldexp(rest, -down) if down else rest
        away = float(np.ldexp(1.5, unit - down + DIGITS - 1))
        part = (part + away) - away  # the last digits of a large number are not below its unit
        sums = np.ldexp(np.sum(part, axis=0), down - unit).tolist()
        totals += np.array([int(sum_) << (unit - LOWEST) for sum_ in sums], dtype=object)
        rest = rest - (np.ldexp(part, down) if down else part)
    return totals


@dataclass(frozen=True)
class Sample:
    """At most so many rows to learn from, of all that were seen so far; two of them add up.

    ``X`` holds the rows, of an array or a data frame of narwhals; ``mask`` is True where observed,
    ``number`` says which rows of the data they are, ``draws`` what was drawn for them. Rows at the
    positions that ``needed`` finds in X stay in any case.

    Examples
    --------
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> mask = X % 3 > 0
    >>> parts = [Sample.of(X[at : at + 5], mask[at : at + 5], at, 4, seed=0) for at in (0, 5)]
    >>> bool(np.all((parts[0] + parts[1]).number == training_rows(mask, 4, seed=0)))
    True
    """

    X: Any
    mask: np.ndarray
    number: np.ndarray
    draws: np.ndarray
    most: int
    needed: Callable[[Any], Iterable[np.ndarray]] | None = None

    @classmethod
    def of(
        cls, X: Any, mask: np.ndarray, first: int, most: int, seed: int, needed: Any = None
    ) -> Sample:
        """Choose among the rows of a block; ``first`` is the number of its first row."""
        n = len(mask)
        return cls(X, mask, first + np.arange(n), draw(seed, first, n), most, needed)._chosen()

    def __add__(self, other: Sample) -> Sample:
        """Choose among the rows of both; ``other`` has rows with larger numbers."""
        join = np.concatenate if isinstance(self.X, np.ndarray) else nw.concat
        return replace(
            self,
            X=join([self.X, other.X]),
            mask=np.concatenate([self.mask, other.mask]),
            number=np.concatenate([self.number, other.number]),
            draws=np.concatenate([self.draws, other.draws]),
        )._chosen()

    def _chosen(self) -> Sample:
        at = sample_rows(self.mask.mean(axis=1), self.draws, self.most)
        if self.needed is not None:
            at = reduce(np.union1d, self.needed(self.X), at)
        return replace(
            self, X=self.X[at], mask=self.mask[at], number=self.number[at], draws=self.draws[at]
        )


def training_rows(mask: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return which rows to learn from, at most so many, in their order.

    Examples
    --------
    >>> mask = np.ones((6, 2), dtype=bool)
    >>> mask[:4, 0] = False
    >>> len(training_rows(mask, 4, seed=0)), training_rows(mask, 9, seed=0)
    (4, array([0, 1, 2, 3, 4, 5]))
    """
    return sample_rows(mask.mean(axis=1), draw(seed, 0, len(mask)), most)


def draw(seed: int, first: int, count: int) -> np.ndarray:
    """Return two numbers between 0 and 1 for each row, by its number."""
    # Philox counts: a step of its counter gives four numbers, those of two rows.
    draws = np.random.Generator(np.random.Philox(key=seed).advance(first // 2))
    return draws.random((count + first % 2, 2))[first % 2 :]


def sample_rows(share: np.ndarray, draws: np.ndarray, most: int) -> np.ndarray:
    """Return the positions of the chosen rows, in their order, by their share of observed entries.

    A row that is not chosen among some is not chosen among more: both halves are the first of an
    order that has nothing to do with the other rows.
    """
    if len(share) <= most:
        return np.arange(len(share))
    best = _first(most // 2, -share, draws[:, 0])
    others = np.delete(np.arange(len(share)), best)
    # Weighted sampling by exponential keys (Efraimidis & Spirakis 2006).
    keys = -np.log1p(-draws[others, 1]) / np.maximum(share[others] ** 2, LEAST)
    drawn = others[_first(most - len(best), keys, draws[others, 0])]
    return np.sort(np.concatenate([best, drawn]))


def _first(count: int, keys: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return the positions of the smallest keys, without sorting all of them."""
    if not count:
        return np.empty(0, dtype=int)
    able = np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])
    return able[np.lexsort((ties[able], keys[able]))[:count]]
