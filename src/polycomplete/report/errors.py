"""What an error to expect: from observed cells that the fit had hidden, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

__all__: list[str] = []

#: Fewer hidden cells than this tell too little.
FEWEST = 10
#: Draws of the bootstrap.
DRAWS = 999
LEVEL = 0.95


def add_errors(
    columns: list[dict[str, Any]], at: np.ndarray, truth: np.ndarray, found: np.ndarray
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Add its expected error to each column; return that of all numbers, and of all labels.

    ``at`` are the columns of hidden cells, ``truth`` and ``found`` numbers or codes of labels. The
    error of numbers is the root mean square, with the interval of the bootstrap over hidden cells.
    Over all columns, errors count in units of each column's spread and by how many cells the column
    lacks, and the result is relative to what filling in the mean gives for the same cells: 1 is no
    better than that. Without this comparison, columns that are nearly constant would decide, by the
    few cells that are not.
    """
    rng, errors, wrong = np.random.default_rng(0), found - truth, found != truth
    mean, spread, missing = (
        np.array([column[key] for column in columns]) for key in ("mean", "spread", "missing")
    )
    usual = np.array([_usual(column["labels"]) for column in columns])
    unit, text = spread[at], ~np.isnan(usual)[at]
    usable = (unit > 0) & np.isfinite(unit) & np.isfinite(errors)
    for j, column in enumerate(columns):
        mine = at == j
        error = _measured(errors[usable & mine] ** 2, None, rng)
        if error:
            error["relative"] = error["rmse"] / spread[j]
        elif error := _wrong(wrong[text & mine], usual[at[text & mine]]):
            error["relative"] = error["wrong"] / (usual[j] or 1.0)
        column["expected_error"] = error or {"cells": np.count_nonzero(mine)}
    # A cell counts as the missing cells of its column that it stands for.
    counts = np.bincount(at, minlength=len(columns))
    weights = (missing / np.maximum(counts, 1) if missing.any() else np.ones(len(columns)))[at]
    judged = usable & (weights > 0)
    scale = weights[judged] / unit[judged] ** 2
    by_mean = (truth - mean[at])[judged]
    overall = _measured(errors[judged] ** 2 * scale, by_mean**2 * scale, rng)
    if overall is not None:
        overall |= {"relative": overall.pop("rmse"), "level": LEVEL}
    text &= weights > 0
    return overall, _wrong(wrong[text], usual[at[text]], weights[text])


def _usual(labels: dict[str, Any] | None) -> float:
    """Return how often the most frequent label would be wrong; NaN for columns of numbers."""
    if labels is None:
        return np.nan
    return 1 - max(labels["observed"]) / (sum(labels["observed"]) + labels["others"][0])


def _wrong(
    wrong: np.ndarray, usual: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, Any] | None:
    """Return how often labels came back wrong, with Wilson's interval; None for too few."""
    if len(wrong) < FEWEST:
        return None
    weights = np.ones(len(wrong)) if weights is None else weights
    share, by_mode = (float(np.average(part, weights=weights)) for part in (wrong, usual))
    # As many with equal weights tell as much.
    count = round(weights.sum() ** 2 / np.sum(weights**2))
    low, high = binomtest(round(share * count), count).proportion_ci(LEVEL, method="wilson")
    found = {"cells": len(wrong), "wrong": share, "interval": [float(low), float(high)]}
    return found | {"usual": by_mode, "level": LEVEL}


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
    interval = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])).tolist()
    rmse = float(np.sqrt(squares.mean() / (1.0 if usual is None else usual.mean())))
    return {"cells": len(squares), "rmse": rmse, "interval": interval}
