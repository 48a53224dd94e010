"""A surface: kernel, penalty and solver composed, and how it is fitted.

Plain arrays in, plain arrays out; every column here has observed entries that vary, every row has
at least one observed entry. The estimators of :mod:`polycomplete.completers` take care of the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from polycomplete.kernels import Kernel
from polycomplete.model import Fitted, SurfaceModel
from polycomplete.model_selection import Read, Search, Selection, Trial
from polycomplete.penalties import Schatten
from polycomplete.rows import EVEN, Completion, Resources
from polycomplete.scaling import ColumnScaler, refuse_unsquarable
from polycomplete.solvers import Result, Solver
from polycomplete.solvers.base import with_time_left

Problem = Any  # what a solver poses


@dataclass(frozen=True)
class Surface:
    """What to fit: the parts of a method, put together by an estimator."""

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
        """Refuse what cannot be fitted, in the words of the estimators' parameters."""
        for name, kind in (("kernel", Kernel), ("penalty", Schatten), ("solver", Solver)):
            given = getattr(self, name)
            if not isinstance(given, kind):
                raise TypeError(f"{name} must be a {kind.__name__} object, got {given!r}.")
        if self.smoothing != "auto" and not _positive(self.smoothing):
            raise ValueError(
                f'smoothing must be "auto" or a positive number, got {self.smoothing!r}.'
            )
        if self.noise is not None and not _positive(self.noise):
            raise ValueError(f"noise must be None or a positive number, got {self.noise!r}.")

    def fit(self, X: np.ndarray, mask: np.ndarray) -> Fitted:
        """Choose on held-out entries, minimize, and complete each row by a model without it."""
        started = time.perf_counter()
        with self.solver.working(self.resources, len(X)) as resources:
            here = replace(self, resources=resources)
            chosen = here.search.select(X, mask)
            scaler = ColumnScaler.fit(X, mask, chosen.scale, self.groups)
            Z = scaler.apply_observed(X, mask)
            problem, result, smoothing = here.minimize(Z, mask, chosen, started)
            factor, sharp, held_out = chosen.calibrate(X, partial(here.read, problem, smoothing))
            found = here.out_of_sample(problem, result.X, smoothing, factor, sharp)
            rows = found.rows if self.solver.blend and self.noise is None else result.X
            posterior = self.solver.learn(problem, rows, smoothing)
        posterior = replace(posterior, factor=factor, sharp=sharp, packing=EVEN)
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
        """What chooses scale and smoothing."""
        return Search(self, self.scale, self.seed, self.groups)

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and smoothing are chosen; None for all."""
        return self.solver.rows_to_choose_by(mask, seed)

    def minimize(
        self, Z: np.ndarray, mask: np.ndarray, chosen: Selection, started: float
    ) -> tuple[Problem, Result, float]:
        """Solve the problem of scaled rows; return it, the result, and the smoothing reached."""
        problem, smoothing = self.pose(Z, mask), chosen.smoothing
        result = with_time_left(self.solver, started).solve(problem, smoothing, chosen.init)
        if result.stop in ("time_limit", "callback") and result.smoothings:
            smoothing = result.smoothings[-1]  # as far as it came
        return replace(problem, kernel=result.kernel or problem.kernel), result, smoothing

    def out_of_sample(
        self, problem: Problem, X: np.ndarray, smoothing: float, factor: float, sharp: bool
    ) -> Completion:
        """Complete jointly completed rows, each by a model without it."""
        whole, mask = Completion.blank(X), problem.mask
        for rows, posterior, exclude in self.solver.without(problem, X, smoothing):
            found = replace(posterior, factor=factor, sharp=sharp).complete(
                X[rows], mask[rows], exclude=exclude, joint=True, run=self.resources.mapping
            )
            whole.store(rows, found)
        return whole

    def read(self, problem: Problem, smoothing: float, trial: Trial) -> Read:
        """Return how held-out entries are completed by models of their trial, given a factor."""
        visible, X = trial.visible, trial.found
        posed = self.pose(np.where(visible, X, 0.0), visible)
        posed, parts = replace(posed, kernel=problem.kernel), []
        for fold, posterior, exclude in self.solver.without(posed, X, smoothing):
            inside = np.flatnonzero(np.isin(fold, trial.judged))
            some, own = fold[inside], None if exclude is None else exclude[inside]
            if len(some):
                minima = posterior.minima(X[some], visible[some], exclude=own, joint=True)
                parts.append((some, posterior, minima, own))

        def read(factor: float, sharp: bool) -> Completion:
            whole = Completion.blank(X)
            for some, posterior, minima, own in parts:
                at = replace(posterior, factor=factor, sharp=sharp)
                found = at.read(minima, visible[some], exclude=own)
                whole.store(some, found)
            return whole

        return read

    @property
    def path_end(self) -> float:
        """Where the path ends that choosing follows; 0 where the solver has none."""
        return self.solver.path_end

    @property
    def default_smoothing(self) -> float:
        """Where "auto" ends on data without noise."""
        return float(self.solver.default_smoothing)

    @property
    def time_limit(self) -> float | None:
        """Seconds that a fit may take."""
        return self.solver.time_limit

    def pose(self, Z: np.ndarray, mask: np.ndarray) -> Problem:
        """Return the problem on scaled rows, with every "auto" of the parts resolved."""
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
        """Yield the smoothing and the completed matrix, in the user's units, as the path goes."""
        scaler = ColumnScaler.fit(X, mask, self.search.scales(X, mask)[0], self.groups)
        with self.solver.working(self.resources, len(X)) as resources:
            path = replace(self, resources=resources).path(scaler.apply_observed(X, mask), mask)
            for smoothing, rows in path:
                yield smoothing, scaler.undo(rows)


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < float("inf")
