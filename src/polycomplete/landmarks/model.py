"""A learned surface that completes rows one by one, whatever their number.

Every row starts at its nearest neighbour and walks down a few frozen energies. Rows that end far
from the surface try more starts; rows that their observed entries do not determine get the mean of
their plausible completions. What comes back for a row does not depend on the other rows. A training
row is its own nearest neighbour, and so comes back as it was fitted unless it finds a better place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from polycomplete.kernels import Kernel, typical_distance
from polycomplete.landmarks.engine import Landmark, LandmarkProblem, ladder
from polycomplete.rows import (
    LOOSE,
    Block,
    Candidates,
    Holes,
    RowEnergy,
    Run,
    deviations,
    evenly,
    nearest,
    try_starts,
)
from polycomplete.scaling import ColumnScaler

__all__ = ["Completion", "LandmarkModel"]

LENDERS = 1000  # training rows among which further starts are looked for
CHUNK = 16384  # rows at a time, memory permitting
PER_ENTRY = 200  # bytes for each entry of a chunk and its temporaries
LAST_STEPS = 2
DOUBT = 100.0  # a row with so many times the usual energy tries more starts
UNSURE = 0.05  # of a typical distance: a row that may be this far away looks for other places
PLAUSIBLE = 6  # starts of such a row


class Completion(NamedTuple):
    """Completed rows, what is left of their energy, the deviation of each cell, which are loose."""

    rows: np.ndarray
    energy: np.ndarray
    deviation: np.ndarray
    loose: np.ndarray


@dataclass(frozen=True)
class LandmarkModel:
    """A learned surface.

    Attributes
    ----------
    scaler : ColumnScaler
        From the user's units to those of the surface.
    engine : Landmark
        Threads and memory.
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
    calibration : float
        What deviations are multiplied by.
    """

    scaler: ColumnScaler
    engine: Landmark
    energies: list[RowEnergy]
    pool: np.ndarray
    smoothing: float
    typical: float
    floor: float
    calibration: float = 1.0

    @classmethod
    def learn(
        cls,
        problem: LandmarkProblem,
        X: np.ndarray,
        scaler: ColumnScaler,
        smoothing: float,
        seed: int,
    ) -> LandmarkModel:
        """Learn the surface from completed rows."""
        rng = np.random.default_rng(seed)
        spectrum = problem.enough(X, problem.gamma(smoothing), rng)
        steps = [s for s in ladder(smoothing) if s > smoothing] + [smoothing]
        energies = [spectrum.energy(problem.gamma(s)) for s in steps]
        order = rng.permutation(len(X))
        typical = float(np.median(np.maximum(energies[-1].value(X), 0)))
        return cls(
            scaler=scaler,
            engine=clone(problem.engine),  # without its threads
            energies=energies,
            pool=X[order],
            smoothing=smoothing,
            typical=typical,
            floor=problem.gamma(smoothing),
        )

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
        return typical_distance(self.lenders, np.ones_like(self.lenders, dtype=bool))

    def calibrated(self, factor: float) -> LandmarkModel:
        """Return the model with its deviations multiplied."""
        return replace(self, calibration=self.calibration * factor)

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are not determined."""
        found = self.completion(X, mask)
        return found.rows, found.loose

    def completion(self, X: np.ndarray, mask: np.ndarray) -> Completion:
        """Complete rows, in the user's units."""
        with self.engine.pool() as engine:
            parts = [
                self._complete(self._scaled(X[at], mask[at]), mask[at], engine.run)
                for at in self._chunks(len(X), X.shape[1])
            ]
        rows, energy, deviation, loose = map(np.concatenate, zip(*parts, strict=True))
        return Completion(self.scaler.undo(rows), energy, deviation * self.scaler.scale, loose)

    def distance(self, X: np.ndarray) -> np.ndarray:
        """Return how far complete rows lie from the surface: their energy, in usual energies."""
        with self.engine.pool() as engine:
            chunks = list(self._chunks(len(X), X.shape[1]))
            E = engine.run(lambda at: evenly(self.energies[-1], self.scaler.apply(X[at])), chunks)
            return np.maximum(np.concatenate(list(E)), 0) / self._usual

    def settled(self, X: np.ndarray, mask: np.ndarray, run: Run = map) -> Completion:
        """Judge rows that were completed jointly, scaled; only those not determined change."""
        rows = X.copy()
        energy = np.maximum(self.energies[-1].value(X), 0)
        measured = self._measure(Holes(mask), rows, run)
        return self._blend(rows, mask, energy, *measured, run)

    def _scaled(self, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return self.scaler.apply_observed(X, mask).astype(self.engine.dtype, copy=False)

    def _chunks(self, n: int, m: int) -> Iterator[slice]:
        size = int(self.engine.bytes_for_blocks / (PER_ENTRY * m))
        size = max(64, min(CHUNK, size))
        return (slice(begin, begin + size) for begin in range(0, n, size))

    def _complete(self, X: np.ndarray, mask: np.ndarray, run: Run) -> Completion:
        """Complete scaled rows that hold zeros in their holes."""
        holes = Holes(mask, even=True)
        rows = X.copy()
        energy = np.zeros(len(X), dtype=X.dtype)
        done = run(partial(self._walk, X, mask), holes.blocks)
        for block, (found, E) in zip(holes.blocks, done, strict=True):
            rows[block.rows], energy[block.rows] = found, E
        hard = np.flatnonzero(energy > DOUBT * self._usual)
        if len(hard):
            tried = try_starts(self.energies, X[hard], mask[hard], self.lenders, even=True, run=run)
            found, lowest = tried.best()
            better = lowest < energy[hard]
            rows[hard[better]], energy[hard[better]] = found[better], lowest[better]
        measured = self._measure(holes, rows, run)
        return self._blend(rows, mask, energy, *measured, run, even=True)

    def _walk(self, X: np.ndarray, mask: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Complete one block from the nearest neighbour of each row."""
        rows, seen = X[block.rows], mask[block.rows]
        rows = np.where(seen, rows, self.pool[nearest(rows, seen, self.pool, 1)[:, 0]])
        begin, lowest = rows, self.energies[-1].value(rows)
        damping, E = np.full(len(rows), 0.1, dtype=X.dtype), rows[:, 0]
        for energy in self.energies:
            last = energy is self.energies[-1]
            rows, E, damping = block.settle(energy, rows, damping, LAST_STEPS if last else 1)
        stays = lowest <= E  # coarse energies lead a row away that begins in its place
        return np.where(stays[:, None], begin, rows), np.maximum(np.minimum(lowest, E), 0)

    def _measure(self, holes: Holes, rows: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Return how far each cell may be off, and which rows are loose."""
        into, reach = np.zeros_like(rows), np.zeros(len(rows), dtype=rows.dtype)
        work = partial(deviations, self.energies[-1], rows, budget=self._usual)
        for block, (found, far) in zip(holes.blocks, run(work, holes.blocks), strict=True):
            into[block.rows] = block.fill(found, into[block.rows])
            reach[block.rows] = far
        return into, reach > LOOSE * self._unit

    def _blend(
        self,
        rows: np.ndarray,
        mask: np.ndarray,
        energy: np.ndarray,
        deviation: np.ndarray,
        loose: np.ndarray,
        run: Run,
        even: bool = False,
    ) -> Completion:
        """Give rows that may be elsewhere the mean of their plausible completions."""
        who = np.flatnonzero(np.sqrt(np.sum(deviation**2, axis=1)) > UNSURE * self._unit)
        if len(who):
            judges = self.energies[-2:]
            tried = try_starts(judges, rows[who], mask[who], self.lenders, PLAUSIBLE, 2, even, run)
            both = Candidates(
                np.concatenate([rows[who][:, None], tried.rows], axis=1),
                np.concatenate([energy[who][:, None], np.maximum(tried.energy, 0)], axis=1),
            )
            mixed, ambiguous = both.blend(self._usual, self._unit)
            rows[who] = np.where(mask[who] | ~ambiguous[:, None], rows[who], mixed)
        return Completion(rows, energy, deviation * self.calibration, loose)
