"""Dask arrays, data frames and folders of Parquet files, on one machine or on many.

A completer learns from a sample of the rows, which is chosen in one pass over the partitions. The
result is an ordinary fitted completer, the same to the last bit as from an array; it completes
each partition independently.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from polycomplete._optional import need
from polycomplete.frames import present, table
from polycomplete.methods import PMC
from polycomplete.out_of_core import BlockCompleter, error_context, is_fitted
from polycomplete.sampling import Sample, Sampler
from polycomplete.surface import SurfaceModel
from polycomplete.tables import TableCompleter
from polycomplete.tables.codecs import is_measured
from polycomplete.tables.table_completer import check_columns, listed

__all__ = ["complete_parquet", "connected", "fit", "transform"]

FAN_IN = 8  # samples that a task adds up: those of all partitions may not fit into memory
TABLE_ROWS = 3000  # of a table to learn from, if its method has no maximum
ROW_ATTRIBUTES = ("row_determined_", "cell_std_", "held_out_", "result_", "proba_")
# With Dask's own thresholds glibc asks the system for fresh memory for every array above 128 kB,
# and completing takes 2.5 times as long.
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 64 * 2**20, "MALLOC_MMAP_THRESHOLD_": 32 * 2**20}


@contextmanager
def connected(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Use worker processes of this machine, or the scheduler of a cluster.

    Parameters
    ----------
    workers : int, optional
        Number of processes to start on this machine, with one thread each, and to stop at the end.
    scheduler : str, optional
        The address of a running scheduler, such as ``tcp://10.0.0.1:8786``. Without either,
        Dask's default.

    Returns
    -------
    context manager
        Gives the client of :mod:`distributed`, or None without workers and scheduler.

    Examples
    --------
    >>> with connected() as client:
    ...     print(client)
    None
    """
    if workers is not None and scheduler is not None:
        raise ValueError("Give workers or scheduler, not both: a scheduler has its own workers.")
    if workers is None and scheduler is None:
        yield None
        return
    distributed = need("distributed", "dask", "Working with several processes")
    # Any free port for the dashboard, so that several jobs can run on a machine.
    started = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    options = started if scheduler is None else {"address": scheduler}
    environment = {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in KEEP_MEMORY.items()}
    with need("dask", "dask", "Computing with Dask").config.set(environment):
        client = distributed.Client(**options)
    with client:
        yield client


def fit(completer: Any, X: Any) -> Any:
    """Fit a completer on a Dask array or data frame, in one pass over its partitions.

    The result is that of ``completer.fit`` on the same rows in memory, to the last bit, however
    they are partitioned. The workers choose the rows to learn from; the surface is learned from
    these in this process.

    Parameters
    ----------
    completer : PMC, NLMC, Completer or TableCompleter
        A completer with ``sampler`` and ``fit_sample``; or a TableCompleter, which learns from a
        sample of the rows that shows all categories, the same for any partitions.
    X : dask.array.Array or dask.dataframe.DataFrame
        NaN (or None, NA) where missing.

    Returns
    -------
    completer
        The same object, fitted: an ordinary completer, without any Dask in it.

    Examples
    --------
    >>> import dask.array as da
    >>> from polycomplete import PMC, datasets, masks
    >>> X = datasets.make_polynomial_manifold(60, 5, random_state=0)
    >>> X = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    >>> pmc = fit(PMC(smoothing=1e-3, random_state=0), da.from_array(X, chunks=(20, 5)))
    >>> bool(np.all(pmc.transform(X) == PMC(smoothing=1e-3, random_state=0).fit(X).transform(X)))
    True
    """
    delayed = need("dask", "dask", "Computing with Dask").delayed
    X = _by_rows(X)
    sampler, learn = _protocol(completer, _without_rows(X))
    sent, first, samples = delayed(sampler, traverse=False), 0, []
    for number, part in enumerate(np.ravel(X.to_delayed())):
        samples.append(delayed(_sample_of)(sent, part, first, f"Partition {number}"))
        first = first + delayed(len)(part)  # counted in the same pass
    while len(samples) > 1:
        groups = [samples[at : at + FAN_IN] for at in range(0, len(samples), FAN_IN)]
        samples = [delayed(reduce)(add, group) for group in groups]
    learn(samples[0].compute())
    return completer


def _sample_of(sampler: Sampler, block: Any, first: int, place: str) -> Sample:
    with error_context(place):
        return sampler(block, first)


def _protocol(completer: Any, like: Any) -> tuple[Sampler, Callable[[Sample], Any]]:
    """Return what chooses rows of a block, and what learns from all rows chosen."""
    if isinstance(completer, TableCompleter):
        return _table_sampler(completer, table(like)), partial(_fit_table, completer)
    if not isinstance(completer, BlockCompleter):
        raise TypeError(
            f"{type(completer).__name__} learns from all rows at once; fit it on rows that fit "
            "into memory first, and complete the others by transform."
        )
    return completer.sampler(like), completer.fit_sample


def _table_sampler(completer: TableCompleter, like: Any) -> Sampler:
    """Return what chooses rows of a table, so that every category occurs among them."""
    method = PMC() if completer.method is None else completer.method
    kinds, names = completer.column_types or {}, list(like.columns)
    most = method.max_training_rows() if isinstance(method, BlockCompleter) else None
    seed = int(check_random_state(completer.random_state).randint(2**31 - 1))
    used = [name for name in names if name not in listed(completer.passthrough)]
    dtypes = {name: like[name].dtype for name in used}
    labels = [name for name in used if name in kinds or not is_measured(dtypes[name])]
    for name in labels:
        known = like[name].cat.get_categories() if dtypes[name] == nw.Categorical else []
        if "__UNKNOWN_CATEGORIES__" in list(known):
            raise ValueError(
                f"Dask does not know the categories of column {name!r} yet; call "
                "X = X.categorize() first."
            )
    needed = partial(_examples, labels, int(completer.max_categories))
    return Sampler(partial(_read_table, names, used), most or TABLE_ROWS, seed, needed)


def _read_table(names: list[Any], used: list[Any], block: Any) -> tuple[Any, np.ndarray]:
    """Return a block as a table, and which cells of the columns in use are present."""
    frame = table(block)
    check_columns(names, list(frame.columns))
    observed = [present(frame[name]) for name in used] or [np.ones(len(frame), dtype=bool)]
    return frame.select(names), np.column_stack(observed)


def _examples(labels: list[Any], most: int, frame: Any) -> Iterator[np.ndarray]:
    """Yield the positions of the first rows with each category of each column."""
    for name in labels:
        first = frame[name].is_first_distinct().to_numpy() & present(frame[name])
        yield np.flatnonzero(first)[: most + 1]  # one more is enough to refuse the column


def _fit_table(completer: TableCompleter, sample: Sample) -> None:
    completer.fit(sample.X.to_native())
    completer.n_samples_seen_ = sample.n_rows
    del completer.proba_, completer.cell_std_, completer.held_out_  # of the cells of the sample


def transform(completer: Any, X: Any) -> Any:
    """Complete a Dask array or data frame lazily, partition by partition.

    Parameters
    ----------
    completer : completer
        Any fitted completer or ``TableCompleter``.
    X : dask.array.Array or dask.dataframe.DataFrame
        NaN (or None, NA) where missing.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        Of the type of X, with the same partitions; not computed yet.

    Examples
    --------
    >>> import dask.array as da
    >>> from polycomplete import LRMC
    >>> X = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0])
    >>> lrmc = LRMC().fit(X)
    >>> X[3, 1] = np.nan
    >>> transform(lrmc, da.from_array(X, chunks=(2, 2))).compute().round(3)[3]
    array([4., 8.])
    """
    delayed = need("dask", "dask", "Computing with Dask").delayed
    X = _by_rows(X)
    like = completer.transform(_without_rows(X))
    sent = delayed(_lean(completer), traverse=False)  # one task of the graph: to each worker once
    if not _is_array(X):
        return X.map_partitions(_complete_part, sent, meta=like)
    chunks = (X.chunks[0], (like.shape[1],))
    return X.map_blocks(_complete_part, completer=sent, chunks=chunks, dtype=like.dtype, meta=like)


def _complete_part(
    block: Any,
    completer: Any,
    block_id: tuple[int, ...] = (0,),  # by Dask, of arrays
    partition_info: dict[str, Any] | None = None,  # by Dask, of data frames
) -> Any:
    with error_context(f"Partition {(partition_info or {}).get('number', block_id[0])}"):
        return completer.transform(block)


def _lean(completer: Any) -> Any:
    """Return a copy to send to workers: single-threaded, without attributes of training rows."""
    light = copy(completer)
    for name in ROW_ATTRIBUTES:
        light.__dict__.pop(name, None)
    if getattr(light, "method_", None) is not None:  # of a TableCompleter
        light.method_ = _lean(light.method_)
    model = getattr(light, "model_", None)
    if isinstance(model, SurfaceModel):
        light.model_ = replace(model, resources=replace(model.resources, n_jobs=1))
    return light


def _is_array(X: Any) -> bool:
    return hasattr(X, "chunks")


def _by_rows(X: Any) -> Any:
    """Return X with whole rows in each partition; raise if it is not a Dask collection."""
    if _is_array(X):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}.")
        return X.rechunk({1: -1})
    if not (hasattr(X, "map_partitions") and hasattr(X, "columns")):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}; for data in memory "
            "use the completer's own fit and transform."
        )
    return X


def _without_rows(X: Any) -> Any:
    """Return an empty block of X."""
    return np.empty((0, X.shape[1]), dtype=X.dtype) if _is_array(X) else X._meta


def complete_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    completer: Any,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Any:
    """Complete a folder of Parquet files into another folder, which appears once it is complete.

    Parameters
    ----------
    source : str or path
        A folder with ``.parquet`` files, also in its subfolders.
    target : str or path
        Another folder, which must be empty or not exist yet. It gets a file for each partition
        that Dask makes of the source: a file, or part of a large one.
    completer : completer
        A fitted one is used as it is; a clone of any other is fitted on all files by :func:`fit`.
    workers : int, optional
        Number of processes to use on this machine.
    scheduler : str, optional
        Address of the scheduler of a cluster, whose workers must see both folders. Without
        either, Dask's default: an open client, or threads.

    Returns
    -------
    completer
        The given one if it was fitted, or its fitted clone.

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
    # Files written by pandas say their dtypes; from others, pandas would read integers as floats.
    known = schema.pandas_metadata
    backend, index = (None, known["index_columns"]) if known else ("pyarrow", [])
    with connected(workers, scheduler), _folder_written_whole(Path(target)) as part:
        X = frames.read_parquet(files, dtype_backend=backend, dataset={"partitioning": None})
        if not is_fitted(completer):
            completer = fit(clone(completer), X)
        transform(completer, X).to_parquet(
            part,
            write_index=any(isinstance(name, str) for name in index),  # else it is a range
            write_metadata_file=False,
            name_function="part-{:05d}.parquet".format,
        )
    return completer


def _files(source: Path) -> tuple[list[str], Any]:
    """Return the files of a folder, which must have the same columns, and a schema."""
    arrow = need("pyarrow.parquet", "dask", "Reading Parquet files")
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is not a folder; complete_file takes a single file.")
    paths = sorted(path for path in source.rglob("*.parquet") if path.name[0] not in "._")
    if not paths:
        raise FileNotFoundError(f"There is no .parquet file in {source}.")
    first = arrow.read_schema(paths[0])
    for path in paths[1:]:
        odd = set(arrow.read_schema(path).names) ^ set(first.names)
        if odd:  # Dask would add the missing columns
            raise ValueError(
                f"{path} does not have the columns of {paths[0]}: they differ in "
                f"{', '.join(sorted(odd))}; make the files alike first."
            )
    return [str(path) for path in paths], first


@contextmanager
def _folder_written_whole(target: Path) -> Iterator[str]:
    """Yield a temporary folder that is renamed to the target once it is complete."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} already exists and is not empty; choose another folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{target.name}.", suffix=".part", dir=target.parent, ignore_cleanup_errors=True
    ) as part:
        yield part
        os.chmod(part, 0o755)
        os.replace(part, target)  # replaces an empty folder
