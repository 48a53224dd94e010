"""Running trials in processes, one BLAS thread each, and storing each as it finishes."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from experiments.experiment import Family, Task
from experiments.progress import Progress
from experiments.store import Store

__all__ = ["run_tasks"]


class Outcome(NamedTuple):
    """What became of a trial: its measures, or why it failed."""

    task: Task
    measures: dict[str, float]
    failure: str | None = None


def run_tasks(
    tasks: Iterable[Task],
    families: Iterable[Family],
    store: Store,
    session: int = 0,
    jobs: int = 1,
    quiet: bool = False,
) -> list[str]:
    """Run the trials that the store does not have yet.

    Parameters
    ----------
    tasks : iterable of Task
        All trials that are asked for; those of the first seed are run first.
    families : iterable of Family
        The families they belong to.
    store : Store
        Where they go, one by one.
    session : int
        The number of the run.
    jobs : int
        Processes.
    quiet : bool
        Do not tell how far it is.

    Returns
    -------
    list of str
        A sentence for each trial that failed; the others are in the store.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> toy = Family("toy", 1, lambda setting, method, seed: {"double": 2.0 * setting["n"]})
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder, "trials.sqlite"))
    ...     run_tasks([Task("toy", 1, '{"n": 4}', "mean", 0)], [toy], store, quiet=True)
    ...     store.rows()[0][1]["double"]
    []
    8.0
    """
    wanted = list(dict.fromkeys(tasks))
    finished = store.done()
    waiting = in_order(task for task in wanted if task not in finished)
    shown = Progress(len(wanted), len(wanted) - len(waiting), quiet=quiet)
    failures = []
    for outcome in _outcomes(waiting, {family.name: family for family in families}, jobs):
        task = outcome.task
        shown.step(f"{task.family} {task.method}")
        if outcome.failure is None:
            store.add(task, outcome.measures, session)
        else:
            failures.append(
                f"{task.family} {task.setting} {task.method} {task.seed}: {outcome.failure}"
            )
    return failures


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Put first seeds first; within a seed mix cheap and dear ones, so that estimates hold."""
    mixed = sorted(tasks)
    random.Random(0).shuffle(mixed)
    return sorted(mixed, key=lambda task: task.seed)


def _outcomes(tasks: Sequence[Task], families: dict[str, Family], jobs: int) -> Iterator[Outcome]:
    calls = (delayed(_one)(families[task.family], task) for task in tasks)
    # One trial at a time goes to a process: batches would be lost whole when a run is killed.
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    yield from pool(calls)


def _one(family: Family, task: Task) -> Outcome:
    """Run one trial on one thread; seconds are those of the processor."""
    began = time.process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # Published algorithms stop at their last iteration whether they converged or not.
            warnings.simplefilter("ignore")
            measures = family.trial(task.values, task.method, task.seed)
    except Exception as error:  # one method that fails must not end a run of hours
        return Outcome(task, {}, f"{type(error).__name__}: {error}")
    seconds = round(time.process_time() - began, 3)
    return Outcome(task, {**{k: float(v) for k, v in measures.items()}, "seconds": seconds})
