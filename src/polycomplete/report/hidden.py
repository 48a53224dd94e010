"""What came back for known cells that a fit had hidden, column by column of the table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polycomplete.record import Record
from polycomplete.tables.decode import SECONDS
from polycomplete.tables.remembering import DAY

__all__ = ["Hidden", "hidden_cells"]


class Hidden(NamedTuple):
    """Errors of numbers, and which labels came back wrong; each with the column of the record."""

    columns: np.ndarray
    errors: np.ndarray
    label_columns: np.ndarray
    wrong: np.ndarray


def hidden_cells(completer: Any, known: Record) -> Hidden | None:
    """Return how hidden cells came back, in the units of the record.

    Parameters
    ----------
    completer : estimator
        A completer, or a table completer around one.
    known : Record
        Of the data.

    Returns
    -------
    Hidden or None
        None where the fit hid nothing.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]])
    >>> hidden_cells(fitted, fitted._record) is None  # it has nothing to choose
    True
    """
    table = hasattr(completer, "encoding_")
    held = getattr(completer.method_ if table else completer, "held_out_", None)
    if held is None or not len(held.rows):
        return None
    if table:
        return _of_table(completer, held, known)
    none = np.empty(0, dtype=int)
    return Hidden(held.columns, held.completed - held.truth, none, none.astype(bool))


def _of_table(completer: Any, held: Any, known: Record) -> Hidden:
    """Undo the encoding: numbers to their units, scores of labels to the label with the highest."""
    encoding = completer.encoding_
    names = [str(column.name) for column in completer.schema_ if column.is_completed]
    places = np.array([known["names"].index(name) for name in names], dtype=int)
    numbers, labels = _Parts(), _Parts()
    for j, place in enumerate(places):
        mine = encoding.columns_of(j)
        if len(mine) == 0:
            continue
        truth, found = (_block(held, values, mine, encoding)
                        for values in (held.truth, held.completed))  # fmt: skip
        if known["kinds"][place] == "text":
            labels.add(place, _label(found) != _label(truth))
        else:
            numbers.add(place, (found - truth)[:, 0] * _days(completer, names[j]))
    return Hidden(*numbers.joined(float), *labels.joined(bool))


class _Parts:
    """Outcomes of one column after the other."""

    def __init__(self) -> None:
        self.columns: list[np.ndarray] = []
        self.outcomes: list[np.ndarray] = []

    def add(self, column: int, outcomes: np.ndarray) -> None:
        self.columns.append(np.full(len(outcomes), column))
        self.outcomes.append(outcomes)

    def joined(self, kind: type) -> tuple[np.ndarray, np.ndarray]:
        columns = np.concatenate([np.empty(0, dtype=int), *self.columns])
        return columns, np.concatenate([np.empty(0, dtype=kind), *self.outcomes])


def _block(held: Any, values: np.ndarray, mine: np.ndarray, encoding: Any) -> np.ndarray:
    """Return the hidden cells of a column, a line each: a number, or a score for each label."""
    parts = [held.columns == column for column in mine]
    order = [np.argsort(held.rows[part], kind="stable") for part in parts]
    block = np.column_stack([values[part][at] for part, at in zip(parts, order, strict=True)])
    return np.asarray(block * encoding.scale[mine] + encoding.centre[mine])


def _label(block: np.ndarray) -> np.ndarray:
    """Return which label a line stands for; truth values and orders are numbers to be rounded."""
    return np.rint(block[:, 0]) if block.shape[1] == 1 else np.argmax(block, axis=1)


def _days(completer: Any, name: str) -> float:
    """Return what a unit of a column is in the record: days where it has to do with time."""
    unit = next(column.unit for column in completer.schema_ if str(column.name) == name)
    return SECONDS[unit] / DAY if unit else 1.0
