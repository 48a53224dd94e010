"""The report of a completion: a plain summary first, then a page, text and JSON of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

from polycomplete.io.atomic import written_whole
from polycomplete.report.findings import LETTERS, clean, main_points, unknown
from polycomplete.report.page import page_of
from polycomplete.report.summary import summarize

__all__ = ["Report"]


class Report:
    """What a completion did: what was missing, what was filled in, and how far to trust it.

    It is of the two tables that it is given, whose rows may be those of the fit or others.
    ``completer.report(X, completed)`` is short for it. In a notebook it shows itself. The page
    needs the extra "report" (``pip install "polycomplete[report]"``), text and JSON need nothing.

    Parameters
    ----------
    completer : estimator
        Any completer of this library or imputer of scikit-learn, fitted.
    X, completed : array-like or data frame
        The table before and after.
    method, seconds : str, float, optional
        What the method is called, and how long it took; its class, and nothing, by default.
    command : str, optional
        The command line that made this, for the lines that show how to do it again.
    row_word : str
        What the labels of rows are: "line" of a file, or the name of a column.
    row_labels : sequence, optional
        By what the rows are named; by default they count from 0.
    remarks : sequence of str
        Sentences that are added to the main points.

    Attributes
    ----------
    summary : dict
        Everything the report says: strings, numbers, bools, None, and lists and dicts of these.
        Keys: ``format``; ``created``; ``method``; ``seconds``; ``table`` (rows, columns,
        used_columns, cells, missing, missing_share, completed, still_missing,
        missing_where_left_alone, complete_rows, tiles: the share missing by blocks of cells);
        ``columns`` that are used (each: position, name, kind, observed, missing, missing_share,
        completed, unknown_labels, lowest, highest, mean, spread, histogram, labels, beyond_range,
        expected_error; dates count in days since 1970); ``expected_error`` over all columns of
        numbers, each by the cells that it lacks; ``wrong_labels`` over the others; ``rows_of_fit``,
        whether these are the rows of the fit (None where it knows nothing of them);
        ``uncertain_cells``; ``undetermined_rows``; ``fallback_columns``, filled with their mean or
        mode; ``fit`` (iterations, seconds, stop, converged); ``settings``; ``chosen`` by the fit;
        ``versions``; ``reproduce`` (python, command); ``rows_by``, what rows are named by;
        ``rows_from``, where these numbers begin (None where they are no numbers); ``findings``,
        the main points in sentences, remarks among them; ``notes``, what is not known.

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
        made |= {"seconds": seconds, "rows_by": clean(row_word, LETTERS), "rows_from": start}
        loose = made["undetermined_rows"] or {"first": []}
        for entry in (*made["uncertain_cells"], *loose["first"]):
            label = entry["row"] if row_labels is None else row_labels[entry["row"]]
            entry["row"] = int(label) if isinstance(label, Integral) else clean(label, LETTERS)
        made["findings"] = [
            *main_points(made),
            *({"level": "note", "text": one} for one in remarks),
        ]
        made["notes"] = unknown(made)
        self.summary: dict[str, Any] = made

    def html(self) -> str:
        """Return a page that needs nothing besides itself."""
        return page_of(self.summary)

    def json(self) -> str:
        """Return the summary as JSON."""
        return json.dumps(self.summary, ensure_ascii=False, allow_nan=False, indent=1)

    def text(self) -> str:
        """Return the main points and what is not known, one sentence a line."""
        points = [finding["text"] for finding in self.summary["findings"]]
        return "\n".join([*points, *self.summary["notes"]])

    def write(self, path: str | PathLike[str]) -> None:
        """Write the report into a file: a page (.html), JSON (.json) or text (.txt).

        The file appears whole or not at all; one of that name is replaced.

        Parameters
        ----------
        path : str or path
            Its ending says what is written.
        """
        content = self.render(path).encode("utf-8")
        with written_whole(path, force=True) as file:
            file.write(content)

    def render(self, path: str | PathLike[str]) -> str:
        """Return what a file of some name holds: a page (.html), JSON (.json) or text (.txt).

        Parameters
        ----------
        path : str or path
            Its ending counts.

        Returns
        -------
        str
        """
        kind = Path(path).suffix.lower()
        if kind in (".html", ".htm"):
            return self.html()
        if kind == ".json":
            return self.json()
        if kind == ".txt":
            return self.text() + "\n"
        raise ValueError(f"{path} must end with .html, .json or .txt, which says what to write.")

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own so that styles do not mix."""
        return (
            f'<iframe title="Report of {escape(self.summary["method"])}" sandbox="allow-scripts" '
            'loading="lazy" '
            'style="width: 100%; height: 40rem; border: 1px solid #8888; border-radius: 8px" '
            f'srcdoc="{escape(self.html())}"></iframe>'
        )

    def __repr__(self) -> str:
        table = self.summary["table"]
        size = f"{table['rows']} rows and {table['columns']} columns"
        return f"<report of {self.summary['method']} on {size}>"
