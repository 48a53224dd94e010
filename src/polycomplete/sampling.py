"""Which rows to learn from where there are many, chosen in one pass over blocks of them.

Half of a :class:`Sample` are the rows with the most observed entries, half are drawn among the
others, those with many observed entries more often: rows without holes may not be like the others.
What is drawn for a row follows from the seed and from its number alone, so that samples of blocks
add up to that of all rows, however these were split.

The first row that shows an entry of a column, and the first that shows a hole in it, are always
among them: what is known of the columns follows from the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

LEAST = 1e-6  # weight of a row with hardly any observed entry


@dataclass(frozen=True)
class Sample:
    """The rows to learn from among those that were seen so far; two of them add up.

    ``X`` holds the rows, of an array or a data frame of narwhals; ``mask`` is True where observed,
    ``number`` says which rows of the data they are, ``draws`` what was drawn for them, ``n_rows``
    how many were seen, ``names`` those of the columns of an array. Rows at the positions that
    ``needed`` finds in X stay in any case.

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
    n_rows: int
    most: int
    needed: Callable[[Any], Iterable[np.ndarray]] | None = None
    names: np.ndarray | None = None

    @classmethod
    def of(
        cls, X: Any, mask: np.ndarray, first: int, most: int, seed: int, **options: Any
    ) -> Sample:
        """Choose among the rows of a block; ``first`` is the number of its first row."""
        n = len(mask)
        number, draws = first + np.arange(n), draw(seed, first, n)
        return cls(X, mask, number, draws, n, most, **options)._chosen()

    def __add__(self, other: Sample) -> Sample:
        """Choose among the rows of both; ``other`` has rows with larger numbers."""
        join = np.concatenate if isinstance(self.X, np.ndarray) else nw.concat
        return replace(
            self,
            X=join([self.X, other.X]),
            mask=np.concatenate([self.mask, other.mask]),
            number=np.concatenate([self.number, other.number]),
            draws=np.concatenate([self.draws, other.draws]),
            n_rows=self.n_rows + other.n_rows,
        )._chosen()

    def _chosen(self) -> Sample:
        at = sample_rows(self.mask, self.draws, self.most)
        if self.needed is not None:
            at = reduce(np.union1d, self.needed(self.X), at)
        return replace(
            self, X=self.X[at], mask=self.mask[at], number=self.number[at], draws=self.draws[at]
        )


def training_rows(mask: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return which rows of a matrix to learn from, in their order; see :class:`Sample`.

    Examples
    --------
    >>> mask = np.ones((6, 2), dtype=bool)
    >>> mask[:4, 0] = False
    >>> training_rows(mask, 3, seed=0), training_rows(mask, 9, seed=0)
    (array([0, 4, 5]), array([0, 1, 2, 3, 4, 5]))
    """
    return sample_rows(mask, draw(seed, 0, len(mask)), most)


def draw(seed: int, first: int, count: int) -> np.ndarray:
    """Return two numbers between 0 and 1 for each row, by its number."""
    # Philox counts: a step of its counter gives four numbers, those of two rows.
    draws = np.random.Generator(np.random.Philox(key=seed).advance(first // 2))
    return draws.random((count + first % 2, 2))[first % 2 :]


def sample_rows(mask: np.ndarray, draws: np.ndarray, most: int) -> np.ndarray:
    """Return the positions of the chosen rows, in their order.

    A row that is not chosen among some is not chosen among more: both halves are the first of an
    order that has nothing to do with the other rows.
    """
    if len(mask) <= most:
        return np.arange(len(mask))
    share = mask.mean(axis=1)
    best = _first(most // 2, -share, draws[:, 0])
    others = np.delete(np.arange(len(share)), best)
    # Weighted sampling by exponential keys (Efraimidis & Spirakis 2006).
    keys = -np.log1p(-draws[others, 1]) / np.maximum(share[others] ** 2, LEAST)
    drawn = others[_first(most - len(best), keys, draws[others, 0])]
    first = np.concatenate([mask.argmax(axis=0), mask.argmin(axis=0)])
    return np.unique(np.concatenate([best, drawn, first]))


def _first(count: int, keys: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return the positions of the smallest keys, without sorting all of them."""
    if not count:
        return np.empty(0, dtype=int)
    able = np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])
    return able[np.lexsort((ties[able], keys[able]))[:count]]
