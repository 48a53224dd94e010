"""A table from a file for a command, and what its user should know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from polycomplete.cli.talk import Talk
from polycomplete.files import read_table
from polycomplete.files.table import SIGNS, UNKNOWN, Reading, Table

#: So many columns are named in a note at most.
NAMED = 10


def read(path: str, how: Reading, talk: Talk) -> Table:
    """Read a table; say which sheets are left out, and which texts are taken for missing cells.

    Parameters
    ----------
    path : str
        The file; "-" is the standard input.
    how : Reading
        What the file does not tell itself.
    talk : Talk
        Where to say it.

    Returns
    -------
    Table

    Examples
    --------
    >>> read("none.csv", Reading(), Talk())
    Traceback (most recent call last):
    polycomplete.files.table.TableFileError: There is no file none.csv.
    """
    given = read_table(path, how)
    if given.other_sheets:
        others = ", ".join(map(repr, given.other_sheets))
        talk.note(f"sheet {given.sheet!r} is used, and not {others}; --sheet takes another.")
    _note_signs(given, how, talk)
    return given


def _note_signs(given: Table, how: Reading, talk: Talk) -> None:
    """Say which cells were taken for missing though nobody said that they are."""
    total: Counter[str] = Counter()
    names = []
    for name, texts in given.marked.items():
        found = {
            text: count
            for text, count in texts.items()
            if text.lower() in (*SIGNS, *UNKNOWN) and text not in how.markers
        }
        total.update(found)
        names += [name] if found else []
    if total:
        cells = ", ".join(f"{text!r} ({count})" for text, count in total.most_common())
        columns = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
        talk.note(f"cells read as missing: {cells}; in {columns}.")


def origin(given: Table) -> dict[str, Any]:
    """Return where a table came from and what was read as missing, for a command's result.

    Parameters
    ----------
    given : Table
        As it was read.

    Returns
    -------
    dict
        input; sheet, of an Excel file; read_as_missing: from a text to the number of such cells.

    Examples
    --------
    >>> import polars as pl
    >>> origin(Table("a.csv", pl.DataFrame({"a": [1.5]}), marked={"a": {"NA": 2}}))
    {'input': 'a.csv', 'read_as_missing': {'NA': 2}}
    """
    total: Counter[str] = Counter()
    for texts in given.marked.values():
        total.update(texts)
    sheet = {} if given.sheet is None else {"sheet": given.sheet}
    return {"input": given.name, **sheet, "read_as_missing": dict(total.most_common())}


def row_labels(given: Table, ids: Sequence[str]) -> tuple[str, Any]:
    """Return by what the user knows the rows of a table: an id, or lines of the file.

    Parameters
    ----------
    given : Table
        As it was read.
    ids : sequence of str
        The columns that the user calls ids.

    Returns
    -------
    word : str
        The name of the only id, if each row has its own; "line" for text files; "row" for others.
    labels : sequence
        Of all rows; lines and rows count from 1.

    Examples
    --------
    >>> import polars as pl
    >>> table = Table("a.csv", pl.DataFrame({"who": ["Ann", "Bo"]}))
    >>> row_labels(table, ["who"])[0], row_labels(table, [])[1].tolist()
    ('who', [1, 2])
    """
    if len(ids) == 1 and ids[0]:
        column = given.text_of(ids[0])
        if not column.null_count() and column.n_unique() == len(column):
            return ids[0], column
    return given.rows
