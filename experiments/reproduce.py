"""From names of experiments to a folder with their trials, figures, tables and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from experiments.experiment import Experiment, Scale, Task
from experiments.facts import machine_facts
from experiments.families.labels import CLASSIFIERS
from experiments.output import write_output
from experiments.paper import EXPERIMENTS
from experiments.rows import OURS
from experiments.runner import run_tasks
from experiments.store import Store
from polycomplete import methods as registry
from polycomplete._optional import need

__all__ = ["Outcome", "Plan", "reproduce"]


@dataclass(frozen=True)
class Plan:
    """What to run, and where it goes.

    Attributes
    ----------
    names : sequence of str
        Experiments, or "all".
    scale : {"quick", "full"}
        Few trials and marked subsets, or the paper's numbers of trials.
    trials : int, optional
        So many trials of every setting instead.
    methods : sequence of str, optional
        Only these rows: names of the registry of methods, "polycomplete", or others of Table 1.
    jobs : int
        Trials at a time, on one thread each.
    out : Path
        The folder.
    resume : bool
        Keep the trials that the folder has; else it must not have any of these experiments.
    """

    names: Sequence[str]
    scale: Scale = "quick"
    trials: int | None = None
    methods: Sequence[str] | None = None
    jobs: int = 1
    out: Path = Path("out/reproduce")
    resume: bool = False


@dataclass(frozen=True)
class Outcome:
    """The page, trials that failed, and experiments whose data were not to be had, with why."""

    page: Path
    failures: Sequence[str]
    without_data: Mapping[str, str]


def reproduce(
    plan: Plan, experiments: Mapping[str, Experiment] = EXPERIMENTS, *, quiet: bool = False
) -> Outcome:
    """Run experiments and write what they show.

    Parameters
    ----------
    plan : Plan
        What to run, and where it goes.
    experiments : mapping
        From name to experiment; those of the paper by default.
    quiet : bool
        Do not tell how far the run is.

    Returns
    -------
    Outcome
        Where the page is, and what went wrong.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     outcome = reproduce(Plan(["theory"], trials=1, out=Path(folder)), quiet=True)
    ...     outcome.page.name, sorted(path.name for path in Path(folder, "tables").glob("*.md"))
    ('index.html', ['theory-examples.md', 'theory-ranks.md'])
    """
    for library in ("matplotlib", "jinja2"):  # before hours of trials, not after them
        need(library, "reproduce", "The page of an experiment")
    chosen = _chosen(plan, experiments)
    store = Store(plan.out / "trials.sqlite")
    tasks = {e.name: e.tasks(plan.scale, plan.trials, _rows(plan, e)) for e in chosen}
    if not plan.resume:
        _refuse_old_trials(store, chosen, plan.out)
    without_data = _prepare(chosen)
    families = {e.family.name: e.family for e in chosen}
    wanted: list[Task] = [t for e in chosen if e.name not in without_data for t in tasks[e.name]]
    session = store.begin(datetime.now(UTC).isoformat(timespec="seconds"), _facts(plan))
    failures = run_tasks(wanted, families.values(), store, session, plan.jobs, quiet)
    page = write_output(store, chosen, experiments.values(), plan.out, without_data, failures)
    return Outcome(page, failures, without_data)


def _chosen(plan: Plan, experiments: Mapping[str, Experiment]) -> list[Experiment]:
    if "all" in plan.names:
        return list(experiments.values())
    unknown = [name for name in plan.names if name not in experiments]
    if unknown:
        raise ValueError(
            f"There is no experiment {unknown[0]!r}; there are {', '.join(experiments)} and all."
        )
    return [experiments[name] for name in dict.fromkeys(plan.names)]


def _rows(plan: Plan, experiment: Experiment) -> list[str] | None:
    """Return the methods that were asked for; experiments that compare none keep their own."""
    if plan.methods is None or OURS not in experiment.methods:
        return None
    known = {*registry.METHODS, *CLASSIFIERS, OURS}
    unknown = [name for name in plan.methods if name not in known]
    if unknown:
        raise ValueError(
            f"There is no method {unknown[0]!r}; there are {', '.join(sorted(known))}."
        )
    own = set(experiment.methods)
    return [name for name in plan.methods if name in own or name in registry.METHODS]


def _refuse_old_trials(store: Store, chosen: Sequence[Experiment], out: Path) -> None:
    families = {e.family.name for e in chosen}
    old = sum(task.family in families for task in store.done())
    if old:
        raise ValueError(
            f"{out} holds {old} trials of these experiments; add --resume to keep them and run "
            "what is missing, or choose another --out."
        )


def _prepare(chosen: Sequence[Experiment]) -> dict[str, str]:
    """Get the data of every experiment; return why some are not to be had."""
    without_data = {}
    for experiment in chosen:
        try:
            experiment.family.prepare()
        except FileNotFoundError as error:
            without_data[experiment.name] = str(error)
    return without_data


def _facts(plan: Plan) -> dict[str, object]:
    asked = {
        "names": list(plan.names),
        "scale": plan.scale,
        "trials": plan.trials,
        "methods": list(plan.methods) if plan.methods else None,
        "jobs": plan.jobs,
    }
    return {**machine_facts(), "asked": asked, "seeds": "0, 1, 2, ... in every setting"}
