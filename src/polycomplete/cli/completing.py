"""From a table of a file to an estimator, and from its answer back to columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from polycomplete import methods
from polycomplete.cli.columns import are_numbers
from polycomplete.report.errors import expected_errors
from polycomplete.tables import TableCompleter

__all__ = ["as_input", "expected_error", "fit_transform", "make", "transform"]

BLOCK = 4096  # rows that are completed between two steps of the progress


def make(method: str, frame: Any, seed: int) -> Any:
    """Return the estimator that completes a table: the method itself where all is numbers.

    Parameters
    ----------
    method : str
        Its name.
    frame : polars DataFrame
        What it will be fitted to.
    seed : int
        For everything random.

    Returns
    -------
    estimator

    Examples
    --------
    >>> make("knn", pl.DataFrame({"a": [1.5, None]}), seed=0)
    KNNImputer()
    >>> make("knn", pl.DataFrame({"a": ["x", None]}), seed=0).method
    KNNImputer()
    """
    try:
        estimator = methods.get(method, random_state=seed)
    except TypeError:  # nothing about it is random
        estimator = methods.get(method)
    if are_numbers(frame):
        return estimator
    return TableCompleter(estimator, unseen="missing", random_state=seed)


def as_input(estimator: Any, frame: Any) -> Any:
    """Return a table as an estimator takes it: numbers with NaN, or as it is.

    Parameters
    ----------
    estimator : estimator
        Who takes it.
    frame : polars DataFrame
        The table.

    Returns
    -------
    polars DataFrame

    Examples
    --------
    >>> as_input(make("mean", pl.DataFrame({"a": [1]}), 0), pl.DataFrame({"a": [1, None]})).rows()
    [(1.0,), (nan,)]
    """
    if isinstance(estimator, TableCompleter):
        return frame
    kept = all(dtype == pl.Float32 for dtype in frame.dtypes)
    return frame.cast(pl.Float32 if kept else pl.Float64).fill_null(float("nan"))


def fit_transform(estimator: Any, frame: Any) -> Any:
    """Fit an estimator to a table; return the table completed.

    Parameters
    ----------
    estimator : estimator
        It is fitted.
    frame : polars DataFrame
        The table.

    Returns
    -------
    polars DataFrame

    Examples
    --------
    >>> frame = pl.DataFrame({"a": [1.0, None, 3.0]})
    >>> fit_transform(make("mean", frame, 0), frame)["a"].to_list()
    [1.0, 2.0, 3.0]
    """
    return _columns(estimator.fit_transform(as_input(estimator, frame)), frame.columns)


def transform(estimator: Any, frame: Any, step: Callable[[str], None]) -> Any:
    """Complete new rows, block by block.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    frame : polars DataFrame
        The rows.
    step : callable
        Called after each block with how far it is.

    Returns
    -------
    polars DataFrame

    Examples
    --------
    >>> frame = pl.DataFrame({"a": [1.0, 3.0]})
    >>> fitted = make("mean", frame, 0).fit(frame)
    >>> transform(fitted, pl.DataFrame({"a": [None]}, schema={"a": pl.Float64}), print).item()
    1 of 1 rows
    2.0
    """
    parts = []
    for start in range(0, len(frame), BLOCK):
        part = as_input(estimator, frame[start : start + BLOCK])
        parts.append(_columns(estimator.transform(part), frame.columns))
        step(f"{min(start + BLOCK, len(frame))} of {len(frame)} rows")
    return pl.concat(parts)


def _columns(found: Any, names: list[str]) -> Any:
    """Return what an estimator gave back as a polars table."""
    if isinstance(found, pl.DataFrame):
        return found
    columns = np.ascontiguousarray(np.transpose(found))
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def expected_error(estimator: Any, frame: Any) -> dict[str, Any] | None:
    """Return the error on observed cells that a fit had hidden, relative to filling in the mean.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    frame : polars DataFrame
        What it was fitted to.

    Returns
    -------
    dict or None
        cells, relative, interval; None where the fit hid nothing, or too little, and for tables
        that are not all numbers.

    Examples
    --------
    >>> frame = pl.DataFrame({"a": [1.0]})
    >>> expected_error(make("mean", frame, 0), frame) is None
    True
    """
    held = getattr(estimator, "held_out_", None)
    if held is None:
        return None
    mean = np.array([column.mean() for column in frame], dtype=np.float64)
    spread = np.array([column.std(ddof=0) for column in frame], dtype=np.float64)
    return expected_errors(held.columns, held.truth, held.completed, mean, spread)[0]
