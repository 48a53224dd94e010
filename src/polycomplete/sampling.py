"""Which rows to learn from if there are many, chosen in one pass over blocks of rows.

Half of a :class:`Sample` are the rows with the most observed entries; the others are drawn at
random, rows with many observed entries more often, because complete rows may not be like the
others. The random numbers of a row depend on the seed and its position only, so that the samples
of blocks add up to that of all rows, however these were split.

The first row with an entry of a column observed, and the first with that entry missing, are always
in the sample: what is known about the columns follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

#: The parts of a sample that have an entry for each row.
BY_ROW = ("X", "mask", "number", "draws")
MIN_WEIGHT = 1e-6  # of a row with hardly any observed entry


@dataclass(frozen=True)
class Sampler:
    """Choose rows to learn from, block by block, in this process or another.

    ``read`` returns the rows of a block, as an array or a narwhals data frame, and their mask, True
    where observed. Rows at the positions that ``needed`` yields for these rows are always kept.
    ``names`` are those of the columns of an array.

    Examples
    --------
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> choose = Sampler(read=lambda X: (X, X % 3 > 0), max_samples=4, seed=0)
    >>> sample = choose(X[:5], 0) + choose(X[5:], 5)
    >>> bool(np.all(sample.number == training_rows(X % 3 > 0, 4, seed=0)))
    True
    """

    read: Callable[[Any], tuple[Any, np.ndarray]]
    max_samples: int
    seed: int
    needed: Callable[[Any], Iterable[np.ndarray]] | None = None
    names: np.ndarray | None = None

    def __call__(self, block: Any, first: int) -> Sample:
        """Choose among the rows of a block; ``first`` is the position of its first row."""
        X, mask = self.read(block)
        n = len(mask)
        return self.best(Sample(self, X, mask, first + np.arange(n), draw(self.seed, first, n), n))

    def best(self, found: Sample) -> Sample:
        """Return the sample without the rows that are not needed."""
        at = sample_rows(found.mask, found.draws, self.max_samples)
        if self.needed is not None:
            at = reduce(np.union1d, self.needed(found.X), at)
        return replace(found, **{name: getattr(found, name)[at] for name in BY_ROW})


@dataclass(frozen=True)
class Sample:
    """The rows to learn from among those seen so far; samples of adjoining blocks can be added.

    ``number`` holds the positions of the rows in the data, ``draws`` their random numbers,
    ``n_rows`` is the number of rows seen.
    """

    sampler: Sampler
    X: Any
    mask: np.ndarray
    number: np.ndarray
    draws: np.ndarray
    n_rows: int

    def __add__(self, other: Sample) -> Sample:
        """Choose among the rows of both; those of ``other`` come later in the data."""
        joins: dict[str, Any] = dict.fromkeys(BY_ROW, np.concatenate)
        if isinstance(self.X, nw.DataFrame):
            joins["X"] = nw.concat
        parts = {
            key: join([getattr(self, key), getattr(other, key)]) for key, join in joins.items()
        }
        return self.sampler.best(replace(self, n_rows=self.n_rows + other.n_rows, **parts))


def training_rows(mask: np.ndarray, max_samples: int, seed: int) -> np.ndarray:
    """Return the positions of the rows of a matrix to learn from, in order.

    Examples
    --------
    >>> mask = np.ones((6, 2), dtype=bool)
    >>> mask[:4, 0] = False
    >>> training_rows(mask, 3, seed=0), training_rows(mask, 9, seed=0)
    (array([0, 4, 5]), array([0, 1, 2, 3, 4, 5]))
    """
    return sample_rows(mask, draw(seed, 0, len(mask)), max_samples)


def draw(seed: int, first: int, count: int) -> np.ndarray:
    """Return two random numbers between 0 and 1 for each row, by its position in the data."""
    # A step of Philox's counter gives four numbers: those of two rows.
    draws = np.random.Generator(np.random.Philox(key=seed).advance(first // 2))
    return draws.random((count + first % 2, 2))[first % 2 :]


def sample_rows(mask: np.ndarray, draws: np.ndarray, max_samples: int) -> np.ndarray:
    """Return the positions of the chosen rows, in order.

    A row that is not chosen among some rows is not chosen among more: both halves are the first
    rows of an order that does not depend on the other rows.
    """
    if len(mask) <= max_samples:
        return np.arange(len(mask))
    share = mask.mean(axis=1)
    best = _first(max_samples // 2, -share, draws[:, 0])
    others = np.delete(np.arange(len(share)), best)
    # Weighted sampling by exponential keys (Efraimidis & Spirakis 2006).
    keys = -np.log1p(-draws[others, 1]) / np.maximum(share[others] ** 2, MIN_WEIGHT)
    drawn = others[_first(max_samples - len(best), keys, draws[others, 0])]
    first = np.concatenate([mask.argmax(axis=0), mask.argmin(axis=0)])
    return np.unique(np.concatenate([best, drawn, first]))


def _first(count: int, keys: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return the positions of the smallest keys, without sorting all of them."""
    if not count:
        return np.empty(0, dtype=int)
    candidates = np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])
    return candidates[np.lexsort((ties[candidates], keys[candidates]))[:count]]
