"""Dask arrays, data frames and folders of Parquet files, on one machine or on many.

A completer learns from a sample of all partitions, which is chosen in one pass; what comes out is
an ordinary fitted completer, the same to the last bit as from an array. Then every partition is
completed independently.
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
from polycomplete.out_of_core import BlockCompleter, Sampler, error_context, is_fitted
from polycomplete.sampling import Sample
from polycomplete.surface import SurfaceModel
from polycomplete.tables import TableCompleter
from polycomplete.tables.codecs import is_measured
from polycomplete.tables.table_completer import check_columns, listed

__all__ = ["complete_parquet", "connected", "fit", "transform"]

AT_ONCE = 8  # samples that are added up in a task: those of many partitions would not fit
ROWS = 3000  # of a table to learn from, where the method does not say how many
OF_ROWS = ("row_determined_", "cell_std_", "held_out_", "result_", "proba_")  # that were learned
# Dask's own threshold makes glibc ask the system for fresh memory for every array above 128 kB:
# completing would take 2.5 times as long.
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 64 * 2**20, "MALLOC_MMAP_THRESHOLD_": 32 * 2**20}


@contextmanager
def connected(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Use worker processes of this machine, or the scheduler of a cluster.

    Parameters
    ----------
    workers : int, optional
        Start so many processes here, with one thread each, and end them afterwards.
    scheduler : str, optional
        The address of a running scheduler, such as ``tcp://10.0.0.1:8786``. Without either,
        whatever Dask uses by itself.

    Returns
    -------
    context manager
        Gives the client of :mod:`distributed`; None without workers and scheduler.

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
    # Any free port for the dashboard, which several jobs on a machine would fight for.
    started = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    options = started if scheduler is None else {"address": scheduler}
    environment = {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in KEEP_MEMORY.items()}
    with need("dask", "dask", "Computing with Dask").config.set(environment):
        client = distributed.Client(**options)
    with client:
        yield client


def fit(completer: Any, X: Any) -> Any:
    """Let a completer learn from a Dask array or data frame, in one pass over its partitions.

    What is learned is what ``completer.fit`` learns from the same rows in memory, to the last bit,
    however they are partitioned. Rows to learn from are chosen on the workers; the surface is
    learned from them in this process.

    Parameters
    ----------
    completer : PMC, NLMC, Completer or TableCompleter
        One that has ``fit_blocks``; or a TableCompleter, which then learns from a sample of the
        rows with all categories in it, the same for any partitions.
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
    choose, learn = _learning(completer, _without_rows(X))
    sent, first, samples = delayed(choose, traverse=False), 0, []
    for number, part in enumerate(np.ravel(X.to_delayed())):
        samples.append(delayed(_sample_of)(sent, part, first, f"Partition {number}"))
        # The number of the next partition's first row is known when this one was counted: so one
        # pass is enough.
        first = first + delayed(len)(part)
    while len(samples) > 1:
        groups = [samples[at : at + AT_ONCE] for at in range(0, len(samples), AT_ONCE)]
        samples = [delayed(reduce)(add, group) for group in groups]
    learn(samples[0].compute())
    return completer


def _sample_of(choose: Sampler, block: Any, first: int, place: str) -> Sample:
    with error_context(place):
        return choose(block, first)


def _learning(completer: Any, like: Any) -> tuple[Sampler, Callable[[Sample], Any]]:
    """Return what chooses rows of a block, and what learns from all that were chosen."""
    if isinstance(completer, TableCompleter):
        return _table_sampler(completer, table(like)), partial(_fit_table, completer)
    if not isinstance(completer, BlockCompleter):
        raise TypeError(
            f"{type(completer).__name__} learns from all rows at once; fit it on rows that fit "
            "into memory first, and complete the others by transform."
        )
    return completer.sampler(like), completer.fit_sample


def _table_sampler(completer: TableCompleter, like: Any) -> Sampler:
    """Return what chooses rows of a table so that every category occurs."""
    method = PMC() if completer.method is None else completer.method
    told, names = completer.column_types or {}, list(like.columns)
    most = method._most_rows(np.inf) if isinstance(method, BlockCompleter) else None
    seed = int(check_random_state(completer.random_state).randint(2**31 - 1))
    used = [name for name in names if name not in listed(completer.passthrough)]
    dtypes = {name: like[name].dtype for name in used}
    labels = [name for name in used if name in told or not is_measured(dtypes[name])]
    for name in labels:
        known = like[name].cat.get_categories() if dtypes[name] == nw.Categorical else []
        if "__UNKNOWN_CATEGORIES__" in list(known):
            raise ValueError(
                f"Dask does not know the categories of column {name!r} yet; call "
                "X = X.categorize() first."
            )
    needed = partial(_examples, labels, int(completer.max_categories))

    def choose(block: Any, first: int) -> Sample:
        frame = table(block)
        check_columns(names, list(frame.columns))
        there = [present(frame[name]) for name in used] or [np.ones(len(frame), dtype=bool)]
        mask = np.column_stack(there)
        return Sample.of(frame.select(names), mask, first, most or ROWS, seed, needed=needed)

    return choose


def _examples(labels: list[Any], most: int, frame: Any) -> Iterator[np.ndarray]:
    """Yield positions of rows that show each label."""
    for name in labels:
        first = frame[name].is_first_distinct().to_numpy() & present(frame[name])
        yield np.flatnonzero(first)[: most + 1]  # one more is enough to refuse the column


def _fit_table(completer: TableCompleter, sample: Sample) -> None:
    completer.fit(sample.X.to_native())
    completer.n_samples_seen_ = sample.n_rows
    del completer.proba_, completer.cell_std_, completer.held_out_  # they are of the sample's cells


def transform(completer: Any, X: Any) -> Any:
    """Complete a Dask array or data frame, partition by partition, when it is asked for.

    Parameters
    ----------
    completer : completer
        Fitted, by :func:`fit` or in any other way: every completer and ``TableCompleter``.
    X : dask.array.Array or dask.dataframe.DataFrame
        Rows with holes.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        As X, with the same partitions; nothing has been computed yet.

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
    """Return a copy to be sent to workers: one thread, nothing about the rows it learned from."""
    light = copy(completer)
    for name in OF_ROWS:
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
    """Return X with whole rows in each partition; refuse what is no Dask collection."""
    if _is_array(X):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}.")
        return X.rechunk({1: -1})
    if not (hasattr(X, "map_partitions") and hasattr(X, "columns")):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}; for what is in memory "
            "use the completer's own fit and transform."
        )
    return X


def _without_rows(X: Any) -> Any:
    """Return a block of X as it would be without rows."""
    return np.empty((0, X.shape[1]), dtype=X.dtype) if _is_array(X) else X._meta


def complete_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    completer: Any,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
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
        transform(completer, X).to_parquet(
            part,
            write_index=any(isinstance(name, str) for name in index),  # else it is a range
            write_metadata_file=False,
            name_function="part-{:05d}.parquet".format,
        )
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
    for path in paths[1:]:
        odd = set(arrow.read_schema(path).names) ^ set(first.names)
        if odd:  # Dask would fill in what a file lacks
            raise ValueError(
                f"{path} does not have the columns of {paths[0]}: they differ in "
                f"{', '.join(sorted(odd))}; make the files alike first."
            )
    return [str(path) for path in paths], first


@contextmanager
def _folder_written_whole(target: Path) -> Iterator[str]:
    """Give a folder that gets its name only when everything is in it."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already and not empty; choose another folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{target.name}.", suffix=".part", dir=target.parent, ignore_cleanup_errors=True
    ) as part:
        yield part
        os.chmod(part, 0o755)
        os.replace(part, target)  # an empty folder gives way
