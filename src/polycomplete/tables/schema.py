"""What is remembered of each column of a table, so that further rows are read the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.tables.cells import (
    categories,
    is_aware,
    key,
    present,
    present_cells,
    ticks,
    unit_of,
)
from polycomplete.tables.kinds import kind_of


@dataclass(frozen=True)
class Column:
    """A column: what it is, and how its cells are counted.

    Attributes
    ----------
    name : str
        Of the column; pandas allows other things too.
    kind : str
        "numeric", "integer", "bool", "categorical", "ordered", "datetime", "duration"; "empty"
        without any present cell; "id" where it is left alone.
    dtype : str
        What the library calls it.
    levels : list
        What categories are called: those that occur, or all of an ordered column.
    origin : int
        Integers and dates are counted from here, which keeps all of their digits.
    unit : str
        Of dates and durations: "ns", "us", "ms", "s" or "D".
    aware : bool
        Whether dates have a time zone.

    Examples
    --------
    >>> Column("age", "integer", "Int64").kind
    'integer'
    """

    name: Any
    kind: str
    dtype: str
    levels: list[Any] = field(default_factory=list)
    origin: int = 0
    unit: str = ""
    aware: bool = False

    @property
    def has_classes(self) -> bool:
        """Whether its cells are completed by class, with probabilities."""
        return self.kind in ("categorical", "bool")

    @property
    def is_completed(self) -> bool:
        """Whether its cells are completed at all."""
        return self.kind not in ("id", "empty")


def table(X: Any) -> Any:
    """Return a data frame as narwhals sees it.

    Parameters
    ----------
    X : data frame
        Of pandas, polars, pyarrow or another library that narwhals knows, in memory.

    Returns
    -------
    narwhals DataFrame

    Examples
    --------
    >>> import polars as pl
    >>> table(pl.DataFrame({"a": [1]})).columns
    ['a']
    """
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Column names must be unique; rename columns first ({error}).") from None
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            "X must be a data frame of pandas, polars or pyarrow that is in memory, got "
            f"{type(X).__name__}; for an array of numbers use a completer such as PMC itself."
        )
    names = list(frame.columns)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"Column {twice!r} is there twice; rename columns first.")
    return frame


def learn_schema(
    frame: Any, kinds: Mapping[Any, Any], ids: list[Any], whole: bool, max_categories: int
) -> list[Column]:
    """Learn what each column is.

    Parameters
    ----------
    frame : narwhals DataFrame
        The table.
    kinds : mapping
        What the user says of columns, by name.
    ids : list
        Names of columns that are left alone.
    whole, max_categories : bool, int
        As :func:`learn_column` takes them.

    Returns
    -------
    list of Column

    Examples
    --------
    >>> import polars as pl
    >>> frame = table(pl.DataFrame({"n": [1, None], "who": ["a", "b"]}))
    >>> [column.kind for column in learn_schema(frame, {}, ["who"], False, 50)]
    ['integer', 'id']
    """
    if len(frame) == 0 or len(frame.columns) == 0:
        raise ValueError(
            f"X has {len(frame)} rows and {len(frame.columns)} columns; there is nothing to learn "
            "from."
        )
    return [
        Column(series.name, "id", str(series.dtype))
        if series.name in ids
        else learn_column(
            series, kinds.get(series.name), whole=whole, max_categories=max_categories
        )
        for series in frame.iter_columns()
    ]


def learn_column(
    series: Any,
    wanted: Any = None,
    *,
    whole: bool = False,
    max_categories: int = 50,
) -> Column:
    """Learn what a column is.

    Parameters
    ----------
    series : narwhals Series
        The column.
    wanted : str or list, optional
        What the user says that it is.
    whole : bool
        Take floats without any fraction for integers.
    max_categories : int
        More levels than this are refused.

    Returns
    -------
    Column

    Examples
    --------
    >>> import polars as pl
    >>> series = pl.Series("size", ["M", None, "S"])
    >>> learn_column(nw.from_native(series, series_only=True), ["S", "M", "L"])
    Column(name='size', kind='ordered', dtype='String', levels=['S', 'M', 'L'], origin=0, unit='',
           aware=False)
    """
    there = present(series)
    kind = kind_of(series, there, wanted, whole)
    facts: dict[str, Any] = {}
    if kind in ("categorical", "ordered"):
        facts["levels"] = _levels(series, there, kind, wanted)
        _check_number(series.name, len(facts["levels"]), max_categories)
    if kind in ("datetime", "duration"):
        facts = {"unit": unit_of(series), "aware": is_aware(series)}
        facts["origin"] = int(ticks(series, there, facts["unit"]).min())
    if kind == "integer" and series.dtype.is_integer():
        facts["origin"] = min(present_cells(series, there))
    return Column(series.name, kind, str(series.dtype), **facts)


def _levels(series: Any, there: np.ndarray, kind: str, wanted: Any) -> list[Any]:
    found = {key(cell) for cell in present_cells(series, there)}
    own = categories(series)
    if kind == "categorical":
        if own is not None:
            return [key(level) for level in own if key(level) in found]
        return _sorted(found)
    if wanted is not None and not isinstance(wanted, str):
        return _given_levels(series.name, list(wanted), found)
    if own is not None:
        return [key(level) for level in own]
    if any(isinstance(level, str) for level in found):
        raise ValueError(
            f"Column {series.name!r} is text, whose order is not known; give its levels from low "
            f'to high: kinds={{{series.name!r}: ["low", "middle", "high"]}}.'
        )
    return _sorted(found)


def _sorted(levels: set[Any]) -> list[Any]:
    """Return levels in their order; text after numbers where both occur."""
    return sorted(levels, key=lambda level: (isinstance(level, str), level))


def _given_levels(name: Any, levels: list[Any], found: set[Any]) -> list[Any]:
    levels = [key(level) for level in levels]
    if len(set(levels)) < len(levels):
        raise ValueError(f"kinds[{name!r}] names a level twice: {levels!r}.")
    odd = sorted(str(level) for level in found - set(levels))
    if odd:
        raise ValueError(
            f"Column {name!r} holds {odd[0]!r}, which is not among the levels that kinds[{name!r}] "
            f"gives ({len(odd)} such in all); add it."
        )
    return levels


def _check_number(name: Any, count: int, most: int) -> None:
    if count > most:
        raise ValueError(
            f"Column {name!r} has {count} different levels, more than max_categories={most}; leave "
            f"it alone by ids=[{name!r}] if it is a name or a number of a record, group its rare "
            "levels, or raise max_categories."
        )
