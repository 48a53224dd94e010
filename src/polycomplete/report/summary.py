"""What a report says, as a plain dictionary: pages, text and JSON are renderings of it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from polycomplete.record import Record
from polycomplete.report import curves, settings
from polycomplete.report.errors import FEWEST, LEVEL, expected_errors
from polycomplete.report.findings import findings
from polycomplete.report.words import clean

__all__ = ["FORMAT", "summarise"]

#: Counted up when keys change their meaning.
FORMAT = 1
NOT_MEASURED = (
    "The expected error was not measured: this fit hid no cells to choose its settings by. "
    "`polycomplete compare` measures it on your data."
)


def summarise(
    completer: Any, known: Record, *, fitted_on_it: bool = True, command: str | None = None
) -> dict[str, Any]:
    """Return the summary of a completion.

    Everything in it is a string, a number, a bool, None, or a list or dict of these. Keys:
    ``format``, ``created``, ``method``, ``table`` (rows, columns, cells, missing, missing_share,
    complete_rows, tiles: the share missing by blocks of rows and columns), ``columns`` (a dict
    each: position, name, kind, observed, missing, missing_share, lowest, highest, mean, spread,
    histogram, labels, beyond_range, expected_error), ``expected_error`` (over all columns),
    ``convergence``, ``spectrum``, ``uncertain_cells``, ``undetermined_rows``, ``settings``,
    ``chosen``, ``seed``, ``versions``, ``reproduce``, ``findings`` (sentences) and ``notes`` (what
    is not known, and why). A part that is not known is None.

    Parameters
    ----------
    completer : estimator
        Fitted.
    known : Record
        Of the data.
    fitted_on_it : bool
        Whether the completer was fitted on these rows; if not, what it knows of its own training
        rows is left out.
    command : str, optional
        The command line that made this.

    Returns
    -------
    dict

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]])
    >>> summary = summarise(fitted, fitted._record)
    >>> summary["table"]["missing"], summary["columns"][1]["name"]
    (1, 'x1')
    """
    notes: list[str] = []
    overall, each = _errors(completer, known, fitted_on_it, notes)
    summary = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": type(completer).__name__,
        "table": _table(known),
        "columns": [_column(known, j, error) for j, error in enumerate(each)],
        "expected_error": overall,
        "convergence": _convergence(completer, notes),
        "spectrum": _spectrum(completer, notes),
        "uncertain_cells": _uncertain(known, notes),
        "undetermined_rows": _undetermined(known, notes),
        "settings": settings.parameters(completer),
        "chosen": settings.chosen(completer),
        "seed": clean(repr(getattr(completer, "random_state", None))),
        "versions": settings.versions(),
        "reproduce": settings.reproduce(completer, command),
        "notes": notes,
    }
    summary["findings"] = findings(summary)
    return _plain(summary)


def _table(known: Record) -> dict[str, Any]:
    rows, columns = known["rows"], len(known["names"])
    missing = rows * columns - int(known["observed"].sum())
    return {
        "rows": rows,
        "columns": columns,
        "cells": rows * columns,
        "missing": missing,
        "missing_share": missing / max(rows * columns, 1),
        "complete_rows": known["complete_rows"],
        "tiles": np.round(known["tiles"], 3),
    }


def _column(known: Record, j: int, error: dict[str, Any]) -> dict[str, Any]:
    observed = int(known["observed"][j])
    counts = known["counts"][j]
    drawn = np.isfinite(known["edges"][j]).all()
    return {
        "position": j,
        "name": clean(known["names"][j]),
        "kind": known["kinds"][j],
        "observed": observed,
        "missing": known["rows"] - observed,
        "missing_share": 1 - observed / max(known["rows"], 1),
        "lowest": known["lowest"][j],
        "highest": known["highest"][j],
        "mean": known["mean"][j],
        "spread": known["spread"][j],
        "histogram": {"edges": known["edges"][j], "observed": counts[0], "completed": counts[1]}
        if drawn
        else None,
        "labels": _labels(known["labels"].get(str(j))),
        "beyond_range": known["beyond"][j],
        "expected_error": error,
    }


def _labels(found: dict[str, list[Any]] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {**found, "names": [clean(name, 60) for name in found["names"]]}


def _errors(
    completer: Any, known: Record, fitted_on_it: bool, notes: list[str]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the expected error over all and by column."""
    held = getattr(completer, "held_out_", None)
    count = len(known["names"])
    if held is None or not len(held.rows) or not fitted_on_it:
        notes.append(NOT_MEASURED)
        return None, [{"cells": 0} for _ in range(count)]
    errors = np.asarray(held.completed, dtype=float) - np.asarray(held.truth, dtype=float)
    overall, each = expected_errors(np.asarray(held.columns), errors, known["spread"])
    if overall is None:
        notes.append(f"Only {len(errors)} cells were hidden to measure the error by; {FEWEST} are "
                     "needed.")  # fmt: skip
    else:
        overall["level"] = LEVEL
    return overall, each


def _convergence(completer: Any, notes: list[str]) -> dict[str, Any] | None:
    result = getattr(completer, "result_", None)
    if result is None:
        notes.append(f"{type(completer).__name__} keeps no record of its iterations.")
        return None
    return curves.convergence(result)


def _spectrum(completer: Any, notes: list[str]) -> dict[str, Any] | None:
    found = curves.spectrum(getattr(completer, "model_", None))
    if found is None:
        notes.append(f"{type(completer).__name__} has no spectrum to show.")
    return found


def _uncertain(known: Record, notes: list[str]) -> list[dict[str, Any]]:
    found = known["uncertain"]
    if not found["rows"]:
        notes.append("No standard deviations of cells are known, so that the least certain cells "
                     "cannot be named.")  # fmt: skip
    parts = zip(*(found[key] for key in ("rows", "columns", "values", "deviations", "scores")),
                strict=True)  # fmt: skip
    return [
        {
            "row": row,
            "column": column,
            "name": clean(known["names"][column]),
            "value": clean(value, 60) if isinstance(value, str) else value,
            "deviation": deviation,
            "relative": score,
        }
        for row, column, value, deviation, score in parts
    ]


def _undetermined(known: Record, notes: list[str]) -> dict[str, Any] | None:
    found = known["loose"]
    if found["count"] is None:
        notes.append("Which rows are not determined by their observed cells is not known.")
        return None
    return {
        "count": found["count"],
        "first": [{"row": row, "observed": observed} for row, observed in
                  zip(found["rows"], found["observed"], strict=True)],
    }  # fmt: skip


def _plain(value: Any) -> Any:
    """Return the value in plain Python; numbers that are none become None."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
