"""Steps on the missing entries alone: rows gathered in blocks with about as many holes each.

:func:`polycomplete.rows.settle` works on whole rows. Here a row with k holes costs k/m of the
derivatives and (k/m)² of the matrices, and blocks can be worked on by several threads. Wide rows
take a form without any matrix of a row (:mod:`polycomplete.rows.wide`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any

from array_api_compat import array_namespace, device, is_numpy_array

from polycomplete._arrays import Array
from polycomplete._resources import TILE
from polycomplete.rows.energy import Quadratic, RowEnergy
from polycomplete.rows.wide import newton_step, pays

BLOCK_ENTRIES = 16384  # rows × columns of a block: calls take little time beside their work
FEW = 64  # rows of a block at least, however wide they are: fewer cost more in calls than they save
CACHED = 7.5e5  # bytes of derivatives that are worked on at a time
EVEN_ROWS = 5 * TILE  # at a time where only the shape matters
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
        return self._put(values, xp.asarray(rows, copy=True))

    def _put(self, values: Array, into: Array) -> Array:
        xp = array_namespace(into)
        into[xp.arange(into.shape[0], device=device(into))[:, None], self.columns] = values
        return into

    def expand(self, energy: RowEnergy, rows: Array) -> Quadratic:
        """Return what :meth:`polycomplete.rows.RowEnergy.expand` does, in the holes only."""
        xp, kernel, L = array_namespace(rows), energy.kernel, energy.landmarks
        K = kernel.gram(rows, L)
        s, t = kernel.slopes(rows, L, K)
        if s is not t:
            s, t = K * 0 + s, K * 0 + t
        P, x = K @ energy.factor, xp.take_along_axis(rows, self.columns, axis=1)
        explained, JP = self._explain(energy, x, s, t, P)
        a, b = kernel.metric(rows)
        if bool(xp.any(b > 0)):
            explained -= b[:, None, None] * x[:, :, None] * x[:, None, :]
        gradient = 2 * (kernel.diagonal_slope(rows)[:, None] * x - JP)
        E, a = kernel.diagonal(rows) - xp.linalg.vecdot(P, P), xp.clip(a, energy.least, None)
        return Quadratic(E, gradient, a, explained)

    def _explain(
        self, energy: RowEnergy, x: Array, s: Array, t: Array, P: Array
    ) -> tuple[Array, Array]:
        """Return JJᵀ and JP of each row, J the derivatives of ``P = Fᵀk(L, x)`` in its holes.

        Rows go a few at a time, as many each time, so that their derivatives stay in the cache.
        """
        xp, F, by_column = array_namespace(x), energy.factor, energy.landmarks.T
        (g, k), (r, q) = x.shape, F.shape
        JJ = xp.empty((g, k, k), dtype=x.dtype, device=device(x))
        JP = xp.empty((g, k), dtype=x.dtype, device=device(x))
        for some in self.slices(r) if is_numpy_array(x) else [slice(0, g)]:
            columns = xp.reshape(self.columns[some, :], (-1,))
            pull = xp.reshape(xp.take(by_column, columns, axis=0), (-1, k, r))
            if s is t:  # then only differences of rows count: keep their digits
                pull -= x[some, :, None]
                pull *= s[some, None, :]
            else:
                pull *= s[some, None, :]
                pull -= x[some, :, None] * t[some, None, :]
            J = xp.reshape(xp.reshape(pull, (-1, r)) @ F, (pull.shape[0], k, q))
            # By a copy: NumPy would take a routine for J Jᵀ that is slow where J is small.
            JJ[some, :, :] = J @ xp.matrix_transpose(xp.asarray(J, copy=True))
            JP[some, :] = (J @ P[some, :, None])[:, :, 0]
        return JJ, JP

    def propose(self, energy: RowEnergy, rows: Array, damping: Array) -> tuple[Array, Array]:
        """Return the energy of these rows, and the rows after a damped Newton step."""
        if pays(energy, self.n_holes, rows.shape[1]):
            return newton_step(energy, rows, self.holes(rows), damping)
        xp = array_namespace(rows)
        here = self.expand(energy, rows)
        moved = xp.take_along_axis(rows, self.columns, axis=1) + here.step(self.padding, damping)
        return here.energy, self._put(moved, xp.asarray(rows, copy=True))

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

    def holes(self, rows: Array) -> Array:
        """Return where the holes of these rows are, (g, m)."""
        xp = array_namespace(rows)
        return self._put(~self.padding, xp.zeros_like(rows, dtype=xp.bool))

    def slices(self, landmarks: int) -> Iterator[slice]:
        """Yield slices of the rows whose derivatives stay in the cache.

        All are equally long, for the bits of a product depend on its shape: some rows come again.
        They depend on the place too, unless the holes of a slice are whole tiles, or one row's.
        """
        g, k = self.padding.shape
        size = -(-g // max(1, round(8 * g * k * landmarks / CACHED)))
        if g % TILE == 0:
            whole = TILE // gcd(TILE, k)
            size = size // whole * whole or (whole if k < TILE else 1)
        for begin in range(0, g, size):
            yield slice(min(begin, g - size), min(begin, g - size) + size)


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
