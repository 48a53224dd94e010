"""What came back for known cells that a fit had hidden, column by column of the table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polycomplete.record import Record
from polycomplete.tables.remembering import in_days

__all__ = ["Hidden", "hidden_cells"]


class Hidden(NamedTuple):
    """Numbers and what came back, and which labels were wrong; with their columns in the record."""

    columns: np.ndarray
    truth: np.ndarray
    found: np.ndarray
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
    return Hidden(held.columns, held.truth, held.completed, none, none.astype(bool))


def _of_table(completer: Any, held: Any, known: Record) -> Hidden:
    """Undo the encoding: numbers to their units, scores of labels to the label with the highest."""
    columns = [column for column in completer.schema_ if column.is_completed]
    numbers: list[tuple[np.ndarray, ...]] = [(np.empty(0, dtype=int), np.empty(0), np.empty(0))]
    labels: list[tuple[np.ndarray, ...]] = [(np.empty(0, dtype=int), np.empty(0, dtype=bool))]
    for j, column in enumerate(columns):
        mine = completer.encoding_.columns_of(j)
        if len(mine) == 0:  # it is constant
            continue
        truth, found = (_block(held, values, mine, completer.encoding_)
                        for values in (held.truth, held.completed))  # fmt: skip
        place = np.full(len(truth), known["names"].index(str(column.name)))
        if column.has_classes or column.kind == "ordered":
            labels.append((place, _label(found) != _label(truth)))
        else:
            numbers.append((place, *(in_days(column, part[:, 0]) for part in (truth, found))))
    parts = [np.concatenate(part) for kind in (numbers, labels) for part in zip(*kind, strict=True)]
    return Hidden(*parts)


def _block(held: Any, values: np.ndarray, mine: np.ndarray, encoding: Any) -> np.ndarray:
    """Return the hidden cells of a column, a line each: a number, or a score for each label."""
    parts = [held.columns == column for column in mine]
    order = [np.argsort(held.rows[part], kind="stable") for part in parts]
    block = np.column_stack([values[part][at] for part, at in zip(parts, order, strict=True)])
    return np.asarray(block * encoding.scale[mine] + encoding.centre[mine])


def _label(block: np.ndarray) -> np.ndarray:
    """Return which label a line stands for; truth values and orders are numbers to be rounded."""
    return np.rint(block[:, 0]) if block.shape[1] == 1 else np.argmax(block, axis=1)
