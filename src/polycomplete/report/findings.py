"""The sentences of a report: the main points of a summary, and what is not known.

Numbers and names are formatted for people, and are safe to show anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

LETTERS = 120  # maximum length of a name
FARTHEST = 3e6  # maximum distance from 1970, in days, of what is written as a date
#: Line ends and control characters; changes of the direction of writing, and surrogates.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
#: Columns are named if more than MOSTLY of them is missing, or if their error is above BADLY; an
#: error below WELL is good. Errors are relative to that of the mean.
MOSTLY, BADLY, WELL = 0.8, 0.9, 0.7
NOT_MEASURED = (
    "The error to expect was not measured: this fit held out too few cells, or none. The command "
    "polycomplete compare measures it on your data."
)
OTHER_ROWS = (
    "These rows are not those of the fit: the error to expect, how certain each cell is, and which "
    "rows are determined by their observed cells are known only for those."
)
Found = Iterator[tuple[str, str]]


def clean(name: Any, most: int = LETTERS) -> str:
    """Return a name without control characters, on one line, and not too long."""
    text = str(name)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return TURNS.sub("\ufffd", CONTROLS.sub(" ", text))


def number(value: float | None, digits: int = 3) -> str:
    """Return a number in a few digits: 1,234,567, 0.0123, 4, 1e-09, – if it is unknown."""
    if value is None:
        return "–"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def counted(count: int, thing: str) -> str:
    """Return a number of things: 1 row, 2,000 rows."""
    return f"{number(count)} {thing}{'' if count == 1 else 's'}"


def percent(share: float | None) -> str:
    """Return a share in percent, as 0 or 100 only if it is exact."""
    if share is None:
        return "–"
    rough = "<0.1%" if 0 < share < 0.0005 else ">99.9%" if 0.9995 <= share < 1 else None
    return rough or f"{share:.1%}"


def formatted(value: float | str | None, kind: str = "number") -> str:
    """Return a value of a column as text; dates and durations are given in days."""
    if isinstance(value, str):
        return value
    if value is None or kind not in ("date", "duration"):
        return number(value)
    if kind == "duration" or abs(value) > FARTHEST:
        return f"{number(value)} days"
    return str(np.datetime64(math.floor(value), "D"))


def main_points(summary: dict[str, Any]) -> list[dict[str, str]]:
    """Return what a reader should know first, each with a level: "good", "note" or "warning"."""
    parts = (_counts, _trust, _columns)
    return [{"level": level, "text": text} for part in parts for level, text in part(summary)]


def unknown(summary: dict[str, Any]) -> list[str]:
    """Return what is not known."""
    if not any(column["missing"] for column in summary["columns"]):
        return []
    if summary["rows_of_fit"] is False:
        return [OTHER_ROWS]
    parts = {
        "how certain each cell is": summary["uncertain_cells"],
        "which rows are determined by their observed cells": summary["undetermined_rows"],
    }
    lacking = " or ".join(what for what, found in parts.items() if not found)
    notes = [] if summary["expected_error"] or summary["wrong_labels"] else [NOT_MEASURED]
    return notes + [f"{summary['method']} does not say {lacking}."] * bool(lacking)


def _counts(summary: dict[str, Any]) -> Found:
    table, method = summary["table"], summary["method"]
    share = percent(table["completed"] / max(table["cells"], 1))
    took = "" if summary["seconds"] is None else f" in {summary['seconds']:.1f} s"
    done = f"Completed {number(table['completed'])} of {counted(table['cells'], 'cell')}"
    yield "note", f"{done} ({share}) by {method}{took}."
    alone = table["missing_where_left_alone"]
    if left := sum(alone.values()):
        where = f"in excluded columns ({_listed(list(alone))})"
        yield "note", f"Still missing: {counted(left, 'cell')}, {where}."
    if stuck := table["still_missing"] - left:
        yield "warning", f"Still missing: {counted(stuck, 'cell')}, which {method} left."
    if odd := [column for column in summary["columns"] if column["unknown_labels"]]:
        count = counted(sum(column["unknown_labels"] for column in odd), "cell")
        yield "note", f"Labels that were not learned stay as they are: {count} in {_named(odd)}."


def _trust(summary: dict[str, Any]) -> Found:
    if error := summary["expected_error"]:
        low, high = error["interval"]
        ratio = (
            f"{error['relative']:.2f} times that of filling in the mean ({low:.2f} to {high:.2f})"
        )
        yield _level(high), f"Expected error: {ratio}."
    if wrong := summary["wrong_labels"]:
        low, high = wrong["interval"]
        share = f"{percent(wrong['wrong'])} ({percent(low)} to {percent(high)})"
        usual = f"{percent(wrong['usual'])} with the most frequent label"
        level = _level(high / (wrong["usual"] or 1.0))
        yield level, f"Expected share of wrong labels: {share}; {usual}."
    loose = summary["undetermined_rows"]
    if loose and summary["table"]["missing"]:
        count, verb = loose["count"], "is" if loose["count"] == 1 else "are"
        rows = f"{counted(count, 'row')} {verb} not" if count else "Every row is"
        yield "warning" if count else "good", f"{rows} determined by the observed cells."


def _level(high: float) -> str:
    """Return the level of an error, relative to that of the mean."""
    return "good" if high < WELL else "note" if high < 1 else "warning"


def _columns(summary: dict[str, Any]) -> Found:
    columns, run = summary["columns"], summary["fit"]
    usual = [column for column in columns if column["name"] in summary["fallback_columns"]]
    if usual:
        value = f"{'its' if len(usual) == 1 else 'their'} mean or most frequent value"
        yield "warning", f"Filled in with {value}, which did better: {_named(usual)}."
    if empty := [column for column in columns if column["kind"] == "empty"]:
        yield "warning", f"Nothing was observed in {_named(empty)}; nothing can be learned there."
    if mostly := [column for column in columns if MOSTLY < column["missing_share"] < 1]:
        yield "note", f"More than {MOSTLY:.0%} of the cells are missing in {_named(mostly)}."
    badly = [column for column in columns if column["expected_error"].get("relative", 0) > BADLY]
    if badly := [column for column in badly if column not in usual and column["missing"]]:
        how = "hardly better than by the mean or the most frequent value"
        yield "warning", f"Held-out cells were completed {how} in {_named(badly)}."
    if run and not run["converged"]:
        how = f"{run['stop']}, {counted(run['iterations'], 'iteration')}"
        yield "warning", f"The solver stopped before it converged ({how})."


def _named(columns: list[dict[str, Any]]) -> str:
    names = [f"“{column['name']}”" for column in columns]
    return f"{'column' if len(columns) == 1 else 'columns'} {_listed(names)}"


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {number(len(names) - most)} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
