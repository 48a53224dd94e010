"""What an error to expect: from observed cells that the fit had hidden, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

__all__ = ["expected_errors", "wrong_labels"]

#: Fewer hidden cells than this tell too little.
FEWEST = 10
#: Draws of the bootstrap.
DRAWS = 999
LEVEL = 0.95


def expected_errors(
    columns: np.ndarray, errors: np.ndarray, spread: np.ndarray
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the root mean squared error over all hidden cells, and that of each column.

    Over all columns it is in units of each column's spread: 1 is what filling in the mean gives.
    Intervals are those of the bootstrap over hidden cells.

    Parameters
    ----------
    columns : ndarray of int, shape (k,)
        The column of each hidden cell.
    errors : ndarray of shape (k,)
        What came back minus the truth.
    spread : ndarray of shape (m,)
        Standard deviation of each column.

    Returns
    -------
    overall : dict or None
        cells, relative, interval; None where too few cells were hidden.
    each : list of dict
        cells; where they are enough rmse, interval and relative.

    Examples
    --------
    >>> columns, errors = np.repeat([0, 1], [20, 3]), np.tile([1.0, -1.0], 12)[:23]
    >>> overall, each = expected_errors(columns, errors, np.array([2.0, 1.0]))
    >>> each[0]["rmse"], each[0]["relative"], each[1]
    (1.0, 0.5, {'cells': 3})
    """
    rng = np.random.default_rng(0)
    unit = spread[columns]
    usable = (unit > 0) & np.isfinite(unit) & np.isfinite(errors)
    overall = _measured(errors[usable] / unit[usable], rng)
    each = []
    for j, width in enumerate(spread):
        found = _measured(errors[usable & (columns == j)], rng)
        if found is None:
            each.append({"cells": int(np.count_nonzero(columns == j))})
        else:
            each.append({**found, "relative": found["rmse"] / float(width)})
    if overall is not None:
        overall["relative"] = overall.pop("rmse")
    return overall, each


def wrong_labels(wrong: np.ndarray) -> dict[str, Any] | None:
    """Return how often hidden labels came back wrong.

    Parameters
    ----------
    wrong : ndarray of bool, shape (k,)
        True where another label came back.

    Returns
    -------
    dict or None
        cells, wrong (their share), interval (Wilson's); None where too few were hidden.

    Examples
    --------
    >>> wrong_labels(np.arange(20) < 2)["wrong"]
    0.1
    """
    if len(wrong) < FEWEST:
        return None
    found = binomtest(int(np.count_nonzero(wrong)), len(wrong))
    interval = found.proportion_ci(LEVEL, method="wilson")
    return {
        "cells": len(wrong),
        "wrong": float(np.mean(wrong)),
        "interval": [float(interval.low), float(interval.high)],
    }


def _measured(errors: np.ndarray, rng: np.random.Generator) -> dict[str, Any] | None:
    """Return the root mean squared error with its interval; None where cells are too few."""
    if len(errors) < FEWEST:
        return None
    squares = errors**2
    drawn = rng.integers(len(squares), size=(DRAWS, len(squares)))
    means = squares[drawn].mean(axis=1)
    low, high = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    rmse = float(np.sqrt(squares.mean()))
    return {"cells": len(errors), "rmse": rmse, "interval": [float(low), float(high)]}
