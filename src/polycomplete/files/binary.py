"""Binary files: Parquet, Arrow, Excel, NumPy and MATLAB, by polars, NumPy and SciPy."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np
from scipy.io import loadmat, savemat

from polycomplete._optional import need
from polycomplete.files.table import Reading, Table, TableFileError, meaning, polars

#: The kinds of file of this module, and what they are called.
BINARY = {
    "parquet": "Parquet file",
    "arrow": "Arrow file",
    "excel": "Excel file",
    "npy": "NumPy array",
    "npz": "NumPy archive",
    "mat": "MATLAB file of version 5",
}
#: How an Excel day is written where text stands in the same column.
MIDNIGHT = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"
#: A frame, and what else is known of the table.
Read = tuple[Any, dict[str, Any]]


def read_binary(file: IO[bytes], name: str, form: str, how: Reading) -> Table:
    """Read a table from a binary file, which must be seekable; messages call it by its name."""
    if how.sheet is not None and form != "excel":
        raise TableFileError(f"{name} is a {BINARY[form]} and has no sheets; leave out --sheet.")
    if how.variable is not None and form not in ("npz", "mat"):
        raise TableFileError(f"{name} is a {BINARY[form]}, of one table; leave out --variable.")
    try:
        frame, known = _read(file, form, how)
    except ImportError:
        raise
    except TableFileError as error:
        raise TableFileError(f"{name} holds {error}.") from None
    except Exception as error:  # each library has its own
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TableFileError(
            f"{name} is not a {BINARY[form]} that can be read ({first_line}); is it "
            "damaged, or named after another kind?"
        ) from None
    if not frame.width or not len(frame):
        raise TableFileError(f"{name} is empty; give a table with at least one row.")
    meant = [_meaning(column, how, form) for column in frame]
    return Table.of(name, frame, meant, form=form, **known)


def _meaning(column: Any, how: Reading, form: str) -> Any:
    """Return what a column means; people type into Excel files, and programs write the others."""
    if form == "excel" and column.dtype == polars().String:
        days = meaning(column.str.replace(MIDNIGHT, "${1}"), how.markers)
        if days.dtype.is_temporal():
            return days
    return meaning(column, how.markers, numbers=form == "excel")


def write_binary(table: Table, file: IO[bytes], form: str) -> None:
    """Write a table into a binary file."""
    buffer = io.BytesIO()  # each library has errors of its own for a full disk
    match form:
        case "parquet":
            table.frame.write_parquet(buffer)
        case "arrow":
            table.frame.write_ipc(buffer)
        case "excel":
            _write_excel(table, buffer)
        case "npy":
            np.save(buffer, _matrix(table))
        case "npz":
            np.savez(buffer, **_arrays(table))
        case "mat":
            savemat(buffer, _arrays(table), do_compression=True)
    file.write(buffer.getbuffer())


def _write_excel(table: Table, file: IO[bytes]) -> None:
    excel = need("xlsxwriter", "excel", "Writing an Excel file")
    # Excel wants a header in every column of a table: a blank stands for none.
    frame = table.frame.rename({"": " "}) if "" in table.frame.columns else table.frame
    # As polars does it, but without files of its own in between.
    options = {"in_memory": True, "nan_inf_to_errors": True, "strings_to_formulas": False}
    with excel.Workbook(file, options) as book:
        frame.write_excel(book, worksheet=table.sheet)


def _arrays(table: Table) -> dict[str, Any]:
    return {**table.other_arrays, table.key: _matrix(table)}


def _matrix(table: Table) -> np.ndarray:
    """Return a table as an array; raise where it holds more than numbers."""
    for column in table.frame:
        if not column.dtype.is_numeric():
            raise TableFileError(
                f"Column {column.name!r} of {table.name} is not made of numbers, and an array "
                "holds nothing else; write a .csv or .parquet file."
            )
    return np.asarray(table.frame.to_numpy())


def _read(file: IO[bytes], form: str, how: Reading) -> Read:
    match form:
        case "parquet":
            return polars().read_parquet(file), {}
        case "arrow":
            return polars().read_ipc(file), {}
        case "excel":
            return _read_excel(file, how)
        case "npy":
            return _frame(np.load(file, allow_pickle=False)), {}
        case "npz":
            with np.load(file, allow_pickle=False) as archive:
                return _one_of(dict(archive), how)
    return _read_mat(file, how)


def _read_excel(file: IO[bytes], how: Reading) -> Read:
    pl = need("polars", "excel", "Reading a table")
    content = file.read()
    fastexcel = need("fastexcel", "excel", "Reading an Excel file")
    sheets = fastexcel.read_excel(content).sheet_names
    chosen = sheets[0] if how.sheet is None else how.sheet
    if chosen not in sheets:
        raise TableFileError(f"no sheet {chosen!r}; it has {', '.join(map(repr, sheets))}")
    frame = pl.read_excel(
        content, sheet_name=chosen, infer_schema_length=None, raise_if_empty=False
    )
    first = frame.columns[:1]
    if first and (first[0] == "__UNNAMED__0" or not first[0].strip()):
        frame = frame.rename({first[0]: ""})
    others = tuple(one for one in sheets if one != chosen)
    return frame, {"sheet": chosen, "other_sheets": others}


def _read_mat(file: IO[bytes], how: Reading) -> Read:
    if b"MATLAB 7.3" in file.read(128):
        raise TableFileError(
            "what MATLAB writes as version 7.3, which is not read; save it by save(..., '-v7'), or "
            "as .csv"
        )
    file.seek(0)
    found = loadmat(file)
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
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise TableFileError(
            f"an array of {array.ndim} dimensions and type {array.dtype}; a table is an array of "
            "two dimensions that holds numbers"
        )
    wide = array.astype(np.float64) if array.dtype.itemsize not in (4, 8) else array
    names = [f"column {j + 1}" for j in range(array.shape[1])]
    return polars().DataFrame(wide, schema=names, orient="row")
