"""What one pass over blocks of rows gathers: facts of the columns, and rows to learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycomplete.sampling import Sample
from polycomplete.tallies import Tally

ENTRIES = 2**21  # of a block that an array is cut into


@dataclass(frozen=True)
class Gathered:
    """What is known after some blocks; adding two of them gives what is known after both.

    Attributes
    ----------
    tally : Tally
        Of the columns.
    sample : Sample
        The rows to learn from.

    Examples
    --------
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> seen = X != 3
    >>> parts = [Gathered.of(X[at : at + 3], seen[at : at + 3], at, 4, seed=0) for at in (0, 3)]
    >>> both = parts[0] + parts[1]
    >>> both.tally.count, len(both.sample.number)
    (array([6, 5]), 4)
    """

    tally: Tally
    sample: Sample

    @classmethod
    def of(cls, X: np.ndarray, mask: np.ndarray, first: int, most: int, seed: int) -> Gathered:
        """Look at a block; ``first`` is the number of its first row, ``most`` the sample's size."""
        return cls(Tally.of(X, mask), Sample.of(X, mask, first, most, seed))

    def __add__(self, other: Gathered) -> Gathered:
        """Return what is known after both; ``other`` has the later rows."""
        return Gathered(self.tally + other.tally, self.sample.joined(other.sample))


def in_blocks(blocks: Any, again: bool = True) -> Iterator[Any]:
    """Go through blocks of rows.

    Parameters
    ----------
    blocks : iterable, callable or ndarray
        Blocks; a function that makes them; or an array, which is cut into blocks.
    again : bool
        Whether it must be possible to go through them a second time.

    Returns
    -------
    iterator

    Examples
    --------
    >>> [len(block) for block in in_blocks([np.ones((2, 1)), np.ones((3, 1))])]
    [2, 3]
    >>> len(list(in_blocks(np.ones((3 * 2**21, 1)))))
    3
    """
    if isinstance(blocks, np.ndarray) and blocks.ndim == 2:
        return _cut(blocks)
    if hasattr(blocks, "columns") or isinstance(blocks, np.ndarray | str | bytes):
        raise TypeError(
            f"blocks must be a list or another iterable of arrays or data frames, got one "
            f"{type(blocks).__name__}; pass [X] for a single block."
        )
    found: Iterable[Any] = blocks() if callable(blocks) else blocks
    if again and not callable(blocks) and iter(found) is found:
        raise TypeError(
            f"blocks is a {type(blocks).__name__}, which can be gone through only once, but is "
            "needed again to complete the blocks; pass the function that makes it, without "
            "calling it, or a list."
        )
    return iter(found)


def _cut(X: np.ndarray) -> Iterator[np.ndarray]:
    size = max(1, ENTRIES // max(X.shape[1], 1))
    return (X[begin : begin + size] for begin in range(0, len(X), size))


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Put the name of a place before the message of an error.

    Parameters
    ----------
    place : str
        Such as "Block 3".

    Returns
    -------
    context manager

    Examples
    --------
    >>> with naming("Block 3"):
    ...     raise ValueError("X has 2 features, but 3 were expected.")
    Traceback (most recent call last):
    ValueError: Block 3: X has 2 features, but 3 were expected.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        kind: Callable[[str], Exception] = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place}: {error}") from error
