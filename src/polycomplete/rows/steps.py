"""Levenberg–Marquardt steps of rows on their holes, in blocks of rows with equally many holes.

The one loop of its kind: under any row energy, with or without the row's own landmark, with or
without a prior. Rows with many holes take a form without any matrix of a row. Every row is worked
on independently, and in even blocks its bits do not depend on the rows that come with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from array_api_compat import array_namespace, device

from polycomplete._devices import ROUNDING, Array, Device
from polycomplete._resources import FULL, TILE, Resources, Run
from polycomplete.rows.energy import RowEnergy

LEAST = 1e-9  # damping; the largest is one over it
ITERATIONS = 5  # of the conjugate gradients: stopped early, they still point downwards
BLOCK_ENTRIES = 16384  # rows × columns of a block: calls take little time beside their work
EVEN_ROWS = 5 * TILE  # at a time where only the shape matters
#: Rows of a block at least, however wide they are: fewer cost more in calls than they save.
FEW = 2 * TILE


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
        Rows × columns of a block. By default its derivatives fit the cache of a few cores; a GPU
        wants large ones.
    smallest : int
        Rows with the same number of holes that make a block of their own: fewer cost more in calls
        than they save in padding.
    """

    even: bool = False
    entries: int = BLOCK_ENTRIES
    smallest: int = FEW

    @classmethod
    def on(cls, device: Device, resources: Resources, landmarks: int) -> Packing:
        """Return that of a device: on the host small enough for the cache, on a GPU large."""
        if device.is_host:
            return cls()
        # 100 bytes for each entry of a block and each landmark.
        entries = resources.bytes_for_blocks(device) / (100 * landmarks)
        return cls(entries=int(min(80 * FULL, entries)), smallest=FULL)

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


class Prior(NamedTuple):
    """A weak prior of rows: ``½ Σ stiffness (x − centre)²``; (n, m) and (m,)."""

    centre: Array
    stiffness: Array

    def of(self, block: Block) -> Prior:
        """Return that of the holes of a block, (g, k) each."""
        xp, columns = array_namespace(self.centre), block.columns
        held = xp.take(self.stiffness, xp.reshape(columns, (-1,)))
        held = xp.where(block.padding, 0.0, xp.reshape(held, columns.shape))
        return Prior(block.gather(self.centre), held)

    def value(self, x: Array) -> Array:
        """Return what the entries in the holes pay."""
        return 0.5 * array_namespace(x).sum(self.stiffness * (x - self.centre) ** 2, axis=1)

    def slope(self, x: Array) -> Array:
        """Return its gradient."""
        return self.stiffness * (x - self.centre)


def settle(
    energy: RowEnergy,
    X: Array,
    holes: Holes,
    damping: Array,
    steps: int = 1,
    *,
    exclude: Array | None = None,
    prior: Prior | None = None,
    run: Run = map,
) -> tuple[Array, Array, Array, Array]:
    """Take Levenberg–Marquardt steps on the holes of each row.

    A step is taken where the energy does not rise; the damping of a row, in units of the kernel's
    metric, falls after a success and rises after a failure. ``exclude`` names the landmark each row
    takes the place of. Returns rows, energies (without the prior, 0 for complete rows), dampings,
    and what each row gained by the last step: infinity where that was refused.
    """
    xp = array_namespace(X)
    given = X, damping  # a block may be padded with rows of another that is done already
    X, damping, E = xp.asarray(X, copy=True), xp.asarray(damping, copy=True), X[:, 0] * 0
    gain = E * 0

    def work(block: Block) -> tuple[Array, Array, Array, Array]:
        rows, damped = (xp.take(A, block.rows, axis=0) for A in given)
        own = None if exclude is None else xp.take(exclude, block.rows)
        pull = None if prior is None else prior.of(block)
        return _settle(energy, rows, block, damped, steps, own, pull)

    for block, done in zip(holes.blocks, run(work, holes.blocks), strict=True):
        X[block.rows, :], E[block.rows], damping[block.rows], gain[block.rows] = done
    return X, E, damping, gain


def _settle(
    energy: RowEnergy,
    rows: Array,
    block: Block,
    damping: Array,
    steps: int,
    exclude: Array | None,
    prior: Prior | None,
) -> tuple[Array, Array, Array, Array]:
    xp, E = array_namespace(rows), rows[:, 0] * 0
    # Near its place the energy of a row is rounding, while its gradient still has digits.
    within, gain = ROUNDING * energy.kernel.diagonal(rows), E
    for _ in range(steps):
        before, trial = propose(energy, rows, block, damping, exclude, prior)
        after = energy.value(trial, exclude)
        rise = after - before
        if prior is not None:
            x, y = (xp.take_along_axis(A, block.columns, axis=1) for A in (rows, trial))
            rise = rise + prior.value(y) - prior.value(x)
        good = rise <= within  # False for NaN, so that a wild step is never taken
        rows = xp.where(good[:, None], trial, rows)
        E = xp.where(good, after, before)
        damping = xp.clip(xp.where(good, damping * 0.2, damping * 10.0), LEAST, 1 / LEAST)
        gain = xp.where(good, -rise, xp.inf)
    return rows, E, damping, gain


def propose(
    energy: RowEnergy,
    rows: Array,
    block: Block,
    damping: Array,
    exclude: Array | None = None,
    prior: Prior | None = None,
) -> tuple[Array, Array]:
    """Return the energy of the rows of a block, and the rows after a damped Newton step."""
    xp = array_namespace(rows)
    if energy.prefers_products(block.n_holes, rows.shape[1]):
        return _propose_products(energy, rows, block, damping, exclude, prior)
    x = xp.take_along_axis(rows, block.columns, axis=1)
    here = energy.expand(rows, block.columns, exclude)
    slope, H = here.gradient, here.hessian(block.padding, damping)
    if prior is not None:
        at = xp.arange(block.n_holes, device=device(x))
        slope, H[:, at, at] = slope + prior.slope(x), H[:, at, at] + prior.stiffness
    slope = xp.where(block.padding, 0.0, slope)
    step = xp.linalg.solve(H, -slope[:, :, None])[:, :, 0]
    return here.energy, block.put(x + step, rows)


def _propose_products(
    energy: RowEnergy,
    rows: Array,
    block: Block,
    damping: Array,
    exclude: Array | None,
    prior: Prior | None,
) -> tuple[Array, Array]:
    """Do the same by conjugate gradients."""
    xp, none = array_namespace(rows), rows * 0
    free = block.put(xp.astype(~block.padding, rows.dtype), none)
    here = energy.product(rows, free, exclude)
    stiff, slope = (here.a * damping)[:, None], 0.5 * here.gradient
    if prior is not None:
        x = xp.take_along_axis(rows, block.columns, axis=1)
        stiff = stiff + 0.5 * block.put(prior.stiffness, none)
        slope = slope + 0.5 * block.put(prior.slope(x), none)
    product = lambda V: here.product(V) + stiff * V * free  # noqa: E731
    x, residual = none, -slope
    direction, size = residual, xp.sum(residual * residual, axis=1)
    floor = size * 1e-12
    for _ in range(ITERATIONS):
        turned = product(direction)
        curvature = xp.sum(direction * turned, axis=1)
        active = (size > floor) & (curvature > 0)  # a row that is done, or not convex, stays
        if not bool(xp.any(active)):
            break
        length = xp.where(active, size / xp.where(active, curvature, 1.0), 0.0)
        x = x + length[:, None] * direction
        residual = residual - length[:, None] * turned
        new = xp.sum(residual * residual, axis=1)
        ratio = xp.where(active, new / xp.where(active, size, 1.0), 0.0)
        direction, size = residual + ratio[:, None] * direction, new
    return here.energy, rows + x
