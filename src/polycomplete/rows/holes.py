"""Rows gathered in blocks with about as many holes each.

A row with k holes costs k/m of the derivatives and (k/m)² of the matrices of a whole row, and
blocks can be worked on by several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace, device

from polycomplete._arrays import Array
from polycomplete._resources import TILE

BLOCK_ENTRIES = 16384  # rows × columns of a block: calls take little time beside their work
EVEN_ROWS = 5 * TILE  # at a time where only the shape matters
#: Rows of a block at least, however wide they are: fewer cost more in calls than they save.
FEW = 2 * TILE

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # map, or that of a pool


@dataclass(frozen=True)
class Block:
    """Some rows and the columns of their holes; rows with fewer holes name observed entries too.

    Attributes
    ----------
    rows : array of int, shape (g,)
        Which rows.
    columns : array of int, shape (g, k)
        The columns of the holes of each row, then those of the padding.
    padding : array of bool, shape (g, k)
        Which of them are no holes.
    """

    rows: Array
    columns: Array
    padding: Array

    @property
    def n_holes(self) -> int:
        """Holes of a row, padding included."""
        return int(self.padding.shape[1])

    def gather(self, A: Array) -> Array:
        """Return the entries of A in the holes and the padding."""
        xp = array_namespace(A)
        return xp.take_along_axis(xp.take(A, self.rows, axis=0), self.columns, axis=1)

    def fill(self, values: Array, rows: Array) -> Array:
        """Return these rows with values in the holes."""
        xp = array_namespace(rows)
        values = xp.where(self.padding, xp.take_along_axis(rows, self.columns, axis=1), values)
        return self.put(values, rows)

    def put(self, values: Array, into: Array) -> Array:
        """Return rows with values in the holes and the padding."""
        xp = array_namespace(into)
        into = xp.asarray(into, copy=True)
        into[xp.arange(into.shape[0], device=device(into))[:, None], self.columns] = values
        return into


@dataclass(frozen=True)
class Packing:
    """How rows are put into blocks.

    Attributes
    ----------
    even : bool
        Blocks of a shape that depends on a row's own number of holes alone, padded where rows run
        out: then the bits of a row do not depend on the rows that come with it.
    entries : int
        Rows × columns of a block. By default its derivatives fit the cache of a few cores; a card
        wants large ones.
    smallest : int
        Rows with the same number of holes that make a block of their own: fewer cost more in calls
        than they save in padding.
    """

    even: bool = False
    entries: int = BLOCK_ENTRIES
    smallest: int = FEW

    def rows(self, columns: int) -> int:
        """Return how many rows go together where nothing but their number matters."""
        return max(EVEN_ROWS, self.entries // columns // TILE * TILE)


#: Even blocks are smaller: a call with a few rows pads them.
PLAIN, EVEN = Packing(), Packing(even=True, entries=2560, smallest=TILE)


@dataclass(frozen=True)
class Holes:
    """The missing entries of rows, in blocks.

    Attributes
    ----------
    mask : array of bool, shape (n, m)
        True where observed; of the library and on the device of the rows.
    packing : Packing
        How rows are put into blocks.

    Examples
    --------
    >>> import numpy as np
    >>> holes = Holes(np.array([[True, False], [True, True], [False, False]]))
    >>> [block.rows.tolist() for block in holes.blocks]
    [[0, 2]]
    """

    mask: Array
    packing: Packing = PLAIN

    @cached_property
    def blocks(self) -> list[Block]:
        """The rows with holes, those with about as many together."""
        xp, where = array_namespace(self.mask), device(self.mask)
        count = xp.sum(xp.astype(~self.mask, xp.int64), axis=1)
        # Holes first, in their order; behind them the observed entries, as padding.
        order = xp.argsort(xp.astype(self.mask, xp.uint8), axis=1, stable=True)
        groups = self._even_groups(count) if self.packing.even else self._groups(count)
        return [
            Block(
                rows,
                xp.take(order[:, :k], rows, axis=0),
                xp.arange(k, device=where)[None, :] >= xp.take(count, rows)[:, None],
            )
            for rows, k in groups
        ]

    def _groups(self, count: Array) -> Iterator[tuple[Array, int]]:
        """Yield rows with about as many holes, and the most of these."""
        xp = array_namespace(count)
        rows = xp.argsort(count, stable=True)
        rows = rows[xp.take(count, rows) > 0]
        most = max(FEW, self.packing.entries // self.mask.shape[1])
        holes, times = xp.unique_counts(xp.take(count, rows))
        begin = end = 0
        for k, more in zip(holes, times, strict=True):
            end += int(more)
            while end - begin >= min(most, self.packing.smallest if end < len(rows) else 1):
                size = min(most, end - begin)
                yield rows[begin : begin + size], int(k)
                begin += size

    def _even_groups(self, count: Array) -> Iterator[tuple[Array, int]]:
        """Yield as many rows each time, the last ones again with the first of their kind."""
        xp, where = array_namespace(count), device(count)
        m = self.mask.shape[1]
        least = self.packing.smallest
        size = max(least, self.packing.entries // m // least * least)
        step = max(1, m // 10)
        kind = -(-count // step)
        for each in xp.unique_values(kind[count > 0]):
            rows = xp.nonzero(kind == each)[0]
            n = rows.shape[0]
            for begin in range(0, n, size):
                again = xp.arange(begin, begin + size, device=where) % n
                yield xp.take(rows, again), min(m, int(each) * step)
