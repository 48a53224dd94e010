"""The report of a completion: a summary, rendered as a page, as text or as JSON.

The page is self-contained. Names and labels come from the data and may hold anything; the template
escapes all of them, and a content security policy allows no script and style but its own. Drawings
are paths in units of their own, stretched to the page, which keeps the page of 500 columns small.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

from polycomplete._optional import need
from polycomplete.io.atomic import written_whole
from polycomplete.report import findings
from polycomplete.report.findings import LETTERS, clean
from polycomplete.report.summary import summarize

__all__ = ["Report"]

#: Maximum number of columns on the page (the JSON has all of them), and shades of its map.
COLUMNS, SHADES = 1000, 5


class Report:
    """Report of a completion: what was missing, what was filled in, and how far to trust it.

    The rows may be those of the fit or others. ``completer.report(X, completed)`` is a shorthand.
    In a notebook the report shows itself. The page needs the extra "report"
    (``pip install "polycomplete[report]"``); text and JSON need nothing.

    Parameters
    ----------
    completer : estimator
        A fitted completer of this library, or imputer of scikit-learn.
    X, completed : array-like or data frame
        The table before and after.
    method : str, optional
        Name of the method; its class by default.
    seconds : float, optional
        Time of the completion.
    command : str, optional
        The command line that reproduces the completion.
    row_word : str, default="row"
        What labels of rows are: "line" of a file, or the name of a column.
    row_labels : sequence, optional
        Labels of the rows; by default numbers from 0.
    remarks : sequence of str, default=()
        Sentences to add to the main points.

    Attributes
    ----------
    summary : dict
        The content of the report: strings, numbers, bools, None, and lists and dicts of these.
        Keys: ``format``; ``created``; ``method``; ``seconds``; ``table`` (rows, columns,
        used_columns, cells, missing, missing_share, completed, still_missing,
        missing_where_left_alone, complete_rows, tiles: the share missing by blocks of cells);
        ``columns`` that are used (each: position, name, kind, observed, missing, missing_share,
        completed, unknown_labels, lowest, highest, mean, spread, histogram, labels, beyond_range,
        expected_error; dates count in days since 1970); ``expected_error`` over all columns of
        numbers, weighted by their missing cells; ``wrong_labels`` over the others;
        ``rows_of_fit``, whether these are the rows of the fit (None if that is unknown);
        ``uncertain_cells``; ``undetermined_rows``; ``fallback_columns``, filled in with their mean
        or mode; ``fit`` (iterations, seconds, stop, converged); ``settings``; ``chosen`` by the
        fit; ``versions``; ``reproduce`` (python, command); ``rows_by``, what labels of rows are;
        ``rows_from``, the first number of a row (None if labels are not numbers); ``findings``,
        the main points in sentences, with remarks; ``notes``, what is not known.

    See Also
    --------
    polycomplete.diagnostics : Single pictures, for papers.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> X = [[1.0, 2.0], [2.0, 4.1], [3.0, None]]
    >>> completer = LRMC(random_state=0)
    >>> report = Report(completer, X, completer.fit_transform(X))
    >>> report
    <report of LRMC on 3 rows and 2 columns>
    >>> print(report.text().splitlines()[0])
    Completed 1 of 6 cells (16.7%) by LRMC.
    """

    def __init__(
        self,
        completer: Any,
        X: Any,
        completed: Any,
        *,
        method: str | None = None,
        seconds: float | None = None,
        command: str | None = None,
        row_word: str = "row",
        row_labels: Sequence[Any] | None = None,
        remarks: Sequence[str] = (),
    ):
        made = summarize(completer, X, completed)
        made["method"] = clean(method or made["method"])
        made["reproduce"]["command"] = command
        start = 0 if row_labels is None else 1 if row_word in ("line", "row") else None
        made |= {"seconds": seconds, "rows_by": clean(row_word, LETTERS // 2), "rows_from": start}
        loose = made["undetermined_rows"] or {"first": []}
        for entry in (*made["uncertain_cells"], *loose["first"]):
            label = entry["row"] if row_labels is None else row_labels[entry["row"]]
            entry["row"] = int(label) if isinstance(label, Integral) else clean(label, LETTERS // 2)
        notes = [{"level": "note", "text": text} for text in remarks]
        made |= {"findings": findings.main_points(made) + notes, "notes": findings.unknown(made)}
        self.summary: dict[str, Any] = made

    def html(self) -> str:
        """Return a self-contained page."""
        return _template("page.html").render(report=self.summary)

    def json(self) -> str:
        """Return the summary as JSON."""
        return json.dumps(self.summary, ensure_ascii=False, allow_nan=False, indent=1)

    def text(self) -> str:
        """Return the main points and what is not known, one sentence per line."""
        points = [point["text"] for point in self.summary["findings"]]
        return "\n".join([*points, *self.summary["notes"]])

    def write(self, path: str | PathLike[str]) -> None:
        """Write the report into a file, whole or not at all; an existing file is replaced.

        Parameters
        ----------
        path : str or path
            Its ending decides on the form: a page (.html), JSON (.json) or text (.txt).
        """
        content = self.render(path).encode("utf-8")
        with written_whole(path, force=True) as file:
            file.write(content)

    def render(self, path: str | PathLike[str]) -> str:
        """Return the report in the form that the name of a file asks for.

        Parameters
        ----------
        path : str or path
            Only its ending counts: .html, .json or .txt.

        Returns
        -------
        str
        """
        kinds = {".html": self.html, ".htm": self.html, ".json": self.json, ".txt": self.text}
        kind = Path(path).suffix.lower()
        if kind not in kinds:
            raise ValueError(f"{path} must end with .html, .json or .txt.")
        return kinds[kind]() + ("\n" if kind == ".txt" else "")

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame that isolates its styles."""
        return _template("frame.html").render(report=self.summary, page=self.html())

    def __repr__(self) -> str:
        table = self.summary["table"]
        size = f"{table['rows']} rows and {table['columns']} columns"
        return f"<report of {self.summary['method']} on {size}>"


@cache
def _template(name: str) -> Any:
    jinja2 = need("jinja2", "report", "The page of a report (not its text or JSON)")
    loader = jinja2.PackageLoader("polycomplete.report", "template")
    strict = {"autoescape": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, **strict)
    words = (findings.number, findings.percent, findings.counted, findings.formatted)
    shapes = (*words, missing_map, block_names, steps, isolated, digest)
    environment.filters |= {shape.__name__: shape for shape in shapes}
    own = {name: loader.get_source(environment, f"page.{name}")[0] for name in ("css", "js")}
    return environment.get_template(name, globals=own | {"most_columns": COLUMNS})


def isolated(text: str) -> str:
    """Isolate quoted names in either direction of writing by invisible marks."""
    return re.sub("“(.*?)”", "“\u2068\\1\u2069”", text)


def digest(text: str) -> str:
    """Return the hash by which a content security policy allows a script or style."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def block_names(names: list[str], width: int) -> list[str]:
    """Return the names of the columns in each column of tiles."""
    edges = [len(names) * i // max(width, 1) for i in range(width + 1)]
    ends = [(names[begin], names[end - 1]) for begin, end in pairwise(edges)]
    return [" … ".join(dict.fromkeys(pair)) for pair in ends]


def missing_map(tiles: list[list[float]]) -> dict[str, Any]:
    """Return a map of missing cells, given their share in each block of rows and columns.

    It has the paths of the tiles of each shade, and the share of each column and of each row.
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
    """Return the outline of a histogram, with bins of width 1, scaled to its highest bin."""
    most = max(counts, default=0)
    tops = [round(height - height * count / (most or 1), 1) for count in counts]
    path = "".join(f"V{top:g}H{x}" for x, top in enumerate(tops, 1))
    return f"M0 {height:g}{path}V{height:g}" if most else ""
