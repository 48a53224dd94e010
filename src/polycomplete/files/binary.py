"""Binary files: Parquet, Arrow, Excel, NumPy and MATLAB, by polars, NumPy and SciPy."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

from polycomplete._optional import need
from polycomplete.files.cells import marked, meaning
from polycomplete.files.reading import Reading
from polycomplete.files.table import Table, TableFileError

#: The kinds of file of this module, and what they are called.
BINARY = {
    "parquet": "Parquet file",
    "arrow": "Arrow file",
    "excel": "Excel file",
    "npy": "NumPy array",
    "npz": "NumPy archive",
    "mat": "MATLAB file of version 5",
}


PLAIN = Reading()
#: How an Excel day is written where text stands in the same column.
MIDNIGHT = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"


def read_binary(file: IO[bytes], name: str, form: str, how: Reading = PLAIN) -> Table:
    """Read a table from a binary file.

    Parameters
    ----------
    file : binary file
        It must be seekable.
    name : str
        What it is called in messages.
    form : str
        One of :data:`BINARY`.
    how : Reading
        What stands for a missing cell, besides null and NaN; which sheet or array.

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
    if how.sheet is not None and form != "excel":
        raise TableFileError(f"{name} is a {BINARY[form]} and has no sheets; leave out --sheet.")
    if how.variable is not None and form not in ("npz", "mat"):
        raise TableFileError(f"{name} is a {BINARY[form]}, of one table; leave out --variable.")
    try:
        frame, known = _READERS[form](file, how)
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
    meant = [_meaning(column, how.markers, form) for column in frame]
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
        arrays: Any = {**table.other_arrays, table.key: _matrix(table)}
        if form == "npz":
            np.savez(buffer, **arrays)
        else:
            write = need("scipy.io", "cli", "Writing a MATLAB file").savemat
            write(buffer, arrays, do_compression=True)
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
                f"Column {column.name!r} of {table.name} is not made of numbers, and an array "
                "holds nothing else; write a .csv or .parquet file."
            )
    return np.asarray(table.frame.to_numpy())


#: A frame, and what else is known of the table.
Read = tuple[Any, dict[str, Any]]


def _read_parquet(file: IO[bytes], _: Reading) -> Read:
    return need("polars", "cli", "Reading a table").read_parquet(file), {}


def _read_arrow(file: IO[bytes], _: Reading) -> Read:
    return need("polars", "cli", "Reading a table").read_ipc(file), {}


def _read_excel(file: IO[bytes], how: Reading) -> Read:
    pl = need("polars", "excel", "Reading a table")
    fastexcel = need("fastexcel", "excel", "Reading an Excel file")
    content = file.read()
    sheets = fastexcel.read_excel(content).sheet_names
    if how.sheet is not None and how.sheet not in sheets:
        raise TableFileError(f"no sheet {how.sheet!r}; it has {', '.join(map(repr, sheets))}")
    chosen = sheets[0] if how.sheet is None else how.sheet
    frame = pl.read_excel(
        content, sheet_name=chosen, infer_schema_length=None, raise_if_empty=False
    )
    first = frame.columns[:1]
    if first and (first[0] == "__UNNAMED__0" or not first[0].strip()):
        frame = frame.rename({first[0]: ""})
    others = tuple(one for one in sheets if one != chosen)
    return frame, {"sheet": chosen, "other_sheets": others}


def _read_npy(file: IO[bytes], _: Reading) -> Read:
    return _frame(np.load(file, allow_pickle=False)), {}


def _read_npz(file: IO[bytes], how: Reading) -> Read:
    with np.load(file, allow_pickle=False) as archive:
        return _one_of(dict(archive), how)


def _read_mat(file: IO[bytes], how: Reading) -> Read:
    if b"MATLAB 7.3" in file.read(128):
        raise TableFileError(
            "what MATLAB writes as version 7.3, which is not read; save it by save(..., '-v7'), or "
            "as .csv"
        )
    file.seek(0)
    found = need("scipy.io", "cli", "Reading a MATLAB file").loadmat(file)
    return _one_of({name: found[name] for name in found if not name.startswith("__")}, how)


def _one_of(arrays: dict[str, Any], how: Reading) -> Read:
    """Return the table among some arrays: that of the name, the one called X, or the only one."""
    tables = [name for name, array in arrays.items() if _is_table(array)] or list(arrays)
    key = how.variable or ("X" if "X" in tables else tables[0] if len(tables) == 1 else None)
    if key not in arrays:
        what = "none called X" if key is None else f"none called {key}"
        raise TableFileError(
            f"{len(arrays)} arrays ({', '.join(list(arrays)[:5])}) and {what}; choose one by "
            "--variable"
        )
    others = {name: array for name, array in arrays.items() if name != key}
    return _frame(arrays[key]), {"key": key, "other_arrays": others}


def _is_table(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 2 and min(array.shape) > 1


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


_READERS: dict[str, Callable[[IO[bytes], Reading], Read]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "excel": _read_excel,
    "npy": _read_npy,
    "npz": _read_npz,
    "mat": _read_mat,
}


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
