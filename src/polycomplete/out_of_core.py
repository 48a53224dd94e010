"""More rows than a fit uses, or than fit into memory: in blocks, from file to file.

The surface is learned from a sample of the rows, which is chosen in one pass over the blocks; then
every row, those of the sample included, is completed independently. So the answer for a row is the
same to the last bit whether it comes in an array, in a block of any size, or on another machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from polycomplete._messages import showing
from polycomplete._optional import need
from polycomplete.base import BaseCompleter, all_or_nothing
from polycomplete.io.atomic import refuse_taken, written_whole
from polycomplete.sampling import Sample, Sampler

__all__ = ["complete_file"]

STREAM_ENTRIES = 2**21  # of the blocks into which an array or a file is cut


class BlockCompleter(BaseCompleter):
    """A completer that learns from a sample if there are many rows, which may come in blocks."""

    def fit_blocks(self, blocks: Any) -> Self:
        """Learn the surface from blocks of rows, in one pass and bounded memory.

        The result is that of :meth:`fit` on all rows at once, to the last bit, but without
        ``row_determined_`` and ``cell_std_``, which have an entry for each row.

        Parameters
        ----------
        blocks : list, generator function, or other iterable of arrays or data frames
            Blocks of rows with the same columns; a two-dimensional array, such as a memory map, is
            cut into blocks. To complete them later, the blocks must be iterable twice: instead of
            a generator, pass the function that makes it.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            sample: Sample | None = None
            for number, block in enumerate(in_blocks(blocks)):
                with error_context(f"Block {number}"):
                    if sample is None:
                        sample = self.sampler(block)(block, 0)
                    else:
                        sample += sample.sampler(block, sample.n_rows)
            if sample is None:
                raise ValueError("There are no blocks of rows to learn from.")
            return self.fit_sample(sample)

    def transform_blocks(self, blocks: Any) -> Iterator[Any]:
        """Complete blocks of rows lazily, one at a time.

        Parameters
        ----------
        blocks : iterable of arrays or data frames
            As for :meth:`fit_blocks`.

        Yields
        ------
        ndarray or data frame
            The completed block, of the same kind.
        """
        for number, block in enumerate(in_blocks(blocks, again=False)):
            with error_context(f"Block {number}"):
                completed = self.transform(block)
            yield completed

    def sampler(self, block: Any) -> Sampler:
        """Return the object that chooses rows to learn from, block by block, on any machine.

        Parameters
        ----------
        block : array or data frame
            A block with the columns of all; it may have no rows.

        Returns
        -------
        Sampler
            A function of a block and the position of its first row in the data, which returns a
            :class:`~polycomplete.sampling.Sample`. Samples of adjoining blocks can be added; pass
            the sum of all to :meth:`fit_sample`.

        Examples
        --------
        >>> from polycomplete import PMC, Landmark, datasets
        >>> X = datasets.make_polynomial_manifold(90, 4, random_state=0)
        >>> pmc = PMC(solver=Landmark(max_samples=40), smoothing=1e-3, random_state=0)
        >>> choose = pmc.sampler(X[:0])
        >>> pmc = pmc.fit_sample(choose(X[:50], 0) + choose(X[50:], 50))
        >>> pmc.n_samples_seen_
        90
        """
        self._check_params()
        most = self.max_training_rows()
        if most is None:
            raise TypeError(
                f"{type(self).__name__} learns from all rows at once with these parameters, and "
                "takes no blocks; use solver=Landmark(), without noise."
            )
        reader = clone(self)
        reader._validate(block, reset=True, min_rows=0)
        read = partial(reader._validate, reset=False, min_rows=0)
        names = getattr(reader, "feature_names_in_", None)
        return Sampler(read, most, self._seed(), names=names)

    def fit_sample(self, sample: Sample) -> Self:
        """Learn the surface from the rows that :meth:`sampler` chose.

        Parameters
        ----------
        sample : Sample
            The sample of all rows.

        Returns
        -------
        self
        """
        with all_or_nothing(self), showing(self.verbose):
            self._forget()
            matrix, mask = self._validate(sample.X, reset=True, min_rows=0)
            if sample.sampler.names is not None:
                self.feature_names_in_ = sample.sampler.names
            self._learn(matrix, mask)
            self._renumber(sample.number, sample.n_rows)
            for name in ("row_determined_", "cell_std_"):
                self.__dict__.pop(name, None)
            return self


def in_blocks(blocks: Any, again: bool = True) -> Iterator[Any]:
    """Iterate over blocks of rows; ``again`` says whether they must be iterable twice."""
    if isinstance(blocks, np.ndarray) and blocks.ndim == 2:
        return (blocks[part] for part in _parts(blocks))
    if hasattr(blocks, "columns") or isinstance(blocks, np.ndarray | str | bytes):
        raise TypeError(
            f"blocks must be a list or another iterable of arrays or data frames, got one "
            f"{type(blocks).__name__}; pass [X] for a single block."
        )
    if callable(blocks):
        return iter(blocks())
    if again and iter(blocks) is blocks:
        raise TypeError(
            f"blocks is a {type(blocks).__name__}, which can be iterated over only once, but is "
            "needed again to complete the blocks; pass the function that makes it, without "
            "calling it, or a list."
        )
    return iter(blocks)


def _parts(X: np.ndarray) -> Iterator[slice]:
    """Return the blocks of an array; an array without rows has one, for its columns."""
    return gen_batches(max(len(X), 1), _block_size(X.shape[1]))


def _block_size(n_columns: int) -> int:
    return max(1, STREAM_ENTRIES // max(n_columns, 1))


@contextmanager
def error_context(place: str) -> Iterator[None]:
    """Put the name of a place, such as "Block 3", before the message of an error."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place}: {error}") from error


def is_fitted(completer: Any) -> bool:
    """Return whether an estimator is fitted."""
    try:
        check_is_fitted(completer)
    except NotFittedError:
        return False
    return True


def complete_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    completer: Any,
    *,
    force: bool = False,
) -> Any:
    """Complete the rows of a file into another file, in bounded memory.

    The file is read twice: to learn, and to complete. The output appears once it is complete.

    Parameters
    ----------
    source : str or path
        A two-dimensional array (``.npy``) or a table (``.parquet``).
    target : str or path
        A file of the same kind.
    completer : completer
        A fitted one is used as it is; others learn from the file, by ``fit_blocks``.
    force : bool, default=False
        Replace an existing file.

    Returns
    -------
    completer
        Fitted.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from polycomplete import PMC, Landmark, datasets, masks
    >>> X = datasets.make_polynomial_manifold(1000, 6, random_state=0)
    >>> pmc = PMC(solver=Landmark(max_samples=100), smoothing=1e-4, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     given, result = Path(folder) / "given.npy", Path(folder) / "result.npy"
    ...     np.save(given, masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0)))
    ...     pmc = complete_file(given, result, pmc)
    ...     int(np.isnan(np.load(given)).sum()), int(np.isnan(np.load(result)).sum())
    (1200, 0)
    """
    source, target = Path(source), Path(target)
    kind = source.suffix.lower()
    if kind not in FILES:
        raise ValueError(f"{source} must be a .npy or .parquet file to be read in blocks.")
    if target.suffix.lower() != kind:
        raise ValueError(f"{target} must be a {source.suffix} file, as {source} is.")
    refuse_taken(target, force)
    fitted = is_fitted(completer)
    if not fitted and not hasattr(completer, "fit_blocks"):
        raise TypeError(
            f"{type(completer).__name__} cannot learn from blocks of rows; fit it on rows that fit "
            "into memory first, or use PMC."
        )
    blocks, write = FILES[kind]
    with error_context(str(source)):
        if not fitted:
            completer.fit_blocks(lambda: (rows for rows, _ in blocks(source)))
        with written_whole(target, force=force) as file:
            write(file, ((completer.transform(rows), rest) for rows, rest in blocks(source)))
    return completer


def _array_blocks(path: Path) -> Iterator[tuple[np.ndarray, int]]:
    """Yield blocks of the rows of a ``.npy`` file, each with the total number of rows."""
    X = np.load(path, mmap_mode="r")
    if X.ndim != 2:
        raise ValueError(f"The array has {X.ndim} dimensions; rows and columns are needed.")
    for part in _parts(X):
        # Mapped anew each time: what was read counts as memory while a map is open.
        yield np.array(np.load(path, mmap_mode="r")[part]), len(X)


def _write_array(file: IO[bytes], blocks: Iterator[tuple[np.ndarray, int]]) -> None:
    for number, (rows, count) in enumerate(blocks):
        block = np.ascontiguousarray(rows)
        if number == 0:
            header = np.lib.format.header_data_from_array_1_0(block)
            header["shape"] = count, block.shape[1]
            np.lib.format.write_array_header_1_0(file, header)
        file.write(block.tobytes())


def _table_blocks(path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of the rows of a ``.parquet`` file, each with its pandas index."""
    arrow = need("pyarrow", "dask", "Reading Parquet files in blocks")
    parquet = need("pyarrow.parquet", "dask", "Reading Parquet files in blocks")
    try:
        file = parquet.ParquetFile(path)
    except arrow.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file, or is truncated ({error}).") from None
    with file:
        schema = file.schema_arrow
        known = (schema.pandas_metadata or {}).get("index_columns", [])
        index = [name for name in schema.names if name in known]
        data = [name for name in schema.names if name not in known]
        batches = file.iter_batches(_block_size(len(data)))
        parts = (arrow.Table.from_batches([batch]) for batch in batches)
        # A file without rows still has columns.
        for part in parts if file.metadata.num_rows else [schema.empty_table()]:
            yield part.select(data), part.select(index)


def _write_table(file: IO[bytes], blocks: Iterator[tuple[Any, Any]]) -> None:
    arrow = need("pyarrow.parquet", "dask", "Writing Parquet files in blocks")
    writer: Any = None
    for block, index in blocks:
        for name in index.column_names:
            block = block.append_column(index.schema.field(name), index[name])
        block = block.replace_schema_metadata(index.schema.metadata)
        writer = writer or arrow.ParquetWriter(file, block.schema)
        writer.write_table(block)
    writer.close()


#: By suffix: a reader of blocks, each with something that the writer needs, and that writer.
FILES: dict[str, Any] = {
    ".npy": (_array_blocks, _write_array),
    ".parquet": (_table_blocks, _write_table),
}
