"""What a report says, as a plain dictionary: pages, text and JSON are renderings of it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from polycomplete.record import Record
from polycomplete.report import curves, settings
from polycomplete.report.errors import LEVEL, by_missing, expected_errors, wrong_labels
from polycomplete.report.findings import findings, unknown
from polycomplete.report.hidden import Hidden, hidden_cells
from polycomplete.report.words import clean

__all__ = ["FORMAT", "summarise"]

#: Counted up when keys change their meaning.
FORMAT = 1


def summarise(
    completer: Any, known: Record, *, fitted_on_it: bool = True, command: str | None = None
) -> dict[str, Any]:
    """Return the summary of a completion.

    Everything in it is a string, a number, a bool, None, or a list or dict of these; a part that is
    not known is None or empty. Keys: ``format``; ``created``; ``method``; ``table`` (rows, columns,
    cells, missing, missing_share, filled, complete_rows, tiles: the share missing by blocks of
    cells); ``columns`` (each: position, name, kind, observed, missing, missing_share, lowest,
    highest, mean, spread, histogram, labels, beyond_range, expected_error; dates count in days
    since 1970); ``expected_error`` over all columns of numbers, each by the cells that it
    lacks; ``wrong_labels`` over the others; ``fallback_columns``, filled with their mean or mode;
    ``convergence``; ``spectrum``; ``uncertain_cells``; ``undetermined_rows``; ``settings``;
    ``chosen``; ``seed``; ``versions``; ``reproduce``; ``findings``, the main points in sentences;
    ``notes``, what is not known.

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
    inner = getattr(completer, "method_", None) or completer  # of a table completer
    hidden = hidden_cells(completer, known) if fitted_on_it else None
    overall, wrong, each = _errors(known, hidden)
    summary = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": " with ".join(dict.fromkeys(type(part).__name__ for part in (completer, inner))),
        "table": _table(known),
        "columns": [_column(known, j, error) for j, error in enumerate(each)],
        "expected_error": overall,
        "wrong_labels": wrong,
        "fallback_columns": [
            clean(str(name)) for name in getattr(completer, "fallback_columns_", ())
        ],
        "convergence": _convergence(inner),
        "spectrum": curves.spectrum(getattr(inner, "model_", None)),
        "uncertain_cells": _uncertain(known),
        "undetermined_rows": _undetermined(known),
        "settings": settings.parameters(completer),
        "chosen": settings.chosen(inner),
        "seed": clean(repr(completer.random_state)) if hasattr(completer, "random_state") else None,
        "versions": settings.versions(),
        "reproduce": settings.reproduce(completer, command),
    }
    summary["findings"] = findings(summary)
    summary["notes"] = unknown(summary)
    return _plain(summary)


def _table(known: Record) -> dict[str, Any]:
    rows, columns = known["rows"], len(known["names"])
    missing = rows * columns - int(known["observed"].sum())
    lost = rows * int(np.count_nonzero(known["observed"] == 0))
    return {
        "rows": rows,
        "columns": columns,
        "cells": rows * columns,
        "missing": missing,
        "missing_share": missing / max(rows * columns, 1),
        "filled": missing - lost,
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
    known: Record, hidden: Hidden | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the expected error over all numbers, over all labels, and by column."""
    if hidden is None:
        return None, None, [{"cells": 0} for _ in known["names"]]
    missing = known["rows"] - known["observed"]
    overall, each = expected_errors(
        hidden.columns, hidden.truth, hidden.found, known["mean"], known["spread"], missing
    )
    if overall is not None:
        overall["level"] = LEVEL
    usual = {int(j): _usual(labels) for j, labels in known["labels"].items()}
    for j, often in usual.items():
        mine = hidden.wrong[hidden.label_columns == j]
        found = wrong_labels(mine) or {"cells": len(mine)}
        if "wrong" in found:
            found |= {"usual": often, "relative": found["wrong"] / often if often else 0.0}
        each[j] = found
    weights = by_missing(hidden.label_columns, missing)
    wrong = wrong_labels(hidden.wrong, weights)
    if wrong is not None:
        by_mode = [usual[j] for j in hidden.label_columns]
        wrong |= {"usual": float(np.average(by_mode, weights=weights)), "level": LEVEL}
    return overall, wrong, each


def _usual(labels: dict[str, list[Any]]) -> float:
    """Return how often the most frequent label would be wrong."""
    total = sum(labels["observed"]) + labels["others"][0]
    return 1 - max(labels["observed"], default=0) / max(total, 1)


def _convergence(completer: Any) -> dict[str, Any] | None:
    result = getattr(completer, "result_", None)
    return None if result is None else curves.convergence(result)


def _uncertain(known: Record) -> list[dict[str, Any]]:
    found = known["uncertain"]
    parts = zip(*(found[key] for key in ("rows", "columns", "values", "deviations", "scores")),
                strict=True)  # fmt: skip
    return [
        {
            "row": row,
            "column": column,
            "name": clean(known["names"][column]),
            "value": clean(value, 60) if isinstance(value, str) else value,
            "kind": known["kinds"][column],
            "deviation": deviation,
            "relative": score,
        }
        for row, column, value, deviation, score in parts
    ]


def _undetermined(known: Record) -> dict[str, Any] | None:
    found = known["loose"]
    if found["count"] is None:
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
