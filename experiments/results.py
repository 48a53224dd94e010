"""Trials that are done, and the questions a report asks of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Results", "Trial"]


class Trial(NamedTuple):
    """One trial: where, by which method, with which seed, and what was measured."""

    setting: Mapping[str, Any]
    method: str
    seed: int
    measures: Mapping[str, float]


class Results:
    """Trials of one family.

    Parameters
    ----------
    trials : iterable of Trial
        In any order.

    Examples
    --------
    >>> results = Results([Trial({"n": 20}, "lrmc", seed, {"rse": 0.1 * seed}) for seed in (1, 3)])
    >>> results.mean("rse", "lrmc", n=20)
    0.2
    """

    def __init__(self, trials: Iterable[Trial]):
        self.trials = sorted(trials, key=lambda t: (sorted(t.setting.items()), t.method, t.seed))

    def where(self, **setting: Any) -> Results:
        """Return the trials of settings with these values."""
        wanted = setting.items()
        return Results(t for t in self.trials if wanted <= dict(t.setting).items())

    def only(self, key: str, values: Sequence[Any]) -> Results:
        """Return the trials in which a part of the setting is one of some values."""
        return Results(t for t in self.trials if t.setting[key] in values)

    def shared(self) -> Results:
        """Return the trials that every method has run, for a fair comparison of means."""
        ran: dict[str, set[str]] = {}
        for t in self.trials:
            ran.setdefault(_instance(t), set()).add(t.method)
        every = set().union(*ran.values())
        return Results(t for t in self.trials if ran[_instance(t)] == every)

    def levels(self, key: str) -> list[Any]:
        """Return the values that a part of the setting takes."""
        return sorted({t.setting[key] for t in self.trials})

    def methods(self, order: Sequence[str]) -> list[str]:
        """Return the methods that were run: those of `order` first, then others by name."""
        found = {t.method for t in self.trials}
        return [m for m in order if m in found] + sorted(found - set(order))

    def values(self, measure: str, method: str, **setting: Any) -> NDArray[np.float64]:
        """Return the measured values of a method, trial by trial."""
        chosen = [t for t in self.where(**setting).trials if t.method == method]
        return np.array([t.measures[measure] for t in chosen], dtype=np.float64)

    def mean(self, measure: str, method: str, **setting: Any) -> float:
        """Return the mean over the trials, NaN without any."""
        values = self.values(measure, method, **setting)
        return float(values.mean()) if values.size else float("nan")

    def median(self, measure: str, method: str, **setting: Any) -> float:
        """Return the median over the trials, NaN without any."""
        values = self.values(measure, method, **setting)
        return float(np.median(values)) if values.size else float("nan")

    def counted(self) -> str:
        """Return of how many trials a setting has the mean, at most: "one trial", "3 trials"."""
        count = len({t.seed for t in self.trials})
        return "one trial" if count == 1 else f"{count} trials"


def _instance(trial: Trial) -> str:
    """Return what methods have in common that were given the same data."""
    return json.dumps([dict(trial.setting), trial.seed], sort_keys=True)
