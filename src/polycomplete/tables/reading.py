"""From the cells of a column to one number each: the value, the tick of a date, the code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.tables.cells import is_aware, key, present, present_cells, ticks
from polycomplete.tables.kinds import suits
from polycomplete.tables.schema import Column

#: Whole numbers that NumPy takes at once; below this, their differences fit too.
NARROW, SAFE = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32), 2**62


def read_table(
    frame: Any, columns: Sequence[Column], unseen: str = "error"
) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each cell of some columns, and which cells are present.

    Parameters
    ----------
    frame : narwhals DataFrame
        A table.
    columns : sequence of Column
        What is known of k of its columns.
    unseen : {"error", "missing"}
        What to do with categories that are not among their levels.

    Returns
    -------
    numbers : ndarray of shape (n, k)
        NaN where a cell is missing or tells nothing.
    there : ndarray of bool, shape (n, k)
        Which cells are present.

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"a": [1.5, None], "b": ["x", "y"]}))
    >>> read_table(frame, [Column("a", "numeric", "Float64")])[0]
    array([[1.5],
           [nan]])
    """
    series = {each.name: each for each in frame.iter_columns()}
    parts = [read(series[column.name], column, unseen) for column in columns]
    empty = np.empty((len(frame), 0))
    numbers = np.column_stack([empty, *(part for part, _ in parts)])
    there = np.column_stack([empty.astype(bool), *(part for _, part in parts)])
    return numbers, there


def read(series: Any, column: Column, unseen: str = "error") -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each cell, and which cells are present.

    Parameters
    ----------
    series : narwhals Series
        A column.
    column : Column
        What is known of it.
    unseen : {"error", "missing"}
        What to do with categories that are not among its levels.

    Returns
    -------
    numbers : ndarray of shape (n,)
        NaN where a cell is missing or tells nothing; counted from ``column.origin``.
    there : ndarray of bool, shape (n,)
        Which cells are present.

    Examples
    --------
    >>> import polars as pl
    >>> series = nw.from_native(pl.Series(["b", None, "a"]), series_only=True)
    >>> read(series, Column("x", "categorical", "String", levels=["a", "b"]))[0]
    array([ 1., nan,  0.])
    """
    there = present(series)
    numbers = np.full(len(there), np.nan)
    if not there.any():
        return numbers, there
    if not suits(column.kind, column.levels, series):
        raise ValueError(
            f"Column {column.name!r} was {column.kind} ({column.dtype}) when it was learned, and "
            f"is {series.dtype} now; convert it first."
        )
    if column.kind in ("categorical", "ordered"):
        numbers[there] = _codes(series, there, column, unseen)
    elif column.kind in ("datetime", "duration"):
        numbers[there] = _offsets(series, there, column)
    else:
        numbers[there] = _values(series, there, column)
    return numbers, there


def _values(series: Any, there: np.ndarray, column: Column) -> np.ndarray:
    if series.dtype.is_integer():
        return np.asarray((_whole(series, there, column) - column.origin).astype(np.float64))
    if series.dtype == nw.Object:
        values = _of_objects(series, there, column)
    else:
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)[there]
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(
            f"Column {column.name!r} contains infinity in row {np.flatnonzero(there)[infinite[0]]} "
            f"({len(infinite)} in all); make it missing to have it completed, or a finite number."
        )
    return np.asarray(values - column.origin)


def _whole(series: Any, there: np.ndarray, column: Column) -> np.ndarray:
    """Return present whole numbers, whose differences from the column's origin are exact."""
    if series.dtype in NARROW and abs(column.origin) < SAFE:
        cells = np.asarray(series.drop_nulls().to_numpy())
        if cells.dtype.kind in "iu" and cells.max() < SAFE and cells.min() > -SAFE:
            return cells.astype(np.int64)
    # Python's integers have no largest one.
    return np.array(present_cells(series, there), dtype=object)


def _of_objects(series: Any, there: np.ndarray, column: Column) -> np.ndarray:
    cells = present_cells(series, there)
    allowed = bool if column.kind == "bool" else int | float
    odd = next((i for i, cell in enumerate(cells) if not isinstance(cell, allowed)), None)
    if odd is not None:
        raise ValueError(
            f"Column {column.name!r} was {column.kind} when it was learned, and holds "
            f"{cells[odd]!r:.60} in row {np.flatnonzero(there)[odd]}; convert it first."
        )
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        odd = next(i for i, cell in enumerate(cells) if abs(cell) > sys.float_info.max)
        raise ValueError(
            f"Column {column.name!r} holds a whole number of hundreds of digits in row "
            f"{np.flatnonzero(there)[odd]}, which no float can hold; divide it by a power of ten, "
            "or make it missing to have it completed."
        ) from None


def _offsets(series: Any, there: np.ndarray, column: Column) -> np.ndarray:
    if is_aware(series) != column.aware:
        raise ValueError(
            f"Column {column.name!r} was learned {'with' if column.aware else 'without'} a time "
            f"zone, and is {series.dtype} now; convert it first."
        )
    exact = ticks(series, there, column.unit).astype(object)
    return np.asarray((exact - column.origin).astype(np.float64))


def _codes(series: Any, there: np.ndarray, column: Column, unseen: str) -> np.ndarray:
    codes = {level: code for code, level in enumerate(column.levels)}
    keys = [key(cell) for cell in present_cells(series, there)]
    found = np.array([codes.get(each, np.nan) for each in keys], dtype=np.float64)
    odd = np.flatnonzero(np.isnan(found))
    if len(odd) and unseen == "error":
        raise ValueError(
            f"Column {column.name!r} holds {keys[odd[0]]!r} in row "
            f"{np.flatnonzero(there)[odd[0]]}, which did not occur when it was learned "
            f'({len(odd)} such cells); correct it, or say unseen="missing" to go by the other '
            "columns of such rows."
        )
    return found
