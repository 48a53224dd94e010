"""Tables with columns of all kinds: a sample of their rows in which every category occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from polycomplete.dask.partitions import Look
from polycomplete.gathering import naming
from polycomplete.methods import PMC
from polycomplete.sampling import luck_of, lucky
from polycomplete.streams import BlockCompleter
from polycomplete.tables import TableCompleter
from polycomplete.tables.cells import present, table
from polycomplete.tables.method import check_columns, listed

ROWS = 3000  # to learn from, where the method does not say how many


def look_for(completer: Any, like: Any) -> Look | TableLook:
    """Return what looks at blocks for a completer that is to learn from them.

    Parameters
    ----------
    completer : BlockCompleter or TableCompleter
        Not fitted yet.
    like : array or data frame without rows
        Whose columns every block must have.

    Returns
    -------
    Look or TableLook

    Examples
    --------
    >>> type(look_for(PMC(random_state=0), np.empty((0, 2)))).__name__
    'Look'
    """
    if isinstance(completer, TableCompleter):
        return TableLook(completer, like)
    return Look(completer, like)


@dataclass(frozen=True)
class Rule:
    """Which rows of a table to learn from.

    Attributes
    ----------
    most, seed : int
        How many rows by their number of present cells, and for drawing them.
    used : list
        The columns that count.
    labels, ends : list
        Columns of which each label, and of which the smallest and largest cell, must be there.
    max_labels : int
        One more of them is enough to refuse a column.
    """

    most: int
    seed: int
    used: list[Any]
    labels: list[Any]
    ends: list[Any]
    max_labels: int

    def examples(self, frame: Any) -> list[np.ndarray]:
        """Return the positions of rows that show what must be there."""
        found = []
        for name in self.labels:
            first = frame[name].is_first_distinct().to_numpy() & present(frame[name])
            found.append(np.flatnonzero(first)[: self.max_labels + 1])
        for name in self.ends:
            there = np.flatnonzero(present(frame[name]))
            if len(there):
                cells = frame[name][there.tolist()]
                found.append(there[[cells.arg_min(), cells.arg_max()]])
        return found


@dataclass(frozen=True)
class TableSample:
    """The rows of a table to learn from, of all that were seen so far; two of them add up.

    Attributes
    ----------
    rule : Rule
        How they are chosen.
    frame : narwhals DataFrame
        These rows.
    share : ndarray of shape (k,)
        Of their cells that are present.
    luck : ndarray of shape (k, 2)
        What was drawn for them.

    Examples
    --------
    >>> import pandas as pd
    >>> rule = Rule(most=2, seed=0, used=["x"], labels=["kind"], ends=[], max_labels=50)
    >>> block = table(pd.DataFrame({"x": range(9), "kind": [*"aaaabaaac"]}))
    >>> sample = TableSample.of(block, 0, rule)
    >>> sorted(set(sample.frame["kind"].to_list())), len(sample.frame) <= 5
    (['a', 'b', 'c'], True)
    """

    rule: Rule
    frame: Any
    share: np.ndarray
    luck: np.ndarray

    @classmethod
    def of(cls, frame: Any, first: int, rule: Rule) -> TableSample:
        """Choose among the rows of a block; ``first`` is the number of its first row."""
        there = [present(frame[name]) for name in rule.used]
        share = np.mean(there, axis=0) if there else np.ones(len(frame))
        return cls(rule, frame, share, luck_of(rule.seed, first, len(frame)))._chosen()

    def __add__(self, other: TableSample) -> TableSample:
        """Choose among the rows of both; ``other`` has the later ones."""
        frame = nw.concat([self.frame, other.frame])
        share = np.concatenate([self.share, other.share])
        return TableSample(
            self.rule, frame, share, np.concatenate([self.luck, other.luck])
        )._chosen()

    def _chosen(self) -> TableSample:
        drawn = lucky(self.share, self.luck, self.rule.most)
        at = reduce(np.union1d, self.rule.examples(self.frame), drawn)
        if len(at) == len(self.share):
            return self
        return TableSample(self.rule, self.frame[at.tolist()], self.share[at], self.luck[at])


class TableLook:
    """Looks at blocks of a table for a :class:`~polycomplete.TableCompleter` that is to learn.

    Parameters
    ----------
    completer : TableCompleter
        What is to be fitted.
    like : data frame without rows
        Whose columns every block must have.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, None, 3.0], "kind": ["a", "b", None]})
    >>> look = TableLook(TableCompleter(random_state=0), table[:0])
    >>> len(look([table, table], 0, "Partition 0").frame)
    6
    """

    def __init__(self, completer: TableCompleter, like: Any):
        frame = table(like)
        _refuse_unknown_categories(frame)
        self.names = list(frame.columns)
        method = PMC() if completer.method is None else completer.method
        most = clone(method)._sample_size() if isinstance(method, BlockCompleter) else ROWS
        used = [name for name in self.names if name not in listed(completer.ids)]
        told = completer.kinds or {}
        labels = [name for name in used if name in told or not _is_measured(frame[name])]
        clip = completer.clip
        ends = [] if clip is None else list(clip) if isinstance(clip, Mapping) else used
        ends = [name for name in ends if name not in labels]
        seed = int(check_random_state(completer.random_state).randint(2**31 - 1))
        self.rule = Rule(most, seed, used, labels, ends, int(completer.max_categories))

    def __call__(self, blocks: Iterable[Any], first: int, place: str) -> TableSample:
        """Look at the blocks of a partition, whose first row has this number."""
        found: list[TableSample] = []
        with naming(place):
            for block in blocks:
                frame = table(block)
                check_columns(self.names, list(frame.columns))
                found.append(TableSample.of(frame.select(self.names), first, self.rule))
                first += len(frame)
                found = [reduce(add, found)]
        return found[0]

    def fit(self, completer: TableCompleter, sample: TableSample) -> None:
        """Let the completer learn from what was gathered of all partitions."""
        completer.fit(sample.frame.to_native())
        # They are of the sample's cells.
        del completer.proba_, completer.cell_std_, completer.held_out_


def _is_measured(series: Any) -> bool:
    return bool(series.dtype.is_numeric() or series.dtype.is_temporal())


def _refuse_unknown_categories(frame: Any) -> None:
    """Raise where Dask does not know the categories of a column yet."""
    for series in frame.iter_columns():
        if series.dtype == nw.Categorical and "__UNKNOWN_CATEGORIES__" in list(
            series.cat.get_categories()
        ):
            raise ValueError(
                f"Dask does not know the categories of column {series.name!r} yet; call "
                "X = X.categorize() first."
            )
