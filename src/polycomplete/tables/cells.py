"""What stands in a column: which cells are present, and what they are, as the library has them."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np


def present(series: Any) -> np.ndarray:
    """Return which cells are there: neither null, None, NA, NaT nor NaN.

    Parameters
    ----------
    series : narwhals Series
        A column.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> import polars as pl
    >>> present(nw.from_native(pl.Series([1.0, None, float("nan")]), series_only=True))
    array([ True, False, False])
    """
    there = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        there &= ~np.isnan(np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
    return there


def present_cells(series: Any, there: np.ndarray) -> list[Any]:
    """Return the present cells as Python objects.

    Parameters
    ----------
    series : narwhals Series
        A column.
    there : ndarray of bool, shape (n,)
        Which of its cells are present.

    Returns
    -------
    list

    Examples
    --------
    >>> import polars as pl
    >>> present_cells(nw.from_native(pl.Series(["a", None]), series_only=True), [True, False])
    ['a']
    """
    return [cell for cell, ok in zip(series.to_list(), there, strict=True) if ok]


def ticks(series: Any, there: np.ndarray, unit: str) -> np.ndarray:
    """Return present dates (in UTC) or durations as whole numbers of a unit.

    Parameters
    ----------
    series : narwhals Series
        A column.
    there : ndarray of bool, shape (n,)
        Which of its cells are present.
    unit : str
        "ns", "us", "ms", "s" or "D".

    Returns
    -------
    ndarray of int, shape (k,)

    Examples
    --------
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
    """Return the unit in which a column counts dates or durations.

    Parameters
    ----------
    series : narwhals Series
        A column.

    Returns
    -------
    str

    Examples
    --------
    >>> import polars as pl
    >>> series = pl.Series(["2020-01-03"]).str.to_date()
    >>> unit_of(nw.from_native(series, series_only=True))
    'D'
    """
    return "D" if series.dtype == nw.Date else str(series.dtype.time_unit)


def is_aware(series: Any) -> bool:
    """Return whether dates have a time zone.

    Parameters
    ----------
    series : narwhals Series
        A column.

    Returns
    -------
    bool

    Examples
    --------
    >>> import polars as pl
    >>> is_aware(nw.from_native(pl.Series([1]), series_only=True))
    False
    """
    return getattr(series.dtype, "time_zone", None) is not None


def categories(series: Any) -> list[Any] | None:
    """Return the categories that belong to a column's dtype, in their order; None without any.

    Parameters
    ----------
    series : narwhals Series
        A column.

    Returns
    -------
    list or None

    Examples
    --------
    >>> import polars as pl
    >>> series = pl.Series(["M"], dtype=pl.Enum(["S", "M", "L"]))
    >>> categories(nw.from_native(series, series_only=True))
    ['S', 'M', 'L']
    """
    if series.dtype not in (nw.Categorical, nw.Enum):
        return None
    if series.implementation.is_polars() and series.dtype == nw.Categorical:
        return None  # they belong to the process, not to the column
    if series.implementation.is_pandas_like() and not hasattr(series.to_native(), "cat"):
        return None  # a dictionary of pyarrow inside of pandas
    return list(series.cat.get_categories().to_list())


def key(level: Any) -> Any:
    """Return what a level is remembered by: itself where it is plain, else how it is written.

    Parameters
    ----------
    level : object
        A cell of a categorical column.

    Returns
    -------
    str, int, float or bool

    Examples
    --------
    >>> import pandas as pd
    >>> key("a"), key(np.int64(3)), key(pd.Interval(0, 1))
    ('a', 3, '(0, 1]')
    """
    if isinstance(level, np.generic):
        level = level.item()
    return level if isinstance(level, str | int | float | bool) else str(level)
