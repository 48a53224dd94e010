"""The posterior of a row under a frozen model: a mixture of Gaussians at the minima of its energy.

Let T be the usual energy of a row, and s the spreads of the columns. From a few starts,
Levenberg–Marquardt finds the minima x_k of ``U = E + T/2 |(x − mean of starts)/2s|²``. At the
temperature ``f² T_row`` each gives a Gaussian with covariance ``(H_k/(f² T_row) + 1/(2s)²)⁻¹`` and
weight ``exp(−(U_k − min U)/(f² T_row))``, where ``T_row = T_near + min E`` and T_near is the
geometric mean of the energies of the neighbors it starts from: rows have a higher temperature where
the surface is less certain, or if they are farther from it. Completion and standard deviation are
those of the mixture; a row is determined if its deviations are small compared with the spreads. The
factor f is calibrated on held-out entries; the deviation between minima uses f = 1 if f is smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._devices import ROUNDING, Array, median
from polycomplete._resources import Run
from polycomplete.rows.energy import WIDE, RowEnergy
from polycomplete.rows.steps import (
    DAMPING,
    EVEN,
    EVEN_ROWS,
    PLAIN,
    Block,
    Holes,
    Packing,
    Prior,
    settle,
)

STARTS = 10  # number of neighbors to start from
DETERMINED = 0.36  # deviation, in spreads, below which five of six errors are below half a spread
STEPS = (3, 2, 3)  # Levenberg–Marquardt steps; converged rows are dropped in between
GAIN = 0.01  # smaller differences of the energy, relative to T, are ignored
PRIOR = 2.0  # width of the prior around the starts, and largest deviation, in spreads
NARROWEST = 1e-6  # lower bound of a column's spread, relative to the largest spread


Curvatures = list[tuple[Block, Array]]


class Completion(NamedTuple):
    """Completed rows, the deviation of each entry, energies, and which rows are determined."""

    rows: Array
    std: Array
    energy: Array
    determined: Array

    @classmethod
    def blank(cls, X: np.ndarray) -> Completion:
        """Return a placeholder for rows to be completed, with NaN for unknown numbers."""
        n = len(X)
        return cls(X.copy(), np.full(X.shape, np.nan), np.full(n, np.nan), np.zeros(n, dtype=bool))

    def store(self, rows: np.ndarray | slice, found: Completion) -> None:
        """Store the completion of some of the rows."""
        for into, values in zip(self, found, strict=True):
            into[rows] = values


@dataclass(frozen=True)
class Minima:
    """Minima of the energy, one for each pair of a row and one of its starts.

    ``of`` is the row of each pair, ``table`` (n, k) the index of the pair of each row and start (−1
    for none); ``rows`` and ``energy`` are the minima, ``height`` is U, ``heat`` is T_near. Jointly
    completed rows, if any, are ``joint``; ``cost`` is their energy above that of their minimum.
    """

    of: Array
    table: Array
    rows: Array
    energy: Array
    height: Array
    heat: Array
    joint: Array | None = None
    cost: Array | None = None

    def lowest(self) -> Array:
        """Return the lowest energy of each row, at least 0."""
        xp = array_namespace(self.energy)
        return xp.clip(xp.min(self._spread(self.energy), axis=1), 0.0, None)

    def best(self) -> tuple[Array, Array]:
        """Return the minimum with the lowest energy of each row, and that energy."""
        xp = array_namespace(self.energy)
        at = xp.argmin(self._spread(self.energy), axis=1)[:, None]
        pair = xp.take_along_axis(self.table, at, axis=1)[:, 0]
        return xp.take(self.rows, pair, axis=0), xp.take(self.energy, pair)

    def _spread(self, values: Array) -> Array:
        """Arrange values of pairs by row and start, infinite for no pair."""
        xp = array_namespace(values)
        flat = xp.reshape(xp.clip(self.table, 0, None), (-1,))
        return xp.where(self.table < 0, xp.inf, xp.reshape(xp.take(values, flat), self.table.shape))


@dataclass(frozen=True)
class Posterior:
    """Posterior of rows under a frozen model, which completes them.

    Attributes
    ----------
    energy : RowEnergy
        The surface.
    pool : array of shape (r, m)
        Complete rows to start from; for leave-one-out, the landmarks.
    spread : array of shape (m,)
        The standard deviations of the columns.
    usual : float
        T, the usual energy of a row.
    energies : array of shape (r,) or None
        The energies of the pool's rows, positive; None if all have the usual one.
    factor : float
        f, the calibration factor of the deviations.
    packing : Packing
        How rows are grouped into blocks.
    """

    energy: RowEnergy
    pool: Array
    spread: Array
    usual: float
    energies: Array | None = None
    factor: float = 1.0
    packing: Packing = EVEN

    @classmethod
    def learned(cls, energy: RowEnergy, X: Array, mask: Array, energies: Array) -> Self:
        """Return the posterior learned from completed rows; T is the median of their energies."""
        rounding = ROUNDING * float(np.max(energy.kernel.diagonal(X)))
        energies = np.maximum(energies, rounding)
        usual = float(np.median(energies))
        return cls(energy, X, spreads(X, mask), usual, energies, packing=PLAIN)

    def on(self, put: Callable[[Array], Array], packing: Packing) -> Self:
        """Return the posterior with its arrays on a device."""
        energy = replace(
            self.energy, landmarks=put(self.energy.landmarks), factor=put(self.energy.factor)
        )
        energies = None if self.energies is None else put(self.energies)
        pool, spread = put(self.pool), put(self.spread)
        return replace(
            self, energy=energy, pool=pool, spread=spread, energies=energies, packing=packing
        )

    def complete(
        self,
        X: Array,
        mask: Array,
        *,
        exclude: Array | None = None,
        joint: bool = False,
        run: Run = map,
    ) -> Completion:
        """Complete each row independently.

        ``exclude`` is the index of the landmark to leave out for each row. With ``joint``, X is a
        joint completion, which is the first start, and replaces its minimum if it is close to it.
        """
        found = self.minima(X, mask, exclude=exclude, joint=joint, run=run)
        return self.read(found, mask, exclude=exclude, run=run)

    def minima(
        self,
        X: Array,
        mask: Array,
        *,
        exclude: Array | None = None,
        joint: bool = False,
        run: Run = map,
    ) -> Minima:
        """Find the minima of each row from its starts."""
        xp = array_namespace(X)
        starts, heat = self._starts(X, mask, exclude, joint)
        table, of, number = _pairs(self._apart(starts, mask))
        rows = starts[of, number, :]
        center = xp.take(xp.mean(starts, axis=1), of, axis=0)
        prior = Prior(center, self.usual / (PRIOR * self.spread) ** 2)
        seen = xp.take(mask, of, axis=0)
        own = None if exclude is None else xp.take(exclude, of)
        E, damping = rows[:, 0] * 0, rows[:, 0] * 0 + DAMPING
        active = xp.arange(rows.shape[0], device=device(rows))
        for steps in STEPS:
            holes = Holes(xp.take(seen, active, axis=0), self.packing)
            pull = Prior(xp.take(center, active, axis=0), prior.stiffness)
            mine = None if own is None else xp.take(own, active)
            some, damped = xp.take(rows, active, axis=0), xp.take(damping, active)
            some, E[active], damped, gain = settle(
                self.energy, some, holes, damped, steps, exclude=mine, prior=pull, run=run
            )
            rows[active, :], damping[active] = some, damped
            active = active[gain > GAIN * self.usual]
            if not active.shape[0]:
                break
        pull = 0.5 * xp.sum(prior.stiffness * xp.where(seen, 0.0, rows - center) ** 2, axis=1)
        found = Minima(of, table, rows, E, E + pull, heat)
        if not joint:
            return found
        cost = self.energy.value(X, exclude) - xp.take(E, table[:, 0])
        return replace(found, joint=X, cost=cost)

    def _starts(
        self, X: Array, mask: Array, exclude: Array | None, joint: bool
    ) -> tuple[Array, Array]:
        """Return the starts of each row, (n, k, m), nearest neighbors first, and T_near."""
        xp, (n, m) = array_namespace(X), X.shape
        k = max(1, min(STARTS, self.pool.shape[0] - (exclude is not None)))
        size = self.packing.rows(m)
        size = size if self.packing.even else max(1, min(n, size))
        near = nearest(X, mask, self.pool, k, exclude, size)
        borrowed = xp.reshape(xp.take(self.pool, xp.reshape(near, (-1,)), axis=0), (n, k, m))
        starts = xp.where(mask[:, None, :], X[:, None, :], borrowed)
        starts = xp.concat([X[:, None, :], starts], axis=1) if joint else starts
        return starts, self._heat(near)

    def _heat(self, near: Array) -> Array:
        """Return the geometric mean of the energies of each row's neighbors."""
        xp = array_namespace(near)
        if self.energies is None:
            return self.pool[:1, 0] * 0 + self.usual
        energies = xp.reshape(xp.take(self.energies, _flat(near)), near.shape)
        return xp.exp(xp.mean(xp.log(energies), axis=1))

    def _apart(self, starts: Array, mask: Array) -> Array:
        """Return which starts differ enough from previous ones, (n, k).

        Minima closer than twice the largest deviation of a determined row leave it determined.
        """
        xp = array_namespace(starts)
        count = xp.clip(xp.sum(xp.astype(~mask, starts.dtype), axis=1), 1.0, None)
        scaled, kept = starts / self.spread, [mask[:, 0] | True]
        for j in range(1, starts.shape[1]):
            far = mask[:, 0] | True
            for i, before in enumerate(kept):
                off = xp.sum((scaled[:, j, :] - scaled[:, i, :]) ** 2, axis=1) / count
                far &= ~before | (off > (2 * DETERMINED) ** 2)
            kept.append(far)
        return xp.stack(kept, axis=1)

    def read(
        self,
        found: Minima,
        mask: Array,
        *,
        exclude: Array | None = None,
        run: Run = map,
        curvature: Curvatures | None = None,
    ) -> Completion:
        """Complete each row by the mixture of its minima.

        The ``curvature`` does not depend on the factor, so that several calls can share it.
        """
        xp, lowest = array_namespace(mask), found.lowest()
        heat = found.heat + lowest
        if curvature is None:
            curvature = self.curvature(found, mask, exclude=exclude, run=run)
        temperature = self.factor**2 * heat
        variance = self._variances(found, temperature, curvature)
        first = found.table[:, 0]
        x, v = xp.take(found.rows, first, axis=0), xp.take(variance, first, axis=0)
        holes = xp.astype(~mask, x.dtype)
        count = xp.clip(xp.sum(holes, axis=1), 1.0, None)
        if found.joint is not None:
            # The joint completion replaces its minimum if that is hardly lower, and close.
            away = _near(x, found.joint, (PRIOR * self.spread) ** 2 * holes, count)
            x = xp.where(((found.cost <= heat) & (away <= 1))[:, None], found.joint, x)
        several = xp.nonzero(xp.any(found.table[:, 1:] >= 0, axis=1))[0]
        if several.shape[0]:
            mixed = self._mix(found, variance, temperature, x, count, several)
            x[several, :], v[several, :] = mixed
        std = xp.sqrt(v) * holes
        off = xp.sum((std / self.spread) ** 2, axis=1) / count
        return Completion(x, std, lowest, off < DETERMINED**2)

    def curvature(
        self, found: Minima, mask: Array, *, exclude: Array | None = None, run: Run = map
    ) -> Curvatures:
        """Return the Hessian of the energy at each minimum, by blocks.

        (g, k, k), in units of the largest deviations; for wide rows the metric alone, (g,).
        """
        xp, kernel = array_namespace(mask), self.energy.kernel
        own = None if exclude is None else xp.take(exclude, found.of)

        def work(block: Block) -> Array:
            rows = xp.take(found.rows, block.rows, axis=0)
            if block.n_holes > WIDE:
                return 2 * xp.clip(kernel.metric(rows)[0], self.energy.least, None)
            mine, most = None if own is None else xp.take(own, block.rows), self._most(block)
            here = self.energy.expand(rows, block.columns, mine)
            # Padding is decoupled from the other entries.
            return here.hessian(block.padding, 0.0) * most[:, :, None] * most[:, None, :]

        blocks = Holes(xp.take(mask, found.of, axis=0), self.packing).blocks
        return list(zip(blocks, run(work, blocks), strict=True))

    def _most(self, block: Block) -> Array:
        """Return the largest possible deviation of each entry of a block."""
        xp = array_namespace(self.spread)
        return PRIOR * xp.reshape(xp.take(self.spread, _flat(block.columns)), block.columns.shape)

    def _variances(self, found: Minima, temperature: Array, curvature: Curvatures) -> Array:
        """Return the diagonals of the covariances at the minima, zero where observed."""
        xp, out = array_namespace(temperature), array_namespace(temperature).zeros_like(found.rows)
        each = xp.take(temperature, found.of)
        for block, H in curvature:
            most, T = self._most(block), xp.take(each, block.rows)
            if block.n_holes > WIDE:
                v = 1 / ((H / T)[:, None] + most**-2)
            else:
                at, H = xp.arange(block.n_holes, device=device(H)), H / T[:, None, None]
                H[:, at, at] += 1.0
                v = xp.linalg.diagonal(xp.linalg.inv(H))
                v = most**2 * xp.where((v > 0) & (v < 1), v, 1.0)  # else rounding
            out[block.rows, :] = block.fill(v, xp.take(out, block.rows, axis=0))
        return out

    def _mix(
        self,
        found: Minima,
        variance: Array,
        temperature: Array,
        best: Array,
        count: Array,
        some: Array,
    ) -> tuple[Array, Array]:
        """Return mean and variance of the mixtures of some rows."""
        xp = array_namespace(best)
        table, temperature, count = (
            xp.take(A, some, axis=0) for A in (found.table, temperature, count)
        )
        flat, shape = _flat(xp.clip(table, 0, None)), (*table.shape, best.shape[1])
        x = xp.reshape(xp.take(found.rows, flat, axis=0), shape)
        v = xp.reshape(xp.take(variance, flat, axis=0), shape)
        U = xp.where(table < 0, xp.inf, xp.reshape(xp.take(found.height, flat), table.shape))
        x[:, 0, :] = xp.take(best, some, axis=0)
        kept = [table[:, 0] >= 0]
        for j in range(1, table.shape[1]):
            new = table[:, j] >= 0
            for i, before in enumerate(kept):
                same = before & new & self._same(x[:, j, :], x[:, i, :], v[:, i, :], count)
                U[:, i] = xp.where(same, xp.minimum(U[:, i], U[:, j]), U[:, i])
                new &= ~same
            kept.append(new)
        U = xp.where(xp.stack(kept, axis=1), U, xp.inf)
        V = xp.where(xp.isfinite(U), xp.reshape(xp.take(found.energy, flat), table.shape), xp.inf)
        U, V = ((A - xp.min(A, axis=1)[:, None]) / temperature[:, None] for A in (U, V))
        # The mean of equal numbers may differ in the last bit.
        mean = x[:, 0, :] + xp.sum(_shares(xp.exp(-U)) * (x - x[:, :1, :]), axis=1)
        # For deviations, neither the prior nor a small factor rules out a minimum of about the
        # same energy: calibration says nothing about the distance between minima.
        w = _shares(xp.exp(-V * min(self.factor**2, 1.0)))
        return mean, xp.sum(w * (v + (x - mean[:, None, :]) ** 2), axis=1)

    def _same(self, x: Array, y: Array, variance: Array, count: Array) -> Array:
        """Return which minima x count as y: those within its deviation if that determines the row.

        Otherwise those where y is: the mean of several minima is closer to the truth than any one.
        """
        xp = array_namespace(x)
        determined = xp.sum(variance / self.spread**2, axis=1) < DETERMINED**2 * count
        return _near(x, y, variance, count) <= xp.where(determined, 1.0, GAIN)


def _shares(w: Array) -> Array:
    """Normalize the weights of each row, (n, k), to sum to one, (n, k, 1)."""
    return (w / array_namespace(w).sum(w, axis=1)[:, None])[:, :, None]


def spreads(X: Array, mask: Array | None = None) -> Array:
    """Return the standard deviation of the (observed) entries of each column, never zero."""
    xp = array_namespace(X)
    seen = xp.ones_like(X) if mask is None else xp.astype(mask, X.dtype)
    count = xp.clip(xp.sum(seen, axis=0), 1.0, None)
    mean = xp.sum(X * seen, axis=0) / count
    spread = xp.sqrt(xp.sum(((X - mean) * seen) ** 2, axis=0) / count)
    return xp.clip(spread, NARROWEST * float(xp.max(spread)) or 1.0, None)


def _flat(A: Array) -> Array:
    """Return A as a vector."""
    return array_namespace(A).reshape(A, (-1,))


def _near(x: Array, y: Array, variance: Array, count: Array) -> Array:
    """Return the mean squared distance of rows, in units of a variance."""
    xp = array_namespace(x)
    off = (x - y) ** 2 / xp.where(variance > 0, variance, 1.0)
    return xp.sum(xp.where(variance > 0, off, 0.0), axis=1) / count


def _pairs(kept: Array) -> tuple[Array, Array, Array]:
    """Enumerate pairs of a row and a start; return the table, and row and start of each pair."""
    xp = array_namespace(kept)
    of, number = xp.nonzero(kept)
    table = xp.cumulative_sum(xp.astype(_flat(kept), xp.int64)) - 1
    return xp.where(kept, xp.reshape(table, kept.shape), -1), of, number


def nearest(
    X: Array,
    mask: Array,
    pool: Array,
    k: int,
    exclude: Array | None = None,
    size: int = EVEN_ROWS,
) -> Array:
    """Return the k rows of ``pool`` nearest to each row on its observed entries, as indices (n, k).

    ``exclude`` is the index of each row itself in the pool. Rows are processed ``size`` at a time;
    the last block is padded with the first rows.
    """
    xp, n = array_namespace(X), X.shape[0]
    where, squares = device(X), (pool**2).T
    found = xp.empty((n, k), dtype=xp.int64, device=where)
    for begin in range(0, n, size):
        at = xp.arange(begin, begin + size, device=where) % n
        inside = min(size, n - begin)
        seen = xp.take(mask, at, axis=0)
        known = xp.where(seen, xp.take(X, at, axis=0), 0.0)
        distance = xp.astype(seen, X.dtype) @ squares - 2 * known @ pool.T
        if exclude is not None:
            distance[xp.arange(size, device=where), xp.take(exclude, at)] = xp.inf
        for j in range(k):
            one = xp.argmin(distance, axis=1)
            distance[xp.arange(size, device=where), one] = xp.inf
            found[begin : begin + inside, j] = one[:inside]
    return found


# Rows with this many times the median energy are restarted, and moved if theirs falls as much.
SUSPICIOUS = 2.0
FOLDS = 3  # each is judged by a model of the others


def folds(n: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the indices of n rows in random folds, none of them empty."""
    parts = np.array_split(rng.permutation(n), count)
    return [np.sort(part) for part in parts if len(part)]


def restart(
    posterior: Posterior,
    X: Array,
    mask: Array,
    floor: float,
    exclude: Array | None = None,
    run: Run = map,
) -> tuple[Array, int]:
    """Restart suspicious rows from their neighbors; return the rows and how many moved.

    ``exclude`` is the index of the landmark to leave out for each row, if any; differences of the
    energy below ``floor`` are ignored.
    """
    xp = array_namespace(X)
    now = xp.clip(posterior.energy.value(X, exclude), 0.0, None) + floor
    worst = (now > SUSPICIOUS * median(now)) & ~xp.all(mask, axis=1)
    suspects = xp.nonzero(worst)[0]
    if not suspects.shape[0]:
        return X, 0
    some, seen = xp.take(X, suspects, axis=0), xp.take(mask, suspects, axis=0)
    own = None if exclude is None else xp.take(exclude, suspects)
    found, energy = posterior.minima(some, seen, exclude=own, run=run).best()
    better = xp.clip(energy, 0.0, None) + floor < xp.take(now, suspects) / SUSPICIOUS
    X = xp.asarray(X, copy=True)
    X[suspects[better], :] = found[better, :]
    return X, int(xp.sum(xp.astype(better, xp.int64)))


def restart_by_folds(
    given: Callable[[np.ndarray], Posterior],
    X: Array,
    mask: Array,
    floor: float,
    rng: np.random.Generator,
    run: Run = map,
) -> tuple[Array, int]:
    """Restart suspicious rows of each fold, given the posterior of the other folds.

    ``given`` returns the posterior learned from the rows with these indices; see :func:`restart`.
    """
    xp, moved = array_namespace(X), 0
    better = xp.asarray(X, copy=True)
    for part in folds(X.shape[0], FOLDS, rng):
        others = np.setdiff1d(np.arange(X.shape[0]), part)
        if not len(others):
            break
        at = xp.asarray(part, device=device(X))
        rows, seen = xp.take(X, at, axis=0), xp.take(mask, at, axis=0)
        better[at, :], more = restart(given(others), rows, seen, floor, run=run)
        moved += more
    return better, moved
