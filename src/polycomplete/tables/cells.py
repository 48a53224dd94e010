"""Tables of any library as narwhals sees them: which cells are present, and replacing some."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

#: Seconds in the units in which libraries count time.
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "D": 86400.0}
#: Kinds of columns that their dtype tells.
BY_DTYPE = {
    "bool": lambda dtype: dtype == nw.Boolean,
    "integer": lambda dtype: dtype.is_integer(),
    "numeric": lambda dtype: dtype.is_float(),
    "datetime": lambda dtype: dtype in (nw.Datetime, nw.Date),
    "duration": lambda dtype: dtype == nw.Duration,
}


def table(X: Any) -> Any:
    """Return a data frame as narwhals sees it."""
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


def by_name(frame: Any) -> dict[Any, Any]:
    """Return the columns of a table by their names, which pandas allows to be other than text."""
    return {series.name: series for series in frame.iter_columns()}


def present(series: Any) -> np.ndarray:
    """Return which cells of a column are there: neither null, None, NA, NaT nor NaN."""
    there = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        there &= ~np.isnan(floats(series))
    return there


def floats(series: Any) -> np.ndarray:
    """Return a column of numbers or truth values as floats."""
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def present_cells(series: Any, there: np.ndarray) -> list[Any]:
    """Return the present cells as Python objects."""
    return [cell for cell, ok in zip(series.to_list(), there, strict=True) if ok]


def ticks(series: Any, there: np.ndarray, unit: str) -> np.ndarray:
    """Return present dates (in UTC) or durations as whole numbers of a unit.

    >>> import polars as pl
    >>> series = pl.Series(["1970-01-03"]).str.to_date()
    >>> ticks(nw.from_native(series, series_only=True), np.array([True]), "D")
    array([2])
    """
    rows = np.flatnonzero(there).tolist()
    kind = "m8" if series.dtype == nw.Duration else "M8"
    own = np.asarray(series[rows].to_numpy()).astype(f"{kind}[{unit_of(series)}]")
    return own.astype(f"{kind}[{unit}]").astype(np.int64)


def unit_of(series: Any) -> str:
    """Return the unit in which a column counts dates or durations."""
    return "D" if series.dtype == nw.Date else str(series.dtype.time_unit)


def zone_of(series: Any) -> str | None:
    """Return the time zone of a column."""
    return getattr(series.dtype, "time_zone", None)


def native_dtype(series: Any) -> Any:
    """Return the dtype as the library itself has it."""
    native = series.to_native()
    return native.type if series.implementation.is_pyarrow() else native.dtype


def categories(series: Any) -> list[Any] | None:
    """Return the categories that belong to a column's dtype, in their order; None without any."""
    if series.dtype not in (nw.Categorical, nw.Enum):
        return None
    if series.implementation.is_polars() and series.dtype == nw.Categorical:
        return None  # they belong to the process, not to the column
    if series.implementation.is_pandas_like() and not hasattr(series.to_native(), "cat"):
        return None  # a dictionary of pyarrow inside of pandas
    return list(series.cat.get_categories().to_list())


def is_ordered(series: Any) -> bool:
    """Return whether a library says that levels are ordered.

    Not for polars' Enum: it compares by position whether or not the order means anything.
    """
    if categories(series) is None or series.implementation.is_polars():
        return False
    return bool(nw.is_ordered_categorical(series))


def key(level: Any) -> Any:
    """Return what a level is remembered by: itself where it is plain, else how it is written.

    >>> import pandas as pd
    >>> key("a"), key(np.int64(3)), key(pd.Interval(0, 1))
    ('a', 3, '(0, 1]')
    """
    if isinstance(level, np.generic):
        level = level.item()
    return level if isinstance(level, str | int | float | bool) else str(level)


def kind_of(series: Any, there: np.ndarray) -> str:
    """Return what dtype and cells say of a column: a kind, or "mixed"; raise for other things."""
    dtype, native = series.dtype, str(native_dtype(series))
    if native == "string_view":
        raise _unsupported(series, native)  # pyarrow can do next to nothing with it
    for kind, fits in BY_DTYPE.items():
        if fits(dtype):
            return kind
    if dtype in (nw.Categorical, nw.Enum):
        return "ordered" if is_ordered(series) else "categorical"
    if dtype in (nw.String, nw.Object):
        return _kind_of_objects(series, {type(each) for each in present_cells(series, there)})
    raise _unsupported(series, native)


def _kind_of_objects(series: Any, types: set[type]) -> str:
    for kind, allowed in ("bool", bool), ("categorical", str), ("integer", int):
        if types == {allowed}:
            return kind
    if types <= {int, float}:
        return "numeric"
    odd = next((kind for kind in types if kind not in (int, float, bool, str)), None)
    if odd is None:
        return "mixed"
    raise _unsupported(series, f"Python objects of type {odd.__name__}")


def _unsupported(series: Any, what: str) -> TypeError:
    return TypeError(
        f"Column {series.name!r} holds {what}, which cannot be completed; convert it to numbers, "
        f"text or dates, or leave it alone by ids=[{series.name!r}]."
    )


def first(odd: np.ndarray, there: np.ndarray) -> int:
    """Return the row of the first odd one among the present cells."""
    return int(np.flatnonzero(there)[odd.argmax()])


def limits(dtype: Any) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer dtype."""
    bits = int("".join(filter(str.isdigit, str(dtype))))
    if dtype.is_signed_integer():
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return 0, 2**bits - 1


def within(numbers: np.ndarray, origin: int, low: int, high: int) -> list[int]:
    """Return whole numbers, counted from an origin, that are neither too low nor too high."""
    far = np.clip(numbers, -(2.0**200), 2.0**200)  # what is infinite cannot be rounded
    return [min(max(origin + round(number), low), high) for number in far]


def replaced(frame: Any, columns: list[Any]) -> Any:
    """Return a table of the user's library with other columns (series) of the same names.

    Its index, and what else pandas keeps with it, stay.
    """
    if not frame.implementation.is_pandas_like():
        return frame.select(*columns).to_native()
    places = [frame.columns.index(column.name) for column in columns]
    native = frame.to_native().iloc[:, places].copy(deep=False)
    for place, column in enumerate(columns):
        native.isetitem(place, column.to_native().set_axis(native.index))
    return native


def put(series: Any, rows: np.ndarray, values: Any, levels: list[Any]) -> Any:
    """Return a series with values in some rows; of categories, they are among these levels."""
    own = categories(series)
    return _put(series, rows, values) if own is None else _put_levels(series, rows, values, levels)


def _put(series: Any, rows: np.ndarray, values: Any) -> Any:
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
        return nw.from_native(text.to_native().cast(native_dtype(series)), series_only=True)
    return series.scatter(rows.tolist(), _like(series, values))


def _like(series: Any, values: Any) -> Any:
    """Return values as a series that goes into another one."""
    if series.dtype == nw.Date:
        values = values.astype(object).tolist()
    zone, library = zone_of(series), nw.get_native_namespace(series)
    if series.implementation.is_pandas_like() and zone is None:
        if str(native_dtype(series)) != "object":
            return values
        # Left to itself, pandas would look for a dtype, and not every text of Python's has one.
        return nw.from_native(library.Series(values, dtype=object), series_only=True)
    kind = series.dtype if series.dtype.is_integer() else None
    made = nw.new_series(series.name, values, kind, backend=library)
    if zone is not None:
        made = made.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if series.implementation.is_pandas_like():
        return made
    return nw.from_native(made.to_native().cast(native_dtype(series)), series_only=True)


def _put_levels(series: Any, rows: np.ndarray, keys: list[Any], levels: list[Any]) -> Any:
    """Categories that the dtype lacks are added, but for polars' Enum."""
    known = {key(level): level for level in categories(series) or ()}
    lacking = sorted(set(keys) - set(known), key=levels.index)
    if series.implementation.is_pyarrow():
        return _put_codes(series, rows, keys, lacking)
    if lacking and series.implementation.is_polars():
        raise ValueError(
            f"Column {series.name!r} has to be completed by {lacking[0]!r}, which is not among the "
            "categories of its Enum; give it those of the table that was fitted."
        )
    if lacking:
        native = series.to_native().cat.add_categories(lacking)
        series = nw.from_native(native, series_only=True)
    return _put(series, rows, [known.get(each, each) for each in keys])


def _put_codes(series: Any, rows: np.ndarray, keys: list[Any], lacking: list[Any]) -> Any:
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
