"""What an experiment is: a family of trials, which of them to run, and what to make of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from experiments.report import Report
from experiments.results import Results

__all__ = ["Cell", "Experiment", "Family", "Scale", "Task"]

Scale = Literal["quick", "full"]
Setting = Mapping[str, Any]


def _nothing_needed() -> None:
    """Stand for data that are always there."""


@dataclass(frozen=True)
class Family:
    """Trials of one kind: a dataset and a measure, for any method.

    Attributes
    ----------
    name : str
        Under which its trials are stored; experiments that share a family share its trials.
    version : int
        Raised when the meaning of a trial changes: stored trials of another version do not count.
    trial : callable
        ``trial(setting, method, seed)`` returns numbers by name.
    prepare : callable
        Gets the data; raises FileNotFoundError with what to do where they are not to be had.
    """

    name: str
    version: int
    trial: Callable[[Setting, str, int], dict[str, float]]
    prepare: Callable[[], object] = _nothing_needed


class Cell(NamedTuple):
    """One setting, how many trials, and by which methods; all of the experiment's if None."""

    setting: Setting
    trials: int
    methods: Sequence[str] | None = None


class Task(NamedTuple):
    """One trial to be run."""

    family: str
    version: int
    setting: str
    method: str
    seed: int

    @property
    def values(self) -> dict[str, Any]:
        """Return the setting as a dictionary."""
        return dict(json.loads(self.setting))


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper.

    Attributes
    ----------
    name, title : str
        How it is asked for, and its heading.
    printed_as : str
        What it is in the paper: "Figure 2 (a)".
    claim : str
        What the paper says of it, in our words.
    family : Family
        Its trials.
    methods : sequence of str
        The rows, in the order in which they are shown.
    cells : callable
        ``cells(scale)`` returns what is run in a quick and in a full run.
    report : callable
        ``report(results)`` returns figures, tables and verdicts.
    """

    name: str
    title: str
    printed_as: str
    claim: str
    family: Family
    cells: Callable[[Scale], Sequence[Cell]]
    report: Callable[[Results], Report]
    methods: Sequence[str] = field(default=())

    def tasks(
        self, scale: Scale, trials: int | None = None, methods: Sequence[str] | None = None
    ) -> list[Task]:
        """Return the trials to be run; `trials` overrules the cells, `methods` the experiment."""
        every = (
            Task(self.family.name, self.family.version, canonical(cell.setting), method, seed)
            for cell in self.cells(scale)
            for method in self._rows(cell, methods)
            for seed in range(trials or cell.trials)
        )
        return list(dict.fromkeys(every))  # cells may overlap

    def _rows(self, cell: Cell, methods: Sequence[str] | None) -> Sequence[str]:
        """Return the methods of a cell; what it leaves out stays out even when asked for."""
        if methods is None:
            return cell.methods or self.methods
        left_out = set(self.methods) - set(cell.methods or self.methods)
        return [method for method in methods if method not in left_out]


def canonical(setting: Setting) -> str:
    """Return a setting as text: the same text for the same setting."""
    return json.dumps(dict(setting), sort_keys=True)
