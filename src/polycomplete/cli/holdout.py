"""How well methods complete a table: observed cells are hidden, completed, and compared."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from sklearn.exceptions import ConvergenceWarning

from polycomplete import masks
from polycomplete.cli.completing import make
from polycomplete.scaling import column_spread


@dataclass
class Score:
    """How a method did.

    Attributes
    ----------
    method : str
        Its name.
    errors : list of float
        For each repeat the root mean squared error on hidden numbers, in units of their column's
        spread; NaN where no number was hidden.
    wrong : list of float
        For each repeat the share of hidden texts that came back wrong; NaN likewise.
    seconds : list of float
        Of each repeat.
    failure : str
        Why it gave nothing.

    Examples
    --------
    >>> Score("mean", [1.0, 0.9], [0.5, 0.3], [0.1, 0.1]).loss
    0.675
    """

    method: str
    errors: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def loss(self) -> float:
        """What is ranked by: the mean of error and share wrong, of what there is."""
        parts = [mean for mean in map(_mean, (self.errors, self.wrong)) if mean is not None]
        return float(np.mean(parts)) if parts else float("inf")

    def facts(self) -> dict[str, Any]:
        """Return it as plain numbers; None where there is none."""
        return {
            "method": self.method,
            "error": _mean(self.errors),
            "error_spread": _spread(self.errors),
            "share_wrong": _mean(self.wrong),
            "share_wrong_spread": _spread(self.wrong),
            "seconds": _mean(self.seconds),
            "failure": self.failure or None,
        }


def _mean(values: list[float]) -> float | None:
    return None if not values or np.isnan(values).any() else float(np.mean(values))


def _spread(values: list[float]) -> float | None:
    return None if len(values) < 2 or np.isnan(values).any() else float(np.std(values, ddof=1))


def hide(frame: Any, share: float, seed: int) -> tuple[Any, np.ndarray]:
    """Hide a share of the cells that are there; none becomes the last of its row or column.

    Parameters
    ----------
    frame : polars DataFrame
        The table.
    share : float
        Of the cells that are there.
    seed : int
        Chooses them.

    Returns
    -------
    frame : polars DataFrame
        With more holes.
    hidden : ndarray of bool, shape (n, m)
        The new ones.

    Examples
    --------
    >>> holes, hidden = hide(pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}), 0.34, seed=0)
    >>> sum(holes.null_count().row(0)), int(hidden.sum())
    (2, 2)
    """
    there = np.column_stack([column.is_not_null().to_numpy() for column in frame])
    hidden = masks.hide(there, share, random_state=seed)[1]
    left = {
        column.name: pl.select(pl.when(pl.Series(~hidden[:, j])).then(column)).to_series()
        for j, column in enumerate(frame)
    }
    return pl.DataFrame(left), hidden


def score(truth: Any, completed: Any, hidden: np.ndarray) -> tuple[float, float]:
    """Return the error on hidden numbers, and the share of hidden texts that is wrong.

    Parameters
    ----------
    truth, completed : polars DataFrames
        What was there, and what came back.
    hidden : ndarray of bool, shape (n, m)
        The cells that count.

    Returns
    -------
    error : float
        Root mean square, in units of each column's spread; dates count as numbers.
    wrong : float
        A share.

    Examples
    --------
    >>> truth = pl.DataFrame({"a": [0.0, 2.0], "b": ["x", "y"]})
    >>> found = pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "x"]})
    >>> score(truth, found, np.eye(2, dtype=bool))
    (1.0, 1.0)
    """
    errors, wrong = [np.empty(0)], [np.empty(0)]
    for j, column in enumerate(truth):
        at = np.flatnonzero(hidden[:, j])
        if column.dtype.is_numeric() or column.dtype.is_temporal():
            numbers, found = _numbers(column), _numbers(completed[column.name])
            spread = column_spread(numbers[:, None], ~np.isnan(numbers[:, None]))[1][0]
            if spread > 0:
                errors.append((found - numbers)[at] / spread)
        else:
            same = (completed[column.name] == column).fill_null(False)
            wrong.append(1.0 - same.to_numpy()[at])
    squares, misses = np.concatenate(errors) ** 2, np.concatenate(wrong)
    return (
        float(np.sqrt(squares.mean())) if len(squares) else np.nan,
        float(misses.mean()) if len(misses) else np.nan,
    )


def _numbers(column: Any) -> np.ndarray:
    """Return a column of numbers or dates as floats, NaN where missing."""
    plain = column.to_physical() if column.dtype.is_temporal() else column
    return np.asarray(plain.cast(pl.Float64).fill_null(float("nan")).to_numpy())


def fill(
    scores: list[Score],
    frame: Any,
    *,
    share: float,
    repeats: int,
    seed: int,
    step: Callable[[str], None],
) -> None:
    """Hide, complete and score, again and again.

    Every method sees the same holes. One that fails is not tried again.

    Parameters
    ----------
    scores : list of Score
        One a method; filled bit by bit, so that an interrupt leaves what is known.
    frame : polars DataFrame
        The table.
    share : float
        Of the observed cells that is hidden.
    repeats : int
        How often.
    seed : int
        For everything random.
    step : callable
        Called after each step.

    Returns
    -------
    None

    Examples
    --------
    >>> frame = pl.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), schema=["a", "b", "c"])
    >>> found = [Score("mean")]
    >>> fill(found, frame, share=0.2, repeats=2, seed=0, step=lambda _: None)
    >>> len(found[0].errors)
    2
    """
    for repeat in range(repeats):
        holes, hidden = hide(frame, share, seed + repeat)
        for one in scores:
            if not one.failure:
                _try(one, frame, holes, hidden, seed + repeat)
            step(f"{one.method} {repeat + 1} of {repeats} done")


def _try(one: Score, frame: Any, holes: Any, hidden: np.ndarray, seed: int) -> None:
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # How far each method came is what is measured here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            completed = make(one.method, seed).fit_transform(holes)
        error, wrong = score(frame, completed, hidden)
    except (ValueError, TypeError, ArithmeticError, MemoryError) as failure:
        one.failure = " ".join(str(failure).split()) or type(failure).__name__
        return
    one.errors.append(error)
    one.wrong.append(wrong)
    one.seconds.append(time.perf_counter() - begin)


def ranked(scores: Iterable[Score]) -> list[Score]:
    """Return scores from best to worst, failures last.

    Parameters
    ----------
    scores : iterable of Score
        Of each method.

    Returns
    -------
    list of Score

    Examples
    --------
    >>> a, b = Score("a", [2.0], [np.nan], [0.1]), Score("b", [1.0], [np.nan], [0.1])
    >>> [one.method for one in ranked([a, b, Score("c", failure="no")])]
    ['b', 'a', 'c']
    """
    return sorted(scores, key=lambda one: (bool(one.failure), one.loss))
