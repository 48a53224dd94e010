"""What partitions tell a completer that is to learn from them: rows of numbers, or of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from polycomplete.frames import present, table
from polycomplete.methods import PMC
from polycomplete.out_of_core import BlockCompleter
from polycomplete.sampling import Sample
from polycomplete.tables import TableCompleter
from polycomplete.tables.codecs import is_measured
from polycomplete.tables.completer import check_columns, listed

ROWS = 3000  # of a table to learn from, where the method does not say how many

#: Looks at a block whose first row has this number; what it returns adds up thing by thing.
Look = Callable[[Any, int], tuple[Any, ...]]
#: Learns from what all blocks told.
Learn = Callable[..., None]


def look_and_learn(completer: Any, like: Any) -> tuple[Look, Learn]:
    """Return how a completer learns from blocks that have the columns of one without rows."""
    if isinstance(completer, TableCompleter):
        return _from_tables(completer, table(like))
    if not isinstance(completer, BlockCompleter):
        raise TypeError(
            f"{type(completer).__name__} learns from all rows at once; fit it on rows that fit "
            "into memory first, and complete the others by transform."
        )
    most, seed = completer._sample_size(), completer._seed()
    reader = clone(completer)
    reader._validate(like, reset=True, fewest=0)
    return partial(reader._look, most=most, seed=seed), partial(completer._fit_gathered, like=like)


def _from_tables(completer: TableCompleter, frame: Any) -> tuple[Look, Learn]:
    """Learn from a sample in which every category occurs."""
    _refuse_unknown_categories(frame)
    method = PMC() if completer.method is None else completer.method
    most = clone(method)._sample_size() if isinstance(method, BlockCompleter) else ROWS
    used = [name for name in frame.columns if name not in listed(completer.passthrough)]
    told, clip = completer.column_types or {}, completer.clip
    labels = [name for name in used if name in told or not is_measured(frame[name].dtype)]
    clipped = clip if isinstance(clip, Mapping) else used if clip is not None else []
    ends = [name for name in clipped if name not in labels]
    look = partial(
        _look_at_table,
        names=list(frame.columns),
        used=used,
        most=most,
        seed=int(check_random_state(completer.random_state).randint(2**31 - 1)),
        needed=partial(_examples, labels, ends, int(completer.max_categories)),
    )
    return look, partial(_learn_table, completer)


def _look_at_table(
    block: Any, first: int, names: list[Any], used: list[Any], **options: Any
) -> tuple[Sample]:
    frame = table(block)
    check_columns(names, list(frame.columns))
    there = [present(frame[name]) for name in used] or [np.ones(len(frame))]
    return (Sample.of(frame.select(names), np.column_stack(there), first, **options),)


def _examples(labels: list[Any], ends: list[Any], most: int, frame: Any) -> Iterator[np.ndarray]:
    """Yield positions of rows that show each label, and the smallest and largest cell."""
    for name in labels:
        first = frame[name].is_first_distinct().to_numpy() & present(frame[name])
        yield np.flatnonzero(first)[: most + 1]  # one more is enough to refuse the column
    for name in ends:
        there = np.flatnonzero(present(frame[name]))
        if len(there):
            cells = frame[name][there.tolist()]
            yield there[[cells.arg_min(), cells.arg_max()]]


def _learn_table(completer: TableCompleter, sample: Sample) -> None:
    completer.fit(sample.X.to_native())
    # They are of the sample's cells.
    del completer.proba_, completer.cell_std_, completer.held_out_


def _refuse_unknown_categories(frame: Any) -> None:
    for series in frame.iter_columns():
        known = series.cat.get_categories() if series.dtype == nw.Categorical else []
        if "__UNKNOWN_CATEGORIES__" in list(known):
            raise ValueError(
                f"Dask does not know the categories of column {series.name!r} yet; call "
                "X = X.categorize() first."
            )
