"""A table from a file: what its cells mean, and how they stood there."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import nextafter
from types import ModuleType
from typing import Any

from polycomplete._optional import need

#: What stands for a missing cell in text, whatever surrounds it of blanks; nan also in any other
#: case and with a sign, as programs write it.
MARKERS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")
#: What people type into a cell that they have nothing for, in small letters.
SIGNS = ("-", "--", ".", "n/a")
#: Words that say so too. In a column of numbers or days they are missing cells; in one of text they
#: may be a label like any other, and stay, but nothing should ever be completed by them.
UNKNOWN = ("none", "unknown", "missing")
#: Digits with a zero before them are a code, such as 007 or a postcode, and not a number.
CODE = r"^[+-]?0\d+$"
NAN = r"^[+-]?(?i:nan)$"
WHOLE = r"^[+-]?\d+$"
DAY = r"^\d{4}-\d{2}-\d{2}$"


class TableFileError(ValueError):
    """A file that is not a table; the message names the file and the place in it."""


def polars() -> ModuleType:
    """Return polars, which only those who read tables from files need."""
    return need("polars", "cli", "Reading a table")


@dataclass(frozen=True)
class ReadOptions:
    """What a reader has to be told where a file does not speak for itself.

    ``delimiter`` (None for the usual, or what the header suggests), ``encoding``, ``decimal`` and
    ``header`` are about text files; ``sheet`` of an Excel file is the first by default, and
    ``variable`` of a .mat or .npz file the only array, or the one called X. ``missing`` stands for
    missing cells besides :data:`MARKERS`.
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
        """All that stands for a missing cell."""
        return (*MARKERS, *self.missing)


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    ``header`` is the first line as it stands there, None where there is none; ``mark`` is the byte
    order mark at the beginning, or nothing.
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
    kind : str
        That of the file: "csv", "parquet", ...
    texts : polars DataFrame or None
        The cells of a text file as they stand there.
    dialect : Dialect
        How a text file is written.
    lines : array of int or None
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
    kind: str = "csv"
    texts: Any = None
    dialect: Dialect = field(default_factory=Dialect)
    lines: array[int] | None = None
    key: str = "X"
    other_arrays: dict[str, Any] = field(default_factory=dict)
    sheet: str | None = None
    other_sheets: tuple[str, ...] = ()
    marked: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, given: Any, meant: list[Any], **known: Any) -> Table:
        """Return a table from a frame as it was read, and what its columns mean."""
        marked = {one.name: _marked(one, found) for one, found in zip(given, meant, strict=True)}
        return cls(name, given.select(meant), marked=marked, **known)

    def place(self, row: int, column: str) -> str:
        """Say where a cell is, as somebody who looks into the file would."""
        word, numbers = self.rows
        return f"{self.name}, {word} {numbers[row]}, column {column!r}"

    @property
    def rows(self) -> tuple[str, Sequence[int]]:
        """What rows are called, and the number of each: lines of a text file, or rows from 1."""
        if self.lines is None:
            return "row", range(1, len(self.frame) + 1)
        return "line", self.lines

    def text_of(self, name: str) -> Any:
        """Return a column as text, also where it could be read as numbers; null where missing."""
        column = self.frame[name]
        if not column.dtype.is_numeric():
            return column
        if self.texts is None:
            return column.cast(polars().String)
        return blanked(self.texts[name].str.strip_chars(), column.is_null()).alias(name)

    def completed(self, columns: Any) -> Table:
        """Return the table with its missing cells taken from completed columns.

        Cells that are there stay as they are, in a text file to the letter. A column of whole
        numbers stays one: what comes into it is rounded.
        """
        filled = [_filled(self.frame[column.name], column) for column in columns]
        texts = self.texts
        if texts is not None:
            texts = texts.with_columns(self._patched(column) for column in filled)
        return replace(self, frame=self.frame.with_columns(filled), texts=texts)

    def _patched(self, filled: Any) -> Any:
        """Return the texts of a column with those of its missing cells written anew."""
        new = self.frame[filled.name].is_null() & filled.is_not_null()
        cells = written(filled.filter(new), self.dialect.decimal)
        return self.texts[filled.name].clone().scatter(new.arg_true(), cells)

    def with_column(self, column: Any) -> Table:
        """Return the table with one more column, or one of that name replaced."""
        frame, texts, dialect = self.frame.with_columns(column), self.texts, self.dialect
        if texts is not None:
            texts = texts.with_columns(written(column, dialect.decimal))
            if dialect.header is not None and column.name not in self.frame.columns:
                dialect = replace(dialect, header=[*dialect.header, column.name])
        return replace(self, frame=frame, texts=texts, dialect=dialect)


def _filled(given: Any, completed: Any) -> Any:
    """Return a column, in the type it came in, with its missing cells from another one."""
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
    """Return what a completed cell looks like in a text file.

    Ten digits of a number are written: far more than a completion is good for, and short.

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
    """Return a column as numbers or text, null where a cell is missing.

    Where people typed its text (``numbers``), :data:`SIGNS` are missing, and it becomes Int64 if
    every cell that is there is a whole number without decimals, and no code such as 007; Float64 if
    every cell is a number; Date if every cell is a day such as 2024-12-31.

    >>> import polars as pl
    >>> meaning(pl.Series(["1.10", " 2", "?"])).to_list()
    [1.1, 2.0, None]
    >>> meaning(pl.Series(["41", "NA"])).to_list()
    [41, None]
    >>> meaning(pl.Series(["2024-12-31", "?"])).to_list()
    [datetime.date(2024, 12, 31), None]
    >>> meaning(pl.Series(["007", "008", ""])).to_list()
    ['007', '008', None]
    >>> meaning(pl.Series([1.5, -9.0]), ["-9"]).to_list()
    [1.5, None]
    >>> meaning(pl.Series(["1.5", "-", "None"])).to_list()
    [1.5, None, None]
    >>> meaning(pl.Series(["red", "-", "None"])).to_list()
    ['red', None, 'None']
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
    """Return a column, null where a cell of text is one of some texts, in whatever letters."""
    if column.dtype != polars().String:
        return column
    return blanked(column, column.str.strip_chars().str.to_lowercase().is_in(list(texts)))


def blanked(column: Any, mask: Any) -> Any:
    """Return a column, null where it is null or a mask is true."""
    return column.zip_with(~mask, column.clear(len(column)))


def _typed(column: Any, decimal: str) -> Any:
    """Return a column as numbers or days, if it is one but for signs and words; else as text."""
    found = _parsed(without(column, (*SIGNS, *UNKNOWN)).str.strip_chars(), decimal)
    return without(column, SIGNS) if found is None else found


def _parsed(plain: Any, decimal: str) -> Any:
    """Return a column of text as numbers or days, if it is one; None else."""
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
    """Return how many cells of a column were read as missing, by the text that stood there."""
    texts = given.filter(read.is_null()).drop_nulls()
    if not len(texts):
        return {}
    if texts.dtype == polars().String:
        texts = texts.str.strip_chars()
    counts = texts.alias("text").value_counts(sort=True).rows()
    return {str(text): count for text, count in counts if text != "" and text == text}
