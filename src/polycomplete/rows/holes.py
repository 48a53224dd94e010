"""Steps on the missing entries alone: rows gathered in blocks with about as many holes each.

:func:`polycomplete.rows.settle` works on whole rows. Here a row with k holes costs k/m of the
derivatives and (k/m)² of the matrices, and blocks can be worked on by several threads. Wide rows
take a form without any matrix of a row (:mod:`polycomplete.rows.wide`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace, device

from polycomplete._arrays import Array
from polycomplete.rows.energy import Expansion, RowEnergy
from polycomplete.rows.wide import newton_step, pays

__all__ = ["EVEN_ROWS", "PLAIN", "Block", "Holes", "Packing", "Run"]

BLOCK_ENTRIES = 2560  # rows × columns of a block: its derivatives fit the cache of a few cores
EVEN_ROWS = 128  # at a time where only the shape matters
BLUR = 1e-14  # of k(x, x): by so much an energy of 64 bits may be wrong; more would mislead 32
LEAST, MOST = 1e-9, 1e3  # of the damping

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # map, or that of a pool


@dataclass(frozen=True)
class Block:
    """Some rows and the columns of their holes; rows with fewer holes name observed entries too.

    Attributes
    ----------
    rows : array of int, shape (g,)
        Which rows.
    order, back : arrays of int, shape (g, m)
        The columns of each row, holes first, and the way back.
    padding : array of bool, shape (g, k)
        Which of the first k are no holes.
    """

    rows: Array
    order: Array
    back: Array
    padding: Array

    @property
    def columns(self) -> Array:
        """The columns of the holes and of the padding, (g, k)."""
        return self.order[:, : self.padding.shape[1]]

    @property
    def _size(self) -> tuple[int, int]:
        """Holes and columns of a row."""
        return self.padding.shape[1], self.order.shape[1]

    def gather(self, A: Array) -> Array:
        """Return the entries of A in the holes and the padding."""
        xp = array_namespace(A)
        return xp.take_along_axis(xp.take(A, self.rows, axis=0), self.columns, axis=1)

    def fill(self, values: Array, rows: Array) -> Array:
        """Return these rows with values in the holes."""
        xp = array_namespace(rows)
        sorted_ = xp.take_along_axis(rows, self.order, axis=1)
        k = self.padding.shape[1]
        values = xp.where(self.padding, sorted_[:, :k], values)
        return xp.take_along_axis(xp.concat([values, sorted_[:, k:]], axis=1), self.back, axis=1)

    def expand(self, energy: RowEnergy, rows: Array) -> Expansion:
        """Return what :meth:`polycomplete.rows.RowEnergy.expand` does, in the holes only."""
        kernel, L, F = energy.kernel, energy.landmarks, energy.factor
        xp = array_namespace(rows)
        g, k = self.padding.shape
        K = kernel.gram(rows, L)
        s, t = kernel.slopes(rows, L, K)
        # As there: where only differences of rows count, an origin among them keeps digits.
        origin = xp.mean(L, axis=0) if s is t else xp.zeros_like(L[0, :])
        P, flat = K @ F, xp.reshape(self.columns, (-1,))
        Q = P * kernel.decay if kernel.decay else (K * 0 + t) @ F
        x = xp.take_along_axis(rows, self.columns, axis=1)
        pull = xp.reshape(xp.take((L - origin).T, flat, axis=0), (g, k, L.shape[0]))
        pull *= xp.asarray(s)[:, None, :]
        J = xp.reshape(xp.reshape(pull, (g * k, L.shape[0])) @ F, (g, k, F.shape[1]))
        J -= (x - xp.reshape(xp.take(origin, flat, axis=0), (g, k)))[:, :, None] * Q[:, None]
        gradient = kernel.diagonal_slope(rows)[:, None] * x - (J @ P[:, :, None])[:, :, 0]
        a, b = kernel.metric(rows)
        U = (xp.sqrt(b)[:, None] * x)[:, :, None] if bool(xp.any(b > 0)) else J[:, :, :0]
        return Expansion(kernel.diagonal(rows) - xp.sum(P * P, axis=1), 2 * gradient, a, J, U)

    def propose(self, energy: RowEnergy, rows: Array, damping: Array) -> tuple[Array, Array]:
        """Return the energy of these rows, and the rows after a damped Newton step."""
        if pays(energy, *self._size):
            return newton_step(energy, rows, self._holes, damping)
        xp = array_namespace(rows)
        here = self.expand(energy, rows)
        step = here.step(self.padding, damping)
        moved = xp.take_along_axis(rows, self.columns, axis=1) + step
        return here.energy, self.fill(moved, rows)

    def settle(
        self, energy: RowEnergy, rows: Array, damping: Array, steps: int
    ) -> tuple[Array, Array, Array]:
        """Take Levenberg–Marquardt steps with these rows; return them, energies and dampings."""
        xp = array_namespace(rows)
        E = rows[:, 0] * 0
        # Near its place the energy of a row is rounding, while its gradient still has digits.
        blur = BLUR * energy.kernel.diagonal(rows)
        for _ in range(steps):
            before, trial = self.propose(energy, rows, damping)
            after = energy.value(trial)
            good = after <= before + blur  # False for NaN, so that a wild step is never taken
            rows = xp.where(good[:, None], trial, rows)
            E = xp.where(good, after, before)
            damping = xp.clip(xp.where(good, damping * 0.2, damping * 10.0), LEAST, MOST)
        return rows, E, damping

    @cached_property
    def _holes(self) -> Array:
        """Where the holes of each row are, (g, m)."""
        xp = array_namespace(self.order)
        k, m = self.padding.shape[1], self.order.shape[1]
        rest = xp.zeros_like(self.order[:, k:], dtype=xp.bool)
        found = xp.concat([~self.padding, rest], axis=1)[:, :m]
        return xp.take_along_axis(found, self.back, axis=1)


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
        Rows of a block: fewer cost more in calls than they save in padding.
    """

    even: bool = False
    entries: int = BLOCK_ENTRIES
    smallest: int = 32

    def rows(self, columns: int) -> int:
        """Return how many rows go together where nothing but their number matters."""
        return max(EVEN_ROWS, self.entries // columns)


PLAIN = Packing()


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
        back = xp.argsort(order, axis=1, stable=True)
        groups = self._even_groups(count) if self.packing.even else self._groups(count)
        return [
            Block(
                rows,
                xp.take(order, rows, axis=0),
                xp.take(back, rows, axis=0),
                xp.arange(k, device=where)[None, :] >= xp.take(count, rows)[:, None],
            )
            for rows, k in groups
        ]

    def _groups(self, count: Array) -> Iterator[tuple[Array, int]]:
        """Yield rows with about as many holes, and the most of these."""
        xp = array_namespace(count)
        rows = xp.argsort(count, stable=True)
        rows = rows[xp.take(count, rows) > 0]
        most = max(1, self.packing.entries // self.mask.shape[1])
        size = min(most, max(self.packing.smallest, rows.shape[0] // 8))
        for begin in range(0, rows.shape[0], size):
            group = rows[begin : begin + size]
            yield group, int(count[group[-1]])

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

    def settle(
        self, energy: RowEnergy, X: Array, damping: Array, steps: int = 1, run: Run = map
    ) -> tuple[Array, Array, Array]:
        """Take Levenberg–Marquardt steps on the holes of each row by itself.

        A step is taken where the energy does not rise; the damping of a row falls after a success
        and rises after a failure. Returns rows, energies (zero for a row without holes) and
        dampings. ``run`` maps a function over blocks: :func:`map`, or that of a pool of threads.
        """
        xp = array_namespace(X)
        given = X, damping  # a block may be padded with rows of another that is done already
        X, damping, E = xp.asarray(X, copy=True), xp.asarray(damping, copy=True), X[:, 0] * 0

        def work(block: Block) -> tuple[Array, Array, Array]:
            rows, damped = (xp.take(A, block.rows, axis=0) for A in given)
            return block.settle(energy, rows, damped, steps)

        for block, (rows, found, damped) in zip(self.blocks, run(work, self.blocks), strict=True):
            X[block.rows, :] = rows
            E[block.rows] = found
            damping[block.rows] = damped
        return X, E, damping
