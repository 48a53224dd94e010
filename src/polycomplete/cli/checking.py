"""What can be expected of completing a table, and by which method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polycomplete.cli import holdout
from polycomplete.cli.completing import make
from polycomplete.diagnostics import intrinsic_dimension
from polycomplete.scaling import column_spread

#: A method must have less than this share of the mean's error to be worth its while.
WORTHWHILE = 0.95


def measure(
    frame: Any,
    methods: list[str],
    *,
    share: float,
    repeats: int,
    seed: int,
    step: Callable[[str], None],
) -> dict[str, Any]:
    """Try methods on a table, and look at what the best one makes of it.

    Parameters
    ----------
    frame : polars DataFrame
        The table, or some of its rows.
    methods : list of str
        Names; none where nothing is missing.
    share, repeats, seed, step
        As in :func:`~polycomplete.cli.holdout.fill`.

    Returns
    -------
    dict
        holdout: the ranking; recommended: method, settings, worthwhile, or None without methods;
        intrinsic_dimension, None where it cannot be told; needed: how many cells a row needs.

    Examples
    --------
    >>> import polars as pl
    >>> t = np.linspace(0, 1, 40) ** 2
    >>> frame = pl.DataFrame({"a": t, "b": 2 * t, "c": 3 * t})
    >>> found = measure(frame, ["lrmc", "mean"], share=0.1, repeats=1, seed=0, step=lambda _: None)
    >>> found["recommended"]["method"]
    'lrmc'
    """
    scores = [holdout.Score(name) for name in methods]
    recommended, completed = None, frame
    if methods:
        holdout.fill(scores, frame, share=share, repeats=repeats, seed=seed, step=step)
        best, *others = holdout.ranked(scores)
        plain = next((one.loss for one in others if one.method == "mean"), np.inf)
        estimator = make(best.method, seed)
        completed = estimator.fit_transform(frame)
        recommended = {
            "method": best.method,
            "settings": _settings(estimator),
            "worthwhile": bool(best.loss < WORTHWHILE * plain),
        }
    dimension = _dimension(completed)
    return {
        "holdout": [one.facts() for one in holdout.ranked(scores)],
        "recommended": recommended,
        "intrinsic_dimension": dimension,
        "needed": 1 if dimension is None else round(dimension) + 1,
    }


def _dimension(completed: Any) -> float | None:
    """Return the dimension of the columns of numbers, each in units of its spread."""
    numbers = completed.select(column for column in completed if column.dtype.is_numeric())
    if not numbers.width:
        return None
    X = np.asarray(numbers.to_numpy(), dtype=np.float64)
    spread = column_spread(X, np.ones(X.shape, dtype=bool))[1]
    X = X[:, spread > 0] / spread[spread > 0]
    if X.shape[1] == 0 or len(np.unique(X, axis=0)) < 4:
        return None
    found = intrinsic_dimension(X)
    # Rows cannot have more dimensions than columns, however evenly they are spread.
    return None if np.isnan(found) else round(min(found, X.shape[1]), 2)


def _settings(estimator: Any) -> dict[str, Any]:
    """Return what a method chose by itself."""
    method = getattr(estimator, "method_", estimator)
    chosen = {name: getattr(method, f"{name}_", None) for name in ("scale", "smoothing")}
    return {name: value for name, value in chosen.items() if value is not None}
