"""A table from a file: its cells as values, and as they are written in the file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import nextafter
from types import ModuleType
from typing import Any

from polycomplete._optional import need

#: Missing cells in text, with or without blanks around them; nan also in any case and with a sign.
MARKERS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")
#: Missing cells as people type them, in lower case.
SIGNS = ("-", "--", ".", "n/a")
#: Words for missing cells in columns of numbers or dates. In columns of text they may be labels and
#: stay, but nothing should ever be completed by them.
UNKNOWN = ("none", "unknown", "missing")
#: Digits after a zero are a code, such as 007 or a postcode, and not a number.
CODE = r"^[+-]?0\d+$"
NAN = r"^[+-]?(?i:nan)$"
WHOLE = r"^[+-]?\d+$"
DAY = r"^\d{4}-\d{2}-\d{2}$"


class TableFileError(ValueError):
    """A file that is not a table; the message names the file and the place in it."""


def polars() -> ModuleType:
    """Return polars, an optional dependency."""
    return need("polars", "cli", "Reading a table")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file.

    ``delimiter`` (None for the one that fits), ``encoding``, ``decimal`` and ``header`` are for
    text files; ``sheet`` of an Excel file is the first by default, and ``variable`` of a .mat or
    .npz file the only array, or the one called X. ``missing`` are texts or numbers for missing
    cells, in addition to :data:`MARKERS`.
    """

    delimiter: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    sheet: str | None = None
    variable: str | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """All texts for missing cells."""
        return (*MARKERS, *self.missing)


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    ``header`` has the cells of the first line, None if the file has no header; ``mark`` is the byte
    order mark, or empty.
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

    >>> import polars as pl
    >>> texts = pl.DataFrame({"x": ["1.00", "?"]})
    >>> table = Table("a.csv", pl.DataFrame({"x": [1.0, None]}), texts=texts)
    >>> table.completed(pl.DataFrame({"x": [1.0, 2.5]})).texts["x"].to_list()
    ['1.00', '2.5']
    """

    name: str  # the file, for messages
    frame: Any  # numbers, dates and text, null where missing
    kind: str = "csv"  # of the file
    texts: Any = None  # the cells of a text file as they are written there
    dialect: Dialect = field(default_factory=Dialect)
    lines: array[int] | None = None  # the line of each row in a text file, from 1
    key: str = "X"  # the name of the array in a .npz or .mat file
    other_arrays: dict[str, Any] = field(default_factory=dict)
    sheet: str | None = None  # the name of the sheet of an Excel file
    other_sheets: tuple[str, ...] = ()  # those that were not read
    #: From a column to the texts that were read as missing, and the count of each.
    marked: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, given: Any, meant: list[Any], **known: Any) -> Table:
        """Return a table from a frame as it was read, and its columns as values."""
        marked = {one.name: _marked(one, found) for one, found in zip(given, meant, strict=True)}
        return cls(name, given.select(meant), marked=marked, **known)

    def place(self, row: int, column: str) -> str:
        """Return where a cell is in the file."""
        word, numbers = self.rows
        return f"{self.name}, {word} {numbers[row]}, column {column!r}"

    @property
    def rows(self) -> tuple[str, Sequence[int]]:
        """The word for rows, "line" or "row", and their numbers in the file, from 1."""
        if self.lines is None:
            return "row", range(1, len(self.frame) + 1)
        return "line", self.lines

    def missing(self, names: Sequence[str] | None = None) -> int:
        """Return how many cells are missing, of all columns or of some."""
        return sum(self.frame[names or self.frame.columns].null_count().row(0))

    def text_of(self, name: str) -> Any:
        """Return a column as text, even if it was read as numbers; null where missing."""
        column = self.frame[name]
        if not column.dtype.is_numeric():
            return column
        if self.texts is None:
            return column.cast(polars().String)
        return blanked(self.texts[name].str.strip_chars(), column.is_null()).alias(name)

    def completed(self, columns: Any) -> Table:
        """Return the table with its missing cells taken from completed columns.

        Observed cells stay as they are, in text files to the letter. In columns of integers,
        completed cells are rounded.
        """
        filled = [_filled(self.frame[column.name], column) for column in columns]
        texts = self.texts
        if texts is not None:
            texts = texts.with_columns(self._patched(column) for column in filled)
        return replace(self, frame=self.frame.with_columns(filled), texts=texts)

    def _patched(self, filled: Any) -> Any:
        """Return the texts of a column with its missing cells filled in."""
        new = self.frame[filled.name].is_null() & filled.is_not_null()
        cells = written(filled.filter(new), self.dialect.decimal)
        return self.texts[filled.name].clone().scatter(new.arg_true(), cells)

    def with_column(self, column: Any) -> Table:
        """Return the table with one more column, or with one replaced."""
        frame, texts, dialect = self.frame.with_columns(column), self.texts, self.dialect
        if texts is not None:
            texts = texts.with_columns(written(column, dialect.decimal))
            if dialect.header is not None and column.name not in self.frame.columns:
                dialect = replace(dialect, header=[*dialect.header, column.name])
        return replace(self, frame=frame, texts=texts, dialect=dialect)


def _filled(given: Any, completed: Any) -> Any:
    """Return a column with its missing cells from another one; its dtype stays."""
    if given.dtype.is_integer() and completed.dtype.is_float():
        low, most = given.lower_bound().item(), given.upper_bound().item()
        high = float(most) if float(most) <= most else nextafter(most, 0.0)
        completed = completed.round().clip(float(low), high)
    return given.zip_with(given.is_not_null(), completed.cast(given.dtype))


def written(column: Any, decimal: str) -> Any:
    """Return a column as text."""
    texts = [as_text(value, decimal) for value in column.to_list()]
    return polars().Series(column.name, texts, dtype=polars().String)


def as_text(value: object, decimal: str = ".") -> str:
    """Return a completed cell as text, numbers with ten digits.

    >>> as_text(0.1 + 0.2), as_text(3.0), as_text("red"), as_text(0.5, ",")
    ('0.3', '3', 'red', '0,5')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}".replace(".", decimal)
    return str(value)


def meaning(
    column: Any, markers: Iterable[str] = MARKERS, decimal: str = ".", numbers: bool = True
) -> Any:
    """Return a column as numbers, dates or text, null where missing.

    In text that people typed (``numbers``), :data:`SIGNS` are missing, and the column becomes Int64
    if every observed cell is a whole number without decimals, and none a code such as 007; Float64
    if every cell is a number; Date if every cell is a day such as 2024-12-31.

    >>> import polars as pl
    >>> meaning(pl.Series(["1.10", " 2", "-"])).to_list()
    [1.1, 2.0, None]
    """
    pl, markers = polars(), list(markers)
    if column.dtype == pl.String:
        plain = column.str.strip_chars()
        said = plain.is_in([marker.strip() for marker in markers])
        column = blanked(column, said | plain.str.contains(NAN))
        column = _typed(column, decimal) if numbers else column
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_numeric():
        signs = pl.Series(markers, dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
        column = blanked(column, column.cast(pl.Float64).is_in(signs.to_list()))
    return column


def without(column: Any, texts: Sequence[str]) -> Any:
    """Return a column, null where a cell is one of some texts, in any case."""
    if column.dtype != polars().String:
        return column
    return blanked(column, column.str.strip_chars().str.to_lowercase().is_in(list(texts)))


def blanked(column: Any, mask: Any) -> Any:
    """Return a column, null also where a mask is true."""
    return column.zip_with(~mask, column.clear(len(column)))


def _typed(column: Any, decimal: str) -> Any:
    """Return a column as numbers or dates if it has no other text but signs and words."""
    found = _parsed(without(column, (*SIGNS, *UNKNOWN)).str.strip_chars(), decimal)
    return without(column, SIGNS) if found is None else found


def _parsed(plain: Any, decimal: str) -> Any:
    """Return a column of text as numbers or dates; None if some cell is neither."""
    if plain.null_count() == len(plain) or plain.str.contains(CODE).any():
        return None
    if plain.str.contains(WHOLE).all():
        whole = plain.str.strip_prefix("+").cast(polars().Int64, strict=False)
        if whole.null_count() == plain.null_count():
            return whole
    if plain.str.contains(DAY).all():
        found = plain.str.to_date("%Y-%m-%d", strict=False)
    elif decimal != "." and plain.str.contains(".", literal=True).any():
        return None
    else:
        found = plain.str.replace(decimal, ".", literal=True).cast(polars().Float64, strict=False)
    return found if found.null_count() == plain.null_count() else None


def _marked(given: Any, read: Any) -> dict[str, int]:
    """Return the count of each text of a column that was read as missing."""
    texts = given.filter(read.is_null()).drop_nulls()
    if texts.dtype == polars().String:
        texts = texts.str.strip_chars()
    counts = texts.alias("text").value_counts(sort=True).rows()
    return {str(text): count for text, count in counts if text != "" and text == text}
