"""The posterior of a row under a frozen model: the minima of its energy, read as a mixture.

With T the usual energy of a row, a row may be anywhere where its energy is not much above. From a
few starts Levenberg–Marquardt finds the minima x_k of ``U = E + T/2 |(x − mean of starts)/2s|²``, s
the spreads of the columns. At the temperature ``f² T_row`` each is a Gaussian of covariance
``(H_k/(f² T_row) + 1/(2s)²)⁻¹`` and weight ``exp(−(U_k − min U)/(f² T_row))``, where
``T_row = T + min E``: a row off the surface is hotter. Completion and standard deviation are those
of the mixture; a row is determined if its deviations are small beside the spreads. The factor f is
calibrated on held-out entries; the deviation between places is that at f = 1, where f is smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._devices import ROUNDING, Array, median
from polycomplete._resources import Run
from polycomplete.rows.energy import RowEnergy
from polycomplete.rows.steps import EVEN, EVEN_ROWS, PLAIN, Block, Holes, Packing, Prior, settle

STARTS = 10  # neighbors from which minima are looked for
DETERMINED = 0.3  # of the spreads: a row with a smaller deviation is determined
STEPS = (3, 2, 3)  # of Levenberg–Marquardt; converged rows leave in between
EASY = 1e-3  # their first damping
GAIN = 0.01  # of T: differences of the energy that mean nothing
PRIOR = 2.0  # in spreads: width of the prior at the starts, and largest deviation
NARROWEST = 1e-6  # of the largest spread: the least that a column counts with
WIDE = 128  # more holes than these: deviations follow from the kernel's metric alone


Curvatures = list[tuple[Block, Array]]


class Completion(NamedTuple):
    """Completed rows, the deviation of each entry, their energy, and which are determined."""

    rows: Array
    std: Array
    energy: Array
    determined: Array

    @classmethod
    def blank(cls, X: np.ndarray) -> Completion:
        """Return one of rows of which nothing is known yet: deviations are NaN."""
        n = len(X)
        return cls(X.copy(), np.full(X.shape, np.nan), np.full(n, np.nan), np.zeros(n, dtype=bool))

    def store(self, rows: np.ndarray | slice, found: Completion) -> None:
        """Write what was found for some of the rows."""
        for into, values in zip(self, found, strict=True):
            into[rows] = values


@dataclass(frozen=True)
class Minima:
    """Minima of the energies of rows: pairs of a row and one of its starts, in this order.

    ``table`` (n, k) has the number of each pair, −1 where there is none; ``rows`` and ``energy``
    are those of the pairs, ``height`` is U. ``joint`` holds rows that were completed jointly, and
    ``cost`` by how much their energy exceeds that of the minimum they lead to.
    """

    of: Array
    table: Array
    rows: Array
    energy: Array
    height: Array
    joint: Array | None = None
    cost: Array | None = None

    def lowest(self) -> Array:
        """Return the lowest energy of each row, not negative."""
        xp = array_namespace(self.energy)
        return xp.clip(xp.min(self._spread(self.energy), axis=1), 0.0, None)

    def best(self) -> tuple[Array, Array]:
        """Return the minimum with the lowest energy of each row, and that energy."""
        xp = array_namespace(self.energy)
        at = xp.argmin(self._spread(self.energy), axis=1)[:, None]
        pair = xp.take_along_axis(self.table, at, axis=1)[:, 0]
        return xp.take(self.rows, pair, axis=0), xp.take(self.energy, pair)

    def _spread(self, values: Array) -> Array:
        """Return a number of each pair by row and start, infinite where there is none."""
        xp = array_namespace(values)
        flat = xp.reshape(xp.clip(self.table, 0, None), (-1,))
        return xp.where(self.table < 0, xp.inf, xp.reshape(xp.take(values, flat), self.table.shape))


@dataclass(frozen=True)
class Posterior:
    """How rows are completed under a frozen model.

    Attributes
    ----------
    energy : RowEnergy
        The surface.
    pool : array of shape (r, m)
        Complete rows to start from; the landmarks, where their own places are left out.
    spread : array of shape (m,)
        The standard deviations of the columns.
    usual : float
        T, the usual energy of a row.
    factor : float
        f: deviations are larger than the curvature says by this factor.
    packing : Packing
        How rows are put into blocks.
    """

    energy: RowEnergy
    pool: Array
    spread: Array
    usual: float
    factor: float = 1.0
    packing: Packing = EVEN

    @classmethod
    def learned(cls, energy: RowEnergy, X: Array, mask: Array, energies: Array) -> Self:
        """Return what completed rows show of others; T is the median of the rows' energies."""
        rounding = ROUNDING * float(np.max(energy.kernel.diagonal(X)))
        usual = max(float(np.median(energies)), rounding)
        return cls(energy, X, spreads(X, mask), usual, packing=PLAIN)

    def on(self, put: Callable[[Array], Array], packing: Packing) -> Self:
        """Return it with its arrays elsewhere."""
        energy = replace(
            self.energy, landmarks=put(self.energy.landmarks), factor=put(self.energy.factor)
        )
        pool, spread = put(self.pool), put(self.spread)
        return replace(self, energy=energy, pool=pool, spread=spread, packing=packing)

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

        ``exclude`` names the landmark each row takes the place of; ``joint`` says that the holes of
        X hold a joint completion, which is the first start and stands for its minimum.
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
        """Return the minima of each row from its starts."""
        xp = array_namespace(X)
        starts = self._starts(X, mask, exclude, joint)
        table, of, number = _pairs(self._apart(starts, mask))
        rows = starts[of, number, :]
        centre = xp.take(xp.mean(starts, axis=1), of, axis=0)
        prior = Prior(centre, self.usual / (PRIOR * self.spread) ** 2)
        seen = xp.take(mask, of, axis=0)
        own = None if exclude is None else xp.take(exclude, of)
        E, damping = rows[:, 0] * 0, rows[:, 0] * 0 + EASY
        active = xp.arange(rows.shape[0], device=device(rows))
        for steps in STEPS:
            holes = Holes(xp.take(seen, active, axis=0), self.packing)
            pull = Prior(xp.take(centre, active, axis=0), prior.stiffness)
            mine = None if own is None else xp.take(own, active)
            some, damped = xp.take(rows, active, axis=0), xp.take(damping, active)
            some, E[active], damped, gain = settle(
                self.energy, some, holes, damped, steps, exclude=mine, prior=pull, run=run
            )
            rows[active, :], damping[active] = some, damped
            active = active[gain > GAIN * self.usual]
            if not active.shape[0]:
                break
        pull = 0.5 * xp.sum(prior.stiffness * xp.where(seen, 0.0, rows - centre) ** 2, axis=1)
        found = Minima(of, table, rows, E, E + pull)
        if not joint:
            return found
        cost = self.energy.value(X, exclude) - xp.take(E, table[:, 0])
        return replace(found, joint=X, cost=cost)

    def _starts(self, X: Array, mask: Array, exclude: Array | None, joint: bool) -> Array:
        """Return the starts of each row, (n, k, m), the nearest neighbors' first."""
        xp, (n, m) = array_namespace(X), X.shape
        k = max(1, min(STARTS, self.pool.shape[0] - (exclude is not None)))
        size = self.packing.rows(m)
        size = size if self.packing.even else max(1, min(n, size))
        near = nearest(X, mask, self.pool, k, exclude, size)
        borrowed = xp.reshape(xp.take(self.pool, xp.reshape(near, (-1,)), axis=0), (n, k, m))
        starts = xp.where(mask[:, None, :], X[:, None, :], borrowed)
        return xp.concat([X[:, None, :], starts], axis=1) if joint else starts

    def _apart(self, starts: Array, mask: Array) -> Array:
        """Return which starts are far enough from those before them to end elsewhere, (n, k).

        Two places nearer than twice the deviation of a determined row leave it determined.
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
        """Read the minima of each row as a mixture.

        Their ``curvature`` is the same whatever the factor: readings of some minima can share it.
        """
        xp, lowest = array_namespace(mask), found.lowest()
        heat = self.usual + lowest
        if curvature is None:
            curvature = self.curvature(found, mask, exclude=exclude, run=run)
        temperature = self.factor**2 * heat
        variance = self._variances(found, temperature, curvature)
        first = found.table[:, 0]
        x, v = xp.take(found.rows, first, axis=0), xp.take(variance, first, axis=0)
        holes = xp.astype(~mask, x.dtype)
        count = xp.clip(xp.sum(holes, axis=1), 1.0, None)
        if found.joint is not None:
            # The joint completion stands for its minimum where that is hardly lower, and near.
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
        """Return each block of minima with the second derivatives of their energies.

        (g, k, k) in units of the largest deviations; of wide rows by their metric alone, (g,).
        """
        xp, kernel = array_namespace(mask), self.energy.kernel
        own = None if exclude is None else xp.take(exclude, found.of)

        def work(block: Block) -> Array:
            rows = xp.take(found.rows, block.rows, axis=0)
            if block.n_holes > WIDE:
                return 2 * xp.clip(kernel.metric(rows)[0], self.energy.least, None)
            mine, most = None if own is None else xp.take(own, block.rows), self._most(block)
            here = self.energy.expand(rows, block.columns, mine)
            # A padded entry keeps to itself.
            return here.hessian(block.padding, 0.0) * most[:, :, None] * most[:, None, :]

        blocks = Holes(xp.take(mask, found.of, axis=0), self.packing).blocks
        return list(zip(blocks, run(work, blocks), strict=True))

    def _most(self, block: Block) -> Array:
        """Return the largest deviations of the entries of a block."""
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
        kept = [table[:, 0] >= 0]
        for j in range(1, table.shape[1]):
            new = table[:, j] >= 0
            for i, before in enumerate(kept):
                same = _near(x[:, j, :], x[:, i, :], v[:, i, :], count) <= 1
                U[:, i] = xp.where(before & new & same, xp.minimum(U[:, i], U[:, j]), U[:, i])
                new &= ~(before & same)
            kept.append(new)
        U = xp.where(xp.stack(kept, axis=1), U, xp.inf)
        x[:, 0, :] = xp.take(best, some, axis=0)
        V = xp.where(xp.isfinite(U), xp.reshape(xp.take(found.energy, flat), table.shape), xp.inf)
        U, V = ((A - xp.min(A, axis=1)[:, None]) / temperature[:, None] for A in (U, V))
        # The mean of equal numbers may differ from them in the last bit: observed entries stay.
        mean = x[:, 0, :] + xp.sum(_shares(xp.exp(-U)) * (x - x[:, :1, :]), axis=1)
        # For deviations neither the prior nor a small factor rules out a minimum of about the same
        # energy: the calibration says nothing of the distance between minima.
        w = _shares(xp.exp(-V * min(self.factor**2, 1.0)))
        return mean, xp.sum(w * (v + (x - mean[:, None, :]) ** 2), axis=1)


def _shares(w: Array) -> Array:
    """Return weights of rows (n, k) as shares of one, (n, k, 1)."""
    return (w / array_namespace(w).sum(w, axis=1)[:, None])[:, :, None]


def spreads(X: Array, mask: Array | None = None) -> Array:
    """Return the standard deviations of the (observed) entries of the columns, never zero."""
    xp = array_namespace(X)
    seen = xp.ones_like(X) if mask is None else xp.astype(mask, X.dtype)
    count = xp.clip(xp.sum(seen, axis=0), 1.0, None)
    mean = xp.sum(X * seen, axis=0) / count
    spread = xp.sqrt(xp.sum(((X - mean) * seen) ** 2, axis=0) / count)
    return xp.clip(spread, NARROWEST * float(xp.max(spread)) or 1.0, None)


def _flat(A: Array) -> Array:
    """Return the entries of A one after the other."""
    return array_namespace(A).reshape(A, (-1,))


def _near(x: Array, y: Array, variance: Array, count: Array) -> Array:
    """Return the mean squared distance of two places in units of a deviation."""
    xp = array_namespace(x)
    off = (x - y) ** 2 / xp.where(variance > 0, variance, 1.0)
    return xp.sum(xp.where(variance > 0, off, 0.0), axis=1) / count


def _pairs(kept: Array) -> tuple[Array, Array, Array]:
    """Return the number of each pair of a row and a start, and the row and start of each."""
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

    ``exclude`` says where each row itself stands in the pool. Rows go ``size`` at a time, the last
    ones padded with the first.
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


# A row with this many times the median energy is restarted, and moves where its own falls as much.
SUSPICIOUS = 2.0
FOLDS = 3  # parts of the rows, each judged by a model of the others


def folds(n: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the numbers of n rows in random parts, none of them empty."""
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

    ``exclude`` names the landmark each row takes the place of, if it is one; differences of the
    energy below ``floor`` mean nothing.
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
    """Restart suspicious rows, each fold judged by a model of the others; see :func:`restart`.

    ``given`` returns the model of the rows with these numbers.
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
