"""Arrays and data frames in and out: any of them becomes a matrix of numbers, and back.

Data frames of pandas, polars, pyarrow and others, by narwhals, are read column by column, so that
errors can name column and row.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from array_api_compat import is_torch_array
from scipy import sparse

from polycomplete._devices import from_host, to_host

#: Up to this, float64 holds all integers exactly.
EXACT = 2**53
#: Units of time: their number in a day, and the seconds of each.
TICKS = {unit: int(np.timedelta64(1, "D").astype(f"m8[{unit}]").astype(np.int64))
         for unit in ("ns", "us", "ms", "s", "D")}  # fmt: skip
SECONDS = {unit: TICKS["s"] / count for unit, count in TICKS.items()}


def to_matrix(X: Any, exact: bool = False) -> np.ndarray:
    """Return X as a two-dimensional float array, NaN where missing; float32 stays float32.

    None, NaN, pandas' NA and polars' null are missing; float32 stays if every column is float32.
    Text, dates, sparse matrices and other objects that are not numbers are refused with their
    place; with ``exact`` also integers that float64 cannot hold.

    >>> to_matrix([[1, None], [True, 2.5]])
    array([[1. , nan],
           [1. , 2.5]])
    """
    if sparse.issparse(X):
        raise TypeError(
            "Sparse input is not supported, because its zeros would count as observed entries; "
            "pass X.toarray() with NaN where entries are missing."
        )
    if is_torch_array(X):
        X = to_host(X)
    frame = _frame(X)
    if frame is not None:
        columns = [floats(column) for column in frame.iter_columns()]
        matrix = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    elif isinstance(X, np.ma.MaskedArray):
        matrix = np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else np.float64), np.nan)
    else:
        matrix = _floats_of_array(X)
    if exact and matrix.ndim == 2 and getattr(X, "dtype", None) not in (np.float32, np.float64):
        _refuse_rounded(X, frame, matrix)
    return matrix


def _floats_of_array(X: Any) -> np.ndarray:
    rows = X if isinstance(X, list | tuple) else ()
    ragged = len({len(row) for row in rows if hasattr(row, "__len__")}) > 1
    array = np.asarray(X, dtype=object if ragged else None)
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported; pass real and imaginary parts as columns.")
    if array.ndim != 2:
        raise ValueError(
            "X must be a two-dimensional array of numbers or a data frame that is in memory, got "
            f"{type(X).__name__} of {array.ndim} dimensions."
        )
    return np.column_stack([_objects(column, j) for j, column in enumerate(array.T)])


def _refuse_rounded(X: Any, frame: Any, matrix: np.ndarray) -> None:
    """Raise if an integer would come back as another number."""
    high, low = (end.reduce(matrix, axis=0, initial=0) for end in (np.fmax, np.fmin))
    for j in np.flatnonzero(np.maximum(high, -low) >= EXACT).tolist():
        name = j if frame is None else frame.columns[j]
        cells = [row[j] for row in X] if frame is None else frame[name].to_list()
        for row, entry in enumerate(cells):
            if isinstance(entry, Integral) and int(float(entry)) != entry:
                raise ValueError(
                    f"Column {name!r} holds {int(entry)!r:.60} in row {row}, which float64 cannot "
                    "hold exactly, so that it would come back as another number; use "
                    "TableCompleter, which keeps it, or convert the column to float first."
                )


def _frame(X: Any) -> Any:
    """Return X as a data frame of narwhals; None if it is no data frame."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Column names must be unique; rename columns first ({error}).") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def table(X: Any) -> Any:
    """Return X as a narwhals data frame; raise if it is not a data frame."""
    frame = _frame(X)
    if frame is None:
        raise TypeError(
            "X must be a data frame of pandas, polars or pyarrow that is in memory, got "
            f"{type(X).__name__}; for an array of numbers use a completer such as PMC itself."
        )
    return frame


def floats(column: Any) -> np.ndarray:
    """Return a series of numbers or booleans as floats, NaN where missing."""
    if column.dtype == nw.Float32:
        return np.asarray(column.to_numpy(), dtype=np.float32)
    ends = (column.min(), column.max()) if column.dtype.is_integer() else ()
    large = any(not is_missing(end) and abs(int(end)) > EXACT for end in ends)
    if not large and (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return _objects(np.asarray(column.to_list(), dtype=object), column.name)


def _objects(column: np.ndarray, name: object) -> np.ndarray:
    """Return Python objects as floats; raise with the first that is not a number."""
    values = np.empty(len(column))
    for i, entry in enumerate(column):
        try:
            if isinstance(entry, str | bytes):  # also "3"
                raise ValueError("text")
            values[i] = np.nan if is_missing(entry) else float(entry)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"Column {name!r} holds {_shown(entry)} in row {i}, which is not a number "
                f"({error}); make it missing, drop the column, or encode it as numbers first."
            ) from None
    return values


def _shown(entry: Any) -> str:
    try:
        return f"{entry!r:.60}"
    except ValueError:  # Python refuses to print so long an integer
        return "a number of thousands of digits"


def is_missing(entry: Any) -> bool:
    """Return whether an entry is None, NaN, NA or NaT."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or entry != entry


def present(series: Any) -> np.ndarray:
    """Return the mask of observed cells of a series: neither null, None, NA, NaT nor NaN."""
    mask = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
    return mask & ~np.isnan(floats(series)) if series.dtype.is_float() else mask


def entries(series: Any, mask: np.ndarray) -> list[Any]:
    """Return the observed cells as Python objects."""
    return [cell for cell, ok in zip(series.to_list(), mask, strict=True) if ok]


def key(level: Any) -> Any:
    """Return a level as plain Python, or else as text.

    >>> import pandas as pd
    >>> key("a"), key(np.int64(3)), key(pd.Interval(0, 1))
    ('a', 3, '(0, 1]')
    """
    if isinstance(level, np.generic):
        level = level.item()
    return level if isinstance(level, str | int | float | bool) else str(level)


def ticks(series: Any, mask: np.ndarray, unit: str) -> np.ndarray:
    """Return observed dates (in UTC) or durations as integers in a unit.

    >>> import polars as pl
    >>> series = pl.Series(["1970-01-03"]).str.to_date()
    >>> ticks(nw.from_native(series, series_only=True), np.array([True]), "D")
    array([2])
    """
    letters = "m8" if series.dtype == nw.Duration else "M8"
    own = series[np.flatnonzero(mask).tolist()].to_numpy()
    exact = np.asarray(own).astype(f"{letters}[{unit_of(series)}]")
    return exact.astype(f"{letters}[{unit}]").astype(np.int64)


def unit_of(series: Any) -> str:
    """Return the unit of a series of dates or durations."""
    return "D" if series.dtype == nw.Date else str(series.dtype.time_unit)


def zone_of(series: Any) -> str | None:
    """Return the time zone of a series."""
    return getattr(series.dtype, "time_zone", None)


def categories(series: Any) -> list[Any] | None:
    """Return the categories of a series' dtype in their order; None if it has none."""
    if series.dtype not in (nw.Categorical, nw.Enum):
        return None
    if series.implementation.is_polars() and series.dtype == nw.Categorical:
        return None  # they are global
    if series.implementation.is_pandas_like() and not hasattr(series.to_native(), "cat"):
        return None  # a dictionary of pyarrow inside pandas
    return list(series.cat.get_categories().to_list())


def with_categories(series: Any, lacking: list[Any]) -> Any:
    """Return a series whose dtype has these categories too."""
    if lacking and series.implementation.is_polars():
        raise ValueError(
            f"Column {series.name!r} has to be completed by {lacking[0]!r}, which is not among the "
            "categories of its Enum; use the Enum of the table that was fitted."
        )
    if lacking and series.implementation.is_pandas_like():  # dictionaries of pyarrow grow on demand
        return nw.from_native(series.to_native().cat.add_categories(lacking), series_only=True)
    return series


def with_cells(series: Any, rows: np.ndarray, values: Any) -> Any:
    """Return a series with some rows replaced by values; the dtype stays."""
    native, library = series.to_native(), nw.get_native_namespace(series)
    if series.implementation.is_pyarrow():
        made = library.array(values, type=native.type)
        if made.type != native.type:  # old versions forget the order of a dictionary
            codes, levels = made.indices, made.dictionary
            made = library.DictionaryArray.from_arrays(codes, levels, ordered=native.type.ordered)
        made = library.chunked_array([made])
    else:
        made = library.Series(values, dtype=native.dtype)
    parts = [each.alias("x").to_frame()
             for each in (series, nw.from_native(made, series_only=True))]  # fmt: skip
    source = np.arange(len(series))
    source[rows] = len(series) + np.arange(len(rows))
    return nw.concat(parts)["x"][source.tolist()].alias(series.name)


def find_missing(
    X: np.ndarray, missing_values: float, largest: float = np.finfo(np.float64).max
) -> np.ndarray:
    """Return the mask of observed entries.

    NaN and the number ``missing_values`` are missing; infinities and numbers beyond ``largest`` are
    refused.

    >>> find_missing(np.array([[1.0, np.nan, -9.0]]), -9)
    array([[ True, False, False]])
    """
    mask = ~np.isnan(X)
    if not np.isnan(missing_values):
        mask &= X.dtype.type(missing_values) != X
    largest = min(largest, float(np.finfo(X.dtype).max))
    if X.size and max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)) > largest:
        _refuse_large(X, mask, largest)
    return mask


def _refuse_large(X: np.ndarray, mask: np.ndarray, largest: float) -> None:
    """Raise with the first observed entry that is infinite, or else too large."""
    large, infinite = np.argwhere((np.abs(X) > largest) & mask), np.argwhere(np.isinf(X) & mask)
    if not len(large):  # missing_values is large
        return
    if len(infinite):
        row, column = infinite[0]
        raise ValueError(
            f"Input X contains infinity (row {row}, column {column}; {len(infinite)} in all); "
            "replace inf by NaN to have it completed, or by a finite number."
        )
    row, column = large[0]
    raise ValueError(
        f"Input X contains {X[row, column]:.3g} (row {row}, column {column}), and differences of "
        "such numbers are beyond the range of numbers; divide the column by a power of ten first, "
        "or replace it by NaN to have it completed."
    )


def like_input(result: np.ndarray, X: Any, names: Any) -> Any:
    """Return a matrix as a table or array like X: of the same library, index and device.

    >>> import polars as pl
    >>> like_input(np.ones((1, 2)), pl.DataFrame({"a": [0], "b": [0]}), ["a", "b"]).columns
    ['a', 'b']
    """
    if is_torch_array(X):
        return from_host(result, X)
    frame = _frame(X)
    if frame is None:
        return result
    library = nw.get_native_namespace(frame)
    if frame.implementation.is_pandas_like():  # names may be any object
        return library.DataFrame(result, index=nw.maybe_get_index(frame), columns=names)
    return nw.to_native(nw.from_numpy(result, list(names), backend=library))


def with_columns(frame: Any, columns: list[Any]) -> Any:
    """Return a native data frame with columns replaced by these; index and attributes stay."""
    if not frame.implementation.is_pandas_like():
        return frame.select(*columns).to_native()
    places = [frame.columns.index(column.name) for column in columns]
    native = frame.to_native().iloc[:, places].copy(deep=False)
    for place, column in enumerate(columns):
        native.isetitem(place, column.to_native().set_axis(native.index))
    return native


def column_labels(X: Any, kept: np.ndarray) -> Any:
    """Return the names of some columns of a data frame; None for arrays."""
    frame = _frame(X)
    if frame is None:
        return None
    if frame.implementation.is_pandas_like():
        return X.columns[kept]  # keeps levels and names
    return [frame.columns[j] for j in kept]
