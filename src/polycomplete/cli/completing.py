"""What the commands do with a method: fit it, keep it, apply it, and report on it."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

from polycomplete import methods, persistence
from polycomplete.cli.console import UNREADABLE, CommandError, Console, one_line
from polycomplete.cli.tables import find, row_labels
from polycomplete.io.table import UNKNOWN, Table, without
from polycomplete.io.atomic import written_whole
from polycomplete.report import Report
from polycomplete.tables import TableCompleter

BLOCK = 4096  # new rows that are completed between two steps of the progress
#: What the answer as JSON has of the report, and which counts it leaves out.
TRUST = ("expected_error", "wrong_labels", "fallback_columns")
NOT_COUNTED = ("missing", "missing_share", "complete_rows", "tiles")


def method_of(name: str, seed: int) -> Any:
    """Return the method of a name, which completes a matrix."""
    try:
        return methods.get(name, random_state=seed)
    except TypeError:  # nothing about it is random
        return methods.get(name)


def make(name: str, seed: int) -> TableCompleter:
    """Return what completes a table by the method of a name."""
    return TableCompleter(method_of(name, seed), unseen="missing", random_state=seed)


def as_matrix(frame: pl.DataFrame) -> pl.DataFrame:
    """Return columns of numbers as floats, NaN where missing, as any imputer takes them."""
    single = all(dtype == pl.Float32 for dtype in frame.dtypes)
    return frame.cast(pl.Float32 if single else pl.Float64).fill_null(float("nan"))


# A report


def reported(
    estimator: Any, given: Table, made: Table, method: str, ids: list[str] | None,
    path: str | None, console: Console,
) -> tuple[str, dict[str, Any], bytes | None]:  # fmt: skip
    """Return what is said in the end, its facts, and the content of the report if one is wanted."""
    text = f"Completed {given.name} by {method} in {console.seconds:.1f} s."
    facts: dict[str, Any] = {}
    page = None
    with _noted(console):
        word, labels = row_labels(given, ids)
        report = Report(
            estimator, given.frame, made.frame, method=method, seconds=console.seconds,
            command=shlex.join(["polycomplete", *sys.argv[1:]]), row_word=word, row_labels=labels,
        )  # fmt: skip
        text, facts = report.text(), _facts(report.summary)
        page = report.render(path).encode("utf-8") if path else None
    return text, facts, page


def _facts(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what the text of a report says, for scripts."""
    loose = summary["undetermined_rows"]
    counts = {name: n for name, n in summary["table"].items() if name not in NOT_COUNTED}
    trust = {name: summary[name] for name in TRUST}
    return counts | trust | {"undetermined_rows": loose and loose["count"]}


def write_report(content: bytes, path: str, force: bool, console: Console) -> None:
    """Write a report; where that fails, everything else is as it should be."""
    with _noted(console):
        with written_whole(path, force=force) as file:
            file.write(content)
        console.wrote("report", path)


@contextmanager
def _noted(console: Console) -> Iterator[None]:
    """Only note an error, whatever it is: hours of work must not be lost for a report."""
    try:
        yield
    except Exception as error:
        if console.debug:
            traceback.print_exception(error)
        why = one_line(error).rstrip(".")
        said = f"the report could not be made ({why}); nothing else lacks for it."
        console.note(said, always=True)


# A saved model


def load_model(path: str) -> Any:
    """Load what completes further rows."""
    try:
        estimator = persistence.load(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.", UNREADABLE) from None
    if not hasattr(estimator, "transform") or not hasattr(estimator, "n_features_in_"):
        name = type(estimator).__name__
        raise CommandError(f"{path} holds a {name}, which does not complete rows.", UNREADABLE)
    return estimator


def as_fitted(given: Table, estimator: Any, model: str) -> list[pl.Series]:
    """Return the columns that a model knows, as what it knows them."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        if given.frame.width != estimator.n_features_in_:
            raise CommandError(
                f"{given.name} has {given.frame.width} columns, and {model} was fitted to "
                f"{estimator.n_features_in_} without names; leave out the others."
            )
        names = given.frame.columns
    kinds = {column.name: column.kind for column in getattr(estimator, "schema_", [])}
    names = find(given, map(str, names))
    return [_as_kind(given, name, kinds.get(name, "numeric")) for name in names]


def _as_kind(given: Table, name: str, kind: str) -> pl.Series:
    """Return a column as the model takes it; say where it is something else."""
    column = given.frame[name]
    if kind in ("categorical", "ordered"):
        return given.text_of(name)
    if column.dtype == pl.String:  # among numbers and days these words are missing cells
        column = without(column, UNKNOWN)
    if kind not in ("numeric", "integer") or column.dtype.is_numeric():
        return column
    numbers = column.cast(pl.Float64, strict=False)
    odd = (numbers.is_null() & column.is_not_null()).arg_true()
    if len(odd):
        where, text = given.place(int(odd[0]), name), column[int(odd[0])]
        raise CommandError(f"{where}: {text!r} is not a number.", UNREADABLE)
    return numbers


def transform(estimator: Any, frame: pl.DataFrame, step: Callable[[str], None]) -> pl.DataFrame:
    """Complete new rows, block by block; say after each how far it is."""
    parts = []
    for start in range(0, len(frame), BLOCK):
        part = frame[start : start + BLOCK]
        of_table = isinstance(estimator, TableCompleter)
        found = estimator.transform(part if of_table else as_matrix(part))
        if not isinstance(found, pl.DataFrame):
            found = pl.DataFrame(found, schema=frame.columns, orient="row")
        parts.append(found)
        step(f"{min(start + BLOCK, len(frame))} of {len(frame)} rows")
    return pl.concat(parts)


# Labels


def classify(
    frame: pl.DataFrame, labels: pl.Series, method: str, seed: int
) -> tuple[pl.Series, pl.Series]:
    """Return the labels of all rows, and their probabilities."""
    from polycomplete.transduction import TransductiveClassifier

    named = {str(one): one for one in labels.drop_nulls().unique()}
    texts = [None if one is None else str(one) for one in labels]
    classifier = TransductiveClassifier(method_of(method, seed), random_state=seed)
    classifier.fit(as_matrix(frame), texts)
    answers = [named[str(one)] for one in classifier.transduction_]
    sure = pl.Series(classifier.label_distributions_.max(axis=1))
    return pl.Series(labels.name, answers, labels.dtype), sure


def cluster(
    frame: pl.DataFrame, observed: pl.Series, clusters: int | None, method: str, seed: int
) -> tuple[pl.Series, list[int]]:
    """Return the number of each observed row's cluster, from 1, and how many rows each has."""
    from polycomplete.clustering import SubspaceClusterer

    completer = method_of(method, seed)
    clusterer = SubspaceClusterer(clusters or "auto", completer=completer, random_state=seed)
    labels = clusterer.fit(as_matrix(frame.filter(observed))).labels_
    left = iter((labels + 1).tolist())
    numbers = [next(left) if one else None for one in observed]
    return pl.Series(numbers, dtype=pl.Int64), np.bincount(labels).tolist()
