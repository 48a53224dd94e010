"""The files of a run: trials, facts, figures, tables and the page, each whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.experiment import Experiment
from experiments.figures.style import render
from experiments.page import Section, page
from experiments.report import Report
from experiments.store import Store
from polycomplete.files.whole import written_whole

__all__ = ["write_output"]

FORMS = ("png", "svg")


@dataclass(frozen=True)
class Drawn:
    """A report with its pictures as files."""

    report: Report
    pictures: Mapping[str, Mapping[str, bytes]]


def write_output(
    store: Store,
    asked: Sequence[Experiment],
    known: Iterable[Experiment],
    out: Path,
    without_data: Mapping[str, str],
    failures: Sequence[str],
) -> Path:
    """Write everything that the stored trials show.

    Parameters
    ----------
    store : Store
        The trials.
    asked : sequence of Experiment
        Those that were asked for; they stand on the page in any case.
    known : iterable of Experiment
        All experiments, in the order of the page; those of earlier runs are shown too.
    out : Path
        The folder.
    without_data : mapping
        From the name of an experiment to why its data were not to be had.
    failures : sequence of str
        Trials that failed.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder, "trials.sqlite"))
    ...     write_output(store, [], [], Path(folder), {}, []).name
    'index.html'
    """
    before = {name for session in store.sessions() for name in session["asked"]["names"]}
    shown = [e for e in known if e in asked or "all" in before or e.name in before]
    sections = [_section(store, experiment, out, without_data) for experiment in shown]
    write(out / "trials.csv", store.csv().encode())
    write(out / "machine.json", (json.dumps(store.sessions(), indent=1) + "\n").encode())
    text = page(sections, store.sessions(), failures, seconds_of(store))
    write(out / "index.html", text.encode())
    return out / "index.html"


def _section(
    store: Store, experiment: Experiment, out: Path, without_data: Mapping[str, str]
) -> Section:
    results = store.results(experiment.family)
    if not results.trials:
        lacking = without_data.get(experiment.name, "No trial of it has been run.")
        return Section(experiment, None, {}, lacking)
    drawn = draw(experiment.report(results))
    for name, forms in drawn.pictures.items():
        for form, content in forms.items():
            write(out / "figures" / f"{name}.{form}", content)
    for table in drawn.report.tables:
        write(out / "tables" / f"{table.name}.md", table.markdown().encode())
        write(out / "tables" / f"{table.name}.csv", table.csv().encode())
    svg = {name: forms["svg"] for name, forms in drawn.pictures.items()}
    return Section(experiment, drawn.report, svg, None)


def draw(report: Report) -> Drawn:
    """Draw the pictures of a report."""
    pictures = {}
    for figure in report.figures:
        picture = figure.draw()
        pictures[figure.name] = {form: render(picture, form, figure.name) for form in FORMS}
    return Drawn(report, pictures)


def seconds_of(store: Store) -> float:
    """Return the processor seconds of all stored trials."""
    return sum(measures.get("seconds", 0.0) for _, measures in store.rows())


def write(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path, force=True) as file:
        file.write(content)
