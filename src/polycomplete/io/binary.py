"""Binary files: Parquet, Arrow, Excel, NumPy and MATLAB, by polars, NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import IO, Any

import numpy as np
from scipy.io import loadmat, savemat

from polycomplete._optional import need
from polycomplete.io.table import ReadOptions, Table, TableFileError, meaning, polars

#: A day of Excel in a column with text.
MIDNIGHT = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"
#: A frame, and other fields of the table.
Read = tuple[Any, dict[str, Any]]
#: The name of a kind of file, and functions that read and write it.
Kind = tuple[str, Callable[[bytes, ReadOptions], Read], Callable[[Table, BytesIO], Any]]


def read_binary(content: bytes, name: str, kind: str, options: ReadOptions) -> Table:
    """Read a table from the content of a binary file; errors mention its name."""
    title, read, _ = BINARY[kind]
    try:
        frame, known = read(content, options)
    except ImportError:
        raise
    except TableFileError as error:
        raise TableFileError(f"{name} holds {error}.") from None
    except Exception as error:  # each library has errors of its own
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TableFileError(
            f"{name} is not a readable {title} ({first_line}); is it damaged, or of another kind "
            "than its name says?"
        ) from None
    if not frame.width or not len(frame):
        raise TableFileError(f"{name} is empty; give a table with at least one row.")
    meant = [_meaning(column, options, typed=kind == "excel") for column in frame]
    return Table.of(name, frame, meant, **known)


def write_binary(table: Table, file: IO[bytes], kind: str) -> None:
    """Write a table into a binary file."""
    buffer = BytesIO()  # libraries do not agree on errors of a full disk
    BINARY[kind][2](table, buffer)
    file.write(buffer.getbuffer())


def _meaning(column: Any, options: ReadOptions, typed: bool) -> Any:
    """Return a column as numbers, dates or text; people type cells of Excel files (``typed``)."""
    if typed and column.dtype == polars().String:
        days = meaning(column.str.replace(MIDNIGHT, "${1}"), options.markers)
        if days.dtype.is_temporal():
            return days
    return meaning(column, options.markers, numbers=typed)


def _read_excel(content: bytes, options: ReadOptions) -> Read:
    fastexcel = need("fastexcel", "excel", "Reading an Excel file")
    sheets = fastexcel.read_excel(content).sheet_names
    chosen = options.sheet or sheets[0]
    if chosen not in sheets:
        raise TableFileError(f"no sheet {chosen!r}; it has {', '.join(map(repr, sheets))}")
    frame = polars().read_excel(
        content, sheet_name=chosen, infer_schema_length=None, raise_if_empty=False
    )
    first = frame.columns[:1]
    if first and (first[0] == "__UNNAMED__0" or not first[0].strip()):
        frame = frame.rename({first[0]: ""})
    return frame, {"sheet": chosen, "other_sheets": tuple(one for one in sheets if one != chosen)}


def _write_excel(table: Table, file: BytesIO) -> None:
    excel = need("xlsxwriter", "excel", "Writing an Excel file")
    # Excel requires a header in every column: a blank stands for none.
    frame = table.frame.rename({"": " "}) if "" in table.frame.columns else table.frame
    # Like polars, but without temporary files.
    options = {"in_memory": True, "nan_inf_to_errors": True, "strings_to_formulas": False}
    with excel.Workbook(file, options) as book:
        frame.write_excel(book, worksheet=table.sheet)


def _read_npz(content: bytes, options: ReadOptions) -> Read:
    with np.load(BytesIO(content)) as archive:  # without pickles
        return _one_of(dict(archive), options)


def _read_mat(content: bytes, options: ReadOptions) -> Read:
    if b"MATLAB 7.3" in content[:128]:
        raise TableFileError(
            "arrays of MATLAB's version 7.3, which is not supported; use save(..., '-v7') or .csv"
        )
    found = loadmat(BytesIO(content))
    return _one_of({name: found[name] for name in found if not name.startswith("__")}, options)


def _one_of(arrays: dict[str, Any], options: ReadOptions) -> Read:
    """Return the table among arrays: the one that is asked for, the one called X, or the only."""
    tables = [name for name, array in arrays.items() if _is_table(array)] or list(arrays)
    key = options.variable or ("X" if "X" in tables else tables[0] if len(tables) == 1 else None)
    if key not in arrays:
        raise TableFileError(
            f"{len(arrays)} arrays ({', '.join(list(arrays)[:5])}) and none called {key or 'X'}; "
            "choose one by --variable"
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


def _arrays(table: Table) -> dict[str, Any]:
    return {**table.other_arrays, table.key: _matrix(table)}


def _matrix(table: Table) -> np.ndarray:
    """Return a table as an array; raise if it does not consist of numbers."""
    for column in table.frame:
        if not column.dtype.is_numeric():
            raise TableFileError(
                f"Column {column.name!r} of {table.name} is not numeric, as columns of an array "
                "must be; write a .csv or .parquet file."
            )
    return np.asarray(table.frame.to_numpy())


BINARY: dict[str, Kind] = {
    "parquet": ("Parquet file", lambda content, _: (polars().read_parquet(content), {}),
                lambda table, file: table.frame.write_parquet(file)),
    "arrow": ("Arrow file", lambda content, _: (polars().read_ipc(content), {}),
              lambda table, file: table.frame.write_ipc(file)),
    "excel": ("Excel file", _read_excel, _write_excel),
    "npy": ("NumPy array", lambda content, _: (_frame(np.load(BytesIO(content))), {}),
            lambda table, file: np.save(file, _matrix(table))),
    "npz": ("NumPy archive", _read_npz, lambda table, file: np.savez(file, **_arrays(table))),
    "mat": ("MATLAB file of version 5", _read_mat,
            lambda table, file: savemat(file, _arrays(table), do_compression=True)),
}  # fmt: skip
