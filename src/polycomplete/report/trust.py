"""How far to trust a completion: what only the fit knows of its rows, and the error to expect.

The error comes from observed cells that the fit had hidden, with intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import binomtest

from polycomplete.frames import SECONDS
from polycomplete.report.columns import DAY, Cells, label_of
from polycomplete.tables.codecs import Number

#: The rounding error of a mean, relative to the largest number.
ROUNDING = 1e-12
#: Fewer hidden cells than this tell too little.
FEWEST = 10
#: Draws of the bootstrap.
DRAWS = 999
LEVEL = 0.95


class Fit:
    """Held-out cells, deviations and undetermined rows of a completer.

    ``same`` says whether a report may use them. It becomes False with the first column that cannot
    be of the fit: cells are missing elsewhere, or their mean is another one.
    """

    def __init__(self, completer: Any, names: list[str], rows: int):
        schema = {str(column.name): column for column in getattr(completer, "schema_", ())}
        known = [name for name, column in schema.items() if column.is_completed]
        own = [str(name) for name in getattr(completer, "feature_names_in_", ())]
        places = known if schema else own if set(names) <= set(own) else names
        self.names, self.places = names, {name: j for j, name in enumerate(places)}
        self.columns = {name: Number(name, "numeric", "") for name in (*places, *names)} | schema
        self.held = getattr(completer, "held_out_", None)
        std: Any = getattr(completer, "cell_std_", None)
        self.determined = getattr(getattr(completer, "method_", completer), "row_determined_", None)
        self.knows = any(part is not None for part in (self.held, std, self.determined))
        rows_agree = getattr(completer, "n_samples_seen_", None) == rows
        self.same = self.knows and rows_agree and set(places) <= set(names)
        by_name = isinstance(std, Mapping) or std is None
        self._std = (std or {}) if by_name else dict(zip(places, std.T, strict=False))
        self._proba = getattr(completer, "proba_", {})
        usual: Any = [self.columns[name].usual for name in known]
        self._means = usual or getattr(completer, "statistics_", ())
        # Dates and durations count in units of their own, whole numbers and dates from an origin.
        columns = [self.columns[name] for name in places]
        self._unit = np.array([SECONDS[c.unit] / DAY if c.unit else 1.0 for c in columns])
        self._origin = np.array([float(c.origin) for c in columns])

    def is_text(self, name: str) -> bool:
        """Return whether a column is completed by labels, whatever its dtype."""
        return self.columns[name].is_completed and not self.columns[name].is_line

    def told(self, name: str, cells: Cells) -> np.ndarray:
        """Return which cells of a column are known to the fit: not labels that it never saw."""
        levels = {label_of(level) for level in self.columns[name].levels}
        if not (self.is_text(name) and levels):
            return cells.seen
        return cells.seen & np.array([label in levels for label in cells.entries], dtype=bool)

    def deviation(self, name: str) -> np.ndarray | None:
        """Return the deviation of each cell of a column, in the units of the report."""
        column = self.columns[name]
        found = self._std.get(column.name) if self.same else None
        return None if found is None else found / (DAY if column.unit else 1.0)

    def compare(self, name: str, cells: Cells, told: np.ndarray, column: dict[str, Any]) -> None:
        """Note where a column cannot be one of the fit."""
        deviation = self.deviation(name)
        if deviation is not None and np.any(deviation[told] != 0):
            self.same = False
        if missing := self._proba.get(self.columns[name].name):
            self.same = self.same and np.array_equal(missing.rows, np.flatnonzero(~told))
        if self.same and cells.kind != "text" and name in self.places:
            mean = self._shown(self._means[self.places[name]], self.places[name])
            size = np.nan_to_num(max(abs(column["lowest"]), abs(column["highest"])))
            self.same = np.isclose(column["mean"], mean, 0, size * ROUNDING, equal_nan=True).item()

    def hidden(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return column, truth and completion of each held-out cell; of labels, their codes."""
        if not self.same or self.held is None:
            return np.empty(0, dtype=int), np.empty(0), np.empty(0)
        held, place = self.held, np.array(list(map(self.names.index, self.places)))
        parts = (self._shown(part, held.columns) for part in (held.truth, held.completed))
        return place[held.columns], *parts

    def _shown(self, numbers: Any, at: Any) -> Any:
        """Return numbers of the columns `at` in the units of the report."""
        return (numbers + self._origin[at]) * self._unit[at]


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


def _wrong(wrong: np.ndarray, usual: np.ndarray, weights: np.ndarray) -> dict[str, Any] | None:
    """Return how often labels came back wrong, with Wilson's interval; None for too few."""
    if len(wrong) < FEWEST:
        return None
    share, by_mode = (float(np.average(part, weights=weights)) for part in (wrong, usual))
    # As many with equal weights tell as much.
    count = round(weights.sum() ** 2 / np.sum(weights**2))
    interval = binomtest(round(share * count), count).proportion_ci(LEVEL, method="wilson")
    found = {"cells": len(wrong), "wrong": share, "interval": list(map(float, interval))}
    return found | {"usual": by_mode, "level": LEVEL}


def _measured(
    squares: np.ndarray, usual: np.ndarray, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Return the root mean square relative to a usual one; None where cells are too few."""
    if len(squares) < FEWEST or not usual.any():
        return None
    drawn = rng.integers(len(squares), size=(DRAWS, len(squares)))
    usually = np.maximum(usual[drawn].mean(axis=1), np.finfo(float).tiny)
    means = squares[drawn].mean(axis=1) / usually
    interval = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])).tolist()
    rmse = float(np.sqrt(squares.mean() / usual.mean()))
    return {"cells": len(squares), "rmse": rmse, "interval": interval}
