"""The columns of any table, one at a time: numbers, days or labels, and what is said of them.

Even a large table needs no second copy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.frames import SECONDS, is_missing, key, present, ticks, to_matrix, unit_of
from polycomplete.report.findings import clean

DAY = 86400.0  # seconds
#: Bins of a histogram; labels that are named, at most, and their letters.
BINS, LABELS, LETTERS = 24, 8, 60


class Cells(NamedTuple):
    """The cells of a column: floats (days of dates and durations) or labels; which are there."""

    entries: np.ndarray
    seen: np.ndarray
    kind: str = "number"  # or "date", "duration", "text"


#: A name, and what reads the column, as text if it is told to.
Column = tuple[str, Callable[..., Cells]]


def columns_of(table: Any, marker: Any = np.nan, names: Any = None) -> list[Column]:
    """Return the columns of an array or data frame, none of which is read yet.

    ``marker`` stands for a missing entry besides NaN and null; ``names`` are those of an array.
    """
    marker = marker if isinstance(marker, Real | str) else np.nan
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return [(str(series.name), partial(_of_series, series, marker))
                for series in frame.iter_columns()]  # fmt: skip
    try:
        array = to_matrix(table)
    except (TypeError, ValueError):  # text
        array = np.asarray(table, dtype=object)
    if array.ndim != 2:
        raise ValueError(f"A table has rows and columns; got {array.ndim} dimensions.")
    if names is None or len(names) != array.shape[1]:
        names = [f"x{j}" for j in range(array.shape[1])]
    return [(str(name), partial(_of_array, column, marker))
            for name, column in zip(names, array.T, strict=True)]  # fmt: skip


def _of_series(series: Any, marker: Any, text: bool = False) -> Cells:
    if series.dtype.is_temporal() and series.dtype != nw.Time and not text:
        seen, unit = present(series), unit_of(series)
        days = np.full(len(seen), np.nan)
        days[seen] = ticks(series, seen, unit) * (SECONDS[unit] / DAY)
        return Cells(days, seen, "duration" if series.dtype == nw.Duration else "date")
    if (series.dtype.is_numeric() or series.dtype == nw.Boolean) and not text:
        return _of_array(to_matrix(series.alias("x").to_frame())[:, 0], marker)
    return _of_array(np.array(series.to_list(), dtype=object), marker, text)


def _of_array(column: np.ndarray, marker: Any, text: bool = False) -> Cells:
    if not text:
        with suppress(TypeError, ValueError):
            numbers = to_matrix(column[:, None])[:, 0]
            number = numbers.dtype.type(marker if isinstance(marker, Real) else np.nan)
            return Cells(numbers, ~np.isnan(numbers) & (numbers != number))
    seen = np.array([not is_missing(entry) and entry != marker for entry in column], dtype=bool)
    labels = np.empty(len(column), dtype=object)
    labels[seen] = [label_of(entry) for entry in column[seen]]
    return Cells(labels, seen, "text")


def label_of(entry: Any) -> str:
    """Return how a label is written: 1 and 1.0 are one."""
    level = key(entry)
    return str(int(level) if isinstance(level, float) and level.is_integer() else level)


def described(j: int, name: str, cells: Cells, told: np.ndarray, new: Cells) -> dict[str, Any]:
    """Return what a summary says of a column, of whose cells the fit knows those in ``told``."""
    count, missing = np.count_nonzero(told), np.count_nonzero(~cells.seen)
    filled = ~cells.seen & new.seen
    column = {
        "position": j,
        "name": clean(name),
        "kind": cells.kind if count else "empty",
        "observed": len(told) - missing,
        "missing": missing,
        "missing_share": missing / max(len(told), 1),
        "completed": np.count_nonzero(filled),
        "unknown_labels": len(told) - missing - count,
        **dict.fromkeys(("lowest", "highest", "mean", "spread"), math.nan),
        "histogram": None,
        "labels": None,
        "beyond_range": 0,
    }
    tell = _labels if cells.kind == "text" else _numbers
    return column | tell(cells.entries[told], new.entries[filled], cells.kind) if count else column


def _numbers(values: np.ndarray, new: np.ndarray, kind: str) -> dict[str, Any]:
    """Summarize the observed and the completed cells of a column of numbers."""
    values, new = (np.asarray(part[np.isfinite(part)], dtype=np.float64) for part in (values, new))
    if not len(values):
        return {}
    low, high = float(values.min()), float(values.max())
    ends = float(new.min(initial=low)), float(new.max(initial=high))
    if kind == "number" and not np.any(values % 1):
        kind = "yes/no" if (low, high) == (0, 1) else "whole number"
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest
        mean = float(values.mean())
        mean = mean if math.isfinite(mean) else float(np.sum(values / len(values)))
        spread = float(np.mean((values - mean) ** 2)) ** 0.5
    bins = {"edges": ends, "observed": _bins(values, *ends), "completed": _bins(new, *ends)}
    beyond = np.count_nonzero((new < low) | (new > high))
    found = {"kind": kind, "lowest": low, "highest": high, "mean": mean, "spread": spread}
    return found | {"histogram": bins, "beyond_range": beyond}


def _bins(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return how many values each bin holds.

    np.histogram refuses ranges of a few units in the last place and those beyond the largest
    number; both exist.
    """
    width = high / 2 - low / 2
    place = (values / 2 - low / 2) / width if width > 0 else np.full(len(values), 0.5)
    return np.bincount(np.minimum((BINS * place).astype(int), BINS - 1), minlength=BINS)


def _labels(values: np.ndarray, new: np.ndarray, _: str) -> dict[str, Any]:
    """Count the most frequent labels among the observed and among the completed cells."""
    tallies = {"observed": Counter(values.tolist()), "completed": Counter(new.tolist())}
    top = [label for label, _ in sum(tallies.values(), Counter()).most_common(LABELS)]
    counts = {name: [tally[label] for label in top] for name, tally in tallies.items()}
    others = [tally.total() - sum(counts[name]) for name, tally in tallies.items()]
    names = [clean(label, LETTERS) for label in top]
    distinct = [len(tallies["observed"])]
    return {"labels": {"names": names, **counts, "others": others, "distinct": distinct}}
