"""What a report says, as a plain dictionary: page, text and JSON are renderings of it.

One column at a time, so that even a large table needs no second copy.
"""

from __future__ import annotations

import math
import platform
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import narwhals
import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from polycomplete._version import __version__
from polycomplete.report.cells import Cells, Column, columns_of
from polycomplete.report.errors import add_errors
from polycomplete.report.fit import Fit
from polycomplete.report.words import clean

__all__: list[str] = []

#: Tiles of the map of what is missing, at most; bins of a histogram.
HEIGHT, WIDTH, BINS = 60, 80, 24
#: The least certain cells, the rows that are not determined, and labels: so many are named.
MOST, LABELS = 20, 8
#: Labels and settings are cut.
LETTERS, LONG = 60, 300
#: How a run went, and what a fit may have chosen by itself.
RUN = ("iterations", "seconds", "stop", "converged")
CHOSEN = ("solver_", "scale_", "smoothing_", "n_iter_")
VERSIONS = {
    "polycomplete": __version__,
    "python": platform.python_version(),
    **{module.__name__: module.__version__ for module in (np, scipy, sklearn, narwhals)},
}


def summarize(completer: Any, X: Any, completed: Any) -> dict[str, Any]:
    """Return the summary of a completion, as far as tables and completer tell it."""
    inner = getattr(completer, "method_", None) or completer  # of a table completer
    result, settings = getattr(inner, "result_", None), getattr(completer, "get_params", dict)
    return {
        "format": 1,  # counted up when keys change their meaning
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": " with ".join(dict.fromkeys(type(part).__name__ for part in (completer, inner))),
        **_tables(completer, X, completed),
        "fallback_columns": [clean(name) for name in getattr(completer, "fallback_columns_", ())],
        "fit": {name: getattr(result, name) for name in RUN} if result is not None else None,
        "settings": {name: clean(repr(value), LONG) for name, value in settings().items()
                     if "__" not in name},
        "chosen": {name: clean(getattr(inner, name), LONG) for name in CHOSEN
                   if hasattr(inner, name)},
        "versions": VERSIONS,
        "reproduce": {"python": _python(completer, settings())},
    }  # fmt: skip


def _tables(completer: Any, X: Any, completed: Any) -> dict[str, Any]:
    """Return what both tables tell, with what the fit knows if these are its rows."""
    before = columns_of(X, getattr(completer, "missing_values", np.nan))
    after = columns_of(completed, names=_names_out(completer))
    rows, rows_after = (len(table[0][1]().seen) if table else 0 for table in (before, after))
    if rows != rows_after:
        raise ValueError(
            f"The table has {rows} rows before and {rows_after} rows after its completion; pass "
            "the same rows of both."
        )
    used, alone = _used(completer, before)
    fit, back = Fit(completer, [name for name, _ in used], rows), _matched(used, after)
    columns: list[dict[str, Any]] = []
    doubts: list[dict[str, Any]] = []
    edges = np.linspace(0, rows, min(rows, HEIGHT) + 1).astype(int)
    observed, shares = np.zeros(rows, dtype=np.intp), np.zeros((len(edges) - 1, len(used)))
    for j, (name, read) in enumerate(used):
        cells, new = _pair(read, back.get(name), fit.is_text(name))
        told = fit.told(name, cells)
        columns.append(_column(j, name, cells, told, new))
        fit.compare(name, cells, told, columns[j])
        doubts += _doubts(columns[j], cells, new, fit.deviation(name))
        observed += cells.seen
        shares[:, j] = np.add.reduceat(~cells.seen, edges[:-1], dtype=float) / np.diff(edges)
    blocks = np.linspace(0, len(used), min(len(used), WIDTH) + 1).astype(int)
    overall, wrong = add_errors(columns, *fit.hidden())
    doubts.sort(key=lambda cell: (-cell["relative"], cell["row"], cell["column"]))
    return {
        "table": _counts(columns, alone, rows) | {
            "complete_rows": np.count_nonzero(observed == len(used)),
            "tiles": np.round(np.add.reduceat(shares, blocks[:-1], axis=1) / np.diff(blocks), 3),
        },
        "columns": columns,
        "expected_error": overall,
        "wrong_labels": wrong,
        "rows_of_fit": fit.same if fit.knows else None,
        "uncertain_cells": doubts[:MOST] if fit.same else [],
        "undetermined_rows": _undetermined(fit, observed),
    }  # fmt: skip


def _names_out(completer: Any) -> Any:
    """Return the names of the columns that come back; None where they are not known."""
    with suppress(AttributeError, ValueError):  # not fitted, or of another kind
        return completer.get_feature_names_out()
    return None


def _used(completer: Any, columns: list[Column]) -> tuple[list[Column], list[Column]]:
    """Return the columns that the completer knows, and those that it leaves alone."""
    schema = [column.name for column in getattr(completer, "schema_", ()) if column.kind != "id"]
    known = set(map(str, schema or getattr(completer, "feature_names_in_", [])))
    if not known & {name for name, _ in columns}:
        return columns, []
    parts = [[column for column in columns if (column[0] in known) is use] for use in (True, False)]
    return parts[0], parts[1]


def _matched(used: list[Column], after: list[Column]) -> dict[str, Any]:
    """Return the columns that came back, by the names that they had: else by their order."""
    names = [name for name, _ in used]
    if not set(names) & {name for name, _ in after}:
        if len(after) < len(used):  # those without any cell were dropped
            names = [name for name, read in used if read().seen.any()]
        after = [(name, read) for name, (_, read) in zip(names, after, strict=False)]
    return dict(after)


def _pair(read: Any, back: Any, text: bool) -> tuple[Cells, Cells]:
    """Return a column before and after, both as the same kind."""
    cells = read(text)
    if back is None:
        return cells, Cells(cells.entries, np.zeros(len(cells.seen), dtype=bool), cells.kind)
    new = back(text)
    return (cells, new) if cells.kind == new.kind else (read(True), back(True))


def _column(j: int, name: str, cells: Cells, told: np.ndarray, new: Cells) -> dict[str, Any]:
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
    make = _labels if cells.kind == "text" else _numbers
    return column | make(cells.entries[told], new.entries[filled], cells.kind) if count else column


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


def _doubts(
    column: dict[str, Any], cells: Cells, new: Cells, deviation: np.ndarray | None
) -> list[dict[str, Any]]:
    """Return the cells of a column that are the least certain, in units of its spread."""
    if deviation is None:
        return []
    spread = 1.0 if cells.kind == "text" else column["spread"] or 1.0
    score = np.nan_to_num(deviation / spread, nan=0.0, posinf=0.0)
    score[cells.seen | ~new.seen] = 0.0
    return [
        {
            "row": i,
            "column": column["position"],
            "name": column["name"],
            "value": clean(new.entries[i], LETTERS) if cells.kind == "text" else new.entries[i],
            "kind": column["kind"],
            "deviation": deviation[i],
            "relative": score[i],
        }
        for i in np.argpartition(-score, min(MOST, len(score)) - 1)[:MOST].tolist()
        if score[i] > 0
    ]


def _undetermined(fit: Fit, observed: np.ndarray) -> dict[str, Any] | None:
    if not fit.same or fit.determined is None:
        return None
    rows = np.flatnonzero(~fit.determined)
    emptiest = rows[np.argsort(observed[rows], kind="stable")[:MOST]]
    first = [{"row": int(row), "observed": observed[row]} for row in emptiest]
    return {"count": len(rows), "first": first}


def _counts(columns: list[dict[str, Any]], alone: list[Column], rows: int) -> dict[str, Any]:
    """Return how many cells there are, were missing and are still missing."""
    left = {name: int(np.count_nonzero(~read().seen)) for name, read in alone}
    cells = rows * (len(columns) + len(alone))
    missing = sum(column["missing"] for column in columns) + sum(left.values())
    completed = sum(column["completed"] for column in columns)
    return {
        "rows": rows,
        "columns": len(columns) + len(alone),
        "used_columns": len(columns),
        "cells": cells,
        "missing": missing,
        "missing_share": missing / max(cells, 1),
        "completed": completed,
        "still_missing": missing - completed,
        "missing_where_left_alone": {clean(name): count for name, count in left.items() if count},
    }


def _python(completer: Any, settings: dict[str, Any]) -> str:
    """Return the lines that make the completion again."""
    whole = {"N_CHAR_MAX": 10**6} if isinstance(completer, BaseEstimator) else {}
    made = completer.__repr__(**whole)
    kinds = {type(part) for part in (completer, *settings.values())}
    homes = {kind.__name__: kind.__module__.replace("polycomplete.", "polycomplete._").split("._")
             for kind in kinds if f"{kind.__name__}(" in made}  # fmt: skip
    imports = sorted(f"from {homes[name][0]} import {name}" for name in homes)
    lines = [f"completer = {made}", "completed = completer.fit_transform(table)"]
    return "\n".join([*imports, "", *lines])


def plain(value: Any) -> Any:
    """Return the value in plain Python; numbers that are none become None."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
