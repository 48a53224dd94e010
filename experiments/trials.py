"""Trials: how they are declared, run in processes, and kept."""

from __future__ import annotations

import json
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from experiments.methods import OURS, ROWS
from experiments.report import Report, counted
from experiments.store import Store
from polycomplete.methods import METHODS

Setting = Mapping[str, Any]
#: From setting, method and seed to numbers by name.
Measure = Callable[[Setting, str, int], dict[str, float]]


@dataclass(frozen=True)
class Family:
    """Trials of one kind: a dataset and what is measured on it, for any method.

    `measure(setting, method, seed)` returns numbers by name. `prepare` gets the data, or raises
    FileNotFoundError with the remedy. The version is raised when the meaning of a trial changes:
    trials of other versions do not count.
    """

    name: str
    version: int
    measure: Measure
    prepare: Callable[[], object] = lambda: None


class Trial(NamedTuple):
    """One trial; its setting is JSON, with sorted keys."""

    family: str
    version: int
    setting: str
    method: str
    seed: int


class Cell(NamedTuple):
    """A setting, the number of its trials, and their methods."""

    setting: Setting
    trials: int
    methods: Sequence[str]


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper: its trials, and how they are shown.

    A grid is a product of settings, with `trials` in a quick and in a full run, and `methods` if
    not all of the experiment's. `show(report, results)` adds figures, tables and verdicts.
    """

    name: str
    family: Family
    show: Callable[[Report, pd.DataFrame], None]
    grids: Sequence[Mapping[str, Any]]
    methods: Sequence[str] = ROWS
    title: str = ""
    place: str = ""
    claim: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Yield what is run in a quick or in a full run."""
        scale = "quick" if quick else "full"
        for grid in (grid for grid in self.grids if scale in grid["trials"]):
            levels = {k: v for k, v in grid.items() if k not in ("trials", "methods")}
            every = product(*(v if isinstance(v, list) else [v] for v in levels.values()))
            for setting in (dict(zip(levels, values, strict=True)) for values in every):
                yield Cell(setting, grid["trials"][scale], grid.get("methods", self.methods))

    def trials(
        self, quick: bool = True, number: int | None = None, asked: Sequence[str] | None = None
    ) -> list[Trial]:
        """Return the trials to be run; `number` and the methods `asked` for override the grids'."""
        found = (
            Trial(self.family.name, self.family.version, canonical(cell.setting), method, seed)
            for cell in self.cells(quick)
            for method in self._methods(cell, asked)
            for seed in range(number or cell.trials)
        )
        return list(dict.fromkeys(found))  # grids may overlap

    def _methods(self, cell: Cell, asked: Sequence[str] | None) -> Sequence[str]:
        """Return the methods of a cell; what it leaves out stays out even when asked for."""
        if asked is None or OURS not in self.methods:
            return cell.methods
        possible = {*cell.methods, *METHODS} - ({*self.methods} - {*cell.methods})
        return [method for method in asked if method in possible]

    def own(self, results: pd.DataFrame, runs: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
        """Return the trials of the settings that runs asked for: others may share the family."""
        scales = {run["asked"]["quick"] for run in runs if self.name in run["names"]}
        asked = [cell.setting for quick in scales for cell in self.cells(quick)]
        return results.merge(pd.DataFrame(asked).drop_duplicates()) if len(results) else results

    def report(self, results: pd.DataFrame) -> Report:
        """Return figures, tables and verdicts."""
        report = Report(self.name, self.words, trials=counted(results))
        self.show(report, results)
        return report


def canonical(setting: Setting) -> str:
    """Return a setting as text: the same text for the same setting."""
    return json.dumps(dict(setting), sort_keys=True)


def run(
    experiments: Sequence[Experiment],
    store: Store,
    quick: bool = True,
    number: int | None = None,
    methods: Sequence[str] | None = None,
    jobs: int = 1,
) -> None:
    """Run the trials that the store does not hold yet; each is stored as it finishes."""
    lacking = {e.name: reason for e in experiments if (reason := _lacking(e.family))}
    wanted = {
        trial: experiment.family.measure
        for experiment in experiments
        if experiment.name not in lacking
        for trial in experiment.trials(quick, number, methods)
    }
    asked = {"quick": quick, "trials": number, "methods": methods, "jobs": jobs}
    store.begin(names=[e.name for e in experiments], asked=asked, lacking=lacking)
    waiting = in_order(wanted.keys() - finished(store).keys())
    # One trial at a time goes to a process: a batch would be lost whole when a run is killed.
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    done = pool(delayed(_run_one)(wanted[trial], trial) for trial in waiting)
    stored = len(wanted) - len(waiting)
    print(f"{len(wanted)} trials, {stored} of them in {store.path} already", file=sys.stderr)
    console, nothing = Console(stderr=True), not waiting
    for result in track(done, "Running", len(waiting), console=console, disable=nothing):
        store.add(commit=store.commit, **result)


def _lacking(family: Family) -> str | None:
    """Return why the data of a family cannot be had, if so."""
    try:
        family.prepare()
    except FileNotFoundError as error:
        return str(error)
    return None


def in_order(trials: Iterable[Trial]) -> list[Trial]:
    """Put first seeds first; within a seed mix cheap and costly ones, so that estimates hold."""
    mixed = sorted(trials)
    random.Random(0).shuffle(mixed)
    return sorted(mixed, key=lambda trial: trial.seed)


def _run_one(measure: Measure, trial: Trial) -> dict[str, Any]:
    """Run a trial on one thread; return it with what was measured, or with why it failed."""
    setting = json.loads(trial.setting)
    result: dict[str, Any] = {**trial._asdict(), "setting": setting}
    began = time.process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # Published algorithms stop at their last iteration whether they converged or not.
            warnings.simplefilter("ignore")
            measures = measure(setting, trial.method, trial.seed)
    except Exception as error:  # one method that fails must not end a run of hours
        return {**result, "failure": f"{type(error).__name__}: {error}"}
    seconds = round(time.process_time() - began, 3)
    return {**result, "measures": {**measures, "seconds": seconds}}


def _stored(store: Store) -> dict[Trial, dict[str, Any]]:
    """Return the last result of every trial; one that failed and then went well went well."""
    found: dict[Trial, dict[str, Any]] = {}
    for result in store.results():
        where = canonical(result["setting"])
        trial = Trial(*(result[key] for key in Trial._fields))._replace(setting=where)
        if "measures" in result or "measures" not in found.get(trial, {}):
            found[trial] = result
    return found


def finished(store: Store) -> dict[Trial, dict[str, Any]]:
    """Return the trials that went well, which are not run again."""
    return {trial: result for trial, result in _stored(store).items() if "measures" in result}


def failures(store: Store) -> list[str]:
    """Return a sentence for each trial that failed and has not gone well since."""
    return [
        f"{trial.family} {trial.setting} {trial.method} {trial.seed}: {result['failure']}"
        for trial, result in sorted(_stored(store).items())
        if "failure" in result
    ]


def results_of(store: Store, family: Family) -> pd.DataFrame:
    """Return the trials of a family as a table: setting, method, seed, measures."""
    return pd.DataFrame(
        {**result["setting"], "method": trial.method, "seed": trial.seed, **result["measures"]}
        for trial, result in sorted(finished(store).items())
        if (trial.family, trial.version) == (family.name, family.version)
    )
