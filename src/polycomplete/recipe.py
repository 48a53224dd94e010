"""What is minimized: kernel and penalty composed with an engine and its solver.

Plain arrays in, plain arrays out; every column here has observed entries that vary, every row has
at least one observed entry. The estimators of :mod:`polycomplete.completers` take care of the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from polycomplete._machine import blas_threads_for
from polycomplete.exact import Exact
from polycomplete.kernels import Kernel
from polycomplete.landmarks import Landmark
from polycomplete.model_selection import HeldOut, Search, Selection
from polycomplete.penalties import Schatten
from polycomplete.scaling import ColumnScaler, refuse_unsquarable
from polycomplete.solvers import Result

Solver = Any  # Continuation, Sweeps, AdamPlus, or another object with solve and default_smoothing
Problem = Any  # what the engine poses


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
    engine: Exact | Landmark
    solver: Solver
    scale: str | None
    smoothing: float | str
    noise: float | None
    seed: int
    groups: np.ndarray | None = None  # columns with the same number are held out together

    def __post_init__(self) -> None:
        """Refuse what cannot be fitted, in the words of the estimators' parameters."""
        for name, kind in (("kernel", Kernel), ("penalty", Schatten)):
            given = getattr(self, name)
            if not isinstance(given, kind):
                raise TypeError(f"{name} must be a {kind.__name__} object, got {given!r}.")
        if isinstance(self.solver, type) or not hasattr(self.solver, "solve"):
            raise TypeError(
                "solver must be a Continuation or AdamPlus object, or another one that has solve() "
                f"and default_smoothing, got {self.solver!r}."
            )
        if self.smoothing != "auto" and not _positive(self.smoothing):
            raise ValueError(
                f'smoothing must be "auto" or a positive number, got {self.smoothing!r}.'
            )
        if self.noise is not None and not _positive(self.noise):
            raise ValueError(f"noise must be None or a positive number, got {self.noise!r}.")

    @property
    def path_end(self) -> float:
        """Where the path ends that choosing follows; 0 where the solver has none."""
        return getattr(self.solver, "path_end", 0.0)

    @property
    def default_smoothing(self) -> float:
        """Where "auto" ends on data without noise."""
        return float(self.solver.default_smoothing)

    @property
    def time_limit(self) -> float | None:
        """Seconds that a fit may take."""
        return getattr(self.solver, "time_limit", None)

    @property
    def search(self) -> Search:
        """What chooses scale and smoothing."""
        return Search(self, self.scale, self.smoothing, self.seed, self.groups)

    def pose(self, Z: np.ndarray, mask: np.ndarray) -> Problem:
        """Return the problem on scaled rows, with every "auto" of the parts resolved."""
        refuse_unsquarable(Z, 1e-100, 1e100)
        return self.engine.pose(
            X=Z,
            mask=mask,
            kernel=self.kernel.resolve(Z, mask),
            penalty=self.penalty.resolve(Z, mask),
            noise=self.noise,
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
        takes = "begin" in signature(solver.solve).parameters
        options = {"begin": chosen.init} if takes else {}
        result = solver.solve(problem, chosen.smoothing, **options)
        if result.stop in ("time_limit", "callback") and result.smoothings:
            chosen = chosen._replace(smoothing=result.smoothings[-1])  # as far as it came
        return scaler, problem, result, chosen

    def walk(self, X: np.ndarray, mask: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the smoothing and the completed matrix, in the user's units, as the path goes."""
        if not self.path_end:
            raise TypeError(f"{self.solver!r} has no path of decreasing smoothing to follow.")
        scaler = ColumnScaler.fit(X, mask, self.search.scales(X, mask)[0], self.groups)
        engine = self.engine
        pool = engine.pool() if isinstance(engine, Landmark) else nullcontext(engine)
        with blas_threads_for(len(X)), pool as ready:
            path = replace(self, engine=ready).path(scaler.apply_observed(X, mask), mask)
            for smoothing, rows in path:
                yield smoothing, scaler.undo(rows)


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < float("inf")
