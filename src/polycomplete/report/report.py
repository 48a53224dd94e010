"""The report as an object: ask it for a page, for text, for JSON, or to write a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from polycomplete.files import written_whole
from polycomplete.record import Record, record_of
from polycomplete.report.cells import columns_of, pairs
from polycomplete.report.findings import findings
from polycomplete.report.page import page
from polycomplete.report.summary import summarise
from polycomplete.report.text import text
from polycomplete.report.words import clean

__all__ = ["Report"]


class Report:
    """What a completion did: what was missing, what was filled in, and how far to trust it.

    ``Report.of(completer)`` makes one; so does ``completer.report_``. In a notebook it shows
    itself. The page needs the extra "report" (``pip install "polycomplete[report]"``), text and
    JSON need nothing.

    Parameters
    ----------
    completer : estimator
        Fitted.
    known : Record or None
        What is remembered of the data.
    fitted_on_it : bool
        Whether the completer was fitted on these data.
    command : str, optional
        The command line that made this.
    row_word : str
        What the labels of rows are: "line" of a file, or the name of a column.
    row_labels : sequence, optional
        By what rows are named; by default they count from 0.
    remarks : sequence of str
        Sentences that are added to the main points.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC(random_state=0).fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]])
    >>> fitted.report_
    <report of LRMC on 3 rows and 2 columns>
    >>> print(fitted.report_.text().splitlines()[0])
    LRMC: 3 rows, 2 columns, 16.7 % missing
    """

    def __init__(
        self,
        completer: Any,
        known: Record | None,
        fitted_on_it: bool = True,
        command: str | None = None,
        row_word: str = "row",
        row_labels: Sequence[Any] | None = None,
        remarks: Sequence[str] = (),
    ):
        self._completer = copy(completer)  # what a later fit puts there is another matter
        self._known = known
        self._fitted_on_it = fitted_on_it
        self._command = command
        self._row_word = row_word
        self._row_labels = row_labels
        self._remarks = remarks

    @classmethod
    def of(
        cls,
        completer: Any,
        given: Any = None,
        completed: Any = None,
        *,
        command: str | None = None,
        row_word: str = "row",
        row_labels: Sequence[Any] | None = None,
        remarks: Sequence[str] = (),
    ) -> Report:
        """Return the report of a fitted completer.

        Parameters
        ----------
        completer : estimator
            Any completer of this library or imputer of scikit-learn, fitted.
        given, completed : array-like or data frame, optional
            The table before and after. Completers remember what is needed of their training data,
            and the report of these is of what the fit gave; others, and other rows, need both.
        command : str, optional
            The command line that made this, for the lines that show how to do it again.
        row_word : str
            What the labels of rows are: "line" of a file, or the name of a column.
        row_labels : sequence, optional
            By what the rows are named; by default they count from 0.
        remarks : sequence of str
            Sentences that are added to the main points.

        Returns
        -------
        Report
        """
        own = getattr(completer, "_record", None)
        said: Any = {
            "command": command,
            "row_word": row_word,
            "row_labels": row_labels,
            "remarks": remarks,
        }
        if given is None and completed is None:
            return cls(completer, own, **said)
        if given is None or completed is None:
            raise ValueError("Pass the table before and after: Report.of(completer, X, completed).")
        before = columns_of(given, getattr(completer, "missing_values", np.nan))
        if own is not None:
            before = [column for column in before if column[0] in own["names"]] or before
        mask = np.column_stack([seen for _, _, seen in before])
        if own is not None and _same(own, mask):
            return cls(completer, own, **said)
        cells = pairs(before, columns_of(completed, names=_names_out(completer)))
        return cls(completer, record_of(cells, mask), False, **said)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Everything the report says, as a plain dictionary; see :func:`summarise`.

        Besides: ``rows_by``, what rows are named by; ``rows_from``, from where these numbers count
        (None where they are no numbers); ``remarks``.
        """
        if self._known is None:
            name = type(self._completer).__name__
            raise ValueError(
                f"This {name} does not remember the data that it learned from; pass them: "
                "Report.of(completer, X, completed)."
            )
        made = summarise(
            self._completer, self._known, fitted_on_it=self._fitted_on_it, command=self._command
        )
        word = self._row_word
        start = 0 if self._row_labels is None else 1 if word in ("line", "row") else None
        made |= {"rows_by": clean(word, 60), "rows_from": start, "remarks": list(self._remarks)}
        loose = made["undetermined_rows"] or {"first": []}
        for entry in (*made["uncertain_cells"], *loose["first"]):
            entry["row"] = self._label(entry["row"])
        made["findings"] = findings(made)
        return made

    def _label(self, row: int) -> int | str:
        """Return by what a row is named."""
        if self._row_labels is None:
            return row
        label = self._row_labels[row]
        return int(label) if isinstance(label, int | np.integer) else clean(label, 60)

    def html(self) -> str:
        """Return a page that needs nothing besides itself."""
        return page(self.summary)

    def json(self) -> str:
        """Return the summary as JSON."""
        return json.dumps(self.summary, ensure_ascii=False, allow_nan=False, indent=1)

    def text(self) -> str:
        """Return the summary for a terminal."""
        return text(self.summary)

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
        makers = {".html": self.html, ".htm": self.html, ".json": self.json, ".txt": self.text}
        make = makers.get(Path(path).suffix.lower())
        if make is None:
            raise ValueError(
                f"{path} must end with .html, .json or .txt, which says what to write."
            )
        return make()

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own so that styles do not mix."""
        name = escape(type(self._completer).__name__)
        return (
            f'<iframe title="Report of {name}" sandbox="allow-scripts" loading="lazy" '
            'style="width: 100%; height: 40rem; border: 1px solid #8888; border-radius: 8px" '
            f'srcdoc="{escape(self.html())}"></iframe>'
        )

    def __repr__(self) -> str:
        name = type(self._completer).__name__
        if self._known is None:
            return f"<report of {name}>"
        return (
            f"<report of {name} on {self._known['rows']} rows and "
            f"{len(self._known['names'])} columns>"
        )


def _names_out(completer: Any) -> Any:
    """Return the names of the columns that come back; None where they are not known."""
    with suppress(AttributeError, ValueError):  # not fitted, or of another kind
        return completer.get_feature_names_out()
    return None


def _same(known: Record, mask: np.ndarray) -> bool:
    """Return whether a table is, by its size and holes, the one that a record is of."""
    return known["rows"] == len(mask) and np.array_equal(known["observed"], mask.sum(axis=0))
