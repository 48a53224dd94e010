"""What is missing in a table: by column, by row, and together."""

from __future__ import annotations

from typing import Any

import numpy as np


def mask_of(frame: Any) -> np.ndarray:
    """Return which cells are there.

    Parameters
    ----------
    frame : polars DataFrame
        The table.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> import polars as pl
    >>> mask_of(pl.DataFrame({"a": [1, None]})).tolist()
    [[True], [False]]
    """
    return np.column_stack([column.is_not_null().to_numpy() for column in frame])


def by_column(frame: Any) -> list[dict[str, Any]]:
    """Return of each column what it is, how much of it is missing, and what it holds.

    Parameters
    ----------
    frame : polars DataFrame
        The table.

    Returns
    -------
    list of dict
        column, kind, missing, share, holds.

    Examples
    --------
    >>> import polars as pl
    >>> by_column(pl.DataFrame({"age": [41, None], "who": ["A", "B"]}))[0]
    {'column': 'age', 'kind': 'whole number', 'missing': 1, 'share': 0.5, 'holds': '41'}
    """
    return [
        {
            "column": column.name,
            "kind": _kind(column),
            "missing": column.null_count(),
            "share": column.null_count() / len(column),
            "holds": _holds(column.drop_nulls()),
        }
        for column in frame
    ]


def _kind(column: Any) -> str:
    dtype = column.dtype
    if column.null_count() == len(column):
        return "empty"
    if dtype.is_integer():
        return "whole number"
    if dtype.is_numeric():
        return "number"
    return "date" if dtype.is_temporal() else {"Boolean": "truth value"}.get(str(dtype), "text")


def _holds(values: Any) -> str:
    if not len(values):
        return "nothing"
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        count = values.n_unique()
        return f"{count} different" if count > 1 else f"only {values[0]!r:.40}"
    low, high = (
        f"{v:.6g}" if isinstance(v, float) else str(v) for v in (values.min(), values.max())
    )
    return low if low == high else f"{low} to {high}"


def by_row(mask: np.ndarray, needed: int) -> dict[str, Any]:
    """Return how many cells rows miss.

    Parameters
    ----------
    mask : ndarray of bool, shape (n, m)
        True where a cell is there.
    needed : int
        Rows with fewer cells are too empty to be determined.

    Returns
    -------
    dict
        complete, empty, too_empty: how many; first_too_empty: the first of them, from 0;
        missing_quartiles: of the number of missing cells.

    Examples
    --------
    >>> by_row(np.array([[True, True], [True, False], [False, False]]), needed=2)["too_empty"]
    2
    """
    there = mask.sum(axis=1)
    poor = np.flatnonzero(there < min(needed, mask.shape[1]))
    return {
        "complete": int((there == mask.shape[1]).sum()),
        "empty": int((there == 0).sum()),
        "missing_quartiles": [
            float(q) for q in np.quantile((~mask).sum(axis=1), [0.25, 0.5, 0.75])
        ],
        "needed": needed,
        "too_empty": len(poor),
        "first_too_empty": poor[:5].tolist(),
    }


def patterns(frame: Any, most: int = 5) -> list[dict[str, Any]]:
    """Return which columns are missing together, the most frequent first.

    Parameters
    ----------
    frame : polars DataFrame
        The table.
    most : int
        So many at most.

    Returns
    -------
    list of dict
        columns (those that are missing), rows (how many); complete rows are left out.

    Examples
    --------
    >>> import polars as pl
    >>> patterns(pl.DataFrame({"a": [1, None, None], "b": [1, None, None], "c": [1, 2, 3]}))
    [{'columns': ['a', 'b'], 'rows': 2}]
    """
    found, counts = np.unique(~mask_of(frame), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    holed = [i for i in order if found[i].any()][:most]
    names = np.array(frame.columns, dtype=object)
    return [{"columns": names[found[i]].tolist(), "rows": int(counts[i])} for i in holed]
