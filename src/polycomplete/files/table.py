"""A table from a file: what its cells mean, and how they stood there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polycomplete._optional import need
from polycomplete.files.cells import as_text


class TableFileError(ValueError):
    """A file that is not a table; the message names the file and the place in it.

    Examples
    --------
    >>> issubclass(TableFileError, ValueError)
    True
    """


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    delimiter, newline, encoding, decimal : str
        What stands between cells, at the end of lines, before decimals; how letters become bytes.
    header : list of str or None
        The first line as it stands there; None where there is none.
    mark : str
        The byte order mark at the beginning, or nothing.

    Examples
    --------
    >>> Dialect().delimiter
    ','
    """

    delimiter: str = ","
    newline: str = "\n"
    encoding: str = "utf-8"
    decimal: str = "."
    header: list[str] | None = field(default_factory=list)
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table and where it came from.

    Attributes
    ----------
    name : str
        The file, for messages.
    frame : polars DataFrame
        Numbers and text, null where a cell is missing.
    form : str
        The kind of file: "csv", "parquet", ...
    texts : polars DataFrame or None
        The cells of a text file as they stand there.
    dialect : Dialect
        How a text file is written.
    lines : ndarray of int or None
        The line of each row in a text file, counted from 1.
    key : str
        The name of the array in a .npz or .mat file.
    other_arrays : dict
        The others in it.
    sheet : str or None
        The name of the sheet of an Excel file.
    other_sheets : tuple of str
        The names of its other sheets, which were not read.
    marked : dict
        From a column to the texts in it that were read as missing, and how often each was.

    Examples
    --------
    >>> import polars as pl
    >>> texts = pl.DataFrame({"x": ["1.00", "?"]})
    >>> table = Table("a.csv", pl.DataFrame({"x": [1.0, None]}), texts=texts)
    >>> table.completed(pl.DataFrame({"x": [1.0, 2.5]})).texts["x"].to_list()
    ['1.00', '2.5']
    >>> table.place(1, "x")
    "a.csv, row 2, column 'x'"
    """

    name: str
    frame: Any
    form: str = "csv"
    texts: Any = None
    dialect: Dialect = field(default_factory=Dialect)
    lines: np.ndarray | None = None
    key: str = "X"
    other_arrays: dict[str, Any] = field(default_factory=dict)
    sheet: str | None = None
    other_sheets: tuple[str, ...] = ()
    marked: dict[str, dict[str, int]] = field(default_factory=dict)

    def place(self, row: int, column: str) -> str:
        """Say where a cell is, as somebody who looks into the file would."""
        word, labels = self.rows
        return f"{self.name}, {word} {labels[row]}, column {column!r}"

    @property
    def rows(self) -> tuple[str, np.ndarray]:
        """What rows are called, and the number of each: lines of a text file, or rows from 1."""
        if self.lines is None:
            return "row", np.arange(1, len(self.frame) + 1)
        return "line", self.lines

    def text_of(self, name: str) -> Any:
        """Return a column as text, also where it could be read as numbers; null where missing."""
        pl = need("polars", "cli", "Reading a table")
        column = self.frame[name]
        if not column.dtype.is_numeric():
            return column
        texts = column.cast(pl.String) if self.texts is None else self.texts[name].str.strip_chars()
        return pl.select(pl.when(column.is_not_null()).then(texts)).to_series().alias(name)

    def completed(self, columns: Any) -> Table:
        """Return the table with its missing cells taken from completed columns.

        Cells that are there stay as they are, in a text file to the letter. A column of whole
        numbers stays one: what comes into it is rounded.
        """
        frame = self.frame.with_columns(
            _filled(self.frame[name], columns[name]) for name in columns.columns
        )
        if self.texts is None:
            return replace(self, frame=frame)
        texts = self.texts.with_columns(
            _patched(self.texts[name], self.frame[name], frame[name], self.dialect.decimal)
            for name in columns.columns
        )
        return replace(self, frame=frame, texts=texts)

    def with_column(self, column: Any) -> Table:
        """Return the table with one more column, or one of that name replaced."""
        frame, texts, dialect = self.frame.with_columns(column), self.texts, self.dialect
        if texts is not None:
            texts = texts.with_columns(written(column, dialect.decimal))
            if dialect.header is not None and column.name not in self.frame.columns:
                dialect = replace(dialect, header=[*dialect.header, column.name])
        return replace(self, frame=frame, texts=texts, dialect=dialect)


def written(column: Any, decimal: str) -> Any:
    """Return a column as text."""
    pl = need("polars", "cli", "Writing a table")
    return pl.Series(column.name, [as_text(v, decimal) for v in column.to_list()], dtype=pl.String)


def _patched(texts: Any, given: Any, filled: Any, decimal: str) -> Any:
    """Return the texts of a column with those of its missing cells written anew."""
    pl = need("polars", "cli", "Writing a table")
    cells = texts.to_list()
    for i in np.flatnonzero((given.is_null() & filled.is_not_null()).to_numpy()):
        cells[i] = as_text(filled[int(i)], decimal)
    return pl.Series(texts.name, cells, dtype=pl.String)


def _filled(given: Any, completed: Any) -> Any:
    """Return a column, in the type it came in, with its missing cells from another one."""
    pl = need("polars", "cli", "Writing a table")
    if given.dtype.is_integer() and completed.dtype.is_float():
        limits = np.iinfo(str(given.dtype).lower())
        high = float(limits.max)
        high = high if high <= limits.max else float(np.nextafter(high, 0.0))
        completed = completed.round().clip(float(limits.min), high)
    if given.dtype != completed.dtype:
        completed = completed.cast(given.dtype)
    return pl.select(pl.coalesce(given, completed)).to_series().alias(given.name)
