"""The columns of a report: their cells before and after, and what the fit knows of these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from numbers import Real
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from scipy.stats import binomtest

from polycomplete.frames import SECONDS, is_missing, key, present, ticks, to_matrix, unit_of
from polycomplete.report.findings import LETTERS, clean
from polycomplete.scaling import column_spread
from polycomplete.tables.codecs import Number

BINS = 24  # of a histogram
DAY = SECONDS["D"]
#: Minimum number of held-out cells for an error, draws of the bootstrap, and level of intervals.
FEWEST, DRAWS, LEVEL = 10, 999, 0.95


class Cells(NamedTuple):
    """The cells of a column, as floats (dates and durations in days) or labels, and the mask."""

    entries: np.ndarray
    seen: np.ndarray
    kind: str = "number"  # or "date", "duration", "text"


def columns_of(table: Any, names: Any = None) -> dict[str, Any]:
    """Return the columns of a table by name; ``names`` are the names of an array's columns."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {str(series.name): series for series in frame.iter_columns()}
    try:
        array = to_matrix(table)
    except (TypeError, ValueError):  # text
        array = np.asarray(table, dtype=object)
    if array.ndim != 2:
        raise ValueError(f"A table has rows and columns; got {array.ndim} dimensions.")
    if names is None or len(names) != array.shape[1]:
        names = [f"x{j}" for j in range(array.shape[1])]
    return dict(zip(map(str, names), array.T, strict=True))


def cells_of(column: Any, marker: Any = np.nan, text: bool = False) -> Cells:
    """Read a column; ``marker`` is missing too, and ``text`` asks for labels."""
    if not isinstance(column, np.ndarray):
        dtype = column.dtype
        if dtype.is_temporal() and dtype != nw.Time and not text:
            seen, unit = present(column), unit_of(column)
            days = np.full(len(seen), np.nan)
            days[seen] = ticks(column, seen, unit) * (SECONDS[unit] / DAY)
            return Cells(days, seen, "duration" if dtype == nw.Duration else "date")
        if (dtype.is_numeric() or dtype == nw.Boolean) and not text:
            column = to_matrix(column.alias("x").to_frame())[:, 0]
        else:
            column = np.fromiter(column.to_list(), dtype=object, count=len(column))
    marker = marker if isinstance(marker, Real | str) else np.nan
    if not text:
        with suppress(TypeError, ValueError):
            numbers = to_matrix(column[:, None])[:, 0]
            number = numbers.dtype.type(np.nan if isinstance(marker, str) else marker)
            return Cells(numbers, ~np.isnan(numbers) & (numbers != number))
    seen = np.array([not is_missing(entry) and entry != marker for entry in column], dtype=bool)
    labels = np.empty(len(column), dtype=object)
    labels[seen] = [_label(entry) for entry in column[seen]]
    return Cells(labels, seen, "text")


def _label(entry: Any) -> str:
    """Return a label as text; 1 and 1.0 are the same label."""
    level = key(entry)
    return str(int(level) if isinstance(level, float) and level.is_integer() else level)


def described(j: int, name: str, cells: Cells, known: np.ndarray, new: Cells) -> dict[str, Any]:
    """Return the summary of a column; ``known`` is the mask of cells that the fit knows."""
    count, missing = np.count_nonzero(known), np.count_nonzero(~cells.seen)
    filled = ~cells.seen & new.seen
    column = {
        "position": j,
        "name": clean(name),
        "kind": cells.kind if count else "empty",
        "observed": len(known) - missing,
        "missing": missing,
        "missing_share": missing / max(len(known), 1),
        "completed": np.count_nonzero(filled),
        "unknown_labels": len(known) - missing - count,
        **dict.fromkeys(("lowest", "highest", "mean", "spread"), math.nan),
        "histogram": None,
        "labels": None,
        "beyond_range": 0,
    }
    summary = _labels if cells.kind == "text" else _numbers
    if not count:
        return column
    return column | summary(cells.entries[known], new.entries[filled], cells.kind)


def _numbers(values: np.ndarray, new: np.ndarray, kind: str) -> dict[str, Any]:
    """Summarize the observed and the completed cells of a column of numbers."""
    values, new = (np.asarray(part[np.isfinite(part)], dtype=np.float64) for part in (values, new))
    if not len(values):
        return {}
    low, high = float(values.min()), float(values.max())
    ends = float(new.min(initial=low)), float(new.max(initial=high))
    if kind == "number" and not np.any(values % 1):
        kind = "yes/no" if (low, high) == (0, 1) else "whole number"
    with np.errstate(over="ignore"):  # the deviation of numbers near the largest
        mean, spread = column_spread(values[:, None], np.ones((len(values), 1), dtype=bool))
    bins = {"edges": ends, "observed": _bins(values, *ends), "completed": _bins(new, *ends)}
    beyond = np.count_nonzero((new < low) | (new > high))
    found = {"kind": kind, "lowest": low, "highest": high, "mean": mean[0], "spread": spread[0]}
    return found | {"histogram": bins, "beyond_range": beyond}


def _bins(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Count values by bins, also over huge and tiny ranges, which np.histogram refuses."""
    width = high / 2 - low / 2
    place = (values / 2 - low / 2) / width if width > 0 else np.full(len(values), 0.5)
    return np.bincount(np.minimum((BINS * place).astype(int), BINS - 1), minlength=BINS)


def _labels(values: np.ndarray, new: np.ndarray, _: str) -> dict[str, Any]:
    """Count the most frequent labels among the observed and the completed cells."""
    tallies = {"observed": Counter(values.tolist()), "completed": Counter(new.tolist())}
    top = [label for label, _ in sum(tallies.values(), Counter()).most_common(8)]
    counts = {name: [tally[label] for label in top] for name, tally in tallies.items()}
    others = [tally.total() - sum(counts[name]) for name, tally in tallies.items()]
    names = [clean(label, LETTERS // 2) for label in top]
    distinct = [len(tallies["observed"])]
    return {"labels": {"names": names, **counts, "others": others, "distinct": distinct}}


class Fit:
    """What a completer knows of the rows of its fit.

    ``same`` is whether the rows of the report can be those of the fit. It becomes False with the
    first column whose mask or mean differs.
    """

    def __init__(self, completer: Any, names: list[str], rows: int):
        own = [str(name) for name in getattr(completer, "feature_names_in_", ())]
        own = own if set(names) <= set(own) else names
        means = zip(own, getattr(completer, "statistics_", ()), strict=False)
        numbers = [Number(name, "numeric", "", usual=mean) for name, mean in means]
        schema = {str(column.name): column for column in getattr(completer, "schema_", numbers)}
        self.columns = {name: Number(name, "numeric", "") for name in names} | schema
        self.names = names
        self.places = [name for name, column in schema.items() if column.is_completed]
        self.held = getattr(completer, "held_out_", None)
        std: Any = getattr(completer, "cell_std_", None)
        self.determined = getattr(getattr(completer, "method_", completer), "row_determined_", None)
        self.knows = any(part is not None for part in (self.held, std, self.determined))
        rows_agree = getattr(completer, "n_samples_seen_", None) == rows
        rows_agree &= self.determined is None or len(self.determined) == rows  # not of a batch
        self.same = self.knows and rows_agree and set(self.places) <= set(names)
        by_name = isinstance(std, Mapping) or std is None
        self._std = (std or {}) if by_name else dict(zip(self.places, std.T, strict=False))
        self._proba = getattr(completer, "proba_", {})

    def is_text(self, name: str) -> bool:
        """Return whether a column is completed by labels, whatever its dtype."""
        return self.columns[name].is_completed and not self.columns[name].is_measured

    def known(self, name: str, cells: Cells) -> np.ndarray:
        """Return the mask of observed cells without labels that are unknown to the fit."""
        levels = {_label(level) for level in self.columns[name].levels}
        if not (self.is_text(name) and levels):
            return cells.seen
        return cells.seen & np.array([label in levels for label in cells.entries], dtype=bool)

    def deviation(self, name: str) -> np.ndarray | None:
        """Return the standard deviation of each cell of a column, in the units of the report."""
        column = self.columns[name]
        found = self._std.get(column.name) if self.same else None
        return None if found is None else found / (DAY if column.unit else 1.0)

    def compare(self, name: str, cells: Cells, known: np.ndarray, column: dict[str, Any]) -> None:
        """Find out whether a column can be one of the fit."""
        deviation, codec = self.deviation(name), self.columns[name]
        if deviation is not None and np.any(deviation[known] != 0):
            self.same = False
        if missing := self._proba.get(codec.name):
            self.same = self.same and np.array_equal(missing.rows, np.flatnonzero(~known))
        if self.same and cells.kind != "text" and name in self.places:
            rounding = 1e-12 * np.nan_to_num(max(abs(column["lowest"]), abs(column["highest"])))
            mean = _in_days(codec, codec.usual)
            self.same = np.isclose(column["mean"], mean, 0, rounding, equal_nan=True).item()

    def held_out(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return column, truth and completion of each held-out cell; labels as codes."""
        if not self.same or self.held is None:
            return np.empty(0, dtype=int), np.empty(0), np.empty(0)
        columns = [self.columns[self.places[j]] for j in self.held.columns]
        pairs = zip(columns, self.held.truth, self.held.completed, strict=True)
        both = np.array([(_in_days(column, a), _in_days(column, b)) for column, a, b in pairs])
        at = np.array([self.names.index(str(column.name)) for column in columns], dtype=int)
        return at, *both.reshape(-1, 2).T


def _in_days(column: Any, number: float) -> float:
    """Return a number of the fit in the units of the report: dates and durations in days."""
    return (number + float(column.origin)) * (SECONDS.get(column.unit, DAY) / DAY)


def add_errors(
    columns: list[dict[str, Any]], at: np.ndarray, truth: np.ndarray, found: np.ndarray
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Add its expected error to each column; return that of all numbers, and of all labels.

    ``at`` are the columns of held-out cells, ``truth`` and ``found`` numbers or codes of labels.
    The error of all columns is in units of each column's spread, weighted by its missing cells, and
    relative to the error of the mean on the same cells. Otherwise the few unusual cells of nearly
    constant columns would dominate.
    """
    rng, errors, wrong = np.random.default_rng(0), found - truth, found != truth
    known = [(c["mean"], c["spread"], c["missing"], _usual(c["labels"])) for c in columns]
    mean, spread, missing, usual = np.array(known, dtype=float).reshape(-1, 4).T
    unit, text, even = spread[at], ~np.isnan(usual)[at], np.ones(len(at))
    usable = (unit > 0) & np.isfinite(unit) & np.isfinite(errors)
    for j, column in enumerate(columns):
        numbers, labels = usable & (at == j), text & (at == j)
        error = _measured(errors[numbers] ** 2, even[numbers], rng)
        if error:
            error["relative"] = error["rmse"] / spread[j]
        elif error := _wrong(wrong[labels], usual[at[labels]], even[labels]):
            error["relative"] = error["wrong"] / (usual[j] or 1.0)
        column["expected_error"] = error or {"cells": np.count_nonzero(at == j)}
    # Each held-out cell represents an equal part of the missing cells of its column.
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
    """Return the share of cells without the most frequent label; NaN for columns of numbers."""
    if labels is None:
        return np.nan
    return 1 - max(labels["observed"]) / (sum(labels["observed"]) + labels["others"][0])


def _wrong(wrong: np.ndarray, usual: np.ndarray, weights: np.ndarray) -> dict[str, Any] | None:
    """Return the share of wrong labels with Wilson's interval; None for too few."""
    if len(wrong) < FEWEST:
        return None
    share, by_mode = (float(np.average(part, weights=weights)) for part in (wrong, usual))
    count = round(weights.sum() ** 2 / np.sum(weights**2))  # effective sample size
    interval = binomtest(round(share * count), count).proportion_ci(LEVEL, method="wilson")
    found = {"cells": len(wrong), "wrong": share, "interval": list(map(float, interval))}
    return found | {"usual": by_mode, "level": LEVEL}


def _measured(
    squares: np.ndarray, usual: np.ndarray, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Return a root mean square relative to a usual one, and its interval; None for too few."""
    if len(squares) < FEWEST or not usual.any():
        return None
    drawn = rng.integers(len(squares), size=(DRAWS, len(squares)))
    usually = np.maximum(usual[drawn].mean(axis=1), np.finfo(float).tiny)
    means = squares[drawn].mean(axis=1) / usually
    interval = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])).tolist()
    rmse = float(np.sqrt(squares.mean() / usual.mean()))
    return {"cells": len(squares), "rmse": rmse, "interval": interval}
