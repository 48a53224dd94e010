"""Dask arrays and data frames: learn from all partitions, complete each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycomplete._optional import need
from polycomplete.dask.partitions import complete, lean, summed
from polycomplete.dask.tables import look_for


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
    look = look_for(completer, _without_rows(X))
    worker, first, found = delayed(look, traverse=False), 0, []
    parts = X.to_delayed().ravel() if _is_array(X) else X.to_delayed()
    for number, part in enumerate(parts):
        found.append(delayed(_look)(worker, part, first, f"Partition {number}"))
        # The number of the next partition's first row is known when this one was counted: so one
        # pass is enough.
        first = delayed(_after)(first, part)
    look.fit(completer, summed(found).compute())
    return completer


def _look(look: Any, block: Any, first: int, place: str) -> Any:
    return look([block], first, place)


def _after(first: int, block: Any) -> int:
    return first + len(block)


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
    like = complete(_without_rows(X), completer, "X")
    sent = delayed(lean(completer), traverse=False)  # one task of the graph: to each worker once
    if not _is_array(X):
        return X.map_partitions(_complete_frame, sent, meta=like)
    chunks = (X.chunks[0], (like.shape[1],))
    return X.map_blocks(_complete_array, completer=sent, chunks=chunks, dtype=like.dtype, meta=like)


def _complete_frame(
    block: Any, completer: Any, partition_info: dict[str, Any] | None = None
) -> Any:
    return complete(block, completer, f"Partition {(partition_info or {}).get('number', '')}")


def _complete_array(block: Any, completer: Any, block_id: tuple[int, ...] = (0,)) -> Any:
    return complete(block, completer, f"Partition {block_id[0]}")


def _is_array(X: Any) -> bool:
    return hasattr(X, "chunks")


def _by_rows(X: Any) -> Any:
    """Return X with whole rows in each partition; refuse what is no Dask collection."""
    need("dask", "dask", "Computing with Dask")
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
