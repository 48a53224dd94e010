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
    columns: np.ndarray, truth: np.ndarray, found: np.ndarray, mean: np.ndarray, spread: np.ndarray
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the root mean squared error over all hidden cells, and that of each column.

    Over all columns, errors count in units of each column's spread, and the result is relative to
    what filling in the mean gives for the same cells: 1 is no better than that. Without this
    comparison, columns that are nearly constant would decide, by the few cells that are not.
    Intervals are those of the bootstrap over hidden cells.

    Parameters
    ----------
    columns : ndarray of int, shape (k,)
        The column of each hidden cell.
    truth, found : ndarrays of shape (k,)
        What was there, and what came back.
    mean, spread : ndarrays of shape (m,)
        Mean and standard deviation of each column.

    Returns
    -------
    overall : dict or None
        cells, relative, interval; None where too few cells were hidden.
    each : list of dict
        cells; where they are enough rmse, interval, and relative: to the column's spread.

    Examples
    --------
    >>> columns, truth = np.repeat([0, 1], [20, 3]), np.tile([2.0, -2.0], 12)[:23]
    >>> overall, each = expected_errors(columns, truth, truth / 2, np.zeros(2), np.full(2, 2.0))
    >>> overall["relative"], each[0]["rmse"], each[0]["relative"], each[1]
    (0.5, 1.0, 0.5, {'cells': 3})
    """
    rng = np.random.default_rng(0)
    unit, errors = spread[columns], found - truth
    usable = (unit > 0) & np.isfinite(unit) & np.isfinite(errors)
    each: list[dict[str, Any]] = []
    for j, width in enumerate(spread):
        mine = _measured(errors[usable & (columns == j)] ** 2, None, rng)
        if mine is None:
            each.append({"cells": int(np.count_nonzero(columns == j))})
        else:
            each.append({**mine, "relative": mine["rmse"] / float(width)})
    by_mean = (truth - mean[columns])[usable] / unit[usable]
    overall = _measured((errors[usable] / unit[usable]) ** 2, by_mean**2, rng)
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


def _measured(
    squares: np.ndarray, usual: np.ndarray | None, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Return the root mean square, relative to another if given; None where cells are too few."""
    if len(squares) < FEWEST or (usual is not None and not usual.any()):
        return None
    drawn = rng.integers(len(squares), size=(DRAWS, len(squares)))
    means = squares[drawn].mean(axis=1)
    if usual is not None:
        means /= np.maximum(usual[drawn].mean(axis=1), np.finfo(float).tiny)
    low, high = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    whole = squares.mean() / (1.0 if usual is None else usual.mean())
    return {
        "cells": len(squares),
        "rmse": float(np.sqrt(whole)),
        "interval": [float(low), float(high)],
    }
