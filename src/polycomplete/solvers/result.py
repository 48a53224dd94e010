"""What a solver gives back, and the one place that watches over a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from polycomplete.kernels import Kernel

logger = logging.getLogger("polycomplete")


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each iteration."""

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
        How many there were.
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
        """The last smoothing; NaN where there was nothing to move."""
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
