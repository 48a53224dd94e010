"""Tables in files: reading them, and writing them whole or not at all."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import IO

from polycomplete.files.table import PLAIN, Dialect, Reading, Table, TableFileError
from polycomplete.files.whole import STANDARD_OUTPUT, naming_file, written_whole

#: From the end of a file's name to its kind.
FORMS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet",
    ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".xlsx": "excel",
    ".npy": "npy", ".npz": "npz", ".mat": "mat",
}  # fmt: skip
DELIMITERS = {"csv": ",", "tsv": "\t"}
#: How binary files begin.
BEGINNINGS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "npy", b"MATLAB 5": "mat"}

# What reads and writes files is loaded when it is used, so that the command line answers at once.


def form_of(path: str) -> str | None:
    """Return the kind of a file by its name; None where the name does not tell.

    >>> form_of("people.TSV"), form_of("iris.data")
    ('tsv', None)
    """
    return FORMS.get(Path(path).suffix.lower())


def read_table(path: str, how: Reading = PLAIN) -> Table:
    r"""Read a table from a file; its kind follows from its name, or from how it begins.

    Parameters
    ----------
    path : str
        The file; "-" is the standard input.
    how : Reading
        What the file does not tell itself.

    Returns
    -------
    Table

    Raises
    ------
    TableFileError
        Where it is not a table, with the place and the remedy.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = Path(f"{folder.name}/a.tsv").write_text("age\tcolour\n41\tred\nNA\tblue\n")
    >>> read_table(f"{folder.name}/a.tsv").frame.rows()
    [(41, 'red'), (None, 'blue')]
    >>> folder.cleanup()
    """
    name = "standard input" if path == "-" else path
    with _opened(path) as file:
        form = _form(path, file)
        if form in DELIMITERS:
            from polycomplete.files.text import read_text

            if how.sheet is not None or how.variable is not None:
                what = "sheet" if how.sheet is not None else "variable"
                raise TableFileError(
                    f"{name} is a text file and has no {what}s; leave out --{what}."
                )
            table = read_text(file, name, how, DELIMITERS[form])
        else:
            from polycomplete.files.binary import read_binary

            table = read_binary(file, name, form, how)
    _refuse_infinite(table)
    return replace(table, form=form)


def write_table(table: Table, path: str, *, force: bool = False) -> None:
    r"""Write a table into a file, whole or not at all; its kind follows from its name.

    Parameters
    ----------
    table : Table
        What to write.
    path : str
        The file; "-" is the standard output, in the form in which the table was read.
    force : bool
        Replace a file of that name.

    Returns
    -------
    None

    Raises
    ------
    FileExistsError
        Where there is such a file, unless ``force``.

    Examples
    --------
    >>> import polars as pl, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_table(Table("a", pl.DataFrame({"x": [1.5]})), f"{folder.name}/a.csv")
    >>> Path(f"{folder.name}/a.csv").read_text()
    'x\n1.5\n'
    >>> folder.cleanup()
    """
    if path == "-":
        buffer = io.BytesIO()
        _write(table, buffer, table.form)
        with naming_file(STANDARD_OUTPUT):
            sys.stdout.buffer.write(buffer.getbuffer())
            sys.stdout.buffer.flush()
        return
    form = writable(path)
    with written_whole(path, force=force) as file:
        _write(table, file, form)


def writable(path: str) -> str:
    """Return the kind of file that a name stands for; raise where there is no such kind."""
    form = form_of(path)
    if form is None:
        raise TableFileError(
            f"{path} does not say what kind of table to write; let its name end in one of "
            f"{' '.join(FORMS)}."
        )
    return form


def _write(table: Table, file: IO[bytes], form: str) -> None:
    if form not in DELIMITERS:
        from polycomplete.files.binary import write_binary

        write_binary(table, file, form)
        return
    from polycomplete.files.text import write_text

    dialect = Dialect() if table.texts is None else table.dialect
    if form != table.form or table.texts is None:
        dialect = replace(dialect, delimiter=DELIMITERS[form])
    write_text(table, file, dialect)


def _opened(path: str) -> IO[bytes]:
    if path == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    try:
        return _rewindable(open(path, "rb"))
    except FileNotFoundError:
        raise TableFileError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise TableFileError(f"{path} is a folder; name a file in it.") from None
    except OSError as error:
        raise TableFileError(f"{path} cannot be read: {error.strerror}.") from None


def _rewindable(file: IO[bytes]) -> IO[bytes]:
    """Return a file that can be read twice, as pipes such as <(...) of a shell cannot."""
    if file.seekable():
        return file
    with file:
        return io.BytesIO(file.read())


def _form(path: str, file: IO[bytes]) -> str:
    """Return the kind of a file, by its beginning where the name does not tell."""
    named = form_of(path)
    if named is not None:
        return named
    start = file.read(8)
    file.seek(0)
    return next((form for begin, form in BEGINNINGS.items() if start.startswith(begin)), "csv")


def _refuse_infinite(table: Table) -> None:
    for column in table.frame:
        if column.dtype.is_float() and column.is_infinite().any():
            row = int(column.is_infinite().arg_max())
            raise TableFileError(
                f"{table.place(row, column.name)}: an infinite number; leave the cell empty to "
                "have it completed, or write a finite number."
            )
