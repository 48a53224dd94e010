"""A learned surface that completes rows one by one, whatever their number.

Every row starts at its nearest neighbour and walks down a few frozen energies. Rows that end far
from the surface try more starts; rows that their observed entries do not determine get the mean of
their plausible completions. What comes back for a row does not depend on the other rows. A training
row is its own nearest neighbour, and so comes back as it was fitted unless it finds a better place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed

from polycomplete._arrays import Array
from polycomplete._resources import Device
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.landmarks.problem import WORKER, LandmarkProblem, Resources, ladder
from polycomplete.rows import (
    EVEN,
    LOOSE,
    PLAIN,
    Block,
    Candidates,
    Holes,
    Packing,
    RowEnergy,
    Run,
    Span,
    bring_back,
    deviations,
    evenly,
    nearest,
    try_starts,
)
from polycomplete.scaling import ColumnScaler

LENDERS = 1000  # training rows among which further starts are looked for
CHUNK, CARD_CHUNK = 16384, 1 << 20  # rows at a time, memory permitting
PER_ENTRY = 200  # bytes for each entry of a chunk and its temporaries
AT_REST = 3e-6  # of a typical distance: a row whose last step was shorter is in its place
EASY, POLISH = 1e-3, 4  # damping and number of the steps of the others
DOUBT = 100.0  # a row with so many times the usual energy tries more starts
UNSURE = 0.05  # of a typical distance: a row that may be this far away looks for other places
BEYOND = 2.0  # ... if that is so many times farther than a well-determined row may be away
MEASURED = 500  # rows that show how far that is
PLAUSIBLE = 6  # starts of such a row


class Completion(NamedTuple):
    """Completed rows, what is left of their energy, the deviation of each cell, which are loose."""

    rows: Array
    energy: Array
    deviation: Array
    loose: Array

    def _marked(self, outside: Array, wild: Array, mask: Array, span: Span) -> Completion:
        """Return it with some rows marked as not determined; wild ones may be anywhere."""
        xp = array_namespace(self.rows)
        deviation = xp.maximum(self.deviation, xp.where(wild[:, None] & ~mask, span.width, 0.0))
        return self._replace(deviation=deviation, loose=self.loose | outside | wild)


@dataclass(frozen=True)
class LandmarkModel:
    """A learned surface.

    Attributes
    ----------
    scaler : ColumnScaler
        From the user's units to those of the surface.
    resources : Resources
        Threads, memory and device.
    energies : list of RowEnergy
        The same surface with decreasing smoothing.
    pool : ndarray of shape (n, m)
        Completed training rows, scaled, in random order.
    smoothing : float
        Of the last energy, relative to the mean of k(x, x).
    typical : float
        The median energy of a training row.
    floor : float
        γ of the last energy: smaller energies are as good as none.
    span : Span
        The observed range of each column, scaled.
    reach : float
        How far a row may be away that its observed entries determine well, before calibration.
    calibration : float
        What deviations are multiplied by.
    packing : Packing
        How rows are put into blocks.
    """

    scaler: ColumnScaler
    resources: Resources
    energies: list[RowEnergy]
    pool: np.ndarray
    smoothing: float
    typical: float
    floor: float
    span: Span
    reach: float = 0.0
    calibration: float = 1.0
    packing: Packing = EVEN

    @classmethod
    def learn(
        cls,
        problem: LandmarkProblem,
        X: np.ndarray,
        scaler: ColumnScaler,
        smoothing: float,
        seed: int,
    ) -> LandmarkModel:
        """Learn the surface from completed rows; those that ran away would support themselves."""
        rng = np.random.default_rng(seed)
        span, mask = Span.of(problem.X, problem.mask), problem.mask
        kept = np.flatnonzero(~span.strays(X, mask))
        kept = kept if len(kept) else np.arange(len(X))
        X, mask = X[kept], mask[kept]
        spectrum = problem.enough(X, problem.gamma(smoothing), rng, kept)
        steps = [s for s in ladder(smoothing) if s > smoothing] + [smoothing]
        energies = [spectrum.energy(problem.gamma(s)) for s in steps]
        order = rng.permutation(len(X))
        typical = float(np.median(np.maximum(energies[-1].value(X), 0)))
        model = cls(
            scaler=scaler,
            resources=replace(problem.resources, mapping=map),
            energies=energies,
            pool=X[order],
            smoothing=smoothing,
            typical=typical,
            floor=problem.gamma(smoothing),
            span=span,
        )
        some = np.sort(order[:MEASURED])
        far = np.linalg.norm(model.deviations(X[some], mask[some]), axis=1)
        return replace(model, reach=float(np.quantile(far, 0.25)))

    @property
    def kernel(self) -> Kernel:
        """The kernel, resolved."""
        return self.energies[-1].kernel

    @property
    def rows(self) -> np.ndarray:
        """The completed training rows, scaled."""
        return self.pool

    @property
    def lenders(self) -> np.ndarray:
        """Some of them."""
        return self.pool[:LENDERS]

    @property
    def _usual(self) -> float:
        """The usual energy of a row."""
        return max(self.typical, self.floor)

    @property
    def _unit(self) -> float:
        """A typical distance of two rows."""
        xp = array_namespace(self.pool)
        return typical_distance(self.lenders, xp.ones_like(self.lenders, dtype=xp.bool))

    def calibrated(self, factor: float) -> LandmarkModel:
        """Return the model with its deviations multiplied."""
        return replace(self, calibration=self.calibration * factor)

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are not determined."""
        found = self.completion(X, mask)
        return found.rows, found.loose

    def completion(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        columns: np.ndarray | None = None,
        into: Completion | None = None,
    ) -> Completion:
        """Complete rows, in the user's units.

        ``columns`` names those of X that are worked on, all by default. Results go where ``into``
        says, which may be X itself: then there is no copy of everything.
        """
        n, m = X.shape
        if into is None:
            into = Completion(np.array(X), np.zeros(n), np.zeros((n, m)), np.zeros(n, bool))
        some: Any = slice(None) if columns is None or len(columns) == m else columns
        place = self.resources.device_for(n, joint=False)
        workers = self.resources.workers(n, place)
        chunks = list(self._chunks(n, m, place, workers))
        store = partial(_store, into, some, place)
        if workers > 1:
            self._in_processes(X, mask, some, chunks, workers, store)
        else:
            self._in_turn(X, mask, some, chunks, place, store)
        return into

    def _in_turn(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        some: Any,
        chunks: list[slice],
        place: Device,
        store: Callable[[slice, Completion], None],
    ) -> None:
        """Complete one chunk after the other, each by threads or on a card."""
        with self.resources.pool() as resources:
            here, run = self.on(place), resources.mapping if place.is_host else map

            def work(part: slice) -> None:
                given, seen = place.put(X[part, some]), place.put(mask[part, some])
                store(part, here._complete(given, seen, run))

            for _ in place.each(work, chunks):
                pass

    def _in_processes(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        some: Any,
        chunks: list[slice],
        workers: int,
        store: Callable[[slice, Completion], None],
    ) -> None:
        """Complete several chunks at a time, each by a process of its own.

        Threads wait for each other between the many small products of a step.
        """
        alone = replace(self, resources=replace(self.resources, n_jobs=1))
        jobs = Parallel(n_jobs=workers, return_as="generator", max_nbytes=None)
        work = delayed(LandmarkModel._alone)
        done = jobs(work(alone, X[part, some], mask[part, some]) for part in chunks)
        for part, found in zip(chunks, done, strict=True):
            store(part, found)

    def _alone(self, X: np.ndarray, mask: np.ndarray) -> Completion:
        """Complete a chunk in this process."""
        with self.resources.pool() as here:
            return self._complete(X, mask, here.mapping)

    def on(self, place: Device) -> LandmarkModel:
        """Return the model with its arrays on a device."""
        if place.is_host:
            return self
        put = place.put
        return replace(
            self,
            scaler=ColumnScaler(put(self.scaler.centre), put(self.scaler.scale)),
            energies=[
                replace(energy, landmarks=put(energy.landmarks), factor=put(energy.factor))
                for energy in self.energies
            ],
            pool=put(self.pool),
            span=Span(put(self.span.low), put(self.span.high)),
            packing=self.resources.packing(place, len(self.energies[-1].landmarks)),
        )

    def distance(self, X: np.ndarray) -> np.ndarray:
        """Return how far complete rows lie from the surface: their energy, in usual energies."""
        with self.resources.pool() as here:
            chunks = list(self._chunks(len(X), X.shape[1], Device(), 1))
            E = here.mapping(lambda at: evenly(self.energies[-1], self.scaler.apply(X[at])), chunks)
            return np.maximum(np.concatenate(list(E)), 0) / self._usual

    def deviations(self, X: np.ndarray, mask: np.ndarray, run: Run = map) -> np.ndarray:
        """Return how far each cell of rows that were completed, scaled, may be off."""
        return self.calibration * replace(self, packing=PLAIN)._measure(Holes(mask), X, run)[0]

    def settled(self, X: np.ndarray, mask: np.ndarray, run: Run = map) -> Completion:
        """Judge rows that were completed jointly, scaled; only those not determined change."""
        joint, rows = replace(self, packing=PLAIN), X.copy()
        energy = np.maximum(self.energies[-1].value(X), 0)
        strays = joint._bring_back(rows, mask, energy, run)
        measured = joint._measure(Holes(mask), rows, run)
        return joint._blend(rows, mask, energy, *measured, run)._marked(*strays, mask, self.span)

    def _chunks(self, n: int, m: int, place: Device, workers: int) -> Iterator[slice]:
        share = self.resources.bytes_for_blocks(place) / workers - (WORKER if workers > 1 else 0)
        size = int(share / (PER_ENTRY * m))
        size = max(64, min(CHUNK if place.is_host else CARD_CHUNK, size))
        return (slice(begin, begin + size) for begin in range(0, n, size))

    def _complete(self, X: Array, mask: Array, run: Run) -> Completion:
        """Complete rows, in the user's units; their holes may hold anything."""
        xp = array_namespace(X)
        X = self.scaler.apply_observed(X, mask)
        holes = Holes(mask, self.packing)
        rows, energy, going = xp.asarray(X, copy=True), X[:, 0] * 0, mask[:, 0] & False
        done = run(partial(self._walk, X, mask), holes.blocks)
        for block, (found, E, moves) in zip(holes.blocks, done, strict=True):
            rows[block.rows, :], energy[block.rows], going[block.rows] = found, E, moves
        self._polish(rows, mask, energy, xp.nonzero(going)[0], run)
        hard = xp.nonzero(energy > DOUBT * self._usual)[0]
        if hard.shape[0]:
            some, seen = xp.take(X, hard, axis=0), xp.take(mask, hard, axis=0)
            packing = self.packing
            tried = try_starts(self.energies, some, seen, self.lenders, packing=packing, run=run)
            found, lowest = tried.best()
            better = lowest < xp.take(energy, hard)
            rows[hard[better], :], energy[hard[better]] = found[better, :], lowest[better]
        strays = self._bring_back(rows, mask, energy, run)
        measured = self._measure(holes, rows, run)
        blended = self._blend(rows, mask, energy, *measured, run)._marked(*strays, mask, self.span)
        scaled = blended.deviation * self.scaler.scale
        return blended._replace(rows=self.scaler.undo(blended.rows), deviation=scaled)

    def _walk(self, X: Array, mask: Array, block: Block) -> tuple[Array, Array, Array]:
        """Complete one block from the nearest neighbour of each row; say which still move."""
        xp = array_namespace(X)
        rows, seen = xp.take(X, block.rows, axis=0), xp.take(mask, block.rows, axis=0)
        neighbours = nearest(rows, seen, self.pool, 1)[:, 0]
        rows = xp.where(seen, rows, xp.take(self.pool, neighbours, axis=0))
        begin, lowest = rows, self.energies[-1].value(rows)
        damping, E, before = rows[:, 0] * 0 + 0.1, lowest, rows
        for energy in (*self.energies, self.energies[-1]):
            before = rows
            rows, E, damping = block.settle(energy, rows, damping, 1)
        moved = xp.sum((rows - before) ** 2, axis=1)
        going = (moved > (AT_REST * self._unit) ** 2) | (moved == 0)  # 0: a step that was refused
        stays = lowest <= E  # coarse energies lead a row away that begins in its place
        E = xp.where(stays, lowest, E)
        return xp.where(stays[:, None], begin, rows), xp.clip(E, 0.0, None), going & ~stays

    def _polish(self, rows: Array, mask: Array, energy: Array, who: Array, run: Run) -> None:
        """Let rows that still move come to rest; writes into rows and energy."""
        if not who.shape[0]:
            return
        xp = array_namespace(rows)
        holes, some = Holes(xp.take(mask, who, axis=0), self.packing), xp.take(rows, who, axis=0)
        damping = some[:, 0] * 0 + EASY
        rows[who, :], E, _ = holes.settle(self.energies[-1], some, damping, POLISH, run)
        energy[who] = xp.clip(E, 0.0, None)

    def _bring_back(self, rows: Array, mask: Array, energy: Array, run: Run) -> tuple[Array, Array]:
        """Start rows that ran away again, at coarser and coarser smoothings; writes into both."""
        xp = array_namespace(rows)

        def again(level: int, who: Array) -> Array:
            some, seen = xp.take(rows, who, axis=0), xp.take(mask, who, axis=0)
            lenders, packing, models = self.lenders, self.packing, self.energies[:level]
            found, lowest = try_starts(models, some, seen, lenders, packing=packing, run=run).best()
            energy[who] = xp.clip(lowest, 0.0, None)
            return found

        value, limit = self.energies[-1].value, DOUBT * self._usual
        ways = [partial(again, level) for level in range(len(self.energies), 0, -1)]
        return bring_back(self.span, rows, mask, lambda some: value(some) > limit, ways)

    def _measure(self, holes: Holes, rows: Array, run: Run) -> tuple[Array, Array]:
        """Return how far each cell may be off, and which rows are loose."""
        xp = array_namespace(rows)
        into, reach = xp.zeros_like(rows), rows[:, 0] * 0
        work = partial(deviations, self.energies[-1], rows, budget=self._usual)
        for block, (found, far) in zip(holes.blocks, run(work, holes.blocks), strict=True):
            into[block.rows, :] = block.fill(found, xp.take(into, block.rows, axis=0))
            reach[block.rows] = far
        return into, reach > LOOSE * self._unit

    def _blend(
        self, rows: Array, mask: Array, energy: Array, deviation: Array, loose: Array, run: Run
    ) -> Completion:
        """Give rows that may be elsewhere the mean of their plausible completions."""
        xp = array_namespace(rows)
        least = max(UNSURE * self._unit, BEYOND * self.reach)
        far = xp.sum(deviation**2, axis=1) > least**2
        who = xp.nonzero(far)[0]
        if who.shape[0]:
            judges, packing = self.energies[-2:], self.packing
            some, seen, E = (xp.take(A, who, axis=0) for A in (rows, mask, energy))
            tried = try_starts(judges, some, seen, self.lenders, PLAUSIBLE, 2, packing, run)
            both = Candidates(
                xp.concat([some[:, None], tried.rows], axis=1),
                xp.concat([E[:, None], xp.clip(tried.energy, 0.0, None)], axis=1),
            )
            mixed, ambiguous = both.blend(self._usual, self._unit)
            rows[who, :] = xp.where(seen | ~ambiguous[:, None], some, mixed)
        return Completion(rows, energy, deviation * self.calibration, loose)


def _store(into: Completion, some: Any, place: Device, part: slice, found: Completion) -> None:
    """Write what was found for a part of the rows where it belongs."""
    for array, values in zip(into, found, strict=True):
        if array.ndim == 1 or isinstance(some, slice):
            place.copy(values, array[part])
        else:
            array[part, some] = place.get(values)
