"""Levenberg–Marquardt steps on the missing entries of rows, in blocks with equally many holes.

They take any row energy, with or without the row's own landmark or a prior; for rows with many
holes they are matrix-free. Each row is completed independently; with even blocks its bits do not
depend on the other rows, either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from array_api_compat import array_namespace, device

from polycomplete._devices import ROUNDING, Array, Device
from polycomplete._resources import FULL, TILE, Resources, Run
from polycomplete.rows.energy import ITERATIONS, RowEnergy

DAMPING = 1e-3  # in units of the kernel's metric, where a quadratic model can be trusted
LEAST = DAMPING**3  # smallest damping; the largest is its inverse
BLOCK_ENTRIES = 16384  # rows × columns of a block: large enough to make call overhead small
EVEN_ROWS = 5 * TILE  # rows of a block of fixed shape
#: Minimum number of rows in a block: with fewer, call overhead outweighs the savings.
FEW = 2 * TILE


@dataclass(frozen=True)
class Block:
    """Rows and the columns of their holes; rows with fewer holes are padded with observed entries.

    Attributes
    ----------
    rows : array of int, shape (g,)
        Indices of the rows.
    columns : array of int, shape (g, k)
        The columns of the holes of each row, then those of the padding.
    padding : array of bool, shape (g, k)
        Which of these columns are padding.
    """

    rows: Array
    columns: Array
    padding: Array

    @property
    def n_holes(self) -> int:
        """Number of holes of a row, including padding."""
        return int(self.padding.shape[1])

    def gather(self, A: Array) -> Array:
        """Return the entries of A in the holes and the padding."""
        xp = array_namespace(A)
        return xp.take_along_axis(xp.take(A, self.rows, axis=0), self.columns, axis=1)

    def fill(self, values: Array, rows: Array) -> Array:
        """Return rows with values in the holes."""
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
    """How rows are grouped into blocks.

    Attributes
    ----------
    even : bool
        Whether the shape of a block depends only on a row's own number of holes, so that the bits
        of a row do not depend on the other rows. Incomplete blocks are padded.
    entries : int
        Rows × columns of a block. By default its derivatives fit the cache of a few cores; GPUs
        need larger blocks.
    smallest : int
        Minimum number of rows with the same number of holes for a block of their own: with fewer,
        call overhead outweighs the savings in padding.
    """

    even: bool = False
    entries: int = BLOCK_ENTRIES
    smallest: int = FEW

    @classmethod
    def on(cls, device: Device, resources: Resources, landmarks: int) -> Packing:
        """Return the packing for a device: blocks that fit the cache of the host, or large ones."""
        if device.is_host:
            return cls()
        # 100 bytes for each entry of a block and each landmark.
        entries = resources.bytes_for_blocks(device) / (100 * landmarks)
        return cls(entries=int(min(80 * FULL, entries)), smallest=FULL)

    def rows(self, columns: int) -> int:
        """Return how many rows to process at a time, regardless of their holes."""
        return max(EVEN_ROWS, self.entries // columns // TILE * TILE)


#: Even blocks are smaller, because calls with a few rows are padded to them.
PLAIN, EVEN = Packing(), Packing(even=True, entries=2560, smallest=TILE)


@dataclass(frozen=True)
class Holes:
    """Missing entries of rows, in blocks.

    Attributes
    ----------
    mask : array of bool, shape (n, m)
        True where observed; on the device of the rows.
    packing : Packing
        How rows are grouped into blocks.

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
        """Blocks of rows with about equally many holes."""
        xp, where = array_namespace(self.mask), device(self.mask)
        count = xp.sum(xp.astype(~self.mask, xp.int64), axis=1)
        # Holes first, then the observed entries, as padding.
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
        """Yield rows with about equally many holes, and their maximum."""
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
        """Yield equally many rows each time; the last block is padded with its first rows."""
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
    """Weak Gaussian prior ``½ Σ stiffness (x − centre)²`` of rows, (m,) and (n, m)."""

    centre: Array
    stiffness: Array

    def of(self, block: Block) -> Prior:
        """Return the prior of the holes of a block, both (g, k)."""
        xp, columns = array_namespace(self.centre), block.columns
        held = xp.take(self.stiffness, xp.reshape(columns, (-1,)))
        held = xp.where(block.padding, 0.0, xp.reshape(held, columns.shape))
        return Prior(block.gather(self.centre), held)

    def value(self, x: Array) -> Array:
        """Return its value for entries in the holes."""
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

    A step is accepted if the energy does not rise; the damping of a row, in units of the kernel's
    metric, falls after accepted steps and rises after rejected ones. ``exclude`` is the index of
    the landmark to leave out for each row. Returns rows, energies (without the prior, 0 for
    complete rows), dampings, and the decrease by the last step, infinite if it was rejected.
    """
    xp = array_namespace(X)
    given = X, damping  # blocks may be padded with rows of a block that is already done
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
    # Near a minimum the energy is dominated by rounding, while the gradient is still accurate.
    within, gain = ROUNDING * energy.kernel.diagonal(rows), E
    for _ in range(steps):
        before, trial = propose(energy, rows, block, damping, exclude, prior)
        after = energy.value(trial, exclude)
        rise = after - before
        if prior is not None:
            x, y = (xp.take_along_axis(A, block.columns, axis=1) for A in (rows, trial))
            rise = rise + prior.value(y) - prior.value(x)
        good = rise <= within  # False for NaN, so that such a step is rejected
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
    """Return the energy of the rows of a block, and the rows after a damped Gauss–Newton step."""
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
    """Propose the step matrix-free, by conjugate gradients."""
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
        active = (size > floor) & (curvature > 0)  # skip rows that converged or are not convex
        if not bool(xp.any(active)):
            break
        length = xp.where(active, size / xp.where(active, curvature, 1.0), 0.0)
        x = x + length[:, None] * direction
        residual = residual - length[:, None] * turned
        new = xp.sum(residual * residual, axis=1)
        ratio = xp.where(active, new / xp.where(active, size, 1.0), 0.0)
        direction, size = residual + ratio[:, None] * direction, new
    return here.energy, rows + x
