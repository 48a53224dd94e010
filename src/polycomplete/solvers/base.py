"""Base classes of solvers, with results, monitoring, schedules and initial values."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from polycomplete._resources import Resources
from polycomplete.kernels import Kernel
from polycomplete.penalties import Schatten
from polycomplete.rows import Posterior

logger = logging.getLogger("polycomplete")

T = TypeVar("T", bound=Any)

#: A warm start begins at a smoothing larger by this factor, which still frees stuck rows.
WARM = 1e3


@dataclass(frozen=True)
class Progress:
    """Progress of a run after an iteration, passed to callbacks.

    Attributes
    ----------
    iteration, objective, smoothing, seconds : int, float, float, float
        The number of iterations so far, the current objective and smoothing, and the time so far.
    """

    iteration: int
    objective: float
    smoothing: float
    seconds: float


Callback = Callable[[Progress], bool | None]


@dataclass
class Result:
    """The outcome of a run.

    Attributes
    ----------
    X : ndarray of shape (n, m)
        The completed matrix, in the units the solver worked in.
    objective : list of float
        The objective after each iteration. If the smoothing decreases, it falls within each stage,
        but not from stage to stage.
    smoothings : list of float
        The smoothing of each iteration.
    iterations : int
        Number of iterations.
    seconds : float
        Wall-clock time.
    stop : {"converged", "max_iter", "time_limit", "callback"}
        Why the run ended.
    kernel : Kernel or None
        The kernel of the last stage; None for methods without a kernel.
    ambiguous : ndarray of bool, shape (n,)
        True for rows that their observed entries do not determine.
    gains : list of float
        The relative decrease of the objective by each iteration, at its own smoothing; empty for
        solvers that do not change the smoothing in every iteration.
    """

    X: np.ndarray
    objective: list[float]
    smoothings: list[float]
    iterations: int
    seconds: float
    stop: str
    kernel: Kernel | None
    ambiguous: np.ndarray
    gains: list[float] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether the run reached its tolerance."""
        return self.stop == "converged"

    @property
    def smoothing(self) -> float:
        """The last smoothing; NaN if nothing was missing."""
        return self.smoothings[-1] if self.smoothings else float("nan")


class Stopped(Exception):  # noqa: N818  (not an error: the run returns its current result)
    """Raised inside a run at the time limit or when the callback returns True."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


@dataclass
class Monitor:
    """Record the history of a run, and stop it at its time limit or on request of the callback."""

    time_limit: float | None = None
    callback: Callback | None = None
    objective: list[float] = field(default_factory=list)
    smoothings: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Wall-clock time since the start of the run."""
        return time.perf_counter() - self.begin

    def note(self, objective: float, smoothing: float, before: float | None = None) -> None:
        """Record an iteration; raise :class:`Stopped` if the run must end.

        ``before`` is the objective before the iteration, at the same smoothing.
        """
        self.objective.append(objective)
        self.smoothings.append(smoothing)
        if before is not None:
            self.gains.append((before - objective) / (abs(objective) or 1.0))
        count = len(self.objective)
        logger.debug("iteration %d: smoothing %.1e, objective %.6g", count, smoothing, objective)
        if self.callback and self.callback(Progress(count, objective, smoothing, self.seconds)):
            raise Stopped("callback")
        if self.time_limit is not None and self.seconds > self.time_limit:
            raise Stopped("time_limit")

    def result(
        self,
        X: np.ndarray,
        stop: str,
        kernel: Kernel | None = None,
        ambiguous: np.ndarray | None = None,
    ) -> Result:
        """Return the result of the run."""
        none = np.zeros(len(X), dtype=bool)
        return Result(
            X=X,
            objective=self.objective,
            smoothings=self.smoothings,
            iterations=len(self.objective),
            seconds=self.seconds,
            stop=stop,
            kernel=kernel,
            ambiguous=none if ambiguous is None else ambiguous,
            gains=self.gains,
        )


class PathSolver(BaseEstimator):
    """Base class of solvers that do not minimize the penalty of a kernel matrix.

    A subclass defines ``solve``, and ``path`` if it has a parameter to be chosen on held-out
    entries, with values that decrease from coarse to fine: a threshold, or the inverse of a rank.

    Examples
    --------
    >>> from polycomplete import SoftImpute
    >>> isinstance(SoftImpute(), PathSolver)
    True
    """

    #: The given value, or "auto".
    smoothing: float | str = "auto"
    #: The value that "auto" uses for data without noise; None for the one with the lowest error.
    default_smoothing: float | None = None
    #: The value that is taken unless held-out entries say otherwise; None if there is none.
    usual_smoothing: float | None = None
    #: The last value of the path; 0 if there is no path.
    path_end: float = 0.0
    #: Maximum time of a fit, in seconds.
    time_limit: float | None = None

    def check(self) -> None:
        """Raise if a parameter is not an allowed value."""

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and value are chosen; None for all."""
        return None

    def solve(
        self, X: np.ndarray, mask: np.ndarray, smoothing: float, init: np.ndarray | None = None
    ) -> tuple[Any, Result]:
        """Complete rows at a value; return a model, which completes new rows, and the result.

        ``init`` is a completion found near that value, for a warm start.
        """
        raise NotImplementedError

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield values and completed rows, from coarse to fine."""
        raise TypeError(f"{self!r} has no path to follow.")


class Problem(Protocol):
    """Problem that a solver minimizes: scaled rows to be completed."""

    @property
    def mask(self) -> np.ndarray:
        """True where observed, (n, m)."""

    @property
    def kernel(self) -> Kernel:
        """The kernel, resolved."""

    def with_kernel(self, kernel: Kernel) -> Self:
        """Return the same problem with another kernel."""


P = TypeVar("P", bound=Problem)


class Solver(BaseEstimator, Generic[P]):
    """Base class of solvers: pose the problem of completing scaled rows, and minimize it.

    A subclass defines ``pose`` (or inherits it) and ``solve``; with ``path`` and ``path_end``,
    scale and smoothing can be chosen on held-out entries.

    Examples
    --------
    >>> from polycomplete import Exact
    >>> isinstance(Exact(), Solver)
    True
    """

    #: The smoothing that "auto" uses for data without noise.
    default_smoothing: float
    #: The last smoothing of the path; 0 if there is no path.
    path_end: float = 0.0
    #: Maximum time of a fit, in seconds.
    time_limit: float | None = None
    #: Maximum number of rows to learn the surface from; None for all.
    max_samples: int | None = None
    #: Maximum number of bytes; None for a share of the free memory.
    max_memory: float | None = None
    #: Whether the completion of a training row is the mean of its posterior.
    blend: bool = False
    #: The parameter that allows more iterations.
    limit: str = "max_iter"
    #: Whether tensors on a GPU are processed there by default.
    follows_tensors: bool = False

    def working(self, resources: Resources, n_rows: int) -> AbstractContextManager[Resources]:
        """Return the context in which to process this number of rows."""
        raise NotImplementedError

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and smoothing are chosen; None for all."""
        return None

    def learn(self, problem: P, X: np.ndarray, smoothing: float) -> Posterior:
        """Return the posterior of new rows, learned from completed rows."""
        raise NotImplementedError

    def without(
        self, problem: P, X: np.ndarray, smoothing: float
    ) -> Iterator[tuple[np.ndarray, Posterior, np.ndarray | None]]:
        """Yield the indices of completed rows, and their posterior given the others.

        The third item is the landmark to leave out for each row, or None if there is none.
        """
        raise NotImplementedError

    def refine(self, problem: P, X: np.ndarray, smoothing: float) -> np.ndarray:
        """Improve a completion from the end of the path at a smaller smoothing."""
        return X

    def pose(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
        resources: Resources = Resources(),  # noqa: B008  (cannot be changed)
        seed: int = 0,
    ) -> P:
        """Return the problem of completing scaled rows; kernel and penalty are resolved."""
        raise NotImplementedError

    def solve(self, problem: P, smoothing: float, init: np.ndarray | None = None) -> Result:
        """Minimize a problem at a smoothing; ``init`` is a completion near it, for a warm start."""
        raise NotImplementedError

    def path(
        self, problem: P, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield smoothings and completed rows, from coarse to fine."""
        raise TypeError(f"{self!r} has no path of decreasing smoothing to follow.")


def with_time_left(solver: T, started: float) -> T:
    """Return a solver with the rest of its time limit, part of which selection has used."""
    if solver.time_limit is None:
        return solver
    solver = copy(solver)
    solver.time_limit = max(0.0, solver.time_limit - (time.perf_counter() - started))
    return solver


def stages(first: float, last: float, factor: float = 10.0) -> list[float]:
    """Return the smoothings of a schedule: divided by ``factor`` each time, ending at ``last``."""
    steps = max(0, int(np.ceil(np.log(first / last) / np.log(factor) - 1e-9)))
    return [float(f"{first / factor**i:.12g}") for i in range(steps)] + [last]


def _zero(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.zeros_like(X)


def _mean(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.broadcast_to(_means(X, mask, axis=0), X.shape)


def _row_column(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return (_means(X, mask, axis=0) + _means(X, mask, axis=1)) / 2


def _means(X: np.ndarray, mask: np.ndarray, axis: int) -> np.ndarray:
    count = np.maximum(mask.sum(axis=axis, keepdims=True), 1).astype(X.dtype)
    return np.where(mask, X, 0).sum(axis=axis, keepdims=True) / count


#: "zero" as in the paper; "mean" of the column; "row-column", the average of the row mean and the
#: column mean, as in the code of the paper's authors.
STARTS = {"zero": _zero, "mean": _mean, "row-column": _row_column}


def fill(X: np.ndarray, mask: np.ndarray, init: str, name: str = "init") -> np.ndarray:
    """Return X with initial values of its missing entries."""
    if init not in STARTS:
        raise ValueError(f"{name} must be one of {sorted(STARTS)}, got {init!r}.")
    return np.where(mask, X, STARTS[init](X, mask))
