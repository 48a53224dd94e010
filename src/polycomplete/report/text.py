"""The report for a terminal: plain characters, no colours, about a hundred columns wide."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from polycomplete.report.words import clean, counted, number, percent, shown

__all__ = ["text"]

SIGNS = {"good": "✓", "note": "·", "warning": "!"}
BARS = " ▁▂▃▄▅▆▇█"
#: Columns of the table that are listed, those with most holes first; cells and rows likewise.
LISTED, FEW = 40, 5
NAME = 28


def text(summary: dict[str, Any]) -> str:
    """Return a summary as lines of text.

    Parameters
    ----------
    summary : dict
        Of :func:`~polycomplete.report.summarise`.

    Returns
    -------
    str

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> summary = LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]]).report_.summary
    >>> print(text(summary).splitlines()[0])
    LRMC: 3 rows, 2 columns, 16.7 % missing
    """
    parts = (_head, _columns, _uncertain, _rows, _again, _notes)
    blocks = ["\n".join(part(summary)) for part in parts]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(summary: dict[str, Any]) -> Iterator[str]:
    table = summary["table"]
    rows, columns = counted(table["rows"], "row"), counted(table["columns"], "column")
    title = f"{summary['method']}: {rows}, {columns}, {percent(table['missing_share'])} missing"
    yield title
    yield "─" * len(title)
    for finding in summary["findings"]:
        yield f"{SIGNS[finding['level']]} {finding['text']}"


def _columns(summary: dict[str, Any]) -> Iterator[str]:
    columns = sorted(summary["columns"], key=lambda column: -column["missing"])
    yield f"{'column':{NAME}} {'missing':>8}  {'observed':24}  {'completed':24}  expected error"
    for column in columns[:LISTED]:
        before, after = _shapes(column)
        yield (
            f"{_fit(column['name'])} {percent(column['missing_share']):>8}  {before:24}  "
            f"{after:24}  {_error(column['expected_error'])}"
        ).rstrip()
    if len(columns) > LISTED:
        yield f"… and {len(columns) - LISTED} more columns, with fewer missing cells"


def _fit(name: str) -> str:
    """Return a name cut or filled to the width of its column; wide characters take two places."""
    kept, width = "", 0
    for letter in name:
        wide = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        wide = 0 if unicodedata.combining(letter) else wide
        if width + wide > NAME - 1 and len(kept) < len(name):
            return kept + "…" + " " * (NAME - width - 1)
        kept, width = kept + letter, width + wide
    return kept + " " * (NAME - width)


def _shapes(column: dict[str, Any]) -> tuple[str, str]:
    """Return observed and completed cells as little bars, or the most frequent label of each."""
    if column["labels"]:
        labels = column["labels"]
        return _most(labels, "observed"), _most(labels, "completed")
    histogram = column["histogram"]
    if histogram is None:
        return "", ""
    return _bars(histogram["observed"]), _bars(histogram["completed"])


def _most(labels: dict[str, Any], which: str) -> str:
    count, name = max(zip(labels[which], labels["names"], strict=True), default=(0, ""))
    total = sum(labels[which]) + labels["others"][which == "completed"]
    return clean(f"{percent(count / total)} {name}", 24) if total else ""


def _bars(counts: list[int]) -> str:
    most = max(counts)
    return "".join(BARS[-(-8 * count // most)] for count in counts) if most else ""


def _error(error: dict[str, Any]) -> str:
    if "interval" not in error:
        return f"too few hidden cells ({error['cells']})" if error["cells"] else ""
    if "wrong" in error:
        low, high = (percent(end) for end in error["interval"])
        return f"{percent(error['wrong'])} wrong ({low} to {high})"
    low, high = (number(end) for end in error["interval"])
    return f"{number(error['rmse'])} ({low} to {high})"


def _uncertain(summary: dict[str, Any]) -> Iterator[str]:
    cells = summary["uncertain_cells"][:FEW]
    if cells:
        yield f"Least certain cells{_counting(summary)}"
    for cell in cells:
        value = shown(cell["value"], cell["kind"])
        row = _row(summary, cell["row"])
        yield f"  {row}, {_short(cell['name'])}: {value} ± {_deviation(cell)}"


def _row(summary: dict[str, Any], label: int | str) -> str:
    return f"{_short(summary.get('rows_by', 'row'))} {_short(str(label))}"


def _counting(summary: dict[str, Any]) -> str:
    """Say from where rows are counted."""
    start = summary.get("rows_from", 0)
    return "" if start is None else f" ({summary.get('rows_by', 'row')}s count from {start})"


def _deviation(cell: dict[str, Any]) -> str:
    return shown(cell["deviation"], "duration" if cell["kind"] == "date" else cell["kind"])


def _rows(summary: dict[str, Any]) -> Iterator[str]:
    loose = summary["undetermined_rows"]
    if loose and loose["count"]:
        count = number(loose["count"])
        yield f"Rows that are not determined: {count}; the emptiest{_counting(summary)}"
        for row in loose["first"][:FEW]:
            yield f"  {_row(summary, row['row'])}: {row['observed']} observed"


def _short(name: str) -> str:
    return clean(name, NAME)


def _again(summary: dict[str, Any]) -> Iterator[str]:
    yield "To do it again"
    for line in summary["reproduce"]["python"].splitlines():
        yield f"  {line}".rstrip()
    if summary["reproduce"]["command"]:
        yield f"  $ {summary['reproduce']['command']}"


def _notes(summary: dict[str, Any]) -> Iterator[str]:
    for note in summary["notes"]:
        yield f"· {note}"
