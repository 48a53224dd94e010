"""Estimators as the commands use them: made by name, fitted, loaded, and given their columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import polycomplete
from polycomplete import persistence as persistence
from polycomplete.cli.console import CommandError
from polycomplete.cli.session import Session
from polycomplete.io.table import UNKNOWN, TableFileError, without
from polycomplete.persistence import ModelFileError
from polycomplete.tables.codecs import Column, Number


def method_of(name: str, seed: int) -> Any:
    """Return the method of a name, which completes a matrix."""
    try:
        return polycomplete.methods.get(name, random_state=seed)
    except TypeError:  # nothing in it is random
        return polycomplete.methods.get(name)


def completer_of(name: str, seed: int) -> polycomplete.TableCompleter:
    """Return an estimator that completes a table by the method of a name."""
    method = method_of(name, seed)
    return polycomplete.TableCompleter(method, handle_unknown="missing", random_state=seed)


def as_matrix(frame: pl.DataFrame) -> pl.DataFrame:
    """Return columns of numbers as floats, NaN where missing, as any imputer takes them."""
    single = all(dtype == pl.Float32 for dtype in frame.dtypes)
    return frame.cast(pl.Float32 if single else pl.Float64).fill_null(float("nan"))


def load_model(path: str) -> Any:
    """Load an estimator that completes new rows."""
    try:
        estimator = polycomplete.load(path)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from None
    if not hasattr(estimator, "transform") or not hasattr(estimator, "n_features_in_"):
        name = type(estimator).__name__
        raise ModelFileError(f"{path} holds a {name}, which does not complete rows.")
    return estimator


def columns_for(estimator: Any, job: Session, model: str) -> list[pl.Series]:
    """Return the columns that a model knows, in the types that it expects."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = job.table.frame.columns
        if len(names) != estimator.n_features_in_:
            raise CommandError(
                f"{job.table.name} has {len(names)} columns, and {model} was fitted to "
                f"{estimator.n_features_in_} without names; leave out the others."
            )
    codecs = {column.name: column for column in getattr(estimator, "schema_", [])}
    return [_as_expected(job, codecs.get(name) or Number(name, "numeric", ""))
            for name in job.find(map(str, names))]  # fmt: skip


def _as_expected(job: Session, codec: Column) -> pl.Series:
    """Return a column as its codec expects it: labels as text, numbers parsed from text."""
    if codec.is_labels:
        return job.table.text_of(codec.name)
    column = without(job.table.frame[codec.name], UNKNOWN)  # missing cells among numbers
    if column.dtype.is_numeric() or not codec.is_number:
        return column
    numbers = column.cast(pl.Float64, strict=False)
    odd = (numbers.is_null() & column.is_not_null()).arg_true()
    if len(odd):
        where, text = job.table.place(int(odd[0]), codec.name), column[int(odd[0])]
        raise TableFileError(f"{where}: {text!r} is not a number.")
    return numbers


def transform_blocks(
    estimator: Any, frame: pl.DataFrame, step: Callable[..., None]
) -> pl.DataFrame:
    """Complete new rows block by block, with a step after each."""
    parts: list[pl.DataFrame] = []
    takes_tables = isinstance(estimator, polycomplete.TableCompleter)
    for part in frame.iter_slices(4096):
        found = estimator.transform(part if takes_tables else as_matrix(part))
        if not isinstance(found, pl.DataFrame):
            found = pl.DataFrame(found, schema=frame.columns, orient="row")
        parts.append(found)
        step(f"{sum(map(len, parts))} of {len(frame)} rows", len(part))
    return pl.concat(parts)


def find_labels(
    frame: pl.DataFrame, labels: pl.Series, method: str, seed: int
) -> tuple[pl.Series, pl.Series]:
    """Return the labels of all rows, and their probabilities."""
    named = {str(one): one for one in labels.drop_nulls().unique()}
    texts = [None if one is None else str(one) for one in labels]
    classifier = polycomplete.TransductiveClassifier(method_of(method, seed), random_state=seed)
    classifier.fit(as_matrix(frame), texts)
    found = [named[str(one)] for one in classifier.transduction_]
    probabilities = pl.Series(classifier.label_distributions_.max(axis=1))
    return pl.Series(labels.name, found, labels.dtype), probabilities


def find_clusters(
    frame: pl.DataFrame, observed: pl.Series, clusters: int | None, method: str, seed: int
) -> tuple[pl.Series, list[int]]:
    """Return the cluster of each observed row, from 1, and the number of rows in each cluster."""
    clusterer = polycomplete.SubspaceClusterer(
        clusters or "auto", completer=method_of(method, seed), random_state=seed
    )
    labels = clusterer.fit(as_matrix(frame.filter(observed))).labels_
    numbers = pl.Series([None] * len(frame), dtype=pl.Int64)
    return numbers.scatter(observed.arg_true(), labels + 1), np.bincount(labels).tolist()
