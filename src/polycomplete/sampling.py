"""Which rows to learn from where there are too many: a choice that blocks of rows make together.

Half of them are those with the most observed entries, half are drawn among the others, those with
many observed entries more often: rows without holes may not be like the others. The luck of a row
follows from the seed and from its number alone, so that the choice is the same however the rows
were split, and whoever looked at them first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEAST = 1e-6  # weight of a row with hardly any observed entry


def training_rows(mask: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the rows to learn from, in their order.

    Parameters
    ----------
    mask : ndarray of bool, shape (n, m)
        True where observed.
    most : int
        How many at most.
    seed : int
        For drawing.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> mask = np.ones((6, 2), dtype=bool)
    >>> mask[:4, 0] = False
    >>> len(training_rows(mask, 4, seed=0)), training_rows(mask, 9, seed=0)
    (4, array([0, 1, 2, 3, 4, 5]))
    """
    if len(mask) <= most:
        return np.arange(len(mask))
    return lucky(mask.mean(axis=1), luck_of(seed, 0, len(mask)), most)


@dataclass(frozen=True)
class Sample:
    """The rows to learn from, of all that were seen so far.

    Attributes
    ----------
    most, seed : int
        As for :func:`training_rows`.
    X : ndarray of shape (k, m)
        These rows, float64.
    mask : ndarray of bool, shape (k, m)
        True where observed.
    number : ndarray of int, shape (k,)
        Which rows of the data they are.
    luck : ndarray of shape (k, 2)
        What was drawn for them.

    Examples
    --------
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> mask = X % 3 > 0
    >>> parts = [Sample.of(X[at : at + 5], mask[at : at + 5], at, 4, seed=0) for at in (0, 5)]
    >>> bool(np.all(parts[0].joined(parts[1]).number == training_rows(mask, 4, seed=0)))
    True
    """

    most: int
    seed: int
    X: np.ndarray
    mask: np.ndarray
    number: np.ndarray
    luck: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, mask: np.ndarray, first: int, most: int, seed: int) -> Sample:
        """Choose among the rows of a block; ``first`` is the number of its first row."""
        luck = luck_of(seed, first, len(mask))
        at = lucky(mask.mean(axis=1), luck, most)
        chosen = X[at].astype(np.float64)
        return cls(most, seed, chosen, np.array(mask[at]), first + at, luck[at])

    def joined(self, other: Sample) -> Sample:
        """Choose among the rows of both; ``other`` has rows with larger numbers."""
        names = ("X", "mask", "number", "luck")
        both = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in names]
        at = lucky(both[1].mean(axis=1), both[3], self.most)
        return Sample(self.most, self.seed, *(array[at] for array in both))


def luck_of(seed: int, first: int, count: int) -> np.ndarray:
    """Return two numbers between 0 and 1 for each row, by its number."""
    # Philox counts: a step of its counter gives four numbers, those of two rows.
    draws = np.random.Generator(np.random.Philox(key=seed).advance(first // 2))
    return draws.random((count + first % 2, 2))[first % 2 :]


def lucky(share: np.ndarray, luck: np.ndarray, most: int) -> np.ndarray:
    """Return the positions of the chosen rows, in their order.

    A row that is not chosen among some is not chosen among more: both halves are the first of an
    order that has nothing to do with the other rows.
    """
    if len(share) <= most:
        return np.arange(len(share))
    best = _first(most // 2, -share, luck[:, 0])
    others = np.delete(np.arange(len(share)), best)
    # Who comes first, each by a clock that ticks as fast as its weight, is a weighted draw.
    arrival = -np.log1p(-luck[others, 1]) / np.maximum(share[others] ** 2, LEAST)
    drawn = others[_first(most - len(best), arrival, luck[others, 0])]
    return np.sort(np.concatenate([best, drawn]))


def _first(count: int, keys: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return the positions of the smallest keys, without sorting all of them."""
    if not count:
        return np.empty(0, dtype=int)
    able = np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])
    return able[np.lexsort((ties[able], keys[able]))[:count]]
