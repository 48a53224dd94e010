"""What a fit remembers of its data for the report: a few kilobytes, and never the data itself.

One column at a time, so that even a large table needs no second copy. Everything is numbers and
short text in arrays, so that it is saved and loaded with the estimator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypedDict

import numpy as np

from polycomplete._machine import in_threads

__all__ = ["Cells", "Record", "cells_of", "record_of"]

#: Tiles of the map of what is missing, at most.
HEIGHT, WIDTH = 60, 80
BINS = 24
PIECE = 2**17  # of a column at a time
#: The least certain cells and the rows that are not determined: so many are named.
MOST = 20
#: Labels of a column of text: the most frequent ones, each cut.
LABELS, LETTERS = 8, 80


class Cells(NamedTuple):
    """One column: what was given, which of it was there, and what came back (None if nothing)."""

    name: str
    given: np.ndarray
    seen: np.ndarray
    completed: np.ndarray | None
    kind: str = "number"


class Record(TypedDict):
    """What is remembered of n rows and m columns.

    Numbers of a column of text are NaN, its labels are in ``labels`` under its position.
    """

    rows: int
    names: list[str]
    kinds: list[str]
    observed: np.ndarray  # (m,) cells that were there
    complete_rows: int
    tiles: np.ndarray  # (≤ 60, ≤ 80) share missing
    lowest: np.ndarray  # (m,) of the observed cells; so are mean and spread
    highest: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    edges: np.ndarray  # (m, 2) of the bins
    counts: np.ndarray  # (m, 2, BINS) observed and completed cells in each bin
    beyond: np.ndarray  # (m,) completed cells outside of the observed range
    labels: dict[str, dict[str, list[Any]]]
    uncertain: dict[str, Any]  # rows, columns, values, deviations
    loose: dict[str, Any]  # how many rows are not determined; the first: rows, observed


Doubt = tuple[float, int, int, Any, float]  # score, row, column, value, deviation


class _Numbers(NamedTuple):
    kind: str
    lowest: float
    highest: float
    mean: float
    spread: float
    edges: tuple[float, float]
    counts: np.ndarray
    beyond: int


def record_of(
    columns: Iterable[Cells],
    mask: np.ndarray,
    deviation: np.ndarray | None = None,
    determined: np.ndarray | None = None,
) -> Record:
    """Return what is to be remembered of a table and its completion.

    Parameters
    ----------
    columns : iterable of Cells
        One column after the other.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    deviation : ndarray of shape (n, m), optional
        Estimated standard deviation of each completed cell.
    determined : ndarray of bool, shape (n,), optional
        False for rows that their observed cells do not determine.

    Returns
    -------
    Record

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [2.0, 5.0]])
    >>> mask = ~np.isnan(X)
    >>> known = record_of(cells_of(X, mask, np.nan_to_num(X, nan=4.0)), mask)
    >>> known["observed"].tolist(), known["highest"].tolist(), known["tiles"].tolist()
    ([2, 1], [2.0, 5.0], [[0.0, 1.0], [0.0, 0.0]])
    """
    names, found, labels, doubts = [], [], {}, []
    look = partial(_look, deviation)
    for j, (name, numbers, words, unsure) in enumerate(
        in_threads(look, enumerate(columns), mask.size)
    ):
        names.append(name)
        found.append(numbers)
        doubts += unsure
        if words is not None:
            labels[str(j)] = words
    parts = zip(*found, strict=True) if found else ((),) * len(_Numbers._fields)
    kinds, lowest, highest, mean, spread, edges, counts, beyond = parts
    return Record(
        rows=len(mask),
        names=names,
        kinds=list(kinds),
        observed=np.count_nonzero(mask, axis=0),
        complete_rows=int(np.count_nonzero(mask.all(axis=1))),
        tiles=_tiles(mask),
        lowest=np.array(lowest),
        highest=np.array(highest),
        mean=np.array(mean),
        spread=np.array(spread),
        edges=np.array(edges),
        counts=np.array(counts, dtype=np.int32),
        beyond=np.array(beyond),
        labels=labels,
        uncertain=_least_certain(doubts),
        loose=_loose(mask, determined),
    )


def _look(
    deviation: np.ndarray | None, column: tuple[int, Cells]
) -> tuple[str, _Numbers, dict[str, list[Any]] | None, list[Doubt]]:
    """Return the name of a column, its numbers or labels, and its least certain cells."""
    j, cells = column
    text = cells.kind == "text"
    numbers = _nothing("text") if text else _numbers(cells)
    doubts: list[Doubt] = []
    if deviation is not None and cells.completed is not None:
        doubts = _doubts(j, cells, deviation[:, j], 1.0 if text else numbers.spread)
    return cells.name, numbers, _labels(cells) if text else None, doubts


def cells_of(
    matrix: np.ndarray, mask: np.ndarray, completed: np.ndarray, names: Iterable[Any] | None = None
) -> Iterator[Cells]:
    """Yield the columns of a matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, m)
        Before.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    completed : ndarray of shape (n, m)
        After.
    names : iterable, optional
        Of the columns; x0, x1 and so on by default.

    Yields
    ------
    Cells

    Examples
    --------
    >>> X = np.array([[1.0, 2.0]])
    >>> [cells.name for cells in cells_of(X, ~np.isnan(X), X)]
    ['x0', 'x1']
    """
    count = matrix.shape[1]
    known = [f"x{j}" for j in range(count)] if names is None else [str(name) for name in names]
    for j in range(count):
        yield Cells(known[j], matrix[:, j], mask[:, j], completed[:, j])


def _numbers(cells: Cells) -> _Numbers:
    """Summarise a column of numbers."""
    values = np.asarray(cells.given, dtype=np.float64)[cells.seen]
    if not len(values):
        return _nothing("empty")
    new = np.empty(0) if cells.completed is None else cells.completed[~cells.seen]
    new = np.asarray(new, dtype=np.float64)
    new = new[np.isfinite(new)]
    low, high = float(values.min()), float(values.max())
    ends = (float(new.min(initial=low)), float(new.max(initial=high)))
    with np.errstate(over="ignore", invalid="ignore"):  # of squares of numbers near the largest
        mean = float(values.mean())
        squares = sum(float(np.sum((part - mean) ** 2)) for part in _pieces(values))
        spread = (squares / len(values)) ** 0.5
    return _Numbers(
        kind=_kind(values, low, high) if cells.kind == "number" else cells.kind,
        lowest=low,
        highest=high,
        mean=mean,
        spread=spread,
        edges=ends,
        counts=np.array([_counts(part, *ends) for part in (values, new)]),
        beyond=int(np.count_nonzero((new < low) | (new > high))),
    )


def _pieces(values: np.ndarray) -> Iterator[np.ndarray]:
    """Cut a column into pieces whose temporaries stay in the cache."""
    return (values[begin : begin + PIECE] for begin in range(0, len(values), PIECE))


def _counts(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return how many values each bin holds.

    np.histogram refuses ranges of a few units in the last place and those beyond the largest
    number; both exist.
    """
    width, counts = high / 2 - low / 2, np.zeros(BINS, dtype=np.int64)
    for part in _pieces(values):
        place = (part / 2 - low / 2) / width if width > 0 else np.full(len(part), 0.5)
        counts += np.bincount(np.minimum((BINS * place).astype(int), BINS - 1), minlength=BINS)
    return counts


def _kind(values: np.ndarray, low: float, high: float) -> str:
    if not all(np.array_equal(part, np.floor(part)) for part in _pieces(values)):
        return "number"
    return "yes/no" if (low, high) == (0, 1) else "whole number"


def _nothing(kind: str) -> _Numbers:
    nan = float("nan")
    return _Numbers(kind, nan, nan, nan, nan, (nan, nan), np.zeros((2, BINS), dtype=np.int64), 0)


def _labels(cells: Cells) -> dict[str, list[Any]]:
    """Count the most frequent labels among the observed and among the completed cells."""
    before = Counter(map(str, cells.given[cells.seen]))
    new = () if cells.completed is None else cells.completed[~cells.seen]
    after = Counter(map(str, new))
    top = [label for label, _ in (before + after).most_common(LABELS)]
    return {
        "names": [label[:LETTERS] for label in top],
        "observed": [before[label] for label in top],
        "completed": [after[label] for label in top],
        "others": [tally.total() - sum(tally[label] for label in top) for tally in (before, after)],
        "distinct": [len(before)],
    }


def _doubts(j: int, cells: Cells, deviation: np.ndarray, spread: float) -> list[Doubt]:
    """Return the cells of a column that are the least certain, in units of its spread."""
    doubts: list[Doubt] = []
    for begin in range(0, len(deviation), PIECE):
        part = slice(begin, begin + PIECE)
        score = np.nan_to_num(deviation[part] / (spread or 1.0), nan=0.0, posinf=0.0)
        score[cells.seen[part]] = 0.0
        top = np.argpartition(score, -MOST)[-MOST:] if len(score) > MOST else np.arange(len(score))
        for i in top[score[top] > 0]:
            at = begin + int(i)
            value = cells.completed[at]  # type: ignore[index]
            doubts.append((float(score[i]), at, j, value, float(deviation[at])))
    return _most_doubtful(doubts)


def _most_doubtful(doubts: list[Doubt]) -> list[Doubt]:
    return sorted(doubts, key=lambda doubt: (-doubt[0], doubt[1], doubt[2]))[:MOST]


def _least_certain(doubts: list[Doubt]) -> dict[str, Any]:
    top = _most_doubtful(doubts)
    scores, rows, columns, values, deviations = zip(*top, strict=True) if top else ((),) * 5
    return {
        "rows": list(rows),
        "columns": list(columns),
        "values": [_plain(value) for value in values],
        "deviations": list(deviations),
        "scores": list(scores),
    }


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, float | np.number) else str(value)[:LETTERS]


def _loose(mask: np.ndarray, determined: np.ndarray | None) -> dict[str, Any]:
    if determined is None:
        return {"count": None, "rows": [], "observed": []}
    rows = np.flatnonzero(~determined)
    observed = np.count_nonzero(mask[rows], axis=1)
    emptiest = np.argsort(observed, kind="stable")[:MOST]
    return {
        "count": len(rows),
        "rows": rows[emptiest].tolist(),
        "observed": observed[emptiest].tolist(),
    }


def _tiles(mask: np.ndarray) -> np.ndarray:
    """Return the share missing in each tile of rows and columns."""
    n, m = mask.shape
    rows = np.linspace(0, n, min(n, HEIGHT) + 1).astype(int)
    columns = np.linspace(0, m, min(m, WIDTH) + 1).astype(int)
    share = np.empty((len(rows) - 1, len(columns) - 1), dtype=np.float32)
    for i, (begin, end) in enumerate(pairwise(rows)):
        missing = 1 - np.mean(mask[begin:end], axis=0)
        share[i] = np.add.reduceat(missing, columns[:-1]) / np.diff(columns)
    return share
