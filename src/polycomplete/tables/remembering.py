"""What a table completer remembers of its table for the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polycomplete.record import Cells, Record, record_of
from polycomplete.tables.decode import SECONDS, classes
from polycomplete.tables.schema import Column

__all__ = ["in_days", "remember"]

DAY = 86400.0  # seconds; dates and durations are shown in days


def remember(
    schema: Sequence[Column],
    numbers: np.ndarray,
    completed: np.ndarray,
    deviations: Mapping[Any, np.ndarray] | None,
    determined: np.ndarray | None,
) -> Record:
    """Return the record of a table: its columns but those that are left alone.

    Parameters
    ----------
    schema : sequence of Column
        All columns.
    numbers, completed : ndarrays of shape (n, k)
        A number for each cell that may be completed, before (NaN where missing) and after.
    deviations : mapping or None
        Standard deviations of cells by name; those of dates and durations in seconds.
    determined : ndarray of bool, shape (n,), or None
        False for rows that their present cells do not determine.

    Returns
    -------
    Record

    Examples
    --------
    >>> column = Column("kind", "categorical", "String", levels=["a", "b"])
    >>> before, after = np.array([[0.0], [np.nan]]), np.array([[0.0], [1.0]])
    >>> remember([column], before, after, None, None)["labels"]["0"]["completed"]
    [0, 1]
    """
    kept = [column for column in schema if column.kind != "id"]
    there = _per_column(kept, ~np.isnan(numbers), fill=False)
    spread = None
    if deviations is not None:
        spread = np.full(there.shape, np.nan)
        for j, column in enumerate(kept):
            if column.name in deviations:
                spread[:, j] = deviations[column.name] / (DAY if column.unit else 1.0)
    return record_of(_cells(kept, numbers, completed, there), there, spread, determined)


def _per_column(columns: Sequence[Column], found: np.ndarray, fill: Any) -> np.ndarray:
    """Return a matrix with room for the columns that hold nothing."""
    matrix = np.full((len(found), len(columns)), fill)
    matrix[:, [column.is_completed for column in columns]] = found
    return matrix


def _cells(
    columns: Sequence[Column], numbers: np.ndarray, completed: np.ndarray, there: np.ndarray
) -> Iterator[Cells]:
    places = iter(range(numbers.shape[1]))
    for j, column in enumerate(columns):
        name, seen = str(column.name), there[:, j]
        if not column.is_completed:
            yield Cells(name, np.full(len(seen), np.nan), seen, None)
            continue
        place = next(places)
        before, after = (_shown(column, part[:, place]) for part in (numbers, completed))
        yield Cells(name, before, seen, after, _KINDS.get(column.kind, "number"))


_KINDS = {
    "categorical": "text",
    "ordered": "text",
    "bool": "text",
    "datetime": "date",
    "duration": "duration",
}


def _shown(column: Column, numbers: np.ndarray) -> np.ndarray:
    """Return cells as the report shows them: labels, days, or numbers."""
    if column.has_classes or column.kind == "ordered":
        names = np.array([str(name) for name in classes(column)], dtype=object)
        return names[np.nan_to_num(numbers, nan=0.0).astype(int)]
    if column.kind == "integer":
        numbers = np.rint(numbers)  # as they are written
    return in_days(column, numbers)


def in_days(column: Column, numbers: np.ndarray) -> np.ndarray:
    """Return numbers as the record has them: dates and durations in days.

    Parameters
    ----------
    column : Column
        Of numbers, dates or durations.
    numbers : ndarray
        As they are read.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> in_days(Column("d", "duration", "Duration", unit="s"), np.array([43200.0]))
    array([0.5])
    """
    unit = SECONDS[column.unit] / DAY if column.unit else 1.0
    return np.asarray((numbers + column.origin) * unit)
