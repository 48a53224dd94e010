"""Binary files: Parquet, Arrow, Excel and NumPy, by polars and NumPy."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any

import numpy as np

from polycomplete._optional import need
from polycomplete.files.cells import MARKERS, marked, meaning
from polycomplete.files.table import Table, TableFileError

__all__ = ["BINARY", "read_binary", "write_binary"]

#: The kinds of file of this module, and what they are called.
BINARY = {
    "parquet": "Parquet file",
    "arrow": "Arrow file",
    "excel": "Excel file",
    "npy": "NumPy array",
    "npz": "NumPy archive",
}


#: How an Excel day is written where text stands in the same column.
MIDNIGHT = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"


def read_binary(
    file: IO[bytes],
    name: str,
    form: str,
    markers: Sequence[str] = MARKERS,
    sheet: str | None = None,
) -> Table:
    """Read a table from a binary file.

    Parameters
    ----------
    file : binary file
        It must be seekable.
    name : str
        What it is called in messages.
    form : str
        One of :data:`BINARY`.
    markers : sequence of str
        What stands for a missing cell, besides null and NaN.
    sheet : str, optional
        Of an Excel file; the first by default.

    Returns
    -------
    Table

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.save(file, np.array([[1.0, np.nan]]))
    >>> _ = file.seek(0)
    >>> read_binary(file, "a.npy", "npy").frame.rows()
    [(1.0, None)]
    """
    if sheet is not None and form != "excel":
        raise TableFileError(f"{name} is a {BINARY[form]} and has no sheets; leave out --sheet.")
    read = _READERS[form] if form != "excel" else partial(_read_excel, sheet=sheet)
    try:
        frame, known = read(file)
    except ImportError:
        raise
    except TableFileError as error:
        raise TableFileError(f"{name} holds {error}.") from None
    except Exception as error:  # each library has its own
        raise TableFileError(
            f"{name} is not a {BINARY[form]} that can be read ({_first_line(error)}); is it "
            "damaged, or named after another kind?"
        ) from None
    if not frame.width or not len(frame):
        raise TableFileError(f"{name} is empty; give a table with at least one row.")
    meant = [_meaning(column, markers, form) for column in frame]
    counts = {given.name: marked(given, found) for given, found in zip(frame, meant, strict=True)}
    return Table(name, frame.select(meant), form, marked=counts, **known)


def _meaning(column: Any, markers: Sequence[str], form: str) -> Any:
    """Return what a column means; people type into Excel files, and programs write the others."""
    if form == "excel" and str(column.dtype) == "String":
        days = meaning(column.str.replace(MIDNIGHT, "${1}"), markers)
        if days.dtype.is_temporal():
            return days
    return meaning(column, markers, numbers=form == "excel")


def write_binary(table: Table, file: IO[bytes], form: str) -> None:
    """Write a table into a binary file.

    Parameters
    ----------
    table : Table
        What to write.
    file : binary file
        Where.
    form : str
        One of :data:`BINARY`.

    Returns
    -------
    None

    Examples
    --------
    >>> import polars as pl
    >>> file = io.BytesIO()
    >>> write_binary(Table("a", pl.DataFrame({"x": [1.5]})), file, "npy")
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([[1.5]])
    """
    buffer = io.BytesIO()  # each library has errors of its own for a full disk
    if form in ("parquet", "arrow"):
        write = table.frame.write_parquet if form == "parquet" else table.frame.write_ipc
        write(buffer)
    elif form == "excel":
        # Excel wants a header in every column of a table: a blank stands for none.
        frame = table.frame.rename({"": " "}) if "" in table.frame.columns else table.frame
        _write_excel(frame, table.sheet, buffer)
    elif form == "npy":
        np.save(buffer, _matrix(table))
    else:
        arrays: Any = {table.key: _matrix(table)}
        np.savez(buffer, **arrays)
    file.write(buffer.getbuffer())


def _write_excel(frame: Any, sheet: str | None, file: IO[bytes]) -> None:
    excel = need("xlsxwriter", "excel", "Writing an Excel file")
    # As polars does it, but without files of its own in between.
    options = {"in_memory": True, "nan_inf_to_errors": True, "strings_to_formulas": False}
    with excel.Workbook(file, options) as book:
        frame.write_excel(book, worksheet=sheet)


def _matrix(table: Table) -> np.ndarray:
    """Return a table as an array; raise where it holds more than numbers."""
    for column in table.frame:
        if not column.dtype.is_numeric():
            raise TableFileError(
                f"Column {column.name!r} of {table.name} is not made of numbers, and NumPy files "
                "hold nothing else; write a .csv or .parquet file."
            )
    return np.asarray(table.frame.to_numpy())


#: A frame, and what else is known of the table.
Read = tuple[Any, dict[str, Any]]


def _read_parquet(file: IO[bytes]) -> Read:
    return need("polars", "cli", "Reading a table").read_parquet(file), {}


def _read_arrow(file: IO[bytes]) -> Read:
    return need("polars", "cli", "Reading a table").read_ipc(file), {}


def _read_excel(file: IO[bytes], sheet: str | None = None) -> Read:
    pl = need("polars", "excel", "Reading a table")
    fastexcel = need("fastexcel", "excel", "Reading an Excel file")
    content = file.read()
    sheets = fastexcel.read_excel(content).sheet_names
    if sheet is not None and sheet not in sheets:
        raise TableFileError(f"no sheet {sheet!r}; it has {', '.join(map(repr, sheets))}")
    chosen = sheets[0] if sheet is None else sheet
    frame = pl.read_excel(
        content, sheet_name=chosen, infer_schema_length=None, raise_if_empty=False
    )
    first = frame.columns[:1]
    if first and (first[0] == "__UNNAMED__0" or not first[0].strip()):
        frame = frame.rename({first[0]: ""})
    others = tuple(one for one in sheets if one != chosen)
    return frame, {"sheet": chosen, "other_sheets": others}


def _read_npy(file: IO[bytes]) -> Read:
    return _frame(np.load(file, allow_pickle=False)), {}


def _read_npz(file: IO[bytes]) -> Read:
    with np.load(file, allow_pickle=False) as archive:
        keys = list(archive)
        key = "X" if "X" in keys else keys[0] if len(keys) == 1 else None
        if key is None:
            raise TableFileError(
                f"{len(keys)} arrays ({', '.join(keys[:5])}) and none called X; name the table X"
            )
        return _frame(archive[key]), {"key": key}


def _frame(array: np.ndarray) -> Any:
    pl = need("polars", "cli", "Reading a table")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise TableFileError(
            f"an array of {array.ndim} dimensions and type {array.dtype}; a table is an array of "
            "two dimensions that holds numbers"
        )
    wide = array.astype(np.float64) if array.dtype.itemsize not in (4, 8) else array
    return pl.DataFrame(
        wide, schema=[f"column {j + 1}" for j in range(array.shape[1])], orient="row"
    )


_READERS: dict[str, Callable[[IO[bytes]], Read]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "excel": _read_excel,
    "npy": _read_npy,
    "npz": _read_npz,
}


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
