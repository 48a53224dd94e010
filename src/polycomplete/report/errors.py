"""What an error to expect: from observed cells that the fit had hidden, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

__all__ = ["by_missing", "expected_errors", "wrong_labels"]

#: Fewer hidden cells than this tell too little.
FEWEST = 10
#: Draws of the bootstrap.
DRAWS = 999
LEVEL = 0.95


def expected_errors(
    columns: np.ndarray,
    truth: np.ndarray,
    found: np.ndarray,
    mean: np.ndarray,
    spread: np.ndarray,
    missing: np.ndarray,
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the root mean squared error over all hidden cells, and that of each column.

    Over all columns, errors count in units of each column's spread and by how many cells the column
    lacks, and the result is relative to what filling in the mean gives for the same cells: 1 is no
    better than that. Without this comparison, columns that are nearly constant would decide, by the
    few cells that are not.
    Intervals are those of the bootstrap over hidden cells.

    Parameters
    ----------
    columns : ndarray of int, shape (k,)
        The column of each hidden cell.
    truth, found : ndarrays of shape (k,)
        What was there, and what came back.
    mean, spread : ndarrays of shape (m,)
        Mean and standard deviation of each column.
    missing : ndarray of int, shape (m,)
        How many cells were filled in.

    Returns
    -------
    overall : dict or None
        cells, relative, interval; None where too few cells were hidden in columns that lack any.
    each : list of dict
        cells; where they are enough rmse, interval, and relative: to the column's spread.

    Examples
    --------
    >>> columns, truth = np.repeat([0, 1], [20, 3]), np.tile([2.0, -2.0], 12)[:23]
    >>> overall, each = expected_errors(
    ...     columns, truth, truth / 2, np.zeros(2), np.full(2, 2.0), np.array([7, 7])
    ... )
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
    weights = by_missing(columns, missing)
    judged = usable & (weights > 0)
    scale = weights[judged] / unit[judged] ** 2
    by_mean = (truth - mean[columns])[judged]
    overall = _measured(errors[judged] ** 2 * scale, by_mean**2 * scale, rng)
    if overall is not None:
        overall["relative"] = overall.pop("rmse")
    return overall, each


def by_missing(columns: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return how much each hidden cell counts: those of a column as the cells that it lacks.

    Parameters
    ----------
    columns : ndarray of int, shape (k,)
        The column of each hidden cell.
    missing : ndarray of int, shape (m,)
        How many cells were filled in; where none was anywhere, all cells count the same.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> by_missing(np.array([0, 0, 1]), np.array([30, 5]))
    array([15., 15.,  5.])
    """
    if not missing.any():
        return np.ones(len(columns))
    return (missing / np.maximum(np.bincount(columns, minlength=len(missing)), 1))[columns]


def wrong_labels(wrong: np.ndarray, weights: np.ndarray | None = None) -> dict[str, Any] | None:
    """Return how often hidden labels came back wrong.

    Parameters
    ----------
    wrong : ndarray of bool, shape (k,)
        True where another label came back.
    weights : ndarray of shape (k,), optional
        How much each of them counts; the same by default.

    Returns
    -------
    dict or None
        cells, wrong (their share), interval (Wilson's); None where too few were hidden.

    Examples
    --------
    >>> wrong_labels(np.arange(20) < 2)["wrong"]
    0.1
    """
    weights = np.ones(len(wrong)) if weights is None else weights
    wrong, weights = wrong[weights > 0], weights[weights > 0]
    if len(wrong) < FEWEST:
        return None
    share = float(np.average(wrong, weights=weights))
    count = round(
        weights.sum() ** 2 / np.sum(weights**2)
    )  # as many with equal weights tell as much
    interval = binomtest(round(share * count), count).proportion_ci(LEVEL, method="wilson")
    return {
        "cells": len(wrong),
        "wrong": share,
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
