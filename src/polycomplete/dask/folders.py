"""A folder of Parquet files in, one out, by Dask's own reading and writing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.base import clone

from polycomplete._optional import need
from polycomplete.dask.cluster import compute, connected
from polycomplete.dask.collections import fit, transform
from polycomplete.disk import is_fitted


def complete_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    completer: Any,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = False,
) -> Any:
    """Complete a folder of Parquet files into another folder, which appears when it is whole.

    Parameters
    ----------
    source : str or path
        A folder with ``.parquet`` files, in folders of their own if need be.
    target : str or path
        Another folder, which must be empty or not there yet. It gets a file for each partition
        that Dask makes of the source: a file, or a part of a large one.
    completer : completer
        One that is fitted is used as it is; others learn from all files, as :func:`fit` does it.
    workers : int, optional
        Work with so many processes on this machine.
    scheduler : str, optional
        Work on the cluster of this scheduler, whose workers must see both folders. Without
        either, by what Dask is set to: a client that is open, or threads.
    progress : bool, default=False
        Show how far the work is.

    Returns
    -------
    completer
        Fitted: the given one where it was fitted before, else a copy of it.

    Examples
    --------
    >>> import pandas as pd
    >>> from polycomplete import PMC, datasets, masks
    >>> X = datasets.make_polynomial_manifold(60, 5, random_state=0)
    >>> X = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    >>> X = pd.DataFrame(X, columns=list("abcde"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     given, result = Path(folder) / "given", Path(folder) / "result"
    ...     given.mkdir()
    ...     X[:40].to_parquet(given / "a.parquet")
    ...     X[40:].to_parquet(given / "b.parquet")
    ...     pmc = complete_parquet(given, result, PMC(smoothing=1e-3, random_state=0))
    ...     sorted(path.name for path in result.iterdir())
    ...     int(pd.read_parquet(result).isna().sum().sum())
    ['part-00000.parquet', 'part-00001.parquet']
    0
    """
    frames = need("dask.dataframe", "dask", "Computing with Dask")
    files, schema = _files(Path(source))
    # What pandas wrote has its dtypes in it; of others, it would make floats of whole numbers.
    known = schema.pandas_metadata
    backend, index = (None, known["index_columns"]) if known else ("pyarrow", [])
    with connected(workers, scheduler), _folder_written_whole(Path(target)) as part:
        X = frames.read_parquet(files, dtype_backend=backend, dataset={"partitioning": None})
        if not is_fitted(completer):
            completer = fit(clone(completer), X)
        written = transform(completer, X).to_parquet(
            str(part),
            compute=False,
            write_index=any(isinstance(name, str) for name in index),  # else it is a range
            write_metadata_file=False,
            name_function="part-{:05d}.parquet".format,
        )
        compute([written], progress)
    return completer


def _files(source: Path) -> tuple[list[str], Any]:
    """Return the files of a folder, which must have the same columns, and their schema."""
    arrow = need("pyarrow.parquet", "dask", "Reading Parquet files")
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is no folder; complete_file takes a single file.")
    paths = sorted(path for path in source.rglob("*.parquet") if path.name[0] not in "._")
    if not paths:
        raise FileNotFoundError(f"There is no .parquet file in {source}.")
    first = arrow.read_schema(paths[0])
    for path in paths[1:]:  # Dask would fill in what a file lacks
        names = arrow.read_schema(path).names
        if names != first.names:
            odd = sorted(set(names) ^ set(first.names)) or ["their order"]
            raise ValueError(
                f"{path} does not have the columns of {paths[0]}: they differ in "
                f"{', '.join(odd)}; make the files alike first."
            )
    return [str(path) for path in paths], first


@contextmanager
def _folder_written_whole(target: Path) -> Iterator[Path]:
    """Give a folder that gets its name only when everything is in it."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already and not empty; choose another folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        yield part
        part.chmod(0o755)
        part.replace(target)  # an empty folder gives way
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
