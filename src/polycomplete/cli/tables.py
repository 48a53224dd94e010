"""A table for a command: read from its file, the columns of it that are used, and written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polycomplete.cli.console import MISUSED, UNWRITABLE, CommandError, Console
from polycomplete.io import KINDS, kind_of, read_table, write_table
from polycomplete.io.table import SIGNS, UNKNOWN, ReadOptions, Table, without
from polycomplete.io.atomic import written_whole

#: A column with more different texts than this holds names, not categories.
MOST_TEXTS = 50


# ReadOptions


def read(path: str, options: ReadOptions, console: Console) -> Table:
    """Read a table; say which sheets are left out, and which texts are taken for missing cells."""
    given = read_table(path, options)
    if given.other_sheets:
        others = ", ".join(map(repr, given.other_sheets))
        console.note(f"sheet {given.sheet!r} is used, and not {others}; --sheet takes another.")
    _note_signs(given, options, console)
    return given


def _note_signs(given: Table, options: ReadOptions, console: Console) -> None:
    """Say which cells were taken for missing though nobody said that they are."""
    counts = {
        text: count
        for text, count in _counted(given).items()
        if text.lower() in (*SIGNS, *UNKNOWN) and text not in options.markers
    }
    if counts:
        cells = ", ".join(f"{text!r} ({count})" for text, count in counts.items())
        names = [name for name, texts in given.marked.items() if counts.keys() & texts.keys()]
        console.note(f"cells read as missing: {cells}; in {first_of(names)}.")


def _counted(given: Table) -> dict[str, int]:
    """Return how often each text was read as missing, the most frequent first."""
    total: Counter[str] = Counter()
    for texts in given.marked.values():
        total.update(texts)
    return dict(total.most_common())


def first_of(names: Iterable[Any], most: int = 10) -> str:
    """Return the first names, with commas between them, and dots where there are more."""
    names = [str(name) for name in names]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def origin(given: Table) -> dict[str, Any]:
    """Return where a table came from and what was read as missing, for a command's result."""
    sheet = {} if given.sheet is None else {"sheet": given.sheet}
    return {"input": given.name, **sheet, "read_as_missing": _counted(given)}


def row_labels(given: Table, ids: Sequence[str] | None) -> tuple[str, Any]:
    """Return what rows are called, and their labels: the only id if each has its own, or lines."""
    if ids and len(ids) == 1 and ids[0]:
        column = given.text_of(ids[0])
        if not column.null_count() and column.n_unique() == len(column):
            return ids[0], column
    return given.rows


# Columns


def find(table: Table, names: Iterable[str]) -> list[str]:
    """Return names of columns; raise where a table has no such column."""
    known, names = table.frame.columns, list(names)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {first_of(known)}."
            raise CommandError(f"{table.name} has no column {name!r}{hint}")
    return names


def check_new(table: Table, name: str, option: str) -> None:
    """Raise where a table has a column of that name already; the option gives another name."""
    if name in table.frame.columns:
        said = f"{table.name} has a column {name!r} already; give another name by {option}."
        raise CommandError(said, MISUSED)


def count_missing(frame: pl.DataFrame) -> int:
    """Return how many cells are missing."""
    return sum(frame.null_count().row(0))


def usable(table: Table, ids: Iterable[str] | None, console: Console) -> list[str]:
    """Return the columns that can be used; say which are left alone, and why."""
    left = set(find(table, ids or ()))
    used = []
    if "" not in left and _numbers_rows(table.frame.to_series(0)):
        console.note("the first column has no name and numbers the rows; it is left alone.")
        left.add("")
    for column in table.frame:
        if column.name in left:
            continue
        why = _unusable(column)
        if why is not None:
            console.note(f"column {column.name!r} {why}.")
            continue
        used.append(column.name)
        if _has_commas(column):
            console.note(f"column {column.name!r} is taken for text; is --decimal , missing?")
    if not used:
        raise CommandError(f"{table.name} has no column that can be completed.")
    return used


def _numbers_rows(column: pl.Series) -> bool:
    """Return whether a column is what data frames write before their own: the index of the rows."""
    whole = column.name == "" and column.dtype.is_integer()
    return bool(whole and not column.null_count() and column.n_unique() == len(column))


def _unusable(column: pl.Series) -> str | None:
    """Return why a column is left alone; None where it is used."""
    dtype = column.dtype
    if column.null_count() == len(column):
        return "has no value at all and stays empty"
    if dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean:
        return None
    if dtype not in (pl.String, pl.Categorical, pl.Enum):
        return f"holds {dtype}, which cannot be completed, and is left alone"
    column = _known(column)
    if column.null_count() == len(column):
        return f"holds no text but {' or '.join(UNKNOWN)}, and is left alone"
    count = column.drop_nulls().n_unique()
    if count <= MOST_TEXTS:
        return None
    return f"holds {count} different texts, more than {MOST_TEXTS}, and is left alone"


def _has_commas(column: pl.Series) -> bool:
    """Return whether a column of text holds numbers with a comma before their decimals."""
    if column.dtype != pl.String:
        return False
    cells = _known(column).drop_nulls().str
    return bool(cells.contains(r"^\s*[+-]?\d+(,\d+)?\s*$").all() and cells.contains(",").any())


def _known(column: pl.Series) -> pl.Series:
    return without(column, UNKNOWN) if column.dtype == pl.String else column


def learned_from(table: Table, names: list[str], console: Console) -> pl.DataFrame:
    """Return columns as a method sees them: cells that say that they are unknown are missing there.

    So no cell is ever completed by such a word, and where one stands it stays.
    """
    frame = table.frame[names]
    known = [_known(column) for column in frame]
    for column, less in zip(frame, known, strict=True):
        stay = less.null_count() - column.null_count()
        if stay and column.null_count():
            words = sorted(set(column.filter(less.is_null()).drop_nulls().str.strip_chars()))
            console.note(
                f"column {column.name!r}: nothing is completed by {' or '.join(map(repr, words))}; "
                f"such cells ({stay}) stay as they are."
            )
    return frame.with_columns(known)


def numbers(table: Table, ids: Iterable[str] | None, console: Console) -> pl.DataFrame:
    """Return the columns of numbers of a table; say which others are left alone."""
    frame = table.frame[usable(table, ids, console)]
    odd = [column.name for column in frame if not column.dtype.is_numeric()]
    if odd:
        console.note(f"columns without numbers are left alone: {first_of(odd)}.")
    if len(odd) == frame.width:
        raise CommandError(f"{table.name} has no column of numbers.")
    return frame[[name for name in frame.columns if name not in odd]]


def rows_with_numbers(
    table: Table, frame: pl.DataFrame, ids: Sequence[str] | None, console: Console
) -> pl.Series:
    """Return which rows have a number; say which have none."""
    observed = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    if observed.sum() < 2:
        said = f"{observed.sum()} rows have a number; clustering needs two."
        raise CommandError(f"{table.name}: {said}")
    empty = (~observed).arg_true()
    if len(empty):
        word, labels = row_labels(table, ids)
        first = first_of([labels[i] for i in empty], 5)
        console.note(f"rows without any number get no cluster: {len(empty)} ({word} {first}).")
    return observed


def sample(frame: pl.DataFrame, rows: int, seed: int, console: Console) -> pl.DataFrame:
    """Return some rows of a large table, all of a small one."""
    if len(frame) <= rows:
        return frame
    console.note(f"{rows} of {len(frame)} rows are used, drawn at random (--rows).")
    chosen = np.random.default_rng(seed).choice(len(frame), rows, replace=False)
    return frame[np.sort(chosen)]


# Writing


def beside(source: str, word: str) -> str:
    """Return the name of the result where the user gives none: beside the table, or a pipe."""
    path = Path(source)
    if source == "-" or source.startswith(("/dev/", "/proc/")) or path.is_fifo():
        return "-"
    suffix = path.suffix if kind_of(source) else ".csv"
    return str(path.with_name(f"{path.stem}-{word}{suffix}"))


def checked_output(
    console: Console, source: str, output: str | None, word: str, *others: str | None,
    force: bool, model: str | None = None,
) -> str:  # fmt: skip
    """Return where the table goes; raise where a result could not be written.

    Better before hours of work than after. Of what is read, only the table that is written may
    replace ``source``, and nothing ``model``.
    """
    table = output or beside(source, word)
    if console.json and table == "-":
        raise CommandError("--json and the table both go to standard output; use -o FILE.", MISUSED)
    if table != "-" and kind_of(table) is None:
        kinds = f"let it end in {' '.join(KINDS)}."
        raise CommandError(f"{table} does not say what kind of table to write; {kinds}", MISUSED)
    rest = [name for name in others if name]
    results = [table, *rest]
    for one, other in combinations(results, 2):
        if _same(one, other, 1):
            names = one if one == other else f"{one} and {other}"
            said = f"{names}: two results would go into one file; give each a file of its own."
            raise CommandError(said, MISUSED)
    _check_not_read(source, rest)
    if model is not None:
        _check_not_read(model, results)
    for name in results:
        if name != "-":
            _check_free(Path(name), force)
    return table


def check_outside(name: str, *folders: str) -> None:
    """Raise where a file would come into a folder of tables, or replace another."""
    for folder in folders:
        if Path(os.path.realpath(name)).is_relative_to(os.path.realpath(folder)):
            said = f"{name} lies among the tables of {folder}; choose another folder."
            raise CommandError(said, MISUSED)
    _check_free(Path(name), force=False)


def _check_not_read(given: str, results: list[str]) -> None:
    """Raise where a result would go into a file that is read."""
    for one in results:
        if _same(given, one, 0):
            known = "" if one == given else f", {given}"
            raise CommandError(
                f"{one} is the file that is read{known}, and would be replaced by something "
                "else; choose another name.",
                MISUSED,
            )


def _same(one: str, other: str, standard: int) -> bool:
    """Return whether two names stand for one file; "-" stands for a file that is open already."""
    if "-" not in (one, other) and os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(*(standard if name == "-" else name for name in (one, other)))
    except OSError:  # one of them is not there yet
        return False


def _check_free(path: Path, force: bool) -> None:
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name a file in it.", UNWRITABLE)
    if not path.parent.is_dir():
        raise CommandError(f"There is no folder {path.parent} to write {path.name} to.", UNWRITABLE)
    if path.is_file() and not force:
        raise CommandError(f"{path} exists already; choose another name or --force.", UNWRITABLE)


def write(
    made: Table, path: str, force: bool, console: Console,
    save: str | None = None, model: bytes = b"",
) -> None:  # fmt: skip
    """Write a table, and a model where it is to be saved: both or none, and each whole."""
    with written_whole(save, force=force) if save else nullcontext() as file:
        if file is not None:
            file.write(model)
            file.flush()  # a full disk shows here, before the table has its name
        write_table(made, path, force=force)
    console.wrote("output", path)
    if save:
        console.wrote("model", save)
