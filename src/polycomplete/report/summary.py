"""What a report says, as a plain dictionary: page, text and JSON are renderings of it."""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import narwhals
import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from polycomplete._version import __version__
from polycomplete.report.columns import LETTERS, Cells, Column, columns_of, described
from polycomplete.report.findings import clean
from polycomplete.report.trust import Fit, add_errors

#: Tiles of the map of what is missing, at most.
HEIGHT, WIDTH = 60, 80
#: The least certain cells, and the rows that are not determined: so many are named.
MOST = 20
#: Settings are cut.
LONG = 300
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
    result = getattr(inner, "result_", None)
    settings: dict[str, Any] = getattr(completer, "get_params", dict)()
    own = {name: clean(repr(value), LONG) for name, value in settings.items() if "__" not in name}
    chosen = {name: getattr(inner, name) for name in CHOSEN if hasattr(inner, name)}
    return _plain({
        "format": 1,  # counted up when keys change their meaning
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": " with ".join(dict.fromkeys(type(part).__name__ for part in (completer, inner))),
        **_tables(completer, X, completed),
        "fallback_columns": [clean(name) for name in getattr(completer, "fallback_columns_", ())],
        "fit": {name: getattr(result, name) for name in RUN} if result is not None else None,
        "settings": own,
        "chosen": {name: clean(value, LONG) for name, value in chosen.items()},
        "versions": VERSIONS,
        "reproduce": {"python": _python(completer, settings)},
    })  # fmt: skip


def _plain(value: Any) -> Any:
    """Return the value in plain Python; numbers that are none become None."""
    text = json.dumps(value, default=lambda part: part.tolist())  # of NumPy
    return json.loads(text, parse_constant=lambda _: None)


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
        columns.append(described(j, name, cells, told, new))
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
    used = [column for column in columns if column[0] in known]
    return (used or columns), [column for column in columns if used and column[0] not in known]


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
    new = back(text) if back else cells._replace(seen=np.zeros_like(cells.seen))
    return (cells, new) if cells.kind == new.kind else (read(True), back(True))


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
    first = [{"row": row, "observed": observed[row]} for row in emptiest]
    return {"count": len(rows), "first": first}


def _counts(columns: list[dict[str, Any]], alone: list[Column], rows: int) -> dict[str, Any]:
    """Return how many cells there are, were missing and are still missing."""
    left = {name: np.count_nonzero(~read().seen) for name, read in alone}
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
    named = {kind.__name__: _home(kind) for kind in kinds if f"{kind.__name__}(" in made}
    imports = sorted(f"from {home} import {name}" for name, home in named.items())
    lines = [f"completer = {made}", "completed = completer.fit_transform(table)"]
    return "\n".join([*imports, "", *lines])


def _home(kind: type) -> str:
    """Return the public module from which a class is imported."""
    return kind.__module__.replace("polycomplete.", "polycomplete._").split("._")[0]
