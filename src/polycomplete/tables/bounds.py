"""How far completed numbers may go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polycomplete.tables.schema import Column

#: Kinds whose cells lie on a line; the others have levels, which are bounds in themselves.
LINES = ("numeric", "integer", "datetime", "duration")


def bounds_of(column: Column, clip: Any, numbers: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest number that a completed cell may have.

    Parameters
    ----------
    column : Column
        What is known of it.
    clip : None, "observed" or pair
        No bounds, those of the present cells, or (low, high) in the user's units, where None is
        no bound. Dates and durations may be given in any form that NumPy reads, dates in UTC.
    numbers : ndarray of shape (n,)
        Its cells, counted from ``column.origin``.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> bounds_of(Column("n", "integer", "Int64", origin=10), (None, 12.5), np.array([1.0]))
    (-inf, 2.0)
    """
    if clip is None:
        return -np.inf, np.inf
    if isinstance(clip, str) and clip == "observed":
        return float(np.nanmin(numbers)), float(np.nanmax(numbers))
    if isinstance(clip, str) or column.kind not in LINES:
        raise ValueError(_complaint(column, clip))
    try:
        low, high = clip
        low, high = (_number(column, end) for end in (low, high))
    except (TypeError, ValueError):
        raise ValueError(_complaint(column, clip)) from None
    low, high = (-np.inf if low is None else low), (np.inf if high is None else high)
    if column.kind == "integer":
        low, high = _whole(low, math.ceil), _whole(high, math.floor)
    if not low <= high:
        raise ValueError(_complaint(column, clip))
    return float(low), float(high)


def _whole(end: Any, rounded: Any) -> Any:
    return rounded(end) if math.isfinite(end) else end


def _number(column: Column, end: Any) -> Any:
    if end is None:
        return None
    if column.kind in ("datetime", "duration"):
        kind = "M8" if column.kind == "datetime" else "m8"
        end = int(np.array(end).astype(f"{kind}[{column.unit}]").astype(np.int64))
    return end - column.origin


def _complaint(column: Column, clip: Any) -> str:
    return (
        f'clip of column {column.name!r} must be "observed" or a pair (low, high) with low <= high '
        f"that fits a column of kind {column.kind!r}, got {clip!r}."
    )
