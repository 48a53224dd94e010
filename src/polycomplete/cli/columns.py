"""Which columns of a table are used, and which are left alone."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from polycomplete.cli.failures import MISUSED, Failure
from polycomplete.cli.talk import Talk
from polycomplete.files.table import UNKNOWN, Table, without

#: A column with more different texts than this holds names, not kinds.
MOST_TEXTS = 50


def find(table: Table, names: Iterable[str]) -> list[str]:
    """Return names of columns; raise where a table has no such column.

    Parameters
    ----------
    table : Table
        The table.
    names : iterable of str
        What the user calls them.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import polars as pl
    >>> find(Table("a.csv", pl.DataFrame({"age": [1]})), ["age"])
    ['age']
    """
    known, names = table.frame.columns, list(names)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {_listed(known)}."
            raise Failure(f"{table.name} has no column {name!r}{hint}")
    return names


def check_new(table: Table, name: str, option: str) -> None:
    """Raise where a table has a column of that name already.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        Of a column that will be added.
    option : str
        By which another name is given.

    Returns
    -------
    None

    Examples
    --------
    >>> import polars as pl
    >>> check_new(Table("a.csv", pl.DataFrame({"age": [1]})), "cluster", "--column")
    """
    if name in table.frame.columns:
        raise Failure(
            f"{table.name} has a column {name!r} already; give another name by {option}.", MISUSED
        )


def usable(table: Table, ids: Iterable[str], talk: Talk) -> list[str]:
    """Return the columns that can be used; say which are left alone, and why.

    Parameters
    ----------
    table : Table
        The table.
    ids : iterable of str
        Columns that the user wants left alone.
    talk : Talk
        Where to say it.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import polars as pl
    >>> table = Table("a.csv", pl.DataFrame({"age": [1, None], "who": ["A", "B"]}))
    >>> usable(table, ["who"], Talk())
    ['age']
    """
    left = set(find(table, ids))
    used = []
    if "" not in left and _numbers_rows(table.frame.to_series(0)):
        talk.note("the first column has no name and numbers the rows; it is left alone.")
        left.add("")
    for column in table.frame:
        if column.name in left:
            continue
        why = _unusable(column)
        if why is None:
            used.append(column.name)
            if _has_commas(column):
                talk.note(f"column {column.name!r} is taken for text; is --decimal , missing?")
        else:
            talk.note(f"column {column.name!r} {why}.")
    if not used:
        raise Failure(f"{table.name} has no column that can be completed.")
    return used


def _numbers_rows(column: Any) -> bool:
    """Return whether a column is what data frames write before their own: the index of the rows."""
    whole = column.name == "" and column.dtype.is_integer()
    return bool(whole and not column.null_count() and column.n_unique() == len(column))


def learned_from(table: Table, names: list[str], talk: Talk) -> Any:
    """Return columns as a method sees them: cells that say that they are unknown are missing there.

    So no cell is ever completed by such a word, and where one stands it stays.

    Parameters
    ----------
    table : Table
        The table.
    names : list of str
        Of the columns.
    talk : Talk
        Where to say it.

    Returns
    -------
    polars DataFrame

    Examples
    --------
    >>> import polars as pl
    >>> table = Table("a.csv", pl.DataFrame({"kind": ["red", "unknown"]}))
    >>> learned_from(table, ["kind"], Talk())["kind"].to_list()
    ['red', None]
    """
    frame = table.frame[names]
    known = [_known(column) for column in frame]
    for column, less in zip(frame, known, strict=True):
        stay = less.null_count() - column.null_count()
        if stay and column.null_count():
            words = sorted(set(column.filter(less.is_null()).drop_nulls().str.strip_chars()))
            talk.note(
                f"column {column.name!r}: nothing is completed by {' or '.join(map(repr, words))}; "
                f"such cells ({stay}) stay as they are."
            )
    return frame.with_columns(known)


def _known(column: Any) -> Any:
    return without(column, UNKNOWN) if str(column.dtype) == "String" else column


def _unusable(column: Any) -> str | None:
    """Return why a column is left alone; None where it is used."""
    dtype = column.dtype
    if column.null_count() == len(column):
        return "has no value at all and stays empty"
    if dtype.is_numeric() or dtype.is_temporal() or str(dtype) == "Boolean":
        return None
    if str(dtype).startswith(("String", "Categorical", "Enum")):
        column = _known(column)
        if column.null_count() == len(column):
            return f"holds no text but {' or '.join(UNKNOWN)}, and is left alone"
        count = column.drop_nulls().n_unique()
        if count <= MOST_TEXTS:
            return None
        return f"holds {count} different texts, more than {MOST_TEXTS}, and is left alone"
    return f"holds {dtype}, which cannot be completed, and is left alone"


def _has_commas(column: Any) -> bool:
    """Return whether a column of text holds numbers with a comma before their decimals."""
    if str(column.dtype) != "String":
        return False
    cells = _known(column).drop_nulls().str
    return bool(cells.contains(r"^\s*[+-]?\d+(,\d+)?\s*$").all() and cells.contains(",").any())


def numbers(table: Table, ids: Iterable[str], talk: Talk) -> Any:
    """Return the columns of numbers of a table; say which others are left alone.

    Parameters
    ----------
    table : Table
        The table.
    ids : iterable of str
        Columns that the user wants left alone.
    talk : Talk
        Where to say it.

    Returns
    -------
    polars DataFrame

    Examples
    --------
    >>> import polars as pl
    >>> table = Table("a.csv", pl.DataFrame({"age": [1, None], "kind": ["A", "B"]}))
    >>> numbers(table, [], Talk(quiet=True)).columns
    ['age']
    """
    frame = table.frame[usable(table, ids, talk)]
    odd = [column.name for column in frame if not column.dtype.is_numeric()]
    if odd:
        talk.note(f"columns without numbers are left alone: {_listed(odd)}.")
    if len(odd) == frame.width:
        raise Failure(f"{table.name} has no column of numbers.")
    return frame[[name for name in frame.columns if name not in odd]]


def sample(frame: Any, rows: int, seed: int, talk: Talk) -> Any:
    """Return some rows of a large table, all of a small one.

    Parameters
    ----------
    frame : polars DataFrame
        The table.
    rows : int
        At most.
    seed : int
        Chooses them.
    talk : Talk
        Where to say it.

    Returns
    -------
    polars DataFrame

    Examples
    --------
    >>> import polars as pl
    >>> len(sample(pl.DataFrame({"a": range(100)}), 10, 0, Talk(quiet=True)))
    10
    """
    if len(frame) <= rows:
        return frame
    talk.note(f"{rows} of {len(frame)} rows are used, drawn at random (--rows).")
    chosen = np.random.default_rng(seed).choice(len(frame), rows, replace=False)
    return frame[np.sort(chosen)]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
