"""Binary files: Parquet, Arrow, Excel and NumPy, by polars and NumPy."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

from polycomplete._optional import need
from polycomplete.files.cells import MARKERS, meaning
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


def read_binary(file: IO[bytes], name: str, form: str, markers: Sequence[str] = MARKERS) -> Table:
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
    try:
        frame, key = _READERS[form](file)
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
    frame = frame.select(meaning(c, markers, numbers=form == "excel") for c in frame)
    return Table(name, frame, form, key=key)


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
        _write_excel(table.frame, buffer)
    elif form == "npy":
        np.save(buffer, _matrix(table))
    else:
        arrays: Any = {table.key: _matrix(table)}
        np.savez(buffer, **arrays)
    file.write(buffer.getbuffer())


def _write_excel(frame: Any, file: IO[bytes]) -> None:
    excel = need("xlsxwriter", "excel", "Writing an Excel file")
    # As polars does it, but without files of its own in between.
    options = {"in_memory": True, "nan_inf_to_errors": True, "strings_to_formulas": False}
    with excel.Workbook(file, options) as book:
        frame.write_excel(book)


def _matrix(table: Table) -> np.ndarray:
    """Return a table as an array; raise where it holds more than numbers."""
    for column in table.frame:
        if not column.dtype.is_numeric():
            raise TableFileError(
                f"Column {column.name!r} of {table.name} is not made of numbers, and NumPy files "
                "hold nothing else; write a .csv or .parquet file."
            )
    return np.asarray(table.frame.to_numpy())


def _read_parquet(file: IO[bytes]) -> tuple[Any, str]:
    return need("polars", "cli", "Reading a table").read_parquet(file), "X"


def _read_arrow(file: IO[bytes]) -> tuple[Any, str]:
    return need("polars", "cli", "Reading a table").read_ipc(file), "X"


def _read_excel(file: IO[bytes]) -> tuple[Any, str]:
    pl = need("polars", "excel", "Reading a table")
    need("fastexcel", "excel", "Reading an Excel file")
    return pl.read_excel(file.read(), infer_schema_length=None), "X"


def _read_npy(file: IO[bytes]) -> tuple[Any, str]:
    return _frame(np.load(file, allow_pickle=False)), "X"


def _read_npz(file: IO[bytes]) -> tuple[Any, str]:
    with np.load(file, allow_pickle=False) as archive:
        keys = list(archive)
        key = "X" if "X" in keys else keys[0] if len(keys) == 1 else None
        if key is None:
            raise TableFileError(
                f"{len(keys)} arrays ({', '.join(keys[:5])}) and none called X; name the table X"
            )
        return _frame(archive[key]), key


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


_READERS: dict[str, Callable[[IO[bytes]], tuple[Any, str]]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "excel": _read_excel,
    "npy": _read_npy,
    "npz": _read_npz,
}


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
