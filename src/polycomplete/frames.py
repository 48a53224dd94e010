"""Tables in and out: a matrix of numbers from any array or data frame, and the way back.

pandas, polars, pyarrow and whatever else narwhals knows are read column by column, so that a
message can name the column and the row that do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from array_api_compat import is_torch_array
from scipy import sparse

from polycomplete._resources import by_rows, from_host, to_host

#: Beyond this, float64 skips whole numbers.
EXACT = 2**53


def to_matrix(X: Any, exact: bool = False) -> np.ndarray:
    """Return X as a two-dimensional float array, NaN where missing.

    None, NaN, pandas' NA and polars' null are missing; float32 is kept where every column is
    float32; float16, whole numbers and booleans become float64.

    Parameters
    ----------
    X : array-like or data frame
        Rows are samples.
    exact : bool
        Refuse whole numbers that are none in float64.

    Returns
    -------
    ndarray of shape (n, m)

    Raises
    ------
    ValueError, TypeError
        For text, dates and other things that are not numbers, with their place; for sparse
        matrices.

    Examples
    --------
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
        columns = [_floats(column, exact) for column in frame.iter_columns()]
        return np.column_stack(columns) if columns else np.empty((len(frame), 0))
    if isinstance(X, np.ma.MaskedArray):
        if exact:
            _refuse_rounded(np.ma.filled(X, 0))
        return np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else np.float64), np.nan)
    array = np.asarray(X, dtype=object) if _is_ragged(X) else np.asarray(X)
    if exact and _may_be_rounded(X, array):
        array = np.asarray(X, dtype=object)
    return _floats_of_array(array, type(X).__name__, exact)


def _floats_of_array(array: np.ndarray, given: str, exact: bool) -> np.ndarray:
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "biuf":
        if exact:
            _refuse_rounded(array)
        return array.astype(np.float64)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported; pass real and imaginary parts as columns.")
    if array.ndim != 2:
        raise ValueError(
            "X must be a two-dimensional array of numbers or a data frame that is in memory, got "
            f"{given} of {array.ndim} dimensions."
        )
    return np.column_stack([_objects(column, j, exact) for j, column in enumerate(array.T)])


def _frame(X: Any) -> Any:
    """Return X as narwhals sees it; None where it is no data frame."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Column names must be unique; rename columns first ({error}).") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def table(X: Any) -> Any:
    """Return a data frame as narwhals sees it.

    Parameters
    ----------
    X : data frame
        Of pandas, polars or pyarrow, in memory.

    Returns
    -------
    narwhals.DataFrame

    Examples
    --------
    >>> import polars as pl
    >>> table(pl.DataFrame({"a": [1, None]})).columns
    ['a']
    """
    frame = _frame(X)
    if frame is None:
        raise TypeError(
            "X must be a data frame of pandas, polars or pyarrow that is in memory, got "
            f"{type(X).__name__}; for an array of numbers use a completer such as PMC itself."
        )
    return frame


def present(series: Any) -> np.ndarray:
    """Return which cells of a column are there: neither null, None, NA, NaT nor NaN.

    Parameters
    ----------
    series : narwhals.Series
        The column.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> import polars as pl
    >>> present(table(pl.DataFrame({"a": [1.0, None, float("nan")]}))["a"])
    array([ True, False, False])
    """
    there = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
    return there & ~np.isnan(floats(series)) if series.dtype.is_float() else there


def floats(series: Any) -> np.ndarray:
    """Return a column of numbers or truth values as floats, NaN where missing.

    Parameters
    ----------
    series : narwhals.Series
        The column.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import polars as pl
    >>> floats(table(pl.DataFrame({"a": [1, None]}))["a"])
    array([ 1., nan])
    """
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def with_columns(frame: Any, columns: list[Any]) -> Any:
    """Return a table of the user's library with other columns of the same names.

    Its index, and what else pandas keeps with it, stay.

    Parameters
    ----------
    frame : narwhals.DataFrame
        The table before.
    columns : list of narwhals.Series
        The columns that it is to have, in their order.

    Returns
    -------
    data frame

    Examples
    --------
    >>> import polars as pl
    >>> frame = table(pl.DataFrame({"a": [1], "b": [2]}))
    >>> with_columns(frame, [frame["b"]]).columns
    ['b']
    """
    if not frame.implementation.is_pandas_like():
        return frame.select(*columns).to_native()
    places = [frame.columns.index(column.name) for column in columns]
    native = frame.to_native().iloc[:, places].copy(deep=False)
    for place, column in enumerate(columns):
        native.isetitem(place, column.to_native().set_axis(native.index))
    return native


def _is_ragged(X: Any) -> bool:
    """Return whether X is a list of rows of different lengths."""
    return isinstance(X, list | tuple) and len({len(r) for r in X if hasattr(r, "__len__")}) > 1


def _may_be_rounded(X: Any, array: np.ndarray) -> bool:
    """Return whether numbers of a list are so large that NumPy may have rounded whole ones."""
    rounded = isinstance(X, list | tuple) and array.dtype == np.float64
    return rounded and bool(np.any(np.abs(array) >= EXACT))


def _refuse_rounded(X: np.ndarray) -> None:
    """Raise where an array holds a whole number that float64 would change."""
    if X.dtype.kind in "iu" and X.ndim == 2:
        for row, column in np.argwhere((X > EXACT) | (X < -EXACT)):
            _check_exact([(row, int(X[row, column]))], int(column))


def _check_exact(entries: Iterable[tuple[int, Any]], name: object) -> None:
    """Raise where one of these entries, with their rows, would come back as another number."""
    for row, entry in entries:
        if isinstance(entry, Integral) and int(float(entry)) != entry:
            raise ValueError(
                f"Column {name!r} holds {int(entry)!r:.60} in row {row}, which float64 cannot hold "
                "exactly, so that it would come back as another number; use TableCompleter, which "
                "keeps it, or convert the column to float first."
            )


def _floats(column: Any, exact: bool) -> np.ndarray:
    if column.dtype == nw.Float32:
        return np.asarray(column.to_numpy(), dtype=np.float32)
    ends = (column.min(), column.max()) if column.dtype.is_integer() else ()
    large = any(not is_missing(end) and abs(int(end)) > EXACT for end in ends)
    if not large and (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return _objects(np.asarray(column.to_list(), dtype=object), column.name, exact)


def _objects(column: np.ndarray, name: object, exact: bool) -> np.ndarray:
    """Return a column of Python objects as floats; the first that is no number is named."""
    values = np.empty(len(column))
    for i, entry in enumerate(column):
        try:
            values[i] = np.nan if is_missing(entry) else _number(entry)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"Column {name!r} holds {_shown(entry)} in row {i}, which is not a number "
                f"({error}); drop the column or encode it as numbers first."
            ) from None
    if exact:
        _check_exact(enumerate(column), name)
    return values


def _shown(entry: Any) -> str:
    try:
        return f"{entry!r:.60}"
    except ValueError:  # Python does not write out whole numbers of thousands of digits
        return "a number of thousands of digits"


def _number(entry: Any) -> float:
    if isinstance(entry, str | bytes):
        raise ValueError("text")  # "3" too: whoever meant a number should say so
    return float(entry)


def is_missing(entry: Any) -> bool:
    """Return whether an entry is None, NaN, NA or NaT.

    Parameters
    ----------
    entry : object
        Anything.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_missing(None), is_missing(0.0)
    (True, False)
    """
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or entry != entry


def find_missing(
    X: np.ndarray, missing_values: float, largest: float = np.finfo(np.float64).max
) -> np.ndarray:
    """Return True where an entry is observed; NaN is always missing, infinities are refused.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The data.
    missing_values : float
        A number that stands for "missing" besides NaN; NaN itself for none.
    largest : float
        Numbers beyond are refused too.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> find_missing(np.array([[1.0, np.nan, -9.0]]), -9)
    array([[ True, False, False]])
    """
    mask = np.empty(X.shape, dtype=bool)
    largest = min(largest, float(np.finfo(X.dtype).max))

    def look(part: slice) -> bool:
        mask[part] = ~np.isnan(X[part])
        if not np.isnan(missing_values):
            mask[part] &= X.dtype.type(missing_values) != X[part]
        return bool(np.any((np.abs(X[part]) > largest) & mask[part]))

    if any(list(by_rows(look, X.shape))):
        _refuse_large(X, mask, largest)
    return mask


def _refuse_large(X: np.ndarray, mask: np.ndarray, largest: float) -> None:
    """Name the first of the observed entries that are infinite, or else too large."""
    infinite = np.argwhere(np.isinf(X) & mask)
    if len(infinite):
        row, column = infinite[0]
        raise ValueError(
            f"Input X contains infinity (row {row}, column {column}; {len(infinite)} in all); "
            "replace inf by NaN to have it completed, or by a finite number."
        )
    row, column = np.argwhere((np.abs(X) > largest) & mask)[0]
    raise ValueError(
        f"Input X contains {X[row, column]:.3g} (row {row}, column {column}), and differences of "
        "such numbers are beyond the range of numbers; divide the column by a power of ten first, "
        "or replace it by NaN to have it completed."
    )


def like_input(result: np.ndarray, X: Any, names: Any) -> Any:
    """Return a matrix as the kind of table or array that X is: same library, index and device.

    Parameters
    ----------
    result : ndarray of shape (n, m)
        The numbers.
    X : array-like or data frame
        What the user passed.
    names : list or pandas Index
        Column names: text, but for pandas, which allows anything.

    Returns
    -------
    ndarray or data frame

    Examples
    --------
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
    if frame.implementation.is_pandas_like():
        return library.DataFrame(result, index=nw.maybe_get_index(frame), columns=names)
    columns = {name: result[:, j] for j, name in enumerate(names)}
    return nw.to_native(nw.from_dict(columns, backend=library))


def column_labels(X: Any, kept: np.ndarray) -> Any:
    """Return the names of some columns of a data frame as they are; None for arrays.

    Parameters
    ----------
    X : array-like or data frame
        What the user passed.
    kept : ndarray of int
        Which columns.

    Returns
    -------
    list, pandas Index or None

    Examples
    --------
    >>> import pandas as pd
    >>> list(column_labels(pd.DataFrame({0: [1], "a": [2]}), np.array([1])))
    ['a']
    """
    frame = _frame(X)
    if frame is None:
        return None
    if frame.implementation.is_pandas_like():
        return X.columns[kept]  # keeps levels and names
    return [frame.columns[j] for j in kept]
