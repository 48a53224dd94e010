"""The columns of any table, one at a time: numbers, days or labels, and which cells are there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.frames import is_missing, to_matrix
from polycomplete.tables.cells import SECONDS, key, present, ticks, unit_of

__all__: list[str] = []

DAY = 86400.0  # seconds


class Cells(NamedTuple):
    """The cells of a column: floats (days of dates and durations) or labels; which are there."""

    entries: np.ndarray
    seen: np.ndarray
    kind: str = "number"  # or "date", "duration", "text"


#: A name, and what reads the column, as text if it is told to.
Column = tuple[str, Callable[..., Cells]]


def columns_of(table: Any, marker: Any = np.nan, names: Any = None) -> list[Column]:
    """Return the columns of an array or data frame, none of which is read yet.

    ``marker`` stands for a missing entry besides NaN and null; ``names`` are those of an array.
    """
    marker = marker if isinstance(marker, Real | str) else np.nan
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return [(str(series.name), partial(_of_series, series, marker))
                for series in frame.iter_columns()]  # fmt: skip
    try:
        array = to_matrix(table)
    except (TypeError, ValueError):  # text
        array = np.asarray(table, dtype=object)
    if array.ndim != 2:
        raise ValueError(f"A table has rows and columns; got {array.ndim} dimensions.")
    if names is None or len(names) != array.shape[1]:
        names = [f"x{j}" for j in range(array.shape[1])]
    return [(str(name), partial(_of_array, column, marker))
            for name, column in zip(names, array.T, strict=True)]  # fmt: skip


def _of_series(series: Any, marker: Any, text: bool = False) -> Cells:
    if series.dtype.is_temporal() and series.dtype != nw.Time and not text:
        seen, unit = present(series), unit_of(series)
        days = np.full(len(seen), np.nan)
        days[seen] = ticks(series, seen, unit) * (SECONDS[unit] / DAY)
        return Cells(days, seen, "duration" if series.dtype == nw.Duration else "date")
    if (series.dtype.is_numeric() or series.dtype == nw.Boolean) and not text:
        return _of_array(to_matrix(series.alias("x").to_frame())[:, 0], marker)
    entries = np.empty(len(series), dtype=object)
    entries[:] = series.to_list()
    return _of_array(entries, marker, text)


def _of_array(column: np.ndarray, marker: Any, text: bool = False) -> Cells:
    with suppress(TypeError, ValueError):
        numbers = None if text else to_matrix(column[:, None])[:, 0]
        if numbers is not None:
            number = marker if isinstance(marker, Real) else np.nan
            return Cells(numbers, ~np.isnan(numbers) & (numbers != numbers.dtype.type(number)))
    seen = np.array([not is_missing(entry) and entry != marker for entry in column], dtype=bool)
    labels = np.empty(len(column), dtype=object)
    labels[seen] = [label_of(entry) for entry in column[seen]]
    return Cells(labels, seen, "text")


def label_of(entry: Any) -> str:
    """Return how a label is written: 1 and 1.0 are one."""
    level = key(entry)
    return str(int(level) if isinstance(level, float) and level.is_integer() else level)
