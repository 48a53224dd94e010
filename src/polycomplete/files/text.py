"""Text files: CSV, TSV and their relatives, cell by cell as they stand there.

Python's own csv module takes them apart, because it knows the line of every row for the messages
and takes no cell for something else than its letters. polars keeps the columns, compactly.
"""

from __future__ import annotations

import codecs
import csv
import io
import sys
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice, tee
from typing import IO, Any

from polycomplete.files.table import (
    PLAIN,
    Dialect,
    Reading,
    Table,
    TableFileError,
    meaning,
    polars,
    written,
)

BATCH = 10_000  # rows that are held as Python objects at a time
LONGEST = 2**27  # letters of a cell
Row = tuple[int, list[Any]]  # the line, and the cells: None for that of a blank line
#: What is tried where the usual delimiter leaves the header in one piece.
OTHER_DELIMITERS = (";", "\t", "|", ",")
MARK = "\ufeff"  # which some programs put at the beginning, and which tells the order of bytes
MARKED = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")


def read_text(file: IO[bytes], name: str, how: Reading = PLAIN, usual: str = ",") -> Table:
    r"""Read a table from a text file, which must be seekable; messages call it by its name.

    ``usual`` is the delimiter of this kind of file.

    >>> table = read_text(io.BytesIO(b"id;size\n007;1.10\n008;\n"), "a.csv")
    >>> table.frame.rows()
    [('007', 1.1), ('008', None)]
    >>> table.texts.rows()
    [('007', '1.10'), ('008', '')]
    """
    dialect = _dialect(file, how, usual)
    with _readable(file, name, dialect) as lines:
        blank, first = _first(lines)
        if first is None:
            raise TableFileError(f"{name} is empty; give a table with at least one row.")
        raw = first[1] if how.header else [f"column {j + 1}" for j in range(len(first[1]))]
        names = _names(name, raw)
        rest = lines if how.header else chain(blank, [first], lines)
        texts, numbers = _collect(_rows(rest, len(names)), names, name)
    if not len(texts):
        raise TableFileError(f"{name} has a header and no rows; give at least one row.")
    meant = [meaning(column, how.markers, how.decimal) for column in texts]
    dialect = replace(dialect, header=raw if how.header else None)
    return Table.of(name, texts, meant, texts=texts, dialect=dialect, lines=numbers)


def write_text(table: Table, file: IO[bytes], dialect: Dialect | None = None) -> None:
    r"""Write a table as text; cells that were read from text are written as they stood there.

    >>> out = io.BytesIO()
    >>> write_text(read_text(io.BytesIO(b"a,b\n1.10,'x'\n"), "a.csv"), out)
    >>> out.getvalue()
    b"a,b\n1.10,'x'\n"
    """
    dialect = dialect or table.dialect
    texts = table.texts
    if texts is None:
        texts = table.frame.select(written(column, dialect.decimal) for column in table.frame)
    stream = io.TextIOWrapper(file, encoding=dialect.encoding, newline="", write_through=False)
    try:
        stream.write(dialect.mark)
        lines = _Lines(stream, dialect.newline)
        writer = csv.writer(lines, delimiter=dialect.delimiter, lineterminator="\r\n")
        if dialect.header is not None:
            writer.writerow(dialect.header or texts.columns)
        for start in range(0, len(texts), BATCH):
            for row in texts[start : start + BATCH].rows():
                if row == (None,):  # it was a blank line
                    lines.write("")
                else:
                    writer.writerow(row)
        stream.flush()
    finally:
        stream.detach()


class _Lines:
    """Ends lines as the file wants it.

    The csv module puts quotation marks only around those ends of lines that it writes itself, so
    that it must be told to write both.
    """

    def __init__(self, stream: IO[str], newline: str):
        self.stream, self.newline = stream, newline

    def write(self, line: str) -> int:
        return self.stream.write(line.removesuffix("\r\n") + self.newline)


def _dialect(file: IO[bytes], how: Reading, usual: str) -> Dialect:
    """Return how a file is written, from its first line; leave the file where its text begins."""
    try:
        "".encode(how.encoding)
    except LookupError:
        raise TableFileError(
            f"There is no encoding {how.encoding!r}; try utf-8, latin-1 or utf-16."
        ) from None
    if how.delimiter is not None and len(how.delimiter) != 1:
        raise TableFileError(f"The delimiter must be one letter, got {how.delimiter!r}.")
    encoding, mark = _marked(file.read(4), how.encoding)
    begin = len(mark.encode(encoding))
    file.seek(begin)
    delimiters = [how.delimiter] if how.delimiter else [usual, *OTHER_DELIMITERS]
    # What stands before decimals hardly stands between cells as well.
    delimiters.sort(key=lambda one: one == how.decimal)
    ends = {}
    for delimiter in delimiters:
        file.seek(begin)
        cells, ends[delimiter] = _first_line(file, encoding, delimiter)
        if cells > 1:
            break
    else:
        delimiter = how.delimiter or usual
    file.seek(begin)
    return Dialect(delimiter, ends[delimiter], encoding, how.decimal, mark=mark)


def _marked(start: bytes, encoding: str) -> tuple[str, str]:
    """Return the encoding with its order of bytes, and the mark that tells it."""
    family = codecs.lookup(encoding).name.removesuffix("-sig")
    for one in MARKED:
        if one.startswith(family) and start.startswith(MARK.encode(one)):
            return one, MARK
    if family in ("utf-16", "utf-32"):
        return f"{family}-{'le' if sys.byteorder == 'little' else 'be'}", ""
    return "utf-8" if family == "utf-8" else encoding, ""


def _first_line(file: IO[bytes], encoding: str, delimiter: str) -> tuple[int, str]:
    """Return how many cells the first line has, which may have breaks in them, and its end."""
    stream = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
    lines, again = tee(stream)
    reader = csv.reader(lines, delimiter=delimiter)
    row: list[str] = []
    with suppress(csv.Error):
        row = next(filter(None, reader), [])
    line = next(islice(again, max(reader.line_num - 1, 0), None), "")
    stream.detach()
    return len(row), line[len(line.rstrip("\r\n")) :] or "\n"


@contextmanager
def _readable(file: IO[bytes], name: str, dialect: Dialect) -> Iterator[Iterator[Row]]:
    """Give the rows of a file with their lines; turn errors into sentences."""
    stream = io.TextIOWrapper(file, encoding=dialect.encoding, newline="")
    reader = csv.reader(stream, delimiter=dialect.delimiter, strict=True)
    before = csv.field_size_limit(LONGEST)
    try:
        yield ((reader.line_num, row) for row in reader)
    except UnicodeError as error:
        raise TableFileError(_undecodable(file, name, dialect.encoding, error)) from None
    except csv.Error as error:
        raise TableFileError(
            f"{name}, line {reader.line_num}: {error}; is a quotation mark missing there?"
        ) from None
    finally:
        csv.field_size_limit(before)
        stream.detach()


def _undecodable(file: IO[bytes], name: str, encoding: str, error: UnicodeError) -> str:
    """Say in which line a file stops being text."""
    file.seek(0)
    remedy = "name the right one by --encoding, for example latin-1, or save it as UTF-8."
    for number, line in enumerate(file if "\n".encode(encoding) == b"\n" else (), 1):
        try:
            line.decode(encoding)
        except UnicodeDecodeError as found:
            byte = line[found.start]
            return f"{name}, line {number}: byte 0x{byte:02x} is not {encoding}; {remedy}"
    return f"{name} is not {encoding} ({error}); {remedy}"


def _first(lines: Iterator[Row]) -> tuple[list[Row], Row | None]:
    """Return the blank lines at the beginning, and the first other line, or None."""
    blank: list[Row] = []
    for line in lines:
        if not _is_blank(line[1]):
            return blank, line
        blank.append(line)
    return blank, None


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and row[0].isspace())  # a cell "" is none of these


def _rows(lines: Iterable[Row], width: int) -> Iterator[Row]:
    """Leave out blank lines; in one column they are missing cells, but for those at the end."""
    waiting: list[Row] = []
    for at, row in lines:
        if not _is_blank(row):
            yield from waiting
            waiting = []
            yield at, row
        elif width == 1:
            waiting.append((at, row or [None]))


def _names(name: str, raw: list[str]) -> list[str]:
    names = [one.strip() for one in raw]
    for j, one in enumerate(names):
        if one in names[:j]:
            raise TableFileError(
                f"{name}: columns {names.index(one) + 1} and {j + 1} are both called {one!r}; "
                "give each column a name of its own."
            )
    return names


def _collect(lines: Iterable[Row], names: list[str], name: str) -> tuple[Any, array[int]]:
    """Return the cells as they stand there, and the line of each row."""
    pl, numbers = polars(), array("q")
    schema = dict.fromkeys(names, pl.String)
    parts = [pl.DataFrame(schema=schema)]
    rest = iter(lines)
    while batch := list(islice(rest, BATCH)):
        ragged = next(((at, row) for at, row in batch if len(row) != len(names)), None)
        if ragged:
            raise TableFileError(
                f"{name}, line {ragged[0]}: {len(ragged[1])} cells, but {len(names)} columns; put "
                "quotation marks around cells that hold the delimiter, or name another delimiter."
            )
        parts.append(pl.DataFrame([row for _, row in batch], schema=schema, orient="row"))
        numbers.extend(at for at, _ in batch)
    return pl.concat(parts, rechunk=True), numbers
