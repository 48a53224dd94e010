"""The main points of a summary, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polycomplete.report.words import number, percent

__all__ = ["findings"]

#: A column that lost more than this is worth a word; so is one that came back this badly.
MOSTLY, BADLY = 0.8, 0.9
#: An error of hidden cells that is good news, in units of a column's spread.
WELL = 0.7
NAMED = 3
REASONS = {
    "max_iter": "reached its largest number of iterations before it came to rest",
    "time_limit": "reached its time limit before it came to rest",
    "callback": "was ended by its callback",
}


def findings(summary: dict[str, Any]) -> list[dict[str, str]]:
    """Return what a reader should know first.

    Parameters
    ----------
    summary : dict
        Of :func:`~polycomplete.report.summarise`, as far as it is made.

    Returns
    -------
    list of dict
        level ("good", "note" or "warning") and text.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]])
    >>> fitted.report_.summary["findings"][0]["text"]
    '1 of 6 cells (16.7 %) was missing and has been filled in.'
    """
    parts = (_filled, _error, _rows, _columns, _run)
    return [{"level": level, "text": text} for part in parts for level, text in part(summary)]


def _filled(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    table = summary["table"]
    missing, cells = number(table["missing"]), number(table["cells"])
    if table["missing"] == 0:
        yield "note", "No cell was missing: there was nothing to fill in."
        return
    was = "was missing and has" if table["missing"] == 1 else "were missing and have"
    share = percent(table["missing_share"])
    yield "note", f"{missing} of {cells} cells ({share}) {was} been filled in."


def _error(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    error = summary["expected_error"]
    if error is None:
        return
    low, high = (percent(end) for end in error["interval"])
    high_end = error["interval"][1]
    level = "good" if high_end < WELL else "note" if high_end < 1 else "warning"
    text = (
        f"Known cells that were hidden came back with an error of {percent(error['relative'])} of a "
        f"column's spread ({low} to {high}); filling in the mean would give 100 %."
    )
    yield level, text


def _rows(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    loose = summary["undetermined_rows"]
    if loose is None or summary["table"]["missing"] == 0:
        return
    if loose["count"] == 0:
        yield "good", "Every row is determined by its observed cells."
        return
    row = "row is" if loose["count"] == 1 else "rows are"
    text = (
        f"{number(loose['count'])} {row} not determined by the observed cells: several completions "
        "fit about equally well, and a typical one was filled in."
    )
    yield "warning", text


def _columns(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    columns = summary["columns"]
    empty = [column for column in columns if column["kind"] == "empty"]
    mostly = [column for column in columns if MOSTLY < column["missing_share"] < 1]
    badly = [column for column in columns if column["expected_error"].get("relative", 0) > BADLY]
    if empty:
        yield "warning", f"Nothing was observed in {_named(empty)}; nothing can be learned there."
    if mostly:
        yield "note", f"More than {percent(MOSTLY)} of the cells are missing in {_named(mostly)}."
    if badly:
        text = (
            f"Hidden cells came back hardly better than by filling in the mean in {_named(badly)}: "
            "rely little on what was filled in there."
        )
        yield "warning", text


def _named(columns: list[dict[str, Any]]) -> str:
    # The invisible marks keep a name written from right to left from turning the sentence.
    names = ", ".join(f"“\u2068{column['name']}\u2069”" for column in columns[:NAMED])
    more = len(columns) - NAMED
    and_more = f" and {number(more)} more" if more > 0 else ""
    return f"{'column' if len(columns) == 1 else 'columns'} {names}{and_more}"


def _run(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    run = summary["convergence"]
    if run is None:
        return
    how = f"{number(run['iterations'])} iterations, {number(run['seconds'], 2)} seconds"
    if run["converged"]:
        yield "good", f"The solver came to rest ({how})."
    else:
        yield "warning", f"The solver {REASONS.get(run['stop'], run['stop'])} ({how})."
