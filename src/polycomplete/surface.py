"""Surface: the composition of kernel, penalty and solver, and how it is fitted.

Input and output are plain arrays, in which every column varies and every row has an observed entry.
The estimators of :mod:`polycomplete.base` take care of the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed

from polycomplete._devices import Array, Device
from polycomplete._resources import Resources, Run
from polycomplete.kernels import Kernel
from polycomplete.model_selection import CAUTIOUS, HeldOut, Read, Search, Selection, Trial
from polycomplete.penalties import Schatten
from polycomplete.rows import EVEN, EVEN_ROWS, Completion, Packing, Posterior
from polycomplete.scaling import ColumnScaler, refuse_unsquarable
from polycomplete.solvers import Problem, Result, Solver
from polycomplete.solvers.base import with_time_left


class Model(Protocol):
    """Fitted model, which completes each new row independently."""

    def complete(self, X: np.ndarray, mask: np.ndarray) -> Any:
        """Return a tuple that starts with the completed rows."""


class MatrixMethod(Protocol):
    """Method that an estimator fits: a :class:`Surface`, or one with its own solver."""

    def fit(self, X: np.ndarray, mask: np.ndarray) -> Fitted:
        """Complete a float64 matrix without constant columns and without empty rows."""


class Fitted(NamedTuple):
    """Result of fitting a method to a matrix, in the user's units."""

    model: Model
    completed: np.ndarray
    result: Result
    determined: np.ndarray
    deviation: np.ndarray | None = None
    held_out: HeldOut | None = None
    scale: str | None = None
    smoothing: float = np.nan
    moved: np.ndarray | None = None  # the denoised matrix, if observed entries move as well


@dataclass(frozen=True)
class SurfaceModel:
    """Learned surface, in the user's units.

    Attributes
    ----------
    scaler : ColumnScaler
        The map from the user's units to those of the surface.
    posterior : Posterior
        The posterior of rows, which completes them.
    smoothing : float
        The smoothing, relative to the mean of k(x, x).
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
        """Complete the parts one after the other, each with threads or on a GPU."""
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
        """Complete several parts at a time, each in a process of its own.

        Threads would wait for each other between the many small products of a step.
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
        packing = Packing.on(place, self.resources, len(self.posterior.energy.landmarks))
        return replace(self, scaler=scaler, posterior=self.posterior.on(place.put, packing))

    def distance(self, X: np.ndarray) -> np.ndarray:
        """Return the energy of complete rows, relative to the usual energy of a training row."""
        with self.resources.pool() as here:
            parts = self.resources.parts(X.shape, Device())
            energies = list(here.mapping(lambda part: self._energies(X[part]), parts))
        return np.maximum(np.concatenate(energies), 0) / self.posterior.usual

    def _energies(self, X: np.ndarray) -> np.ndarray:
        """Return the energy of complete rows, in blocks of equal shape for reproducible bits."""
        E = np.empty(len(X))
        for begin in range(0, len(X), EVEN_ROWS):
            at = np.arange(begin, begin + EVEN_ROWS) % len(X)
            part = E[begin : begin + EVEN_ROWS]
            part[:] = self.posterior.energy.value(self.scaler.apply(X[at]))[: len(part)]
        return E

    def _complete(self, X: Array, mask: Array, run: Run) -> Completion:
        """Complete rows on the device of the model; their holes may contain anything."""
        found = self.posterior.complete(self.scaler.apply_observed(X, mask), mask, run=run)
        std = found.std * self.scaler.scale
        return found._replace(rows=self.scaler.undo(found.rows), std=std)


@dataclass(frozen=True)
class Surface:
    """Kernel, penalty, solver and settings of a method, composed by an estimator."""

    kernel: Kernel
    penalty: Schatten
    solver: Solver
    scale: str | None
    smoothing: float | str
    noise: float | None
    seed: int
    resources: Resources = field(default_factory=Resources)
    groups: np.ndarray | None = None  # columns with the same number are held out together

    def __post_init__(self) -> None:
        """Raise if a parameter of the estimator is not an allowed value."""
        for name, kind, example in (
            ("kernel", Kernel, "RBF()"),
            ("penalty", Schatten, "Schatten()"),
            ("solver", Solver, "Exact()"),
        ):
            given = getattr(self, name)
            if not isinstance(given, kind):
                raise TypeError(
                    f"{name} must be a {kind.__name__} object, got {given!r}; pass {example}, "
                    "for example."
                )
        if self.smoothing != "auto" and not _positive(self.smoothing):
            raise ValueError(
                f'smoothing must be "auto" or a positive number, got {self.smoothing!r}.'
            )
        if self.noise is not None and not _positive(self.noise):
            raise ValueError(f"noise must be None or a positive number, got {self.noise!r}.")

    def fit(self, X: np.ndarray, mask: np.ndarray) -> Fitted:
        """Choose settings on held-out entries, minimize, and complete each row out of sample."""
        started = time.perf_counter()
        with self.solver.working(self.resources, len(X)) as resources:
            here = replace(self, resources=resources)
            chosen = here.search.select(X, mask)
            scaler = ColumnScaler.fit(X, mask, chosen.scale, self.groups)
            Z = scaler.apply_observed(X, mask)
            problem, result, smoothing = here.minimize(Z, mask, chosen, started)
            factor, held_out = chosen.calibrate(X, partial(here.read, problem, smoothing))
            found = here.out_of_sample(problem, result.X, smoothing, factor)
            rows = found.rows if self.solver.blend and self.noise is None else result.X
            posterior = self.solver.learn(problem, rows, smoothing)
        posterior = replace(posterior, factor=factor, packing=EVEN)
        return Fitted(
            model=SurfaceModel(scaler, posterior, smoothing, self.resources),
            completed=scaler.undo(rows),
            result=result,
            determined=found.determined,
            deviation=found.std * scaler.scale,
            held_out=held_out,
            scale=chosen.scale,
            smoothing=smoothing,
            moved=None if self.noise is None else scaler.undo(rows),
        )

    @property
    def search(self) -> Search:
        """Selection of scale and smoothing."""
        return Search(self, self.scale, self.seed, self.groups)

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and smoothing are chosen; None for all."""
        return self.solver.rows_to_choose_by(mask, seed)

    def minimize(
        self, Z: np.ndarray, mask: np.ndarray, chosen: Selection, started: float
    ) -> tuple[Problem, Result, float]:
        """Solve the problem of scaled rows; return it, the result, and the last smoothing."""
        problem, smoothing = self.pose(Z, mask), chosen.smoothing
        result = with_time_left(self.solver, started).solve(problem, smoothing, chosen.init)
        if result.smoothings:
            smoothing = result.smoothings[-1]  # larger than the chosen one if the run ended early
        return problem.with_kernel(result.kernel or problem.kernel), result, smoothing

    def out_of_sample(
        self, problem: Problem, X: np.ndarray, smoothing: float, factor: float
    ) -> Completion:
        """Complete jointly completed rows again, each given the others."""
        whole, mask = Completion.blank(X), problem.mask
        for rows, posterior, exclude in self.solver.without(problem, X, smoothing):
            found = replace(posterior, factor=factor).complete(
                X[rows], mask[rows], exclude=exclude, joint=True, run=self.resources.mapping
            )
            whole.store(rows, found)
        return whole

    def read(self, problem: Problem, smoothing: float, trial: Trial) -> Read:
        """Return a function that completes the held-out entries of a trial, given a factor."""
        visible, X = trial.visible, trial.found
        posed = self.pose(np.where(visible, X, 0.0), visible)
        posed, parts = posed.with_kernel(problem.kernel), []
        if smoothing < self.solver.path_end:  # deviations must be those at this smoothing
            X = self.solver.refine(posed, X, smoothing)
        for fold, posterior, exclude in self.solver.without(posed, X, smoothing):
            inside = np.flatnonzero(np.isin(fold, trial.judged))
            some, own = fold[inside], None if exclude is None else exclude[inside]
            if len(some):
                minima = posterior.minima(X[some], visible[some], exclude=own, joint=True)
                curved = posterior.curvature(minima, visible[some], exclude=own)
                parts.append((some, posterior, minima, curved))

        def read(factor: float) -> Completion:
            whole = Completion.blank(X)
            for some, posterior, minima, curved in parts:
                at = replace(posterior, factor=factor)
                whole.store(some, at.read(minima, visible[some], curvature=curved))
            return whole

        return read

    @property
    def path_end(self) -> float:
        """The last smoothing of the path; 0 if the solver has none."""
        return self.solver.path_end

    @property
    def default_smoothing(self) -> float:
        """The smoothing that "auto" uses for data without noise."""
        return float(self.solver.default_smoothing)

    @property
    def usual_smoothing(self) -> float:
        """The smoothing that is taken unless held-out entries say otherwise."""
        return CAUTIOUS

    @property
    def time_limit(self) -> float | None:
        """Maximum time of a fit, in seconds."""
        return self.solver.time_limit

    def pose(self, Z: np.ndarray, mask: np.ndarray) -> Problem:
        """Return the problem of scaled rows, with every "auto" resolved."""
        refuse_unsquarable(Z, 1e-100, 1e100)
        return self.solver.pose(
            X=Z,
            mask=mask,
            kernel=self.kernel.resolve(Z, mask),
            penalty=self.penalty.resolve(Z, mask),
            noise=self.noise,
            resources=self.resources,
            seed=self.seed,
        )

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield smoothings and completed rows, from coarse to fine."""
        return self.solver.path(self.pose(X, mask), time_limit)

    def walk(self, X: np.ndarray, mask: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield smoothings and the completed matrix in the user's units, from coarse to fine."""
        scaler = ColumnScaler.fit(X, mask, self.search.scales(X, mask)[0], self.groups)
        with self.solver.working(self.resources, len(X)) as resources:
            path = replace(self, resources=resources).path(scaler.apply_observed(X, mask), mask)
            for smoothing, rows in path:
                yield smoothing, scaler.undo(rows)


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < float("inf")
