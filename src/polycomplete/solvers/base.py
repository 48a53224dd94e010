"""What solvers share: their contract, result and monitor, schedules and first guesses."""

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

#: A warm start begins at a smoothing coarser by this factor than that of its completion: it still
#: frees stuck rows.
WARM = 1e3


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each iteration.

    Attributes
    ----------
    iteration, objective, smoothing, seconds : int, float, float, float
        Which iteration it was, its objective and smoothing, and the seconds so far.
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
        The objective after each iteration. Under continuation the smoothing shrinks in between, so
        it falls within a stage, not from stage to stage.
    smoothings : list of float
        The smoothing of each iteration.
    iterations : int
        Number of iterations.
    seconds : float
        Wall-clock time.
    stop : {"converged", "max_iter", "time_limit", "callback"}
        Why the run ended.
    kernel : Kernel or None
        The kernel of the last stage; None for methods without one.
    ambiguous : ndarray of bool, shape (n,)
        Rows that their observed entries do not determine.
    gains : list of float
        Where the smoothing shrinks from one iteration to the next: by what share each of them
        lowered the objective at its smoothing. Empty for other solvers.
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
        """The last smoothing; NaN where nothing was missing."""
        return self.smoothings[-1] if self.smoothings else float("nan")


class Stopped(Exception):  # noqa: N818  (not an error: the run ends early, with what it has)
    """Raised inside a run when the time is up or the callback asks for the end."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


@dataclass
class Monitor:
    """Keeps the history of a run and ends it on time."""

    time_limit: float | None = None
    callback: Callback | None = None
    objective: list[float] = field(default_factory=list)
    smoothings: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Wall-clock time since the beginning."""
        return time.perf_counter() - self.begin

    def note(self, objective: float, smoothing: float, before: float | None = None) -> None:
        """Record an iteration; raise :class:`Stopped` when the run must end.

        ``before`` is the objective that it began with, at the same smoothing.
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
    """What completes scaled rows by an algorithm of its own.

    It states ``solve``, and ``path`` where there is something to choose on held-out entries: a
    value that falls from coarse to fine, such as a threshold or one over a rank.

    Examples
    --------
    >>> from polycomplete import SoftImpute
    >>> isinstance(SoftImpute(), PathSolver)
    True
    """

    #: The value that was given, or "auto".
    smoothing: float | str = "auto"
    #: Where "auto" ends on data without noise; None is where held-out entries come back best.
    default_smoothing: float | None = None
    #: Where the path ends that choosing follows; 0 where there is no path.
    path_end: float = 0.0
    #: Seconds that a fit may take.
    time_limit: float | None = None

    def check(self) -> None:
        """Raise where a parameter is wrong."""

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows that are chosen on; None for all."""
        return None

    def solve(
        self, X: np.ndarray, mask: np.ndarray, smoothing: float, init: np.ndarray | None = None
    ) -> tuple[Any, Result]:
        """Complete rows at a value, from a completion near it where one is given.

        Returns a model, which completes further rows, and the result.
        """
        raise NotImplementedError

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield values and completed rows, from coarse to fine."""
        raise TypeError(f"{self!r} has no path to follow.")


class Problem(Protocol):
    """What a solver poses: scaled rows to be completed."""

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
    """What moves the missing entries: poses the problem of scaled rows and minimizes it.

    A solver of your own states ``pose`` (or inherits it) and ``solve``; with ``path`` and
    ``path_end``, scale and smoothing can be chosen on held-out entries.

    Examples
    --------
    >>> from polycomplete import Exact
    >>> isinstance(Exact(), Solver)
    True
    """

    #: The smoothing where "auto" ends on data without noise.
    default_smoothing: float
    #: Where the path ends that choosing follows; 0 where there is no path.
    path_end: float = 0.0
    #: Seconds that a fit may take.
    time_limit: float | None = None
    #: Rows that the surface is learned from at most; None for all.
    max_samples: int | None = None
    #: Bytes that may be taken; None for a share of the free memory.
    max_memory: float | None = None
    #: Whether a completion of a fit is the mean of what its row's posterior says.
    blend: bool = False
    #: The parameter that allows more iterations.
    limit: str = "max_iter"
    #: Whether tensors on a GPU are worked on there by default.
    follows_tensors: bool = False

    def working(self, resources: Resources, n_rows: int) -> AbstractContextManager[Resources]:
        """Return the context in which this number of rows is worked on."""
        raise NotImplementedError

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and smoothing are chosen; None for all."""
        return None

    def learn(self, problem: P, X: np.ndarray, smoothing: float) -> Posterior:
        """Return what completed rows show of further ones."""
        raise NotImplementedError

    def without(
        self, problem: P, X: np.ndarray, smoothing: float
    ) -> Iterator[tuple[np.ndarray, Posterior, np.ndarray | None]]:
        """Yield completed rows, and what the others show of them.

        The third says which landmark each of the rows is, where it can be left out.
        """
        raise NotImplementedError

    def refine(self, problem: P, X: np.ndarray, smoothing: float) -> np.ndarray:
        """Return a completion from the end of the path, brought nearer to a finer smoothing."""
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
        """Minimize a problem down to a smoothing, from a completion near it where one is given."""
        raise NotImplementedError

    def path(
        self, problem: P, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield smoothings and completed rows, from coarse to fine."""
        raise TypeError(f"{self!r} has no path of decreasing smoothing to follow.")


def with_time_left(solver: T, started: float) -> T:
    """Return a solver with what is left of its time limit, which choosing takes from, too."""
    if solver.time_limit is None:
        return solver
    solver = copy(solver)
    solver.time_limit = max(0.0, solver.time_limit - (time.perf_counter() - started))
    return solver


def stages(first: float, last: float, factor: float = 10.0) -> list[float]:
    """Return the smoothing of each stage: divided by ``factor`` each time, ending at ``last``."""
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


#: "zero" as in the paper; "mean" of the column; "row-column", the mean of the row's and the
#: column's mean, as in the paper's authors' code.
STARTS = {"zero": _zero, "mean": _mean, "row-column": _row_column}


def fill(X: np.ndarray, mask: np.ndarray, init: str, name: str = "init") -> np.ndarray:
    """Return X with an initial guess of its missing entries."""
    if init not in STARTS:
        raise ValueError(f"{name} must be one of {sorted(STARTS)}, got {init!r}.")
    return np.where(mask, X, STARTS[init](X, mask))
