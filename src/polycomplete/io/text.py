"""Text files such as CSV and TSV, whose cells are kept as they are written.

Python's csv module parses them, because it knows the line of every row and does not convert cells.
polars stores the columns.
"""

from __future__ import annotations

import codecs
import csv
import io
import sys
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import IO, Any

from polycomplete.io.table import (
    Dialect,
    ReadOptions,
    Table,
    TableFileError,
    meaning,
    polars,
    written,
)

BATCH, LONGEST = 10_000, 2**27  # rows parsed at a time; maximum length of a cell
MARK = "\ufeff"  # the byte order mark
MARKED = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
csv.field_size_limit(LONGEST)  # of the whole process
Row = tuple[int, list[Any]]  # the line, and the cells: None for a blank line


def read_text(content: bytes, name: str, options: ReadOptions, usual: str = ",") -> Table:
    r"""Read a table from the content of a text file; errors mention its name.

    ``usual`` is the delimiter of this kind of file.

    >>> table = read_text(b"id;size\n007;1.10\n008;\n", "a.csv", ReadOptions())
    >>> table.frame.rows()
    [('007', 1.1), ('008', None)]
    >>> table.texts.rows()
    [('007', '1.10'), ('008', '')]
    """
    dialect, width = _dialect(content, options, usual)
    if not width:
        raise TableFileError(f"{name} is empty; give a table with at least one row.")
    reader = csv.reader(_lines(content, dialect), delimiter=dialect.delimiter, strict=True)
    rows = ((reader.line_num, row) for row in reader)
    header = [f"column {j + 1}" for j in range(width)]
    try:
        if options.header:
            header = next(row for _, row in rows if not _is_blank(row))
        texts, lines = _collected(_without_blanks(rows, width), _names(name, header), name)
    except UnicodeError:
        raise TableFileError(_undecodable(content, name, dialect.encoding)) from None
    except csv.Error as error:
        where = f"{name}, line {reader.line_num}"
        raise TableFileError(f"{where}: {error}; is a quotation mark missing?") from None
    if not len(texts):
        raise TableFileError(f"{name} has a header and no rows; give at least one row.")
    meant = [meaning(column, options.markers, options.decimal) for column in texts]
    dialect = replace(dialect, header=header if options.header else None)
    return Table.of(name, texts, meant, texts=texts, dialect=dialect, lines=lines)


def write_text(table: Table, file: IO[bytes], delimiter: str | None = None) -> None:
    r"""Write a table as text; cells that were read from text are written as they were.

    The delimiter is by default that of the file from which the table was read.

    >>> out = io.BytesIO()
    >>> write_text(read_text(b"a,b\n1.10,'x'\n", "a.csv", ReadOptions()), out)
    >>> out.getvalue()
    b"a,b\n1.10,'x'\n"
    """
    texts, dialect = table.texts, table.dialect
    if texts is None:
        texts = table.frame.select(written(column, dialect.decimal) for column in table.frame)

    def write(line: str) -> int:
        return file.write((line.removesuffix("\r\n") + dialect.newline).encode(dialect.encoding))

    # The writer quotes cells only if they contain its own line terminator: both characters.
    out = SimpleNamespace(write=write)
    writer = csv.writer(out, delimiter=delimiter or dialect.delimiter, lineterminator="\r\n")
    file.write(dialect.mark.encode(dialect.encoding))
    if dialect.header is not None:
        writer.writerow(dialect.header or texts.columns)
    for row in texts.iter_rows():
        if row == (None,):  # a blank line
            write("")
        else:
            writer.writerow(row)


def _dialect(content: bytes, options: ReadOptions, usual: str) -> tuple[Dialect, int]:
    """Return how a file is written, and the number of cells of its first row."""
    try:
        "".encode(options.encoding)
    except LookupError:
        raise TableFileError(
            f"There is no encoding {options.encoding!r}; try utf-8, latin-1 or utf-16."
        ) from None
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise TableFileError(f"The delimiter must be one character, got {options.delimiter!r}.")
    encoding, mark = _encoding_of(content, options.encoding)
    # The decimal separator is hardly the delimiter as well.
    guesses = sorted([usual, ";", "\t", "|", ","], key=lambda one: one == options.decimal)
    for one in [options.delimiter] if options.delimiter else [*guesses, usual]:
        dialect = Dialect(one, "", encoding, options.decimal, mark=mark)
        width, newline = _first_row(content, dialect)
        if width > 1:
            break
    return replace(dialect, newline=newline), width


def _encoding_of(content: bytes, encoding: str) -> tuple[str, str]:
    """Return the encoding with its byte order, and the byte order mark."""
    family = codecs.lookup(encoding).name.removesuffix("-sig")
    for one in MARKED:
        if one.startswith(family) and content.startswith(MARK.encode(one)):
            return one, MARK
    if family in ("utf-16", "utf-32"):
        return f"{family}-{'le' if sys.byteorder == 'little' else 'be'}", ""
    return "utf-8" if family == "utf-8" else encoding, ""


def _lines(content: bytes, dialect: Dialect, errors: str = "strict") -> IO[str]:
    stream = io.BytesIO(content)
    stream.seek(len(dialect.mark.encode(dialect.encoding)))
    return io.TextIOWrapper(stream, encoding=dialect.encoding, errors=errors, newline="")


def _first_row(content: bytes, dialect: Dialect) -> tuple[int, str]:
    """Return the number of cells of the first row, and its line end."""
    reader = csv.reader(_lines(content, dialect, "replace"), delimiter=dialect.delimiter)
    row: list[str] = []
    with suppress(csv.Error):
        row = next((row for row in reader if not _is_blank(row)), [])
    lines = _lines(content, dialect, "replace")
    line = next(islice(lines, max(reader.line_num - 1, 0), None), "")
    return len(row), line[len(line.rstrip("\r\n")) :] or "\n"


def _undecodable(content: bytes, name: str, encoding: str) -> str:
    """Return where a file is not text in an encoding."""
    place, what = name, "it"
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, errors="replace")
        place = f"{name}, line {before.count(chr(10)) + 1}"
        what = f"byte 0x{content[error.start]:02x}"
    except UnicodeError:  # some encodings do not tell where
        pass
    remedy = "name the right one by --encoding, for example latin-1, or save it as UTF-8."
    return f"{place}: {what} is not {encoding}; {remedy}"


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and row[0].isspace())  # a quoted empty cell is not blank


def _without_blanks(rows: Iterable[Row], width: int) -> Iterator[Row]:
    """Leave out blank lines; in files of one column they are missing cells, except at the end."""
    waiting: list[Row] = []
    for line, row in rows:
        if not _is_blank(row):
            yield from waiting
            waiting = []
            yield line, row
        elif width == 1:
            waiting.append((line, row or [None]))


def _names(name: str, header: list[str]) -> list[str]:
    """Return the names of columns; raise if two are the same."""
    places: dict[str, int] = {}
    for j, one in enumerate(header, 1):
        first = places.setdefault(one.strip(), j)
        if first != j:
            raise TableFileError(
                f"{name}: columns {first} and {j} are both called {one.strip()!r}; "
                "give each column a name of its own."
            )
    return list(places)


def _collected(rows: Iterator[Row], names: list[str], name: str) -> tuple[Any, array[int]]:
    """Return the cells as they are written, and the line of each row."""
    pl, lines = polars(), array("q")
    schema = dict.fromkeys(names, pl.String)
    parts = [pl.DataFrame(schema=schema)]
    while batch := list(islice(rows, BATCH)):
        for line, row in batch:
            if len(row) != len(names):
                raise TableFileError(
                    f"{name}, line {line}: {len(row)} cells, but {len(names)} columns; put "
                    "quotation marks around cells that hold the delimiter, or name another one."
                )
        parts.append(pl.DataFrame([row for _, row in batch], schema=schema, orient="row"))
        lines.extend(line for line, _ in batch)
    return pl.concat(parts, rechunk=True), lines
