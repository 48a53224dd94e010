"""A command's work on one table: reading it, choosing its columns, checking paths, writing."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.selectors import decimal

from polycomplete.cli.console import CommandError, Console, MisuseError
from polycomplete.io import kind_of, read_table, unknown_kind, write_table
from polycomplete.io.atomic import refuse_taken, written_whole
from polycomplete.io.table import SIGNS, UNKNOWN, ReadOptions, Table, without

#: A column of text with more distinct values than this holds names, not categories.
MOST_TEXTS = 50


@dataclass
class Session:
    """What a command reads, uses, says and writes, and the options that commands share.

    ``table`` is the table that was read, and ``ids`` are the columns that the user leaves alone.
    """

    console: Console
    options: ReadOptions
    output: str
    method: str
    ids: list[str]
    seed: int
    force: bool
    table: Table = field(init=False)

    def note(self, message: str) -> None:
        """Say something worth knowing."""
        self.console.note(message)

    # Reading

    def read(self, path: str) -> Table:
        """Read a table; note which sheets are left out, and which texts are read as missing."""
        self.table = table = read_table(path, self.options)
        if table.other_sheets:
            others = ", ".join(map(repr, table.other_sheets))
            self.note(f"sheet {table.sheet!r} is used, and not {others}; --sheet takes another.")
        guessed = {  # not named as missing by the user
            text: count
            for text, count in self._read_as_missing().items()
            if text.lower() in (*SIGNS, *UNKNOWN) and text not in self.options.markers
        }
        if guessed:
            cells = ", ".join(f"{text!r} ({count})" for text, count in guessed.items())
            names = [name for name, texts in table.marked.items() if guessed.keys() & texts.keys()]
            self.note(f"cells read as missing: {cells}; in {first_of(names)}.")
        self.find(self.ids)
        return table

    def done(self, sentence: str, facts: dict[str, Any]) -> None:
        """Say that the work is done; with ``--json`` the facts, and where the table came from."""
        self.console.done(sentence, self.origin() | facts)

    def origin(self) -> dict[str, Any]:
        """Return where the table came from and what was read as missing."""
        sheet = {} if self.table.sheet is None else {"sheet": self.table.sheet}
        return {"input": self.table.name, **sheet, "read_as_missing": self._read_as_missing()}

    def _read_as_missing(self) -> dict[str, int]:
        """Return how often each text was read as missing, the most frequent first."""
        return dict(sum(map(Counter, self.table.marked.values()), Counter()).most_common())

    def rows(self) -> tuple[str, Any]:
        """Return what rows are called, and their labels: the only id, if unique, or numbers."""
        if len(self.ids) == 1 and self.ids[0]:
            column = self.table.text_of(self.ids[0])
            if not column.null_count() and column.n_unique() == len(column):
                return self.ids[0], column
        return self.table.rows

    # Columns

    def find(self, names: Iterable[str]) -> list[str]:
        """Return names of columns; raise if the table has no such column."""
        known, names = self.table.frame.columns, list(names)
        for name in names:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; it has {first_of(known)}."
                raise CommandError(f"{self.table.name} has no column {name!r}{hint}")
        return names

    def check_new(self, name: str | None, option: str) -> None:
        """Raise if the table has a column of that name already, which an option gives."""
        if name in self.table.frame.columns:
            raise MisuseError(
                f"{self.table.name} has a column {name!r} already; give another name by {option}."
            )

    def usable(self, *others: str) -> list[str]:
        """Return the columns to use, without ids and others; note why not the rest."""
        left, used = {*self.ids, *others}, []
        if "" not in left and _is_index(self.table.frame.to_series(0)):
            self.note("the first column has no name and numbers the rows; it is excluded.")
            left.add("")
        for column in self.table.frame:
            if column.name in left:
                continue
            if why := _why_unusable(column):
                self.note(f"column {column.name!r} {why}.")
                continue
            used.append(column.name)
            if _has_commas(column):
                self.note(f"column {column.name!r} is taken for text; is --decimal , missing?")
            elif odd := _odd_text(column):
                self.note(
                    f"column {column.name!r} is taken for text because of {odd!r}; if that stands "
                    f"for a missing cell, add --missing {shlex.quote(odd)}."
                )
        if not used:
            raise CommandError(f"{self.table.name} has no column that can be completed.")
        return used

    def numbers(self, *others: str) -> pl.DataFrame:
        """Return the usable columns of numbers; note which others are excluded."""
        frame = self.table.frame[self.usable(*others)]
        numbers = frame.select(column for column in frame if column.dtype.is_numeric())
        if not numbers.width:
            raise CommandError(f"{self.table.name} has no column of numbers.")
        if numbers.width < frame.width:
            odd = [name for name in frame.columns if name not in numbers.columns]
            self.note(f"columns without numbers are excluded: {first_of(odd)}.")
        return numbers

    def rows_with_numbers(self, frame: pl.DataFrame) -> pl.Series:
        """Return which rows have a number; note which have none."""
        observed = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        if observed.sum() < 2:
            count = f"{observed.sum()} rows have a number"
            raise CommandError(f"{self.table.name}: {count}; clustering needs two.")
        empty = (~observed).arg_true()
        if len(empty):
            word, labels = self.rows()
            first = first_of((labels[i] for i in empty), 5)
            self.note(f"rows without any number get no cluster: {len(empty)} ({word} {first}).")
        return observed

    def seen(self, names: Sequence[str]) -> pl.DataFrame:
        """Return columns as methods see them: decimals as floats, and words as missing cells.

        No cell is ever completed by a word such as "unknown", and such cells stay as they are.
        """
        frame = self.table.frame[names]
        known = [without(column, UNKNOWN) for column in frame]
        for column, less in zip(frame, known, strict=True):
            stay = less.null_count() - column.null_count()
            if stay and column.null_count():
                texts = column.filter(less.is_null()).drop_nulls().str.strip_chars()
                words = " or ".join(map(repr, sorted(set(texts))))
                self.note(
                    f"column {column.name!r}: no cell is completed with {words}, and such cells "
                    f"({stay}) are kept; --missing TEXT completes them too."
                )
        return frame.with_columns(known).with_columns(decimal().cast(pl.Float64))

    def sample(self, names: Sequence[str], rows: int) -> pl.DataFrame:
        """Return columns as methods see them, of a large table only some rows."""
        frame = self.seen(names)
        if len(frame) <= rows:
            return frame
        self.note(f"{rows} of {len(frame)} rows are used, drawn at random (--rows).")
        rng = np.random.default_rng(self.seed)
        return frame[np.sort(rng.choice(len(frame), rows, replace=False))]

    # Writing

    def check_output(
        self, source: str, word: str, *others: str | None, model: str | None = None
    ) -> None:
        """Decide where the table goes; raise if a result could not be written later.

        Only the table may replace ``source``, and nothing may replace ``model``.
        """
        self.output = output = self.output or _beside(source, word)
        if self.console.json and output == "-":
            raise MisuseError("--json and the table both go to standard output; use -o FILE.")
        if output != "-" and kind_of(output) is None:
            raise MisuseError(str(unknown_kind(output)))
        read = "the file that is read"
        taken = {} if model is None else {_identity(model, 0): read}
        for name in (output, *filter(None, others)):
            identity = _identity(name, 1)
            if identity in taken:
                raise MisuseError(
                    f"{name} is {taken[identity]}; give each result a file of its own."
                )
            taken |= {_identity(source, 0): read, identity: "the file of another result"}
            if name != "-":
                refuse_taken(Path(name), self.force)

    def write(self, made: Table, save: str | None = None, model: bytes = b"") -> None:
        """Write a table, and a model if it is saved: both or none, and each whole."""
        with written_whole(save, force=self.force) if save else nullcontext() as file:
            if file is not None:
                file.write(model)
                file.flush()  # fails on a full disk, before the table has its name
            write_table(made, self.output, force=self.force)
        self.console.wrote("output", self.output)
        self.console.wrote("model", save)


def first_of(names: Iterable[Any], most: int = 10) -> str:
    """Return the first names with commas between them, and dots if there are more."""
    names = [str(name) for name in names]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _is_index(column: pl.Series) -> bool:
    """Return whether a column is the index of the rows, as data frames write it first."""
    whole = column.name == "" and column.dtype.is_integer()
    return bool(whole and not column.null_count() and column.n_unique() == len(column))


def _why_unusable(column: pl.Series) -> str | None:
    """Return why a column is excluded; None if it is used."""
    dtype = column.dtype
    if column.null_count() == len(column):
        return "has no value at all and stays empty"
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Date, pl.Datetime, pl.Duration):
        return None
    if dtype not in (pl.String, pl.Categorical, pl.Enum):
        return f"holds {dtype}, which cannot be completed, and is excluded"
    count = without(column, UNKNOWN).drop_nulls().n_unique()
    if not count:
        return f"holds no text but {' or '.join(UNKNOWN)}, and is excluded"
    if count > MOST_TEXTS:
        return f"holds {count} different texts, more than {MOST_TEXTS}, and is excluded"
    return None


def _has_commas(column: pl.Series) -> bool:
    """Return whether a column of text holds numbers with decimal commas."""
    if column.dtype != pl.String:
        return False
    cells = without(column, UNKNOWN).drop_nulls().str
    return bool(cells.contains(r"^\s*[+-]?\d+(,\d+)?\s*$").all() and cells.contains(",").any())


def _odd_text(column: pl.Series) -> str | None:
    """Return the one text in a column that otherwise holds numbers; None if it has no such text."""
    if column.dtype != pl.String:
        return None
    cells = without(column, UNKNOWN).drop_nulls().str.strip_chars()
    odd = cells.filter(cells.cast(pl.Float64, strict=False).is_null())
    return str(odd[0]) if odd.n_unique() == 1 and 2 * len(odd) < len(cells) else None


def _beside(source: str, word: str) -> str:
    """Return the default name of the result: beside the table, or standard output for pipes."""
    path = Path(source)
    if source == "-" or source.startswith(("/dev/", "/proc/")) or path.is_fifo():
        return "-"
    suffix = path.suffix if kind_of(source) else ".csv"
    return str(path.with_name(f"{path.stem}-{word}{suffix}"))


def _identity(name: str, descriptor: int) -> object:
    """Return what identifies a file, by whatever path or link; "-" is an open descriptor."""
    try:
        found = os.stat(descriptor if name == "-" else name)
    except OSError:  # it does not exist yet
        return os.path.realpath(name)
    return found.st_dev, found.st_ino


def check_outside(name: str, *folders: str) -> None:
    """Raise if a file would go into a folder of tables, or replace another file."""
    for folder in folders:
        if Path(os.path.realpath(name)).is_relative_to(os.path.realpath(folder)):
            raise MisuseError(f"{name} is among the tables of {folder}; choose another folder.")
    refuse_taken(Path(name), force=False)
