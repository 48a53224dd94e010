"""Levenberg–Marquardt steps of rows on their holes, in blocks of rows with equally many holes.

The one loop of its kind: under any row energy, with or without the row's own landmark, with or
without a prior. Rows with many holes take a form without any matrix of a row. Every row is worked
on independently, and in even blocks its bits do not depend on the rows that come with it.
"""

from __future__ import annotations

from typing import NamedTuple

from array_api_compat import array_namespace, device

from polycomplete._arrays import ROUNDING, Array
from polycomplete.rows.energy import RowEnergy
from polycomplete.rows.holes import Block, Holes, Run

LEAST = 1e-9  # damping; the largest is one over it
ITERATIONS = 5  # of the conjugate gradients: stopped early, they still point downwards


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
        going = (size > floor) & (curvature > 0)  # a row that is done, or not convex, stays
        if not bool(xp.any(going)):
            break
        length = xp.where(going, size / xp.where(going, curvature, 1.0), 0.0)
        x = x + length[:, None] * direction
        residual = residual - length[:, None] * turned
        new = xp.sum(residual * residual, axis=1)
        ratio = xp.where(going, new / xp.where(going, size, 1.0), 0.0)
        direction, size = residual + ratio[:, None] * direction, new
    return here.energy, rows + x
