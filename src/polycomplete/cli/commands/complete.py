"""``polycomplete complete``: a table with holes in, a complete one out."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polycomplete.cli.app import command
from polycomplete.cli.options import Force, Ids, Method, Output, Seed, Source
from polycomplete.cli.talk import Talk
from polycomplete.files.table import Reading

if TYPE_CHECKING:
    from polycomplete.files.table import Table

__all__: list[str] = []


def _kind_of_report(path: str | None) -> str | None:
    if path and not path.lower().endswith((".html", ".htm", ".json", ".txt")):
        raise typer.BadParameter(f"{path} must end with .html, .json or .txt.")
    return path


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
#: What the answer as JSON has of the report, and which counts it leaves out.
TRUST = ("expected_error", "wrong_labels", "fallback_columns")
NOT_COUNTED = ("missing", "missing_share", "complete_rows", "tiles")
CLUSTER = "Folders of Parquet files"
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        show_default=False,
        help="Processes on this machine.",
        rich_help_panel=CLUSTER,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        show_default=False,
        help="The Dask cluster to work on; its workers must see both folders.",
        rich_help_panel=CLUSTER,
    ),
]


@command(
    "polycomplete complete data.csv -o complete.csv",
    "polycomplete complete data.csv --id name --missing -999 --report report.html",
    "polycomplete complete data.csv --method lrmc --save model.skops",
    "cat data.csv | polycomplete complete - > complete.csv",
    "polycomplete complete parts/ -o complete/ --workers 2",
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
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Fill in the missing cells of a table.

    Cells that are there stay as they are, in text files to the letter. The result is written whole
    or not at all.
    """
    from polycomplete.cli.columns import learned_from, usable
    from polycomplete.cli.outputs import beside, check_outputs
    from polycomplete.cli.reading import origin, read

    cluster = {"workers": workers, "scheduler": scheduler}
    if os.path.isdir(table):
        _refuse("do not go with folders", id=ids, force=force, report=report)
        _folder(table, output, method, seed, talk, save, cluster)
        return
    _refuse("go with folders only", **cluster)
    output = output or beside(table, "complete")
    check_outputs(talk, output, report, save, force=force, source=table)
    _check_possible(method, report, save)
    given = read(table, how, talk)
    used = usable(given, ids or (), talk)
    frame = learned_from(given, used, talk)
    missing = sum(given.frame[used].null_count().row(0))
    from polycomplete.cli.completing import make  # a second: only when the table can be read

    if not missing:
        talk.note("nothing is missing in the columns used; the table is written as it is.")
    # Where nothing is missing and nothing is kept, the cheapest method gives the same.
    estimator = make(method if missing or save or report else "mean", seed)
    with talk.working(f"completing {missing} cells by {method}"):
        made = given.completed(estimator.fit_transform(frame))
    # All is made before anything is written: a run that fails leaves nothing half done.
    model = _model(estimator) if save else None
    sentences, found, page = _report(report, estimator, method, given, made, ids or [], talk)
    _write(made, output, model, save, force, talk)
    if page is not None:
        _write_report(page, str(report), force, talk)
    talk.done(sentences, origin(given) | found | {"method": method, "seed": seed})


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
    from polycomplete.cli.completing import make
    from polycomplete.cli.outputs import check_outside
    from polycomplete.dask import complete_parquet
    from polycomplete.persistence import save as save_model

    target = target or f"{source.rstrip('/')}-complete"
    if save:
        check_outside(save, source, target)
    _check_possible(method, None, save)
    with talk.working(f"completing the files of {source} by {method}"):
        estimator = complete_parquet(source, target, make(method, seed), **cluster)
    talk.wrote("output", target)
    if save:
        save_model(estimator, save)
        talk.wrote("model", save)
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


def _report(
    path: str | None,
    estimator: Any,
    method: str,
    given: Table,
    made: Table,
    ids: list[str],
    talk: Talk,
) -> tuple[str, dict[str, Any], bytes | None]:
    """Return what is said in the end, its facts, and the content of the report if one is wanted."""
    from polycomplete.cli.reading import row_labels
    from polycomplete.report import Report

    text, facts = f"Completed {given.name} by {method} in {talk.seconds:.1f} s.", {}
    try:
        word, labels = row_labels(given, ids)
        report = Report(
            estimator,
            given.frame,
            made.frame,
            method=method,
            seconds=talk.seconds,
            command=shlex.join(["polycomplete", *sys.argv[1:]]),
            row_word=word,
            row_labels=labels,
        )
        text, facts = report.text(), _facts(report.summary)
        return text, facts, report.render(path).encode("utf-8") if path else None
    except Exception as error:  # whatever it is: hours of work must not be lost for a report
        _lament(error, talk)
        return text, facts, None


def _facts(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what the text of a report says, for scripts."""
    loose = summary["undetermined_rows"]
    counts = {name: n for name, n in summary["table"].items() if name not in NOT_COUNTED}
    trust = {name: summary[name] for name in TRUST}
    return counts | trust | {"undetermined_rows": loose and loose["count"]}


def _write_report(content: bytes, path: str, force: bool, talk: Talk) -> None:
    from polycomplete.files.whole import written_whole

    try:
        with written_whole(path, force=force) as file:
            file.write(content)
    except OSError as error:
        _lament(error, talk)
    else:
        talk.wrote("report", path)


def _lament(error: Exception, talk: Talk) -> None:
    """Say that there is no report, and that everything else is as it should be."""
    from polycomplete.cli.failures import one_line

    if talk.debug:
        traceback.print_exception(error)
    why = one_line(error).rstrip(".")
    talk.note(f"the report could not be made ({why}); nothing else lacks for it.", always=True)


def _model(estimator: Any) -> bytes:
    from polycomplete.persistence import dumps

    return dumps(estimator)


def _write(
    made: Table, output: str, model: bytes | None, save: str | None, force: bool, talk: Talk
) -> None:
    """Write table and model, both or none."""
    from polycomplete.files import write_table
    from polycomplete.files.whole import written_whole

    if model is None or save is None:
        write_table(made, output, force=force)
        talk.wrote("output", output)
        return
    with written_whole(save, force=force) as file:
        file.write(model)
        file.flush()  # a full disk shows here, before the table has its name
        write_table(made, output, force=force)
    talk.wrote("output", output)
    talk.wrote("model", save)
