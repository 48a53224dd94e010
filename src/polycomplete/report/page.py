"""The report as one page that needs nothing besides itself: no network, no files beside it.

Names and labels come from the data and may hold anything; the template escapes all of it. The page
also forbids itself every script and style but its own two, by their hashes.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from polycomplete._optional import need
from polycomplete.report import svg
from polycomplete.report.words import counted, number, percent, shown

__all__: list[str] = []

#: Columns that the page lists, at most; the JSON has all of them.
COLUMNS = 1000


def page(summary: dict[str, Any]) -> str:
    """Return a summary as a page of HTML."""
    template, css, js = _parts()
    return template.render(
        report=summary,
        css=css,
        js=js,
        css_hash=_hash(css),
        js_hash=_hash(js),
        map=svg.missing_map(summary["table"]["tiles"]),
        blocks=_blocks(summary),
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
    for shape in (number, percent, counted, shown, svg.steps, isolated):
        environment.filters[shape.__name__] = shape
    folder = files("polycomplete.report") / "template"
    css, js = (Markup((folder / name).read_text("utf-8")) for name in ("page.css", "page.js"))
    return environment.get_template("page.html"), css, js


def isolated(text: str) -> str:
    """Put invisible marks around quoted names, so that none of them turns the sentence."""
    return re.sub("“(.*?)”", "“\u2068\\1\u2069”", text)


def _hash(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()
