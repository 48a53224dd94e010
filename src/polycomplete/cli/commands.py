"""The commands: their options, and the steps of each.

The docstrings are their help. This file is loaded when the program starts: each command imports
what it needs when it runs, and what is slow to load once the table is read.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from typer import Argument, Option

from polycomplete._optional import need
from polycomplete.cli.console import CommandError, MisuseError
from polycomplete.io.table import ReadOptions

if TYPE_CHECKING:
    from polycomplete.cli.session import Session

#: The names of :mod:`polycomplete.methods`, repeated here because loading that takes a second.
MethodName = Literal[
    "pmc-w", "pmc-s", "pmc-poly", "nlmc", "vmc-2", "vmc-3", "kfmc", "ladmc", "srmc", "lrmc",
    "pmc-w-paper", "pmc-w2-paper", "pmc-w-authors", "pmc-s-paper", "pmc-s-authors",
    "pmc-poly-paper", "nlmc-paper", "nlmc-authors", "kfmc-paper", "lrmc-paper",
    "mean", "knn", "iterative", "forest",
]  # fmt: skip
METHODS: tuple[str, ...] = get_args(MethodName)


def _methods(text: str) -> list[str]:
    """Return the methods in a list with commas, or all."""
    names = [name.strip() for name in text.lower().split(",")]
    odd = sorted({*names} - {*METHODS, "all"})
    if odd:
        raise typer.BadParameter(f"there is no method {odd[0]!r}; there are {', '.join(METHODS)}.")
    return list(METHODS) if "all" in names else names


# Options of several commands
Source = Annotated[str, Argument(metavar="TABLE",
    help="The table: .csv, .tsv, .parquet, .arrow, .feather, .xlsx, .npy, .npz or .mat; "
    "- is standard input.")]  # fmt: skip
Rows = Annotated[int, Option(min=10, help="Maximum number of rows to try methods on, a random "
    "sample.")]  # fmt: skip

# Of complete and apply
_folders = partial(Option, rich_help_panel="Folders of Parquet files")
ReportFile = Annotated[str | None, Option("--report", metavar="FILE",
    help="Write a report: a page (.html), JSON (.json) or text (.txt).")]  # fmt: skip
ModelFile = Annotated[str | None, Option("--save", metavar="FILE",
    help="Save the model in this file, for the command apply.")]  # fmt: skip
Workers = Annotated[int | None, _folders(min=1, help="Number of processes on this machine.")]
Scheduler = Annotated[str | None, _folders(metavar="ADDRESS",
    help="A Dask cluster to work on; its workers must see both folders.")]  # fmt: skip
Model = Annotated[str, Argument(metavar="MODEL", help="A file written by complete --save.")]

# Of compare
Methods = Annotated[str, Option(metavar="NAMES", callback=_methods,
    help="Names of methods with commas between them, or all.")]  # fmt: skip
Share = Annotated[float, Option(min=0.001, max=0.9, help="Share of the cells to hold out.")]
Repeats = Annotated[int, Option(min=1, help="Number of holdouts.")]

# Of classify and cluster
Target = Annotated[str, Option(metavar="COLUMN",
    help="The column of labels, whose missing cells are filled in.")]  # fmt: skip
Confidence = Annotated[str | None, Option(metavar="COLUMN",
    help="Add a column of this name with the probability of each label filled in.")]  # fmt: skip
Clusters = Annotated[int | None, Option("--clusters", "-k", min=2,
    help="Number of clusters; found from the data by default.")]  # fmt: skip
Column = Annotated[str, Option(metavar="NAME", help="Name of the new column.")]


def complete(
    context: typer.Context,
    table: Source,
    report: ReportFile = None,
    save: ModelFile = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Fill in the missing cells of a table.

    Observed cells are copied, in text files verbatim. The result is written
    completely or not at all.

    \b
    Examples:
      $ polycomplete complete data.csv -o complete.csv
      $ polycomplete complete data.csv --id name --report report.html
      $ polycomplete complete data.csv --method lrmc --save model.skops
      $ cat data.csv | polycomplete complete - > complete.csv
      $ polycomplete complete parts/ -o complete/ --workers 2
    """
    from polycomplete.cli import models

    job: Session = context.obj
    cluster: dict[str, Any] = {"workers": workers, "scheduler": scheduler}
    if os.path.isdir(table):
        _refuse("are not for folders", id=job.ids, force=job.force, report=report)
        _complete_folder(job, table, save, **cluster)
        return
    _refuse("are for folders only", **cluster)
    job.check_output(table, "complete", report, save)
    _check_possible(job.method, report, save)
    given = job.read(table)
    frame = job.seen(job.usable())
    missing = given.missing(frame.columns)
    if not missing:
        job.note("nothing is missing in the columns used; the table is written as it is.")
    # With nothing missing and nothing to keep, the cheapest method gives the same result.
    method = job.method if missing or save or report else "mean"
    estimator = models.completer_of(method, job.seed)
    with job.console.working(f"completing {missing} cells by {job.method}"):
        made = given.completed(estimator.fit_transform(frame))
    # Table and model are made before either is written: a failed run leaves no files behind.
    model = models.persistence.dumps(estimator) if save else b""
    job.write(made, save, model)
    text = f"Completed {given.name} by {job.method} in {job.console.seconds:.1f} s."
    facts: dict[str, Any] = {"method": job.method, "seed": job.seed}
    with job.console.only_noting("the report"):
        from polycomplete.report import Report

        word, labels = job.rows()
        about = Report(
            estimator, given.frame, made.frame, method=job.method, seconds=job.console.seconds,
            command=shlex.join(["polycomplete", *sys.argv[1:]]), row_word=word, row_labels=labels,
        )  # fmt: skip
        text, facts = about.text(), _facts(about.summary) | facts
        if report:
            about.write(report)
            job.console.wrote("report", report)
    job.done(text, facts)


def _refuse(why: str, **options: object) -> None:
    """Raise if options were given that would be ignored."""
    given = [f"--{name}" for name, value in options.items() if value]
    if given:
        raise MisuseError(f"These options {why}: {', '.join(given)}.")


def _check_possible(method: str, report: str | None, save: str | None) -> None:
    """Raise now if report or model could not be written later."""
    kind = os.path.splitext(report or "")[1].lower()
    if report and kind not in (".html", ".htm", ".json", ".txt"):
        raise MisuseError(f"{report} must end with .html, .json or .txt.")
    if kind.startswith(".htm"):
        need("jinja2", "report", "The page of a report (not its text or JSON)")
    if save:
        need("skops", "models", "Saving a model")
    if save and method == "forest":
        raise MisuseError("The trees of forest cannot be saved; choose another method.")


def _facts(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a report's summary that the result as JSON has."""
    left_out = ("missing", "missing_share", "complete_rows", "tiles")
    facts = {name: n for name, n in summary["table"].items() if name not in left_out}
    trust = ("expected_error", "wrong_labels", "fallback_columns")
    undetermined = (summary["undetermined_rows"] or {}).get("count")
    return facts | {name: summary[name] for name in trust} | {"undetermined_rows": undetermined}


def _complete_folder(job: Session, folder: str, save: str | None, **cluster: Any) -> None:
    """Complete a folder of Parquet files."""
    from polycomplete.cli import models, session
    from polycomplete.dask import complete_parquet

    output, method = job.output or f"{folder.rstrip('/')}-complete", job.method
    if save:
        session.check_outside(save, folder, output)
    _check_possible(method, None, save)
    with job.console.working(f"completing the files of {folder} by {method}"):
        completer = models.completer_of(method, job.seed)
        estimator = complete_parquet(folder, output, completer, **cluster)
    job.console.wrote("output", output)
    if save:
        models.persistence.save(estimator, save)
        job.console.wrote("model", save)
    sentence = f"Completed the files of {folder} by {method} in {job.console.seconds:.1f} s."
    job.console.done(sentence, {"input": folder, "method": method, "seed": job.seed})


def apply_model(context: typer.Context, model: Model, table: Source) -> None:
    """Complete new rows with a saved model, without refitting.

    Each row is completed independently of the others. Columns that the model does
    not have are not changed.

    \b
    Examples:
      $ polycomplete apply model.skops new.csv -o out.csv
      $ cat new.csv | polycomplete apply model.skops - > out.csv
    """
    from polycomplete.cli import models

    job: Session = context.obj
    job.check_output(table, "complete", model=model)
    given = job.read(table)
    estimator = models.load_model(model)
    columns = models.columns_for(estimator, job, model)
    job.table = given = replace(given, frame=given.frame.with_columns(columns))
    frame = job.seen([column.name for column in columns])
    missing = given.missing()
    with job.console.working(f"completing {missing} cells", len(frame)) as step:
        made = given.completed(models.transform_blocks(estimator, frame, step))
    job.write(made)
    left, seconds = made.missing(), job.console.seconds
    where = ", ".join(column.name for column in made.frame if column.null_count())
    sentence = f"Completed {missing - left} cells of {len(frame)} rows in {seconds:.1f} s"
    sentence += f"; {left} are still missing, in {where}." if left else "."
    counts = {"rows": len(frame), "completed": missing - left, "still_missing": left}
    job.done(sentence, {"model": model} | counts)


def check(context: typer.Context, table: Source, rows: Rows = 300) -> None:
    """Inspect a table before completing it.

    Shows what is missing, by column, by row and together; which rows have too few
    cells; the intrinsic dimension of the rows; the error to expect, on held-out
    cells; and which method to use.

    \b
    Examples:
      $ polycomplete check data.csv
      $ polycomplete check data.csv --id name --missing -999
      $ polycomplete check data.csv --json > check.json
    """
    job: Session = context.obj
    given = job.read(table)
    used = job.usable()
    completed = job.sample(used, rows)
    from polycomplete.cli import trials  # slow to load

    found: dict[str, Any] = {"holdout": [], "recommended": None}
    if given.missing(used):
        found, completed = trials.recommend(completed, job.seed, job.console)
        words = [word for name in job.ids for word in ("--id", name)] + _words(job.options)
        words += ["--method", found["recommended"]["method"]]
        command = ["polycomplete", "complete", table, *words]
        found["recommended"]["command"] = shlex.join(command)
    facts = job.origin() | {"ids": job.ids, "used_columns": used}
    facts |= trials.missing_cells(job, used, completed) | found
    job.console.result(facts, *trials.shown_check(facts))


def _words(options: ReadOptions) -> list[str]:
    """Return read options as words of a command line, without defaults."""
    words = [word for text in options.missing for word in ("--missing", text)]
    for name in ("delimiter", "encoding", "decimal", "sheet", "variable"):
        value = getattr(options, name)
        if value != getattr(ReadOptions, name):
            words += [f"--{name}", "tab" if value == "\t" else value]
    return words if options.header else [*words, "--no-header"]


def compare(
    context: typer.Context,
    table: Source,
    methods: Methods = "pmc-w,kfmc,lrmc,mean,knn,iterative,forest",
    share: Share = 0.1,
    repeats: Repeats = 3,
    rows: Rows = 1000,
) -> None:
    """Rank methods on your own table, including those of scikit-learn.

    A share of the observed cells is held out, each method completes the table, and
    the held-out cells are compared. Numbers count by their error in units of the
    column's spread (1 is about what the mean gives), text by the share that is
    wrong.

    \b
    Examples:
      $ polycomplete compare data.csv
      $ polycomplete compare data.csv --methods pmc-w,knn,forest --repeats 10
      $ polycomplete compare data.csv --share 0.3 --json > ranking.json
    """
    job: Session = context.obj
    job.read(table)
    frame = job.sample(job.usable(), rows)
    from polycomplete.cli import trials  # slow to load

    if not trials.hold_out_cells(frame, share, job.seed)[1].any():
        raise CommandError(
            f"{job.table.name} has too few observed cells to hold some out and compare methods; "
            "give more rows, or a larger --share."
        )
    done: list[dict[str, Any]] = []
    try:
        tried = trials.try_methods(frame, methods, share, repeats, job.seed, job.console)
        done.extend(tried)
    finally:  # an interrupted command shows what it has found
        if done:
            ranked = trials.ranking(done)
            facts = {"rows": len(frame), "share": share, "repeats": repeats, "ranking": ranked}
            job.console.result(job.origin() | facts, trials.shown_ranking(ranked))


def classify(
    context: typer.Context, table: Source, target: Target, confidence: Confidence = None
) -> None:
    """Fill in the missing labels of a table from its columns of numbers.

    Rows with and without a label are used together. They may have other missing
    cells, which stay missing in the result.

    \b
    Examples:
      $ polycomplete classify data.csv --target label -o labeled.csv
      $ polycomplete classify data.csv --target label --id name --confidence sure
    """
    from polycomplete.cli import models

    job: Session = context.obj
    job.check_output(table, "classify")
    given = job.read(table)
    job.find([target])
    job.check_new(confidence, "--confidence")
    frame = job.numbers(target)
    missing, labels = given.frame[target].is_null(), job.seen([target])[target]
    classes = labels.drop_nulls().n_unique()
    if classes < 2:
        where = f"Column {target!r} of {given.name}"
        raise CommandError(f"{where} holds {classes} label; it needs two.")
    if not missing.any():
        job.note(f"column {target!r} has no missing label.")
    with job.console.working(f"finding {missing.sum()} labels"):
        found, sure = models.find_labels(frame, labels, job.method, job.seed)
    made = given.completed(found.to_frame())
    if confidence is not None:
        made = made.with_column(sure.set(~missing, None).alias(confidence))
    job.write(made)
    new = found.filter(missing)
    counts = dict(new.alias("label").value_counts().sort("label").rows())
    listed = ", ".join(f"{count} {label}" for label, count in counts.items()) or "none"
    facts = {"target": target, "rows": len(found), "found": len(new), "labels": counts}
    job.done(f"Found {len(new)} labels: {listed}.", facts)


def cluster(
    context: typer.Context, table: Source, clusters: Clusters = None, column: Column = "cluster"
) -> None:
    """Cluster the rows of a table by the subspaces on which they lie.

    The result is the table with one more column: the number of the cluster, from 1,
    which is empty for rows without any number. Missing cells are completed for the
    clustering, but stay missing in the result.

    \b
    Examples:
      $ polycomplete cluster points.csv -k 3 -o clustered.csv
      $ polycomplete cluster points.csv --id frame --column group
    """
    from polycomplete.cli import models

    job: Session = context.obj
    job.check_output(table, "cluster")
    given = job.read(table)
    job.check_new(column, "--column")
    frame = job.numbers()
    observed = job.rows_with_numbers(frame)
    with job.console.working(f"clustering {observed.sum()} rows"):
        found, sizes = models.find_clusters(frame, observed, clusters, job.method, job.seed)
    job.write(given.with_column(found.alias(column)))
    facts = {"rows": len(frame), "clusters": len(sizes), "sizes": sizes}
    facts |= {"not_clustered": found.null_count()}
    job.done(f"Found {len(sizes)} clusters of {', '.join(map(str, sizes))} rows.", facts)
