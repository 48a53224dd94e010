"""The commands: what each takes, and what it does in which order.

The docstrings are their help. This file is loaded when the program starts, and loads nothing heavy
itself: what a command needs it imports when it runs, what takes a second when the table is read.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import Any

import typer

from polycomplete._optional import need
from polycomplete.cli import options as o
from polycomplete.cli.console import MISUSED, CommandError, Console


def complete(
    context: typer.Context,
    table: o.Source,
    output: o.Output = None,
    method: o.Method = "pmc-w",
    report: o.ReportFile = None,
    save: o.ModelFile = None,
    ids: o.Ids = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    workers: o.Workers = None,
    scheduler: o.Scheduler = None,
) -> None:
    """Fill in the missing cells of a table.

    Cells that are there stay as they are, in text files to the letter. The result is written whole
    or not at all.

    \b
    Examples:
      $ polycomplete complete data.csv -o complete.csv
      $ polycomplete complete data.csv --id name --missing -999 --report report.html
      $ polycomplete complete data.csv --method lrmc --save model.skops
      $ cat data.csv | polycomplete complete - > complete.csv
      $ polycomplete complete parts/ -o complete/ --workers 2
    """
    from polycomplete.cli import tables

    console, options = context.obj
    cluster = {"workers": workers, "scheduler": scheduler}
    if os.path.isdir(table):
        _refuse("do not go with folders", id=ids, force=force, report=report)
        _complete_folder(table, output, method, save, seed, console, **cluster)
        return
    _refuse("go with folders only", **cluster)
    output = tables.checked_output(console, table, output, "complete", report, save, force=force)
    _check_possible(method, report, save)
    given = tables.read(table, options, console)
    used = tables.usable(given, ids, console)
    frame = tables.learned_from(given, used, console)
    missing = tables.count_missing(given.frame[used])
    # These take a second: only when the table can be read.
    from polycomplete import persistence
    from polycomplete.cli import completing

    if not missing:
        console.note("nothing is missing in the columns used; the table is written as it is.")
    # Where nothing is missing and nothing is kept, the cheapest method gives the same.
    estimator = completing.make(method if missing or save or report else "mean", seed)
    with console.working(f"completing {missing} cells by {method}"):
        made = given.completed(estimator.fit_transform(frame))
    # All is made before anything is written: a run that fails leaves nothing half done.
    model = persistence.dumps(estimator) if save else b""
    said, facts, page = completing.reported(estimator, given, made, method, ids, report, console)
    tables.write(made, output, force, console, save, model)
    if report and page is not None:
        completing.write_report(page, report, force, console)
    console.done(said, tables.origin(given) | facts | {"method": method, "seed": seed})


def _refuse(why: str, **options: object) -> None:
    """Raise where options were given that would be ignored."""
    given = [f"--{name}" for name, value in options.items() if value]
    if given:
        raise CommandError(f"These options {why}: {', '.join(given)}.", MISUSED)


def _check_possible(method: str, report: str | None, save: str | None) -> None:
    """Raise now where report or model could not be made in the end."""
    if report and report.lower().endswith((".html", ".htm")):
        need("jinja2", "report", "The page of a report (not its text or JSON)")
    if save:
        need("skops", "models", "Saving a model")
    if save and method == "forest":
        raise CommandError("The trees of forest cannot be saved; choose another method.", MISUSED)


def _complete_folder(
    folder: str, output: str | None, method: str, save: str | None, seed: int, console: Console,
    **cluster: Any,
) -> None:  # fmt: skip
    """Complete a folder of Parquet files."""
    from polycomplete import persistence
    from polycomplete.cli import completing, tables
    from polycomplete.dask import complete_parquet

    output = output or f"{folder.rstrip('/')}-complete"
    if save:
        tables.check_outside(save, folder, output)
    _check_possible(method, None, save)
    with console.working(f"completing the files of {folder} by {method}"):
        estimator = complete_parquet(folder, output, completing.make(method, seed), **cluster)
    console.wrote("output", output)
    if save:
        persistence.save(estimator, save)
        console.wrote("model", save)
    said = f"Completed the files of {folder} by {method} in {console.seconds:.1f} s."
    console.done(said, {"input": folder, "method": method, "seed": seed})


def apply(
    context: typer.Context,
    model: o.Model,
    table: o.Source,
    output: o.Output = None,
    force: o.Force = False,
) -> None:
    """Complete new rows by a saved model, without fitting it again.

    Each row is completed by itself: the answer does not depend on the other rows. Columns that the
    model does not know are left alone.

    \b
    Examples:
      $ polycomplete apply model.skops new.csv -o out.csv
      $ cat new.csv | polycomplete apply model.skops - > out.csv
    """
    from polycomplete.cli import tables

    console, options = context.obj
    output = tables.checked_output(console, table, output, "complete", force=force, model=model)
    given = tables.read(table, options, console)
    from polycomplete.cli import completing  # a second: only when the table can be read

    estimator = completing.load_model(model)
    columns = completing.as_fitted(given, estimator, model)
    given = replace(given, frame=given.frame.with_columns(columns))
    frame = tables.learned_from(given, [column.name for column in columns], console)
    missing = tables.count_missing(given.frame)
    steps = -(-len(frame) // completing.BLOCK)
    with console.working(f"completing {missing} cells", steps) as step:
        made = given.completed(completing.transform(estimator, frame, step))
    tables.write(made, output, force, console)
    left = tables.count_missing(made.frame)
    sentence = f"Completed {missing - left} cells of {len(frame)} rows in {console.seconds:.1f} s"
    where = ", ".join(column.name for column in made.frame if column.null_count())
    sentence += f"; {left} are still missing, in {where}." if left else "."
    counts = {"rows": len(frame), "completed": missing - left, "still_missing": left}
    console.done(sentence, {"model": model} | tables.origin(given) | counts)


def check(
    context: typer.Context,
    table: o.Source,
    rows: o.TriedRows = 300,
    ids: o.Ids = None,
    seed: o.Seed = 0,
) -> None:
    """Look at a table before completing it.

    Says what is missing, by column, by row and together; which rows are too empty; how many
    dimensions the rows seem to have; what error to expect, from cells that are hidden and
    completed; and which method to take.

    \b
    Examples:
      $ polycomplete check data.csv
      $ polycomplete check data.csv --id name --missing -999
      $ polycomplete check data.csv --json > check.json
    """
    from polycomplete.cli import tables

    console, options = context.obj
    given = tables.read(table, options, console)
    used = tables.usable(given, ids, console)
    part = tables.sample(tables.learned_from(given, used, console), rows, seed, console)
    from polycomplete.cli import trials  # a second: only when the table is a table

    named = [word for name in ids or () for word in ("--id", name)]
    command = ["polycomplete", "complete", table, *named, *o.spelled(options)]
    found = trials.measure(part, bool(tables.count_missing(given.frame[used])), seed, console)
    if found["recommended"]:
        command += ["--method", found["recommended"]["method"]]
        found["recommended"]["command"] = shlex.join(command)
    facts = tables.origin(given) | {"ids": ids or [], "used_columns": used}
    facts |= trials.missing_cells(given, used, found["needed"], ids) | found
    console.result(facts, *trials.shown(facts))


def compare(
    context: typer.Context,
    table: o.Source,
    methods: o.Methods = "pmc-w,kfmc,lrmc,mean,knn,iterative,forest",
    share: o.Share = 0.1,
    repeats: o.Repeats = 3,
    rows: o.Rows = 1000,
    ids: o.Ids = None,
    seed: o.Seed = 0,
) -> None:
    """Rank methods on your own table, those of scikit-learn included.

    A share of the cells that are there is hidden, each method completes the table, and what comes
    back is compared with what was hidden. Numbers count by their error in units of the column's
    spread (1 is about what the mean gives), texts by the share that is wrong.

    \b
    Examples:
      $ polycomplete compare data.csv
      $ polycomplete compare data.csv --methods pmc-w,knn,forest --repeats 10
      $ polycomplete compare data.csv --share 0.3 --json > ranking.json
    """
    from polycomplete.cli import tables

    console, options = context.obj
    given = tables.read(table, options, console)
    used = tables.usable(given, ids, console)
    frame = tables.sample(tables.learned_from(given, used, console), rows, seed, console)
    words = [word.strip() for word in methods.split(",")]
    names = o.METHODS if "all" in methods.split(",") else words
    from polycomplete.cli import trials  # a second: only when the table is a table

    scores = [trials.Score(name) for name in names]
    facts = tables.origin(given) | {"rows": len(frame), "share": share, "repeats": repeats}
    try:
        with console.working("comparing", total=repeats * len(names)) as step:
            trials.fill(scores, frame, share=share, repeats=repeats, seed=seed, step=step)
    finally:  # on an interrupt too: what is known is shown
        if any(one.errors or one.failure for one in scores):
            found = [one.facts() for one in trials.ranked(scores)]
            console.result(facts | {"ranking": found}, trials.ranking(found))


def classify(
    context: typer.Context,
    table: o.Source,
    target: o.Target,
    output: o.Output = None,
    confidence: o.Confidence = None,
    method: o.Method = "pmc-w",
    ids: o.Ids = None,
    seed: o.Seed = 0,
    force: o.Force = False,
) -> None:
    """Find the missing labels of a table from its columns of numbers.

    Rows with and without a label are looked at together, and may have missing cells of their own,
    which stay missing in the result.

    \b
    Examples:
      $ polycomplete classify data.csv --target label -o labelled.csv
      $ polycomplete classify data.csv --target label --id name --confidence sure
    """
    from polycomplete.cli import tables

    console, options = context.obj
    output = tables.checked_output(console, table, output, "classify", force=force)
    given = tables.read(table, options, console)
    tables.find(given, [target])
    if confidence is not None:
        tables.check_new(given, confidence, "--confidence")
    frame = tables.numbers(given, [*(ids or ()), target], console)
    missing = given.frame[target].is_null()
    labels = tables.learned_from(given, [target], console)[target]
    classes = labels.drop_nulls().n_unique()
    if classes < 2:
        where = f"Column {target!r} of {given.name}"
        raise CommandError(f"{where} holds {classes} label; it needs two.")
    if not missing.any():
        console.note(f"column {target!r} lacks no label.")
    from polycomplete.cli import completing

    with console.working(f"finding {missing.sum()} labels"):
        found, sure = completing.classify(frame, labels, method, seed)
    made = given.completed(found.to_frame())
    if confidence is not None:
        made = made.with_column(sure.set(~missing, None).alias(confidence))
    tables.write(made, output, force, console)
    new = found.filter(missing)
    counts = dict(new.alias("label").value_counts().sort("label").rows())
    said = ", ".join(f"{count} {label}" for label, count in counts.items()) or "none"
    facts = {"target": target, "rows": len(found), "found": len(new), "labels": counts}
    console.done(f"Found {len(new)} labels: {said}.", tables.origin(given) | facts)


def cluster(
    context: typer.Context,
    table: o.Source,
    clusters: o.Clusters = None,
    output: o.Output = None,
    column: o.Column = "cluster",
    method: o.Method = "pmc-w",
    ids: o.Ids = None,
    seed: o.Seed = 0,
    force: o.Force = False,
) -> None:
    """Group the rows of a table by the subspaces on which they lie.

    Missing cells are completed for that, but stay missing in the result, which is the table with
    one more column: the number of the cluster, from 1. Where a row has no number at all, that cell
    is empty.

    \b
    Examples:
      $ polycomplete cluster points.csv -k 3 -o clustered.csv
      $ polycomplete cluster points.csv --id frame --column group
    """
    from polycomplete.cli import tables

    console, options = context.obj
    output = tables.checked_output(console, table, output, "cluster", force=force)
    given = tables.read(table, options, console)
    tables.check_new(given, column, "--column")
    frame = tables.numbers(given, ids, console)
    observed = tables.rows_with_numbers(given, frame, ids, console)
    from polycomplete.cli import completing

    with console.working(f"clustering {observed.sum()} rows"):
        found, sizes = completing.cluster(frame, observed, clusters, method, seed)
    tables.write(given.with_column(found.alias(column)), output, force, console)
    facts = {"rows": len(frame), "clusters": len(sizes), "sizes": sizes}
    facts |= {"not_clustered": found.null_count()}
    said = f"Found {len(sizes)} clusters of {', '.join(map(str, sizes))} rows."
    console.done(said, tables.origin(given) | facts)
