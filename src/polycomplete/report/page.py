"""The report as one page that needs nothing besides itself: no network, no files beside it.

Names and labels come from the data and may hold anything; the template escapes all of it. The page
also forbids itself every script and style but its own two, by their hashes. Drawings are paths in
small units of their own, stretched to the page, so that a histogram of 500 columns stays light.
"""

from __future__ import annotations

import hashlib
import math
import re
from base64 import b64encode
from functools import cache
from itertools import groupby, pairwise
from typing import Any

from polycomplete._optional import need
from polycomplete.report.findings import counted, number, percent, shown

#: Columns that the page lists, at most; the JSON has all of them.
COLUMNS = 1000
#: Shades of the map, from hardly any missing to all.
SHADES = 5


def page_of(summary: dict[str, Any]) -> str:
    """Return a summary as a page of HTML."""
    names, tiles = [column["name"] for column in summary["columns"]], summary["table"]["tiles"]
    drawn, blocks = missing_map(tiles), block_names(names, len(tiles[0]))
    return _template().render(report=summary, map=drawn, blocks=blocks, most_columns=COLUMNS)


@cache
def _template() -> Any:
    jinja2 = need("jinja2", "report", "The page of a report (not its text or JSON)")
    loader = jinja2.PackageLoader("polycomplete.report", "template")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shapes = (number, percent, counted, shown, steps, isolated, digest)
    environment.filters |= {shape.__name__: shape for shape in shapes}
    own = {name: loader.get_source(environment, f"page.{name}")[0] for name in ("css", "js")}
    return environment.get_template("page.html", globals=own)


def isolated(text: str) -> str:
    """Put invisible marks around quoted names, so that none of them turns the sentence."""
    return re.sub("“(.*?)”", "“\u2068\\1\u2069”", text)


def digest(text: str) -> str:
    """Return the hash by which a content security policy knows a script or style."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def block_names(names: list[str], width: int) -> list[str]:
    """Return for each column of tiles the names of the columns in it."""
    edges = [len(names) * i // max(width, 1) for i in range(width + 1)]
    return [
        names[begin] if end - begin == 1 else f"{names[begin]} … {names[end - 1]}"
        for begin, end in pairwise(edges)
    ]


def missing_map(tiles: list[list[float]]) -> dict[str, Any]:
    """Return the map of what is missing, given the share of it by blocks of rows and columns.

    That is: paths of the tiles of each shade; the share missing of each column and of each row.
    """
    paths = [""] * (SHADES + 1)
    for y, line in enumerate(tiles):
        x = 0
        for shade, run in groupby(math.ceil(share * SHADES - 1e-6) for share in line):
            length = len(list(run))
            paths[shade] += f"M{x} {y}h{length}v1h-{length}z"
            x += length
    columns = [sum(column) / len(tiles) for column in zip(*tiles, strict=True)]
    rows = [sum(line) / max(len(line), 1) for line in tiles]
    return {"shades": paths[1:], "columns": columns, "rows": rows}


def steps(counts: list[int], height: float = 10.0) -> str:
    """Return the outline of a histogram, one unit for each bin, as high as its fullest bin."""
    most = max(counts, default=0)
    if not most:
        return ""
    tops = [f"V{_short(height - height * count / most)}H{x}" for x, count in enumerate(counts, 1)]
    return f"M0 {_short(height)}" + "".join(tops) + f"V{_short(height)}"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
