"""What is done with one partition, and how the results of all of them come together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from ctypes import CDLL
from dataclasses import replace
from functools import cache, reduce
from multiprocessing import parent_process
from operator import add
from typing import Any

from sklearn.base import clone

from polycomplete._optional import need
from polycomplete.disk import complete_block
from polycomplete.gathering import Gathered, naming
from polycomplete.landmarks import Landmark
from polycomplete.model import SurfaceModel
from polycomplete.streams import BlockCompleter

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt
AT_ONCE = 8  # of these are added up in a task: samples of many partitions would not fit


class Look:
    """Looks at blocks of rows for a completer that is to learn from them; can be sent anywhere.

    Parameters
    ----------
    completer : BlockCompleter
        What is to be fitted.
    like : array or data frame without rows
        Whose columns every block must have.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete import PMC
    >>> look = Look(PMC(random_state=0), np.empty((0, 2)))
    >>> look([np.ones((3, 2)), np.ones((4, 2))], 0, "Partition 0").tally.rows
    7
    """

    def __init__(self, completer: BlockCompleter, like: Any):
        if not isinstance(completer, BlockCompleter):
            raise TypeError(
                f"{type(completer).__name__} learns from all rows at once; fit it on rows that fit "
                "into memory first, and complete the others by transform."
            )
        self.most, self.seed = completer._sample_size(), completer._seed()
        self.like = like
        self.completer = clone(completer)
        self.completer._validate(like, reset=True, fewest=0)

    def __call__(self, blocks: Iterable[Any], first: int, place: str) -> Gathered:
        """Look at the blocks of a partition, whose first row has this number."""
        found = []
        with naming(place):
            for block in blocks:
                matrix, mask = self.completer._validate(block, reset=False, fewest=0)
                found.append(Gathered.of(matrix, mask, first, self.most, self.seed))
                first += len(matrix)
                found = [reduce(add, found)]
        return found[0]

    def fit(self, completer: BlockCompleter, gathered: Gathered) -> None:
        """Let the completer learn from what was gathered of all partitions."""
        completer._fit_gathered(gathered, self.like)


def summed(parts: Sequence[Any]) -> Any:
    """Return the task that adds up tasks, in their order, a few at a time.

    Parameters
    ----------
    parts : sequence of Delayed
        At least one.

    Returns
    -------
    Delayed

    Examples
    --------
    >>> from dask import delayed
    >>> summed([delayed([i]) for i in range(20)]).compute() == list(range(20))
    True
    """
    delayed = need("dask", "dask", "Computing with Dask").delayed
    parts = list(parts)
    while len(parts) > 1:
        groups = [parts[at : at + AT_ONCE] for at in range(0, len(parts), AT_ONCE)]
        parts = [delayed(_sum)(group) for group in groups]
    return parts[0]


def _sum(parts: list[Any]) -> Any:
    return reduce(add, parts)


def lean(completer: Any) -> Any:
    """Return a fitted completer to be sent to workers: one thread, nothing about training rows.

    Parameters
    ----------
    completer : completer
        Fitted.

    Returns
    -------
    completer
        A copy that completes rows in the same way.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC().fit([[1.0, 2.0], [2.0, 4.0]])
    >>> hasattr(fitted, "row_determined_"), hasattr(lean(fitted), "row_determined_")
    (True, False)
    """
    light = copy(completer)
    for name in ("row_determined_", "cell_std_", "held_out_", "result_", "proba_"):
        if hasattr(light, name):
            delattr(light, name)
    inner = getattr(light, "method_", None)  # of a TableCompleter
    if inner is not None:
        light.method_ = lean(inner)
    model = getattr(light, "model_", None)
    if isinstance(model, SurfaceModel):
        light.model_ = replace(model, engine=clone(model.engine).set_params(n_jobs=1))
        if isinstance(light.engine, Landmark):
            light.engine = clone(light.engine).set_params(n_jobs=1)
    return light


def complete(block: Any, completer: Any, place: str) -> Any:
    """Complete the rows of a partition.

    Parameters
    ----------
    block : array or data frame
        Rows with holes; may have none.
    completer : completer
        Fitted.
    place : str
        What to call it in messages.

    Returns
    -------
    array or data frame

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> complete([[2.0, 4.0]], LRMC().fit([[1.0, 2.0], [2.0, 4.0]]), "Partition 0")
    array([[2., 4.]])
    """
    _keep_freed_memory()
    with naming(place):
        return complete_block(completer, block)


@cache
def _keep_freed_memory() -> None:
    """Make the C library of a worker process keep what arrays give back, once.

    Dask's nanny starts workers with a fixed trim threshold. With it glibc no longer adapts, and
    asks the system for fresh memory for every array above 128 kB: completing takes 2.5 times as
    long. In other processes, and with other C libraries, nothing happens.
    """
    if parent_process() is None:
        return
    with suppress(OSError, AttributeError):
        mallopt = CDLL("libc.so.6").mallopt
        mallopt(M_MMAP_THRESHOLD, 32 * 2**20)
        mallopt(M_TRIM_THRESHOLD, 64 * 2**20)
