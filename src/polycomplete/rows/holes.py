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

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete.kernels import Array
from polycomplete.rows.energy import Expansion, RowEnergy
from polycomplete.rows.wide import newton_step, pays

__all__ = ["Block", "Holes"]

BLOCK_ENTRIES = 2560  # rows × columns of a block: its derivatives fit the cache of a few cores
SMALLEST = 32  # rows of a block: fewer cost more in calls than they save in padding
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
        for _ in range(steps):
            before, trial = self.propose(energy, rows, damping)
            after = energy.value(trial)
            good = after <= before  # False for NaN, so that a wild step is never taken
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
class Holes:
    """The missing entries of rows, in blocks.

    Attributes
    ----------
    mask : ndarray of bool, shape (n, m)
        True where observed.
    even : bool
        Blocks of a shape that depends on a row's own number of holes alone, padded where rows run
        out: then the bits of a row do not depend on the rows that come with it.
    like : array, optional
        The rows, where they are of another library than NumPy or on a device.

    Examples
    --------
    >>> holes = Holes(np.array([[True, False], [True, True], [False, False]]))
    >>> [block.rows.tolist() for block in holes.blocks]
    [[0, 2]]
    """

    mask: np.ndarray
    even: bool = False
    like: Array = None

    @cached_property
    def blocks(self) -> list[Block]:
        """The rows with holes, those with about as many together."""
        m = self.mask.shape[1]
        count = m - self.mask.sum(axis=1)
        # Holes first, in their order; behind them the observed entries, as padding.
        order = np.argsort(self.mask, axis=1, kind="stable")
        back = np.argsort(order, axis=1, kind="stable")
        groups = self._even_groups(count) if self.even else self._groups(count)
        return [
            self._on_device(
                rows, order[rows], back[rows], np.arange(k)[None, :] >= count[rows][:, None]
            )
            for rows, k in groups
        ]

    def _groups(self, count: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """Yield rows with about as many holes, and the most of these."""
        rows = np.argsort(count, kind="stable")
        rows = rows[count[rows] > 0]
        most = max(1, BLOCK_ENTRIES // self.mask.shape[1])
        size = min(most, max(SMALLEST, len(rows) // 8))
        for begin in range(0, len(rows), size):
            group = rows[begin : begin + size]
            yield group, int(count[group[-1]])

    def _even_groups(self, count: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """Yield as many rows each time, the last ones again with the first of their kind."""
        m = self.mask.shape[1]
        size, step = max(SMALLEST, BLOCK_ENTRIES // m // SMALLEST * SMALLEST), max(1, m // 10)
        kind = -(-count // step)
        for each in np.unique(kind[count > 0]):
            rows = np.flatnonzero(kind == each)
            for begin in range(0, len(rows), size):
                yield rows[np.arange(begin, begin + size) % len(rows)], min(m, int(each) * step)

    def _on_device(self, *parts: np.ndarray) -> Block:
        if self.like is None:
            return Block(*parts)
        xp, where = array_namespace(self.like), device(self.like)
        return Block(*(xp.asarray(part, device=where) for part in parts))

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
