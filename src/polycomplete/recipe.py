"""What is minimized: kernel and penalty composed with a solver.

Plain arrays in, plain arrays out; every column here has observed entries that vary, every row has
at least one observed entry. The estimators of :mod:`polycomplete.completers` take care of the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from polycomplete._resources import blas_threads_for
from polycomplete.kernels import Kernel
from polycomplete.landmarks import Resources
from polycomplete.model_selection import HeldOut, Search, Selection
from polycomplete.penalties import Schatten
from polycomplete.scaling import ColumnScaler, refuse_unsquarable
from polycomplete.solvers import Result, Solver

Problem = Any  # what a solver poses


class Learned(NamedTuple):
    """What a fit gives: the surface, the completed matrix in the user's units, and how it went.

    ``deviation`` is the estimated standard deviation of each missing cell; 0 where observed.
    """

    surface: Any
    completed: np.ndarray
    result: Result
    scale: str | None
    determined: np.ndarray
    deviation: np.ndarray
    held_out: HeldOut | None = None


@dataclass(frozen=True)
class Recipe:
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

    @property
    def search(self) -> Search:
        """What chooses scale and smoothing."""
        return Search(self, self.scale, self.smoothing, self.seed, self.groups)

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

    def solve(
        self, X: np.ndarray, mask: np.ndarray, sample: np.ndarray | None = None
    ) -> tuple[ColumnScaler, Problem, Result, Selection]:
        """Choose scale and smoothing, on a sample of the rows where one is given; complete all.

        The rows of the result are scaled. ``smoothing`` of the selection is what was reached.
        """
        started = time.perf_counter()
        if sample is None or len(sample) == len(X):
            chosen = self.search.select(X, mask)
        else:
            chosen = self.search.select(X[sample], mask[sample])._replace(init=None)
            chosen = chosen._replace(trials=[each._replace(rows=sample) for each in chosen.trials])
        solver = copy(self.solver)
        if self.time_limit is not None:  # of the fit, the choosing included
            solver.time_limit = max(0.0, self.time_limit - (time.perf_counter() - started))
        scaler = ColumnScaler.fit(X, mask, chosen.scale, self.groups)
        problem = self.pose(scaler.apply_observed(X, mask), mask)
        result = solver.solve(problem, chosen.smoothing, chosen.init)
        if result.stop in ("time_limit", "callback") and result.smoothings:
            chosen = chosen._replace(smoothing=result.smoothings[-1])  # as far as it came
        return scaler, problem, result, chosen

    def walk(self, X: np.ndarray, mask: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the smoothing and the completed matrix, in the user's units, as the path goes."""
        scaler = ColumnScaler.fit(X, mask, self.search.scales(X, mask)[0], self.groups)
        with blas_threads_for(len(X)), self.resources.pool() as ready:
            path = replace(self, resources=ready).path(scaler.apply_observed(X, mask), mask)
            for smoothing, rows in path:
                yield smoothing, scaler.undo(rows)


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < float("inf")
