"""From numbers back to cells: only missing ones are written, and the dtype stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.tables.cells import categories, key, unit_of
from polycomplete.tables.kinds import suits
from polycomplete.tables.schema import Column

#: Ticks of a day.
TICKS = {"ns": 86400 * 10**9, "us": 86400 * 10**6, "ms": 86400 * 10**3, "s": 86400, "D": 1}
#: The days from 1970, or of a duration, at which Python's own begin and end.
PYTHON = {"datetime": (-719_162, 2_932_897), "duration": (-999_999_999, 10**9)}


def write_table(
    frame: Any, schema: Sequence[Column], there: np.ndarray, numbers: np.ndarray
) -> Any:
    """Return a table of the user's library with its missing cells filled in.

    Parameters
    ----------
    frame : narwhals DataFrame
        The table.
    schema : sequence of Column
        What is known of its columns, in the order that is wanted.
    there : ndarray of bool, shape (n, k)
        Which cells are present, in the columns that are completed.
    numbers : ndarray of shape (n, k)
        What goes into the others.

    Returns
    -------
    data frame

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"a": [1.5, None]}))
    >>> schema, there = [Column("a", "numeric", "Float64")], np.array([[True], [False]])
    >>> write_table(frame, schema, there, np.array([[0.0], [2.5]]))["a"].to_list()
    [1.5, 2.5]
    """
    series = {each.name: each for each in frame.iter_columns()}
    for j, column in enumerate(column for column in schema if column.is_completed):
        rows = np.flatnonzero(~there[:, j])
        series[column.name] = write(series[column.name], column, rows, numbers[rows, j])
    return replaced(frame, [series[column.name] for column in schema])


def write(series: Any, column: Column, rows: np.ndarray, numbers: np.ndarray) -> Any:
    """Return a column with some cells replaced.

    Parameters
    ----------
    series : narwhals Series
        A column.
    column : Column
        What is known of it.
    rows : ndarray of int, shape (k,)
        Which cells.
    numbers : ndarray of shape (k,)
        What goes there, as :func:`~polycomplete.tables.reading.read` counts it.

    Returns
    -------
    narwhals Series
        Of the same dtype. A column that does not hold a single cell and whose dtype cannot hold
        one of its kind (as polars' Null) gets the one that its library would give it.

    Examples
    --------
    >>> import polars as pl
    >>> series = nw.from_native(pl.Series("n", [7, None], dtype=pl.Int8), series_only=True)
    >>> write(series, Column("n", "integer", "Int8"), np.array([1]), np.array([999.6])).to_list()
    [7, 127]
    """
    if len(rows) == 0:
        return series
    if not suits(column.kind, column.levels, series):
        values, library = _values(column, numbers, None), nw.get_native_namespace(series)
        fresh = nw.new_series(series.name, values, backend=library)
        return fresh.dt.replace_time_zone("UTC") if column.aware else fresh
    if series.dtype in (nw.Categorical, nw.Enum):
        return _write_levels(series, column, rows, numbers)
    return _put(series, rows, _values(column, numbers, series))


def replaced(frame: Any, columns: list[Any]) -> Any:
    """Return a table of the user's library with other columns of the same names.

    Parameters
    ----------
    frame : narwhals DataFrame
        The table; its index, and what else pandas keeps with it, stay.
    columns : list of narwhals Series
        All of its columns, in the order that is wanted.

    Returns
    -------
    data frame

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"a": [1], "b": [2]}))
    >>> replaced(frame, [frame["b"], frame["a"]]).columns
    ['b', 'a']
    """
    if not frame.implementation.is_pandas_like():
        return frame.select(*columns).to_native()
    places = [frame.columns.index(column.name) for column in columns]
    native = frame.to_native().iloc[:, places].copy(deep=False)
    for place, column in enumerate(columns):
        native.isetitem(place, column.to_native().set_axis(native.index))
    return native


def _values(column: Column, numbers: np.ndarray, series: Any) -> Any:
    """Return cells as Python objects or as an array, to go into a series (None: into a new one)."""
    if column.kind == "numeric":
        return _floats(numbers + column.origin, series)
    if column.kind == "integer":
        return _integers(numbers, column.origin, series)
    if column.kind == "bool":
        return [bool(number) for number in numbers]
    if column.kind in ("categorical", "ordered"):
        return [column.levels[int(number)] for number in numbers]
    unit = column.unit if series is None else unit_of(series)
    kind = "m8" if column.kind == "duration" else "M8"
    within = _within(numbers, column.origin, *_time_limits(column, unit))
    counts = np.array(within, dtype=np.int64)
    return counts.astype(f"{kind}[{column.unit}]").astype(f"{kind}[{unit}]")


def _time_limits(column: Column, unit: str) -> tuple[int, int]:
    """Return the first and the last tick of a column that a unit and Python's own times can hold.

    Libraries hand out Python's times; a column that had others before is not held to them.
    """
    day = TICKS[column.unit]
    most = (2**63 - 1) * day // max(TICKS[unit], day)  # the next below the least is "not a time"
    first, last = (days * day for days in PYTHON[column.kind])
    if column.origin < first:
        return -most, most
    zone = day if column.aware else 0  # the day may be another one there
    return max(first + zone, -most), min(last - zone - 1, most)


def _floats(numbers: np.ndarray, series: Any) -> Any:
    if series is None or series.dtype == nw.Object:
        return numbers.tolist()
    if series.dtype.is_integer():
        return _integers(numbers, 0, series)
    kind = np.dtype(str(series.dtype).lower())
    largest = np.finfo(kind).max
    return np.clip(numbers, -largest, largest).astype(kind)


def _integers(numbers: np.ndarray, origin: int, series: Any) -> Any:
    low, high = (-(2**63), 2**63 - 1)
    if series is not None and series.dtype.is_integer():
        low, high = _limits(series.dtype)
    whole = _within(numbers, origin, low, high)
    if series is not None and series.dtype.is_float():
        return _floats(np.array(whole, dtype=np.float64), series)
    return whole


def _within(numbers: np.ndarray, origin: int, low: int, high: int) -> list[int]:
    """Return whole numbers, counted from an origin, that are neither too low nor too high."""
    far = np.clip(numbers, -(2.0**200), 2.0**200)  # what is infinite cannot be rounded
    return [min(max(origin + round(number), low), high) for number in far]


def _limits(dtype: Any) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer dtype."""
    bits = int("".join(letter for letter in str(dtype) if letter.isdigit()))
    return (
        (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.is_signed_integer() else (0, 2**bits - 1)
    )


def _put(series: Any, rows: np.ndarray, values: Any) -> Any:
    """Return a series with values in some rows."""
    if series.implementation.is_pyarrow():
        # Not all of its dtypes can be replaced, but all can be taken from one behind the other.
        own = series.to_native()
        both = nw.get_native_namespace(series).chunked_array(
            [*own.chunks, *_like(series, values).to_native().chunks], type=own.type
        )
        source = np.arange(len(own))
        source[rows] = len(own) + np.arange(len(rows))
        return nw.from_native(both.take(source), series_only=True).alias(series.name)
    if series.implementation.is_polars() and series.dtype == nw.Categorical:
        # By way of text: categories of two series need not have the same numbers.
        text = series.cast(nw.String).scatter(rows.tolist(), values)
        return nw.from_native(text.to_native().cast(series.to_native().dtype), series_only=True)
    return series.scatter(rows.tolist(), _like(series, values))


def _like(series: Any, values: Any) -> Any:
    """Return values as a series that goes into another one."""
    if series.dtype == nw.Date:
        values = values.astype(object).tolist()
    zone = getattr(series.dtype, "time_zone", None)
    library = nw.get_native_namespace(series)
    if series.implementation.is_pandas_like() and zone is None:
        if series.to_native().dtype != object:
            return values
        # Left to itself, pandas would look for a dtype, and not every text of Python's has one.
        return nw.from_native(library.Series(values, dtype=object), series_only=True)
    kind = series.dtype if series.dtype.is_integer() else None
    made = nw.new_series(series.name, values, kind, backend=library)
    if zone is not None:
        made = made.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if series.implementation.is_pandas_like():
        return made
    native = series.to_native()
    own = native.type if series.implementation.is_pyarrow() else native.dtype
    return nw.from_native(made.to_native().cast(own), series_only=True)


def _write_levels(series: Any, column: Column, rows: np.ndarray, numbers: np.ndarray) -> Any:
    """Write into a column that has categories of its own, or values of pyarrow's dictionaries."""
    keys = [column.levels[int(number)] for number in numbers]
    own = categories(series)
    if own is None:
        return _put(series, rows, keys)
    known = {key(level): level for level in own}
    lacking = sorted(set(keys) - set(known), key=column.levels.index)
    if series.implementation.is_pyarrow():
        return _write_codes(series, rows, keys, lacking)
    if lacking and series.implementation.is_polars():
        raise ValueError(
            f"Column {column.name!r} has to be completed by {lacking[0]!r}, which is not among the "
            "categories of its Enum; give it those of the table that was fitted."
        )
    if lacking:
        native = series.to_native().cat.add_categories(lacking)
        series, known = (
            nw.from_native(native, series_only=True),
            known | dict(zip(lacking, lacking, strict=True)),
        )
    return _put(series, rows, [known[each] for each in keys])


def _write_codes(series: Any, rows: np.ndarray, keys: list[Any], lacking: list[Any]) -> Any:
    """Write into pyarrow's dictionary array, which has no function for it."""
    arrow = nw.get_native_namespace(series)
    native = series.to_native().unify_dictionaries()
    kind, levels = native.type, native.chunk(0).dictionary.to_pylist() + lacking
    position = {key(level): code for code, level in enumerate(levels)}
    parts = [chunk.indices.fill_null(0).to_numpy(zero_copy_only=False) for chunk in native.chunks]
    codes = np.concatenate(parts)
    codes[rows] = [position[each] for each in keys]
    made = arrow.DictionaryArray.from_arrays(
        arrow.array(codes, type=kind.index_type),
        arrow.array(levels, type=kind.value_type),
        ordered=kind.ordered,
    )
    return nw.from_native(arrow.chunked_array([made]), series_only=True).alias(series.name)
