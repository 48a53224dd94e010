"""The summary of a report, a plain dictionary; page, text and JSON are renderings of it."""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import narwhals
import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from polycomplete._version import __version__
from polycomplete.report.columns import Cells, Fit, add_errors, cells_of, columns_of, described
from polycomplete.report.findings import LETTERS, clean

#: Maximum number of tiles in the map of missing cells, and of cells and rows that are listed.
HEIGHT, WIDTH, MOST = 60, 80, 20
#: Attributes of a result, and of a fitted estimator, that the summary shows.
RUN = ("iterations", "seconds", "stop", "converged")
CHOSEN = ("solver_", "scale_", "smoothing_", "n_iter_")
VERSIONS = {
    "polycomplete": __version__,
    "python": platform.python_version(),
    **{module.__name__: module.__version__ for module in (np, scipy, sklearn, narwhals)},
}


def summarize(completer: Any, X: Any, completed: Any) -> dict[str, Any]:
    """Return the summary of a completion."""
    inner = getattr(completer, "method_", None) or completer  # of a table completer
    result = getattr(inner, "result_", None)
    settings: dict[str, Any] = getattr(completer, "get_params", dict)()
    own = {name: value for name, value in settings.items() if "__" not in name}
    chosen = {name: getattr(inner, name) for name in CHOSEN if hasattr(inner, name)}
    summary = {
        "format": 1,  # incremented when keys change their meaning
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": " with ".join(dict.fromkeys(type(part).__name__ for part in (completer, inner))),
        **_tables(completer, X, completed),
        "fallback_columns": [clean(name) for name in getattr(completer, "fallback_columns_", ())],
        "fit": {name: getattr(result, name) for name in RUN} if result is not None else None,
        "settings": {name: clean(repr(value), 300) for name, value in own.items()},
        "chosen": {name: clean(value, 300) for name, value in chosen.items()},
        "versions": VERSIONS,
        "reproduce": {"python": _python(completer, settings)},
    }
    # Plain Python types, and None for NaN and infinity.
    text = json.dumps(summary, default=lambda part: part.tolist())
    plain: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
    return plain


def _tables(completer: Any, X: Any, completed: Any) -> dict[str, Any]:
    """Return what both tables show, and what the fit knows of its rows."""
    before, after = columns_of(X), columns_of(completed, _names_out(completer))
    rows, rows_after = (len(next(iter(table.values()), ())) for table in (before, after))
    if rows != rows_after:
        raise ValueError(
            f"The table has {rows} rows before and {rows_after} rows after its completion; pass "
            "the same rows of both."
        )
    marker, names = getattr(completer, "missing_values", np.nan), _known_names(completer)
    used = {name: column for name, column in before.items() if name in names} or before
    fit, back = Fit(completer, list(used), rows), _matched(used, after)
    columns: list[dict[str, Any]] = []
    doubts: list[tuple[Any, ...]] = []
    observed, shares = np.zeros(rows, dtype=np.intp), []
    for j, (name, column) in enumerate(used.items()):
        cells, new = _pair(column, back.get(name), marker, fit.is_text(name))
        known = fit.known(name, cells)
        columns.append(described(j, name, cells, known, new))
        fit.compare(name, cells, known, columns[j])
        doubts += _doubts(columns[j], cells, new, fit.deviation(name))
        observed += cells.seen
        shares.append(_averages(~cells.seen, HEIGHT))
    overall, wrong = add_errors(columns, *fit.held_out())
    left = {name: int(np.count_nonzero(~cells_of(column, marker).seen))
            for name, column in before.items() if name not in used}  # fmt: skip
    return {
        "table": _counts(columns, left, rows) | {
            "complete_rows": np.count_nonzero(observed == len(used)),
            "tiles": np.round(_averages(np.array(shares), WIDTH), 3).T,
        },
        "columns": columns,
        "expected_error": overall,
        "wrong_labels": wrong,
        "rows_of_fit": fit.same if fit.knows else None,
        "uncertain_cells": [
            {"row": row, "column": j, "name": columns[j]["name"], "value": value,
             "kind": columns[j]["kind"], "deviation": deviation, "relative": -score}
            for score, row, j, value, deviation in sorted(doubts)[:MOST] if fit.same
        ],
        "undetermined_rows": _undetermined(fit, observed),
    }  # fmt: skip


def _averages(values: np.ndarray, most: int) -> np.ndarray:
    """Average neighbors, so that at most ``most`` numbers are left."""
    edges = np.linspace(0, len(values), min(len(values), most) + 1).astype(int)
    return np.array([values[begin:end].mean(axis=0) for begin, end in pairwise(edges)])


def _names_out(completer: Any) -> Any:
    """Return the names of the columns that come back; None if they are not known."""
    with suppress(AttributeError, ValueError):  # not fitted, or of another kind
        return completer.get_feature_names_out()
    return None


def _known_names(completer: Any) -> set[str]:
    """Return the names of the columns that a completer uses."""
    schema = [column.name for column in getattr(completer, "schema_", ()) if column.kind != "id"]
    return set(map(str, schema or getattr(completer, "feature_names_in_", [])))


def _matched(used: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the completed columns by the names that they had, in their order if these changed."""
    if not used.keys().isdisjoint(after):
        return after
    names = list(used)
    if len(after) < len(names):  # empty columns were dropped
        names = [name for name, column in used.items() if cells_of(column).seen.any()]
    return dict(zip(names, after.values(), strict=False))


def _pair(column: Any, back: Any, marker: Any, text: bool) -> tuple[Cells, Cells]:
    """Return a column before and after, both as the same kind."""
    cells = cells_of(column, marker, text)
    if back is None:
        return cells, cells._replace(seen=np.zeros_like(cells.seen))
    new = cells_of(back, text=text)
    same = cells.kind == new.kind
    return (cells, new) if same else (cells_of(column, marker, True), cells_of(back, text=True))


def _doubts(
    column: dict[str, Any], cells: Cells, new: Cells, deviation: np.ndarray | None
) -> list[tuple[Any, ...]]:
    """Return the least certain cells of a column, in units of its spread."""
    if deviation is None:
        return []
    spread = 1.0 if cells.kind == "text" else column["spread"] or 1.0
    score = np.nan_to_num(deviation / spread, nan=0.0, posinf=0.0)
    score[cells.seen | ~new.seen] = 0.0
    rows = np.argpartition(-score, min(MOST, len(score)) - 1)[:MOST].tolist()
    values = [clean(value, LETTERS // 2) if cells.kind == "text" else value
              for value in new.entries[rows]]  # fmt: skip
    return [(-score[i], i, column["position"], value, deviation[i])
            for i, value in zip(rows, values, strict=True) if score[i] > 0]  # fmt: skip


def _undetermined(fit: Fit, observed: np.ndarray) -> dict[str, Any] | None:
    """Return the number of undetermined rows, and those with the fewest observed cells."""
    if not fit.same or fit.determined is None:
        return None
    rows = np.flatnonzero(~fit.determined)
    emptiest = rows[np.argsort(observed[rows], kind="stable")[:MOST]]
    first = [{"row": row, "observed": observed[row]} for row in emptiest]
    return {"count": len(rows), "first": first}


def _counts(columns: list[dict[str, Any]], left: dict[str, int], rows: int) -> dict[str, Any]:
    """Return the number of cells, of missing ones, and of those that are still missing."""
    width = len(columns) + len(left)
    missing = sum(column["missing"] for column in columns) + sum(left.values())
    completed = sum(column["completed"] for column in columns)
    return {
        "rows": rows,
        "columns": width,
        "used_columns": len(columns),
        "cells": rows * width,
        "missing": missing,
        "missing_share": missing / max(rows * width, 1),
        "completed": completed,
        "still_missing": missing - completed,
        "missing_where_left_alone": {clean(name): count for name, count in left.items() if count},
    }


def _python(completer: Any, settings: dict[str, Any]) -> str:
    """Return the lines of Python that reproduce the completion."""
    whole = {"N_CHAR_MAX": 10**6} if isinstance(completer, BaseEstimator) else {}
    made = completer.__repr__(**whole)
    kinds = {type(part) for part in (completer, *settings.values())}
    imports = sorted(f"from {_home(kind)} import {kind.__name__}" for kind in kinds
                     if f"{kind.__name__}(" in made)  # fmt: skip
    lines = [f"completer = {made}", "completed = completer.fit_transform(table)"]
    return "\n".join([*imports, "", *lines])


def _home(kind: type) -> str:
    """Return the public module from which a class is imported."""
    return kind.__module__.replace("polycomplete.", "polycomplete._").split("._")[0]
