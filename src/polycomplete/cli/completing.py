"""From a table of a file to an estimator, and from its answer back to columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from polycomplete import methods
from polycomplete.tables import TableCompleter

BLOCK = 4096  # rows that are completed between two steps of the progress


def method_of(name: str, seed: int) -> Any:
    """Return the method that completes a matrix.

    Parameters
    ----------
    name : str
        Its name.
    seed : int
        For everything random.

    Returns
    -------
    estimator

    Examples
    --------
    >>> method_of("knn", seed=0), method_of("pmc-w", seed=0)
    (KNNImputer(), PMC(random_state=0))
    """
    try:
        return methods.get(name, random_state=seed)
    except TypeError:  # nothing about it is random
        return methods.get(name)


def make(name: str, seed: int) -> TableCompleter:
    """Return what completes a table by a method.

    Parameters
    ----------
    name : str
        That of the method.
    seed : int
        For everything random.

    Returns
    -------
    TableCompleter

    Examples
    --------
    >>> make("knn", seed=0).method
    KNNImputer()
    """
    return TableCompleter(method_of(name, seed), unseen="missing", random_state=seed)


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
    >>> as_input(method_of("mean", 0), pl.DataFrame({"a": [1, None]})).rows()
    [(1.0,), (nan,)]
    """
    if isinstance(estimator, TableCompleter):
        return frame
    kept = all(dtype == pl.Float32 for dtype in frame.dtypes)
    return frame.cast(pl.Float32 if kept else pl.Float64).fill_null(float("nan"))


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
    >>> fitted = make("mean", 0).fit(frame)
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
