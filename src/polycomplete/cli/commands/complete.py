"""``polycomplete complete``: a table with holes in, a complete one out."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polycomplete.cli.app import command
from polycomplete.cli.options import Force, Ids, Method, Output, Seed, Source
from polycomplete.cli.talk import Talk
from polycomplete.files.reading import Reading

if TYPE_CHECKING:
    from polycomplete.files import Table

__all__: list[str] = []


def _kind_of_report(path: str | None) -> str | None:
    if path and not path.lower().endswith((".html", ".htm", ".json", ".txt")):
        raise typer.BadParameter(f"{path} must end with .html, .json or .txt.")
    return path


def _known_backend(name: str) -> str:
    if name not in ("local", "dask"):
        raise typer.BadParameter(f"{name!r} is neither local nor dask.")
    return name


ReportFile = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE",
        show_default=False,
        callback=_kind_of_report,
        help="Write a report too: a page (.html), JSON (.json) or text (.txt).",
    ),
]
ModelFile = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="FILE",
        show_default=False,
        help="Keep the model in this file, for the command apply.",
    ),
]
CLUSTER = "Folders of Parquet files"
Backend = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="local|dask",
        callback=_known_backend,
        help="dask completes a folder of Parquet files into another, each file whole or not there.",
        rich_help_panel=CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        show_default=False,
        help="With dask: so many processes on this machine.",
        rich_help_panel=CLUSTER,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        show_default=False,
        help="With dask: the cluster to work on; its workers must see both folders.",
        rich_help_panel=CLUSTER,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="With dask: go on with a job that was stopped; files that are there stay.",
        rich_help_panel=CLUSTER,
    ),
]


@command(
    "polycomplete complete data.csv -o complete.csv",
    "polycomplete complete data.csv --id name --missing -999 --report report.html",
    "polycomplete complete data.csv --method lrmc --save model.skops",
    "cat data.csv | polycomplete complete - > complete.csv",
    "polycomplete complete parts/ -o complete/ --backend dask --workers 2 --resume",
)
def complete(
    table: Source,
    how: Reading,
    talk: Talk,
    output: Output = None,
    method: Method = "pmc-w",
    report: ReportFile = None,
    save: ModelFile = None,
    ids: Ids = None,
    seed: Seed = 0,
    force: Force = False,
    backend: Backend = "local",
    workers: Workers = None,
    scheduler: Scheduler = None,
    resume: Resume = False,
) -> None:
    """Fill in the missing cells of a table.

    Cells that are there stay as they are, in text files to the letter. The result is written whole
    or not at all.
    """
    from polycomplete.cli.columns import usable
    from polycomplete.cli.outputs import beside, check_outputs
    from polycomplete.files import read_table, write_table

    cluster = {"workers": workers, "scheduler": scheduler, "resume": resume}
    if backend == "dask":
        _refuse("do not go with --backend dask", id=ids, force=force, report=report)
        _folder(table, output, method, seed, talk, save, cluster)
        return
    _refuse("go with --backend dask only", **cluster)
    output = output or beside(table, "complete")
    check_outputs(talk, output, report, save, force=force, source=table)
    _check_possible(method, report, save)
    given = read_table(table, how)
    frame = given.frame.select(usable(given, ids or (), talk))
    missing = sum(frame.null_count().row(0))
    estimator, completed = None, frame
    if not missing:
        talk.note("nothing is missing; the table is written as it is.")
    if missing or save or report:
        with talk.working(f"completing {missing} cells by {method}"):
            estimator, completed = _completed(frame, method, seed)
    made = given.completed(completed)
    write_table(made, output, force=force)
    talk.wrote("output", output)
    if report:
        _report(report, estimator, frame, completed, talk)
    if save:
        _save(save, estimator, talk)
    facts = _counts(given, made, frame, estimator) | {"method": method, "seed": seed}
    talk.done(_sentence(facts, talk.seconds), facts)


def _refuse(why: str, **options: object) -> None:
    """Raise where options were given that would be ignored."""
    from polycomplete.cli.failures import MISUSED, Failure

    given = [f"--{name}" for name, value in options.items() if value]
    if given:
        raise Failure(f"These options {why}: {', '.join(given)}.", MISUSED)


def _folder(
    source: str,
    target: str | None,
    method: str,
    seed: int,
    talk: Talk,
    save: str | None,
    cluster: dict[str, Any],
) -> None:
    """Complete a folder of Parquet files."""
    from polycomplete.cli.folders import complete_folder
    from polycomplete.cli.outputs import check_outside

    target = target or f"{source.rstrip('/')}-complete"
    if save:
        check_outside(save, source, target)
    _check_possible(method, None, save)
    estimator = complete_folder(source, target, method, seed, talk, **cluster)
    talk.wrote("output", target)
    if save:
        _save(save, estimator, talk)
    facts = {"input": source, "method": method, "seed": seed}
    talk.done(f"Completed the files of {source} by {method} in {talk.seconds:.1f} s.", facts)


def _check_possible(method: str, report: str | None, save: str | None) -> None:
    """Raise now where report or model could not be made in the end."""
    from polycomplete._optional import need
    from polycomplete.cli.failures import MISUSED, Failure

    if report and report.lower().endswith((".html", ".htm")):
        need("jinja2", "report", "The page of a report (not its text or JSON)")
    if save:
        need("skops", "models", "Saving a model")
        if method == "forest":
            raise Failure("The trees of forest cannot be saved; choose another method.", MISUSED)


def _completed(frame: Any, method: str, seed: int) -> tuple[Any, Any]:
    """Return the fitted estimator and the completed columns."""
    from polycomplete.cli.completing import fit_transform, make

    estimator = make(method, frame, seed)
    return estimator, fit_transform(estimator, frame)


def _report(path: str, estimator: Any, frame: Any, completed: Any, talk: Talk) -> None:
    from polycomplete.cli.completing import as_input
    from polycomplete.report import Report

    line = shlex.join(["polycomplete", *sys.argv[1:]])
    given, found = as_input(estimator, frame), as_input(estimator, completed)
    Report.of(estimator, given, found, command=line).write(path)
    talk.wrote("report", path)


def _save(path: str, estimator: Any, talk: Talk) -> None:
    from polycomplete.persistence import save

    save(estimator, path)
    talk.wrote("model", path)


def _counts(given: Table, made: Table, frame: Any, estimator: Any) -> dict[str, Any]:
    method = getattr(estimator, "method_", estimator)
    determined = getattr(method, "row_determined_", None)
    return {
        "input": given.name,
        "rows": given.frame.height,
        "columns": given.frame.width,
        "used_columns": frame.width,
        "completed": sum(frame.null_count().row(0)),
        "still_missing": sum(made.frame.null_count().row(0)),
        "expected_error": None if estimator is None else _expected(estimator, frame),
        "undetermined_rows": None if determined is None else int((~determined).sum()),
    }


def _expected(estimator: Any, frame: Any) -> dict[str, Any] | None:
    from polycomplete.cli.completing import expected_error

    return expected_error(estimator, frame)


def _sentence(facts: dict[str, Any], seconds: float) -> str:
    cells, completed = facts["rows"] * facts["used_columns"], facts["completed"]
    said = (
        f"Completed {completed} of {cells} cells ({completed / cells:.1%}) by {facts['method']} "
        f"in {seconds:.1f} s."
    )
    error = facts["expected_error"]
    if error:
        low, high = error["interval"]
        said += (
            f"\nExpected error: {error['relative']:.2f} of that of filling in the mean "
            f"({low:.2f} to {high:.2f})."
        )
    if facts["undetermined_rows"]:
        said += f"\nRows that their cells do not determine: {facts['undetermined_rows']}."
    return said
