"""A learned surface that completes rows one by one, whatever their number.

What comes back for a row does not depend on the rows that come with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed

from polycomplete._arrays import Array
from polycomplete._resources import Device
from polycomplete.kernels import Kernel
from polycomplete.model_selection import HeldOut
from polycomplete.rows import Completion, Posterior, Resources, Run
from polycomplete.rows.holes import EVEN_ROWS
from polycomplete.scaling import ColumnScaler
from polycomplete.solvers import Result


class Model(Protocol):
    """What a fit learned: it completes further rows, each independently."""

    def complete(self, X: np.ndarray, mask: np.ndarray) -> Any:
        """Return the completed rows first, then what is known of them."""


class Method(Protocol):
    """What an estimator fits: kernel, penalty, solver and scale, or an algorithm of its own."""

    def fit(self, X: np.ndarray, mask: np.ndarray) -> Fitted:
        """Complete a float64 matrix whose columns all vary and whose rows all have something."""


class Fitted(NamedTuple):
    """What a method gives back for a matrix, in the user's units."""

    model: Model
    completed: np.ndarray
    result: Result
    determined: np.ndarray
    deviation: np.ndarray | None = None
    held_out: HeldOut | None = None
    scale: str | None = None
    smoothing: float = np.nan
    moved: np.ndarray | None = None  # the completed matrix, where observed entries move as well


@dataclass(frozen=True)
class SurfaceModel:
    """A learned surface, in the user's units.

    Attributes
    ----------
    scaler : ColumnScaler
        From the user's units to those of the surface.
    posterior : Posterior
        How rows are completed.
    smoothing : float
        Relative to the mean of k(x, x).
    resources : Resources
        Threads, memory and device.
    """

    scaler: ColumnScaler
    posterior: Posterior
    smoothing: float
    resources: Resources

    @property
    def kernel(self) -> Kernel:
        """The kernel, resolved."""
        return self.posterior.energy.kernel

    @property
    def rows(self) -> np.ndarray:
        """The completed training rows, scaled."""
        return self.posterior.pool

    def calibrated(self, factor: float) -> SurfaceModel:
        """Return the model with its deviations multiplied."""
        factor = factor * self.posterior.factor
        return replace(self, posterior=replace(self.posterior, factor=factor))

    def complete(self, X: np.ndarray, mask: np.ndarray) -> Completion:
        """Complete each row independently."""
        whole = Completion.blank(X)
        place = self.resources.device_for(len(X), joint=False)
        workers = self.resources.workers(len(X), place)
        parts = self.resources.parts(X.shape, place, workers)
        if workers > 1:
            self._in_processes(X, mask, parts, workers, whole)
        else:
            self._in_turn(X, mask, parts, place, whole)
        return whole

    def _in_turn(
        self, X: np.ndarray, mask: np.ndarray, parts: list[slice], place: Device, into: Completion
    ) -> None:
        """Complete one part after the other, each by threads or on a GPU."""
        with self.resources.pool() as resources:
            here, run = self.on(place), resources.mapping if place.is_host else map

            def work(part: slice) -> None:
                found = here._complete(place.put(X[part]), place.put(mask[part]), run)
                for array, values in zip(into, found, strict=True):
                    place.copy(values, array[part])

            for _ in place.each(work, parts):
                pass

    def _in_processes(
        self, X: np.ndarray, mask: np.ndarray, parts: list[slice], workers: int, into: Completion
    ) -> None:
        """Complete several parts at a time, each by a process of its own.

        Threads wait for each other between the many small products of a step.
        """
        alone = replace(self, resources=replace(self.resources, n_jobs=1))
        jobs = Parallel(n_jobs=workers, return_as="generator", max_nbytes=None)
        done = jobs(delayed(SurfaceModel._alone)(alone, X[part], mask[part]) for part in parts)
        for part, found in zip(parts, done, strict=True):
            into.store(part, found)

    def _alone(self, X: np.ndarray, mask: np.ndarray) -> Completion:
        """Complete a part in this process."""
        with self.resources.pool() as here:
            return self._complete(X, mask, here.mapping)

    def on(self, place: Device) -> SurfaceModel:
        """Return the model with its arrays on a device."""
        if place.is_host:
            return self
        scaler = ColumnScaler(place.put(self.scaler.centre), place.put(self.scaler.scale))
        packing = self.resources.packing(place, len(self.posterior.energy.landmarks))
        return replace(self, scaler=scaler, posterior=self.posterior.on(place.put, packing))

    def distance(self, X: np.ndarray) -> np.ndarray:
        """Return how far complete rows lie from the surface: their energy, in usual energies."""
        with self.resources.pool() as here:
            parts = self.resources.parts(X.shape, Device())
            energies = list(here.mapping(lambda part: self._energies(X[part]), parts))
        return np.maximum(np.concatenate(energies), 0) / self.posterior.usual

    def _energies(self, X: np.ndarray) -> np.ndarray:
        """Return the energy of complete rows, through blocks of one shape for equal bits."""
        E = np.empty(len(X))
        for begin in range(0, len(X), EVEN_ROWS):
            at = np.arange(begin, begin + EVEN_ROWS) % len(X)
            part = E[begin : begin + EVEN_ROWS]
            part[:] = self.posterior.energy.value(self.scaler.apply(X[at]))[: len(part)]
        return E

    def _complete(self, X: Array, mask: Array, run: Run) -> Completion:
        """Complete rows; their holes may hold anything."""
        found = self.posterior.complete(self.scaler.apply_observed(X, mask), mask, run=run)
        std = found.std * self.scaler.scale
        return found._replace(rows=self.scaler.undo(found.rows), std=std)
