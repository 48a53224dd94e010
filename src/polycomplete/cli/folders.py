"""Completing a folder of Parquet files with Dask, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from polycomplete.cli.completing import make, method_of
from polycomplete.cli.failures import MISUSED, UNWRITABLE, Failure
from polycomplete.cli.talk import Talk
from polycomplete.dask import complete_parquet
from polycomplete.streams import BlockCompleter
from polycomplete.tables import TableCompleter

__all__ = ["complete_folder"]


def complete_folder(
    source: str,
    target: str,
    method: str,
    seed: int,
    talk: Talk,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
) -> Any:
    """Complete a folder of Parquet files into another; return the fitted estimator.

    Parameters
    ----------
    source, target : str
        Folders.
    method : str
        By its name.
    seed : int
        For everything random.
    talk : Talk
        Who tells how far it is.
    workers : int, optional
        Processes on this machine.
    scheduler : str, optional
        The address of a cluster.
    resume : bool
        Go on with a job that was stopped.

    Returns
    -------
    estimator

    Examples
    --------
    >>> complete_folder("nowhere", "out", "pmc-w", 0, Talk(quiet=True))
    Traceback (most recent call last):
    polycomplete.cli.failures.Failure: nowhere is no folder; --backend dask takes ...
    """
    files = sorted(Path(source).rglob("*.parquet")) if Path(source).is_dir() else []
    if not files:
        what = "has no .parquet file" if Path(source).is_dir() else "is no folder"
        raise Failure(f"{source} {what}; --backend dask takes a folder of Parquet files.", MISUSED)
    columns = pl.scan_parquet(files[0]).collect_schema().dtypes()
    numbers = all(dtype.is_numeric() for dtype in columns)
    estimator = (method_of if numbers else make)(method, seed)
    if not isinstance(estimator, BlockCompleter | TableCompleter):
        raise Failure(f"{method} needs all rows at once; take pmc-w, pmc-s or nlmc.", MISUSED)
    try:
        with talk.working(f"completing {len(files)} files by {method}"):
            return complete_parquet(
                source, target, estimator, resume=resume, workers=workers, scheduler=scheduler
            )
    except FileExistsError as error:
        raise Failure(str(error), UNWRITABLE) from None
