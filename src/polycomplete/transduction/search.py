"""Weight of the target, width of the kernel and smoothing, chosen by hiding known targets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polycomplete.kernels import RBF
from polycomplete.solvers.result import logger
from polycomplete.tables.method import checked
from polycomplete.transduction.targets import Target

__all__ = ["Search", "Settings"]

WEIGHTS = (1.0, 0.3, 3.0)  # of the target; one feature has 1
LESS = 0.1  # ... tried where 0.3 was the best of them
MULTIPLES = (1.0, 2.0)  # of a typical distance: classes have finer borders than surfaces
FINEST = 1e-5  # smoothing: below, a target with noise is not followed
GIVE_UP = 1.2  # a path that has come this far above its lowest loss is not followed further
STEADY = 0.02  # a candidate must be better by this share to replace one before it


class Settings(NamedTuple):
    """What was chosen, and what it gave for the hidden targets; None leaves the method's own.

    ``rows`` and ``decoded`` tell which targets had been hidden and what came back for them.
    """

    weight: float
    multiple: float | None
    smoothing: float | None
    loss: float
    rows: np.ndarray
    decoded: np.ndarray

    def prepare(self, method: Any) -> Any:
        """Return a copy of the method with these settings."""
        method = clone(method)
        if self.multiple is not None:
            method.set_params(kernel=RBF(multiple=self.multiple))
        if self.smoothing is not None:
            method.set_params(smoothing=self.smoothing)
        return method


@dataclass(frozen=True)
class Search:
    """A search over settings on rows whose target is known.

    Attributes
    ----------
    method : estimator
        What completes.
    features : ndarray of shape (n, m)
        Scaled, NaN where missing.
    target : Target
        The meaning of the target's columns.
    y : ndarray of shape (n,)
        Known targets.
    hidden : list of ndarray of bool, shape (n,)
        Which of them are hidden; the losses of all draws are averaged.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> from polycomplete.transduction.targets import Classes
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 3)) + 3 * y[:, None]
    >>> hidden = [np.arange(40) % 4 == 0]
    >>> search = Search(PMC(scale=None), X, Classes(np.array([0.5, 0.5])), y, hidden)
    >>> search.best([1.0], [1.0, 2.0]).loss < 0.1
    True
    """

    method: Any
    features: np.ndarray
    target: Target
    y: np.ndarray
    hidden: list[np.ndarray]

    def best(self, weights: list[float], multiples: list[float | None]) -> Settings:
        """Choose the weight with the first multiple, then the multiple with that weight."""
        found = [self.settings(weight, multiples[0]) for weight in weights]
        best = _lowest(found)
        if best.weight == min(weights) < 1 and len(weights) > 1:
            best = _lowest([best, self.settings(LESS, multiples[0])])
        for multiple in multiples[1:]:
            best = _lowest([best, self.settings(best.weight, multiple)])
        logger.info("chose target weight %g, width %s, smoothing %s: loss %.3f",
                    best.weight, best.multiple, best.smoothing, best.loss)  # fmt: skip
        return best

    def settings(self, weight: float, multiple: float | None) -> Settings:
        """Return the smoothing with the lowest loss for this weight and width."""
        start = Settings(weight, multiple, None, np.inf, np.empty(0, int), np.empty(0))
        method = start.prepare(self.method)
        draws = [self._follow(method, weight, hidden) for hidden in self.hidden]
        common = [s for s in draws[0] if all(s in draw for draw in draws)]
        losses = {s: float(np.mean([draw[s][1] for draw in draws])) for s in common}
        smoothing = min(losses, key=losses.__getitem__)
        decoded = np.concatenate([draw[smoothing][0] for draw in draws])
        rows = np.concatenate([np.flatnonzero(hidden) for hidden in self.hidden])
        loss = losses[smoothing]
        own = None if np.isnan(smoothing) else smoothing
        return start._replace(smoothing=own, loss=loss, rows=rows, decoded=decoded)

    def _follow(
        self, method: Any, weight: float, hidden: np.ndarray
    ) -> dict[float, tuple[np.ndarray, float]]:
        """Return what comes back for hidden targets at each smoothing, and the loss."""
        block = self.target.encode(self.y) * weight
        block[hidden] = np.nan
        found: dict[float, tuple[np.ndarray, float]] = {}
        lowest = np.inf
        for smoothing, completed in _path(method, np.hstack([self.features, block])):
            decoded = self.target.decode(completed[hidden, -block.shape[1] :] / weight)
            loss = self.target.loss(decoded, self.y[hidden])
            found[smoothing], lowest = (decoded, loss), min(lowest, loss)
            if smoothing < FINEST or loss > GIVE_UP * lowest:
                break
        return found


def _path(method: Any, joint: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Yield completions with decreasing smoothing; a single one where there is no such path."""
    if getattr(method, "smoothing", None) == "auto" and hasattr(method, "path"):
        yield from method.path(joint)
    else:
        with warnings.catch_warnings():  # the fit on all rows will say it
            warnings.simplefilter("ignore", ConvergenceWarning)
            completed = method.fit_transform(joint)
        yield np.nan, checked(method, joint, completed)


def _lowest(found: list[Settings]) -> Settings:
    best = found[0]
    for other in found[1:]:
        if other.loss < (1 - STEADY) * best.loss:
            best = other
    return best
