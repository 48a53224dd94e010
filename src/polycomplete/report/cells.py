"""The columns of any table before and after, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.frames import find_missing, to_matrix
from polycomplete.record import Cells

__all__ = ["columns_of", "pairs"]

Column = tuple[str, np.ndarray, np.ndarray]  # name, entries, which are there


def columns_of(table: Any, marker: Any = np.nan, names: Any = None) -> list[Column]:
    """Return the columns of an array or data frame: name, entries, and which are observed.

    Parameters
    ----------
    table : array-like or data frame
        Numbers, text, or both.
    marker : object
        What stands for a missing entry besides NaN and null.
    names : sequence, optional
        Of the columns of an array.

    Returns
    -------
    list of (str, ndarray, ndarray of bool)
        Entries are floats, or objects where a column is not of numbers.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    >>> [(name, seen.tolist()) for name, _, seen in columns_of(frame)]
    [('a', [True, False]), ('b', [True, True])]
    """
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return [_column(str(name), frame.select(name), marker) for name in frame.columns]
    array = np.asarray(table)
    if array.ndim != 2:
        raise ValueError(f"A table has rows and columns; got {array.ndim} dimensions.")
    if names is None or len(names) != array.shape[1]:
        names = [f"x{j}" for j in range(array.shape[1])]
    return [_column(str(name), array[:, j : j + 1], marker) for j, name in enumerate(names)]


def _column(name: str, table: Any, marker: Any) -> Column:
    try:
        matrix = to_matrix(table)
    except (TypeError, ValueError):  # text, dates
        return _objects(name, table, marker)
    number = marker if isinstance(marker, Real) else np.nan
    return name, matrix[:, 0], find_missing(matrix, float(number))[:, 0]


def _objects(name: str, table: Any, marker: Any) -> Column:
    entries = table[:, 0].to_list() if isinstance(table, nw.DataFrame) else table[:, 0]
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    seen = [entry is not None and entry == entry and entry != marker for entry in column]
    return name, column, np.array(seen, dtype=bool)


def pairs(given: list[Column], completed: list[Column]) -> Iterator[Cells]:
    """Yield each column as it was given, with what came back for it.

    Columns are told by their names where these agree, else by their order; a column without any
    observed entry may be missing in what came back.

    Parameters
    ----------
    given, completed : lists of columns
        From :func:`columns_of`.

    Yields
    ------
    Cells

    Examples
    --------
    >>> before, after = [[1.0, np.nan], [np.nan, np.nan]], [[1.0], [2.0]]
    >>> [cells.completed for cells in pairs(columns_of(before), columns_of(after))]
    [array([1., 2.]), None]
    """
    after = {name: entries for name, entries, _ in completed}
    if not {name for name, _, seen in given if seen.any()} <= set(after):
        all_back = len(completed) >= len(given)
        back = [name for name, _, seen in given if all_back or seen.any()]
        after = {name: column[1] for name, column in zip(back, completed, strict=False)}
    for name, entries, seen in given:
        new = after.get(name)
        text = object in (entries.dtype, getattr(new, "dtype", None))
        yield Cells(name, entries, seen, new, "text" if text else "number")
