"""The main points of a summary, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from polycomplete.report.words import number, percent

__all__ = ["findings", "unknown"]

#: A column that lost more than this is worth a word; so is one that came back this badly.
MOSTLY, BADLY = 0.8, 0.9
#: An error of hidden cells that is good news, in units of a column's spread.
WELL = 0.7
NAMED = 3
NOT_MEASURED = (
    "The error to expect was not measured: too few known cells were hidden by this fit, or none. "
    "The command polycomplete compare measures it on your data."
)
REASONS = {
    "max_iter": "reached its largest number of iterations before it came to rest",
    "time_limit": "reached its time limit before it came to rest",
    "callback": "was ended by its callback",
}


#: How a name is quoted; on a page invisible marks keep one that is written from right to left from
#: turning the sentence.
PLAIN, ISOLATED = "“{}”", "“\u2068{}\u2069”"


def findings(summary: dict[str, Any], quoted: str = PLAIN) -> list[dict[str, str]]:
    """Return what a reader should know first.

    Parameters
    ----------
    summary : dict
        Of :func:`~polycomplete.report.summarise`, as far as it is made.
    quoted : str
        How names of columns stand in a sentence.

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
    parts = (_filled, _error, _labels, _rows, partial(_columns, quoted=quoted), _run, _remarks)
    return [{"level": level, "text": text} for part in parts for level, text in part(summary)]


def unknown(summary: dict[str, Any]) -> list[str]:
    """Return what the report cannot tell, and where to find it.

    Parameters
    ----------
    summary : dict
        Of :func:`~polycomplete.report.summarise`, as far as it is made.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> print(LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]]).report_.summary["notes"][1])
    LRMC does not tell how certain each cell is.
    """
    if summary["table"]["missing"] == 0:
        return []
    parts = {
        "how its iterations went": summary["convergence"],
        "a spectrum of what it learned": summary["spectrum"],
        "how certain each cell is": summary["uncertain_cells"],
        "which rows are determined by their observed cells": summary["undetermined_rows"],
    }
    lacking = [what for what, found in parts.items() if not found]
    measured = summary["expected_error"] or summary["wrong_labels"]
    notes = [] if measured else [NOT_MEASURED]
    if lacking:
        notes.append(f"{summary['method']} does not tell {'; nor '.join(lacking)}.")
    return notes


def _filled(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    table = summary["table"]
    missing, filled = table["missing"], table["filled"]
    if missing == 0:
        yield "note", "No cell was missing: there was nothing to fill in."
        return
    was = "was" if missing == 1 else "were"
    rest = f"missing; {number(filled)} of them could be filled in"
    found = f"{number(missing)} of {number(table['cells'])} cells"
    if filled == missing:
        rest = f"missing and {'has' if missing == 1 else 'have'} been filled in"
    yield "note", f"{found} ({percent(table['missing_share'])}) {was} {rest}."


def _error(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    error = summary["expected_error"]
    if error is None:
        return
    low, high = (percent(end) for end in error["interval"])
    level = _level(error["interval"][1])
    text = (
        f"The expected error of the numbers filled in is {percent(error['relative'])} ({low} to "
        f"{high}) of the error that filling in the mean would make, judged by known cells that "
        "were hidden."
    )
    yield level, text


def _level(high: float) -> str:
    """Return what to think of an error, in units of that of filling in the mean."""
    return "good" if high < WELL else "note" if high < 1 else "warning"


def _labels(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    wrong = summary["wrong_labels"]
    if wrong is None:
        return
    low, high = (percent(end) for end in wrong["interval"])
    text = (
        f"Of the labels filled in, {percent(wrong['wrong'])} ({low} to {high}) are expected to be "
        "wrong, judged by known labels that were hidden; the most frequent label would be wrong in "
        f"{percent(wrong['usual'])} of the cases."
    )
    yield _level(wrong["interval"][1] / max(wrong["usual"], 1e-9)), text


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


def _columns(summary: dict[str, Any], quoted: str) -> Iterator[tuple[str, str]]:
    columns = summary["columns"]
    empty = [column for column in columns if column["kind"] == "empty"]
    mostly = [column for column in columns if MOSTLY < column["missing_share"] < 1]
    usual = [column for column in columns if column["name"] in summary["fallback_columns"]]
    badly = [column for column in columns if column["expected_error"].get("relative", 0) > BADLY
             and column not in usual]  # fmt: skip
    if empty:
        yield (
            "warning",
            f"Nothing was observed in {_named(empty, quoted)}; nothing can be learned there.",
        )
    if mostly:
        yield (
            "note",
            f"More than {percent(MOSTLY)} of the cells are missing in {_named(mostly, quoted)}.",
        )
    if usual:
        text = (
            "Hidden cells came back worse than by filling in the mean or the most frequent label "
            f"in {_named(usual, quoted)}: there, that was filled in."
        )
        yield "warning", text
    if badly:
        text = (
            "Hidden cells came back hardly better than by filling in the mean or the most frequent "
            f"label in {_named(badly, quoted)}: rely little on what was filled in there."
        )
        yield "warning", text


def _named(columns: list[dict[str, Any]], quoted: str) -> str:
    names = ", ".join(quoted.format(column["name"]) for column in columns[:NAMED])
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


def _remarks(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for remark in summary.get("remarks", []):
        yield "note", remark
