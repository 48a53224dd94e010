"""The smallest nuclear norm that meets the observed entries exactly: augmented Lagrangian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from polycomplete._messages import check_numbers
from polycomplete.linear import LinearModel, shrink
from polycomplete.solvers.base import Callback, Monitor, PathSolver, Result, Stopped, logger

#: Iterations in which the step is balanced; the duality gap is looked at every so many.
BALANCED, LOOK = 50, 10


class AugmentedLagrangian(PathSolver):
    """Minimise ‖L‖_* subject to L = X on the observed entries.

    The inexact augmented Lagrangian (ADMM): shrink the singular values, refill the holes, update
    the multipliers. The step is balanced between the two residuals in the first iterations and
    then kept, so that the run converges; a step that grows without end stops short of the minimum.

    Parameters
    ----------
    max_iter : int, default=2000
        Iterations at most.
    tol : float, default=1e-4
        Converged when the relative duality gap is below: the nuclear norm of the completion is
        then proven to be within this share of the smallest possible.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration; the run ends
        when it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer([1.0, 2.0, 3.0, 1.0], [1.0, 1.0, 2.0])
    >>> mask = np.ones(X.shape, dtype=bool)
    >>> mask[0, 2] = False
    >>> model, result = AugmentedLagrangian(tol=1e-8).solve(X, mask)
    >>> round(float(result.X[0, 2]), 3)
    2.0
    """

    def __init__(
        self,
        max_iter: int = 2000,
        tol: float = 1e-4,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.callback = callback

    def check(self) -> None:
        """Refuse parameters that make no sense."""
        check_numbers(self, "max_iter")
        check_numbers(self, "tol", zero=True)

    def solve(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        smoothing: float = 0.0,
        init: np.ndarray | None = None,
    ) -> tuple[LinearModel, Result]:
        """Return the linear model of the rows and the result."""
        monitor, stop = Monitor(self.time_limit, self.callback), "max_iter"
        given = np.where(mask, X, 0.0)
        state = None
        try:
            for count, state in enumerate(iterations(given, mask), start=1):
                monitor.note(float(np.sum(state.values)), state.step)
                looking = count % LOOK == 0 or count == self.max_iter
                if looking and duality_gap(given, mask, state) <= self.tol:
                    stop = "converged"
                if stop == "converged" or count == self.max_iter:
                    break
        except Stopped as ended:
            stop = ended.reason
        assert state is not None  # max_iter is at least one
        completed = np.where(mask, X, state.low)
        logger.info("%.1f s: nuclear norm %.6g", monitor.seconds, monitor.objective[-1])
        _, values, directions = shrink(completed, 0.0)
        model = LinearModel(directions, values, 0.0)
        return model, monitor.result(completed, stop, ambiguous=~model.determined(mask))


@dataclass(frozen=True)
class State:
    """One iteration: the low-rank matrix, what stands in the holes, the multipliers."""

    low: np.ndarray
    values: np.ndarray
    hidden: np.ndarray
    dual: np.ndarray
    step: float


def iterations(given: np.ndarray, mask: np.ndarray) -> Iterator[State]:
    """Yield the iterations of the method, without end.

    ``given`` holds zeros where nothing was observed. With a fixed step, step · ‖Δhidden‖² +
    ‖Δdual‖² / step never rises from one iteration to the next: the method's merit function.
    """
    size = float(np.linalg.norm(given)) or 1.0
    step = 5.0 / (linalg.svdvals(given)[0] or 1.0)
    hidden, dual = np.zeros_like(given), np.zeros_like(given)
    count = 0
    while True:
        low, values, _ = shrink(given + hidden + dual / step, 1 / step)
        before, hidden = hidden, np.where(mask, 0.0, low)
        missed = np.where(mask, given - low, 0.0)
        dual = dual + step * missed
        yield State(low, values, hidden, dual, step)
        count += 1
        if count <= BALANCED and count % 5 == 0:
            primal = np.linalg.norm(missed) / size
            moved = np.linalg.norm(hidden - before) / size
            step *= 1.5 if primal > 5 * moved else 1 / 1.5 if moved > 5 * primal else 1.0


def duality_gap(given: np.ndarray, mask: np.ndarray, state: State) -> float:
    """Return how far the nuclear norm of the completion may be above the smallest, relatively.

    The dual problem is to maximise ⟨Y, X⟩ over the observed entries with ‖Y‖₂ ≤ 1, and the scaled
    multipliers are a candidate.
    """
    norm = float(np.sum(linalg.svdvals(np.where(mask, given, state.low))))
    largest = max(1.0, float(linalg.svdvals(state.dual)[0]))
    return (norm - float(np.sum(state.dual * given)) / largest) / (norm or 1.0)
