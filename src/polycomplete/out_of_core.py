"""More rows than are learned from, and more than fit into memory: in blocks, from file to file.

The surface is learned from a sample, which blocks choose together in one pass; then every row, that
of the sample too, is completed by itself. So the answer for a row is the same to the last bit
whether it came in an array, in a block of any size, or from another machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from operator import add
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from polycomplete._messages import showing
from polycomplete._optional import need
from polycomplete.base import BaseCompleter
from polycomplete.io.atomic import refuse_taken, written_whole
from polycomplete.keeping import all_or_nothing
from polycomplete.rows import Completion
from polycomplete.sampling import Sample, Tally, training_rows

__all__ = ["complete_file"]

ENTRIES = 2**21  # of a block that an array or a file is cut into

#: What blocks tell, thing by thing; of two of them each thing is added.
Gathered = tuple[Any, ...]


class BlockCompleter(BaseCompleter):
    """A completer that learns from some of the rows where there are many, and so takes blocks.

    A subclass says in ``_most_rows`` how many; its model takes ``columns`` and ``into``, as
    :class:`polycomplete.model.SurfaceModel` does.
    """

    @all_or_nothing
    def fit_blocks(self, blocks: Any) -> Self:
        """Learn the surface from rows that come in blocks, in one pass and bounded memory.

        What is learned is what :meth:`fit` learns from all rows at once, to the last bit.
        ``row_determined_`` and ``cell_std_``, which have a number for each row, are not kept.

        Parameters
        ----------
        blocks : list, generator function, or other iterable of arrays or data frames
            Blocks of rows with the same columns; a two-dimensional array, such as a memory map, is
            cut into blocks. It must be possible to go through them again, to complete them: of a
            generator, pass the function that makes it.

        Returns
        -------
        self
        """
        most, seed, first, gathered = self._sample_size(), self._seed(), 0, None
        for number, block in enumerate(in_blocks(blocks)):
            with naming(f"Block {number}"):
                found = self._look(block, first, most, seed, reset=number == 0)
            gathered = found if gathered is None else added(gathered, found)
            first = gathered[0].rows
        if gathered is None:
            raise ValueError("There are no blocks of rows to learn from.")
        self._fit_gathered(*gathered)
        return self

    def transform_blocks(self, blocks: Any) -> Iterator[Any]:
        """Complete blocks of rows, each when it is asked for.

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
            with naming(f"Block {number}"):
                completed = self._transform(block, fewest=0)
            yield completed

    def _most_rows(self, n_rows: int, n_columns: int) -> int | None:
        """Return how many rows of so many are learned from at most; None for all."""
        return None

    def _sample_size(self) -> int:
        """Return how many rows are learned from where their number is not known yet."""
        self._check_params()
        most = self._most_rows(2**62, 1)
        if most is None:
            raise TypeError(
                f"{type(self).__name__} learns from all rows at once with these parameters, and "
                "takes no blocks; use solver=Landmark(), without noise."
            )
        return most

    def _look(
        self, block: Any, first: int, most: int, seed: int, reset: bool = False
    ) -> tuple[Tally, Sample]:
        """Return what a block tells; ``first`` is the number of its first row."""
        matrix, mask = self._validate(block, reset=reset, fewest=0)
        return Tally.of(matrix, mask), Sample.of(matrix, mask, first, most, seed)

    @all_or_nothing
    def _fit_gathered(self, tally: Tally, sample: Sample, like: Any = None) -> None:
        """Learn from what blocks told; ``like`` has the columns, where they are not known."""
        if like is not None:
            self._validate(like, reset=True, fewest=0)
        self._take_columns(tally)
        with showing(self.verbose):
            self._learn(np.where(sample.mask, sample.X, self._fill()), sample.mask)
        self._number_held_out(sample.number)
        for name in ("row_determined_", "cell_std_"):
            self.__dict__.pop(name, None)

    def _learn(self, completed: np.ndarray, mask: np.ndarray) -> None:
        most = self._most_rows(*mask.shape)
        if most is None or len(mask) <= most or not len(self._columns):  # nothing varies
            super()._learn(completed, mask)
            return
        train = training_rows(mask, most, self._seed())
        super()._learn(completed[train], mask[train])
        self._number_held_out(train)
        self._complete_all(completed, mask)

    def _number_held_out(self, numbers: np.ndarray) -> None:
        """Name rows that were held out by their numbers in the data, not in the sample."""
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_._replace(rows=numbers[self.held_out_.rows])

    def _complete_all(self, completed: np.ndarray, mask: np.ndarray) -> None:
        """Complete every row by the model, and note what is known of each."""
        columns = self._columns
        some = mask[:, columns].any(axis=1)
        nothing = np.flatnonzero(~some)
        self.cell_std_ = self._blank_deviation(completed, mask)
        kept = completed[nothing], self.cell_std_[nothing]
        into = Completion(completed, self.cell_std_, np.zeros(len(mask)), np.zeros(len(mask), bool))
        self.model_.complete(completed, mask, columns, into)
        # Rows of which nothing is known stay in the middle of the data.
        completed[nothing], self.cell_std_[nothing] = kept
        self.row_determined_ = some & into.determined


def added(one: Gathered, other: Gathered) -> Gathered:
    """Add what two blocks, or two stretches of them, told; ``other`` has the later rows."""
    return tuple(map(add, one, other))


def in_blocks(blocks: Any, again: bool = True) -> Iterator[Any]:
    """Go through blocks of rows, those of an array, or what a function makes.

    ``again`` says whether it must be possible to go through them a second time.
    """
    if isinstance(blocks, np.ndarray) and blocks.ndim == 2:
        return (blocks[part] for part in _parts(*blocks.shape))
    if hasattr(blocks, "columns") or isinstance(blocks, np.ndarray | str | bytes):
        raise TypeError(
            f"blocks must be a list or another iterable of arrays or data frames, got one "
            f"{type(blocks).__name__}; pass [X] for a single block."
        )
    if callable(blocks):
        return iter(blocks())
    if again and iter(blocks) is blocks:
        raise TypeError(
            f"blocks is a {type(blocks).__name__}, which can be gone through only once, but is "
            "needed again to complete the blocks; pass the function that makes it, without "
            "calling it, or a list."
        )
    return iter(blocks)


def _parts(n: int, m: int) -> Iterator[slice]:
    size = _block_size(m)
    return (slice(begin, begin + size) for begin in range(0, n, size))


def _block_size(n_columns: int) -> int:
    """Return how many rows an array or a file is cut into."""
    return max(1, ENTRIES // max(n_columns, 1))


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Put the name of a place, such as "Block 3", before the message of an error."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place}: {error}") from error


def complete_block(completer: Any, block: Any) -> Any:
    """Complete the rows of a block, which may have none."""
    if isinstance(completer, BaseCompleter):
        return completer._transform(block, fewest=0)
    return completer.transform(block)


def is_fitted(completer: Any) -> bool:
    """Return whether an estimator has learned."""
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

    The file is read twice: to learn, and to complete. The other one appears when it is whole.

    Parameters
    ----------
    source : str or path
        A two-dimensional array (``.npy``) or a table (``.parquet``).
    target : str or path
        A file of the same kind.
    completer : completer
        One that is fitted is used as it is; others learn from the file, by ``fit_blocks``.
    force : bool, default=False
        Replace a file of that name.

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
    blocks, complete = FILES[kind]
    with naming(str(source)):
        if not fitted:
            completer.fit_blocks(partial(blocks, source))
        with written_whole(target, force=force) as file:
            complete(source, completer, file)
    return completer


def _array_blocks(path: Path) -> Iterator[np.ndarray]:
    """Yield blocks of the rows of a ``.npy`` file."""
    n, m = _mapped(path).shape
    for part in _parts(max(n, 1), m):  # a file without rows still has columns
        # Mapped anew each time: what was read of a map counts as memory while it is open.
        yield np.array(_mapped(path)[part])


def _mapped(path: Path) -> np.ndarray:
    X = np.load(path, mmap_mode="r")
    if X.ndim != 2:
        raise ValueError(f"The array has {X.ndim} dimensions; rows and columns are needed.")
    return X


def _complete_array(path: Path, completer: Any, file: IO[bytes]) -> None:
    """Complete block after block of a ``.npy`` file into an open one."""
    for number, given in enumerate(_array_blocks(path)):
        block = np.ascontiguousarray(complete_block(completer, given))
        if number == 0:
            header = np.lib.format.header_data_from_array_1_0(block)
            header["shape"] = len(_mapped(path)), block.shape[1]
            np.lib.format.write_array_header_1_0(file, header)
        file.write(block.tobytes())


def _table_blocks(path: Path) -> Iterator[Any]:
    """Yield blocks of the rows of a ``.parquet`` file."""
    return (data for data, _ in _table_parts(path))


def _table_parts(path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of data, and of the index that pandas stored beside them."""
    arrow = need("pyarrow", "dask", "Reading Parquet files in blocks")
    parquet = need("pyarrow.parquet", "dask", "Reading Parquet files in blocks")
    try:
        file = parquet.ParquetFile(path)
    except arrow.ArrowInvalid as error:
        raise ValueError(f"{path} is no Parquet file, or is cut off ({error}).") from None
    with file:
        schema = file.schema_arrow
        known = (schema.pandas_metadata or {}).get("index_columns", [])
        aside = [name for name in known if isinstance(name, str) and name in schema.names]
        data = [name for name in schema.names if name not in aside]
        batches = file.iter_batches(_block_size(len(data)))
        parts = (arrow.Table.from_batches([batch]) for batch in batches)
        # A file without rows still has columns.
        for part in parts if file.metadata.num_rows else [schema.empty_table()]:
            yield part.select(data), part.select(aside)


def _complete_table(path: Path, completer: Any, file: IO[bytes]) -> None:
    """Complete block after block of a ``.parquet`` file into an open one."""
    arrow = need("pyarrow.parquet", "dask", "Writing Parquet files in blocks")
    writer: Any = None
    for given, aside in _table_parts(path):
        block = complete_block(completer, given)
        for name in aside.column_names:
            block = block.append_column(aside.schema.field(name), aside[name])
        block = block.replace_schema_metadata(given.schema.metadata)
        writer = writer or arrow.ParquetWriter(file, block.schema)
        writer.write_table(block)
    writer.close()


#: How the rows of a file are gone through, and completed into another one.
FILES = {".npy": (_array_blocks, _complete_array), ".parquet": (_table_blocks, _complete_table)}
