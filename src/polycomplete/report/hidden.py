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
    held = getattr(completer, "held_out_", None)
    if held is None or not len(held.rows):
        return None
    if hasattr(completer, "encoding_"):
        return _of_table(completer, held, known)
    none = np.empty(0, dtype=int)
    return Hidden(held.columns, held.truth, held.completed, none, none.astype(bool))


def _of_table(completer: Any, held: Any, known: Record) -> Hidden:
    """Bring numbers to the units of the record, and compare labels."""
    columns = [column for column in completer.schema_ if column.is_completed]
    numbers: list[tuple[np.ndarray, ...]] = [(np.empty(0, dtype=int), np.empty(0), np.empty(0))]
    labels: list[tuple[np.ndarray, ...]] = [(np.empty(0, dtype=int), np.empty(0, dtype=bool))]
    for j, column in enumerate(columns):
        mine = held.columns == j
        truth, found = held.truth[mine], held.completed[mine]
        place = np.full(len(truth), known["names"].index(str(column.name)))
        if column.has_classes or column.kind == "ordered":
            labels.append((place, found != truth))
        else:
            numbers.append((place, in_days(column, truth), in_days(column, found)))
    parts = [np.concatenate(part) for kind in (numbers, labels) for part in zip(*kind, strict=True)]
    return Hidden(*parts)
