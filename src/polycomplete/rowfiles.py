"""Files whose rows are read and written in blocks, so that they may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from polycomplete._optional import need
from polycomplete.gathering import ENTRIES


def rows_of(path: str | os.PathLike[str]) -> NpyRows | ParquetRows:
    """Return the rows of a file, to go through in blocks as often as one likes.

    Parameters
    ----------
    path : str or path
        A ``.npy`` or ``.parquet`` file.

    Returns
    -------
    NpyRows or ParquetRows

    Examples
    --------
    >>> rows_of("x.csv")
    Traceback (most recent call last):
    ValueError: x.csv must be a .npy or .parquet file to be read in blocks.
    """
    path = Path(path)
    if path.suffix.lower() == ".npy":
        return NpyRows(path)
    if path.suffix.lower() == ".parquet":
        return ParquetRows(path)
    raise ValueError(f"{path} must be a .npy or .parquet file to be read in blocks.")


@dataclass(frozen=True)
class NpyRows:
    """The rows of an array in a ``.npy`` file.

    Attributes
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "x.npy", np.ones((3, 2)))
    ...     [block.shape for block in NpyRows(Path(folder) / "x.npy")]
    [(3, 2)]
    """

    path: Path

    def _mapped(self) -> np.ndarray:
        X = np.load(self.path, mmap_mode="r")
        if X.ndim != 2:
            raise ValueError(f"The array has {X.ndim} dimensions; rows and columns are needed.")
        return X

    def __iter__(self) -> Iterator[np.ndarray]:
        n, m = self._mapped().shape
        size = max(1, ENTRIES // max(m, 1))
        for begin in range(0, max(n, 1), size):  # a file without rows still has columns
            # Mapped anew each time: what was read of a map counts as memory while it is open.
            yield np.array(self._mapped()[begin : begin + size])

    def write(self, complete: Callable[[np.ndarray], np.ndarray], file: IO[bytes]) -> None:
        """Complete block after block into an open file."""
        total, begun = len(self._mapped()), False
        for block in map(complete, self):
            if not begun:
                np.lib.format.write_array_header_1_0(
                    file,
                    {
                        "descr": np.lib.format.dtype_to_descr(block.dtype),
                        "fortran_order": False,
                        "shape": (total, block.shape[1]),
                    },
                )
                begun = True
            file.write(np.ascontiguousarray(block).tobytes())


@dataclass(frozen=True)
class ParquetRows:
    """The rows of a table in a ``.parquet`` file; an index that pandas stored there is set aside.

    Attributes
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"a": [1.0], "b": [2.0]}).to_parquet(Path(folder) / "x.parquet")
    ...     rows = ParquetRows(Path(folder) / "x.parquet")
    ...     rows.count, rows.names, [block.shape for block in rows]
    (1, ['a', 'b'], [(1, 2)])
    """

    path: Path

    def _open(self) -> Any:
        arrow = need("pyarrow.parquet", "dask", "Reading Parquet files in blocks")
        try:
            return arrow.ParquetFile(self.path)
        except need("pyarrow", "dask", "Reading Parquet files in blocks").ArrowInvalid as error:
            raise ValueError(f"{self.path} is no Parquet file, or is cut off ({error}).") from None

    @property
    def count(self) -> int:
        """How many rows there are."""
        with self._open() as file:
            return int(file.metadata.num_rows)

    @property
    def names(self) -> list[str]:
        """Names of the columns, without those of an index."""
        with self._open() as file:
            schema = file.schema_arrow
            return [name for name in schema.names if name not in _index(schema)]

    def __iter__(self) -> Iterator[Any]:
        """Yield tables."""
        for block, _ in self._pairs():
            yield block

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """Yield blocks of data, and of what is set aside."""
        arrow = need("pyarrow", "dask", "Reading Parquet files in blocks")
        with self._open() as file:
            schema = file.schema_arrow
            aside = _index(schema)
            data = [name for name in schema.names if name not in aside]
            size = max(1, ENTRIES // max(len(data), 1))
            empty = True
            for batch in file.iter_batches(batch_size=size):
                table, empty = arrow.Table.from_batches([batch]), False
                yield table.select(data), table.select(aside)
            if empty:  # a file without rows still has columns
                table = schema.empty_table()
                yield table.select(data), table.select(aside)

    def write(self, complete: Callable[[Any], Any], file: IO[bytes]) -> None:
        """Complete block after block into an open file."""
        arrow = need("pyarrow.parquet", "dask", "Writing Parquet files in blocks")
        writer = None
        for given, aside in self._pairs():
            block = complete(given)
            for name in aside.column_names:
                block = block.append_column(aside.schema.field(name), aside[name])
            block = block.replace_schema_metadata(given.schema.metadata)
            if writer is None:
                writer = arrow.ParquetWriter(file, block.schema)
            writer.write_table(block)
        if writer is not None:
            writer.close()


def _index(schema: Any) -> list[str]:
    """Return the columns that pandas stored an index in."""
    known = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in known if isinstance(name, str) and name in schema.names]
