"""Tables in files: reading them, and writing them whole or not at all."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import IO

from polycomplete.io.atomic import STANDARD_OUTPUT, naming_file, written_whole
from polycomplete.io.table import ReadOptions, Table, TableFileError

#: From the end of a file's name to its kind.
KINDS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet",
    ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".xlsx": "excel",
    ".npy": "npy", ".npz": "npz", ".mat": "mat",
}  # fmt: skip
#: The option that chooses one of several tables in a file.
CHOICES = {"excel": "sheet", "npz": "variable", "mat": "variable"}
DELIMITERS = {"csv": ",", "tsv": "\t"}
#: How binary files begin.
SIGNATURES = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "npy", b"MATLAB 5": "mat"}

# Readers and writers are imported when they are used, which keeps the command line fast.


def kind_of(path: str) -> str | None:
    """Return the kind of a file by its name; None if the name does not tell.

    >>> kind_of("people.TSV"), kind_of("iris.data")
    ('tsv', None)
    """
    return KINDS.get(Path(path).suffix.lower())


def read_table(path: str, options: ReadOptions | None = None) -> Table:
    r"""Read a table from a file; its kind follows from its name, or else from its first bytes.

    "-" is the standard input. If the file is not a table, a TableFileError names the place and the
    remedy.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.tsv").write_text("age\tcolor\n41\tred\nNA\tblue\n")
    ...     read_table(f"{folder}/a.tsv").frame.rows()
    [(41, 'red'), (None, 'blue')]
    """
    options, name = options or ReadOptions(), "standard input" if path == "-" else path
    content = _content(path)
    kind = kind_of(path) or next(
        (kind for start, kind in SIGNATURES.items() if content.startswith(start)), "csv"
    )
    for option in ("sheet", "variable"):
        if getattr(options, option) is not None and CHOICES.get(kind) != option:
            raise TableFileError(f"{name} has no {option}s; leave out --{option}.")
    if kind in DELIMITERS:
        from polycomplete.io.text import read_text

        table = read_text(content, name, options, DELIMITERS[kind])
    else:
        from polycomplete.io.binary import read_binary

        table = read_binary(content, name, kind, options)
    _refuse_infinite(table)
    return replace(table, kind=kind)


def write_table(table: Table, path: str, *, force: bool = False) -> None:
    r"""Write a table into a file, whole or not at all; its kind follows from its name.

    "-" is the standard output, in the form in which the table was read. An existing file is
    refused (FileExistsError) unless ``force``.

    >>> import polars as pl, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Table("a", pl.DataFrame({"x": [1.5]})), f"{folder}/a.csv")
    ...     Path(f"{folder}/a.csv").read_text()
    'x\n1.5\n'
    """
    if path == "-":
        buffer = BytesIO()
        _write(table, buffer, table.kind)
        with naming_file(STANDARD_OUTPUT):
            sys.stdout.buffer.write(buffer.getbuffer())
            sys.stdout.buffer.flush()
        return
    kind = kind_of(path)
    if kind is None:
        raise unknown_kind(path)
    with written_whole(path, force=force) as file:
        _write(table, file, kind)


def unknown_kind(path: str) -> TableFileError:
    """Return the error of a name that does not tell what kind of table to write."""
    return TableFileError(
        f"{path} does not say what kind of table to write; let its name end in one of "
        f"{' '.join(KINDS)}."
    )


def _write(table: Table, file: IO[bytes], kind: str) -> None:
    if kind not in DELIMITERS:
        from polycomplete.io.binary import write_binary

        write_binary(table, file, kind)
        return
    from polycomplete.io.text import write_text

    write_text(table, file, None if kind == table.kind else DELIMITERS[kind])


def _content(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        said = {
            FileNotFoundError: f"There is no file {path}.",
            IsADirectoryError: f"{path} is a folder; name a file in it.",
        }
        usual = f"{path} cannot be read: {error.strerror}."
        raise TableFileError(said.get(type(error), usual)) from None


def _refuse_infinite(table: Table) -> None:
    for column in table.frame:
        if column.dtype.is_float() and column.is_infinite().any():
            place = table.place(int(column.is_infinite().arg_max()), column.name)
            raise TableFileError(
                f"{place}: an infinite number; leave the cell empty, or write a finite number."
            )
