"""The report as one page that needs nothing besides itself: no network, no files beside it.

Names and labels come from the data and may hold anything; the template escapes all of it. The page
also forbids itself every script and style but its own two, by their hashes.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from polycomplete._optional import need
from polycomplete.report import charts
from polycomplete.report.findings import ISOLATED, findings
from polycomplete.report.words import counted, number, percent, shown

__all__ = ["page"]

#: Columns that the page lists, at most; the JSON has all of them.
COLUMNS = 1000


def page(summary: dict[str, Any]) -> str:
    """Return a summary as a page of HTML.

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
    >>> page(summary)[:15]
    '<!doctype html>'
    """
    template, css, js = _parts()
    run, found = summary["convergence"], summary["spectrum"]
    return template.render(
        report={"rows_by": "row", "rows_from": 0}
        | summary
        | {"findings": findings(summary, ISOLATED)},
        css=css,
        js=js,
        css_hash=_hash(css),
        js_hash=_hash(js),
        map=charts.missing_map(summary["table"]["tiles"]),
        blocks=_blocks(summary),
        run=charts.line_chart(run) if run else None,
        spectrum=charts.spectrum_chart(found) if found else None,
        columns=summary["columns"][:COLUMNS],
        most_columns=COLUMNS,
    )


def _blocks(summary: dict[str, Any]) -> list[str]:
    """Return for each column of tiles the names of the columns in it."""
    names = [column["name"] for column in summary["columns"]]
    width = len(summary["table"]["tiles"][0])
    edges = [len(names) * i // max(width, 1) for i in range(width + 1)]
    return [
        names[begin] if end - begin == 1 else f"{names[begin]} … {names[end - 1]}"
        for begin, end in pairwise(edges)
    ]


@cache
def _parts() -> tuple[Any, Any, Any]:
    """Return template, styles and script."""
    jinja2 = need("jinja2", "report", "The page of a report (not its text or JSON)")
    Markup = need("markupsafe", "report", "The page of a report").Markup
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("polycomplete.report", "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number, percent=_percent, counted=counted, shown=shown, steps=charts.steps
    )
    folder = files("polycomplete.report") / "template"
    css, js = (Markup((folder / name).read_text("utf-8")) for name in ("page.css", "page.js"))
    return environment.get_template("page.html"), css, js


def _percent(share: float | None) -> str:
    return percent(share).replace(" ", "\u00a0")  # no line ends before the sign


def _hash(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()
