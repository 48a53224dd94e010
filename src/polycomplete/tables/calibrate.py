"""How far the scores of classes can be trusted: learned on cells that were hidden."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polycomplete import masks
from polycomplete.model_selection import HeldOut
from polycomplete.tables.encode import Encoding
from polycomplete.tables.method import checked
from polycomplete.tables.simplex import Calibration

#: Share of the present cells that is hidden where the method itself has hidden too few.
SHARE = 0.1
#: A method that chose its settings by hiding entries tells enough of a column with so many of its
#: cells, or half of those that would be hidden here.
ENOUGH = 20


def scores(encoding: Encoding, matrix: np.ndarray, j: int) -> np.ndarray:
    """Return a score for each class of column j; two of them for a column of truth values.

    Parameters
    ----------
    encoding : Encoding
        What the columns of the matrix mean.
    matrix : ndarray of shape (n, m)
        Completed.
    j : int
        A column with classes.

    Returns
    -------
    ndarray of shape (n, c)

    Examples
    --------
    >>> encoding = Encoding.fit(np.array([[0.0], [1.0]]), [0], [1.0])
    >>> scores(encoding, np.array([[0.5]]), 0)
    array([[0.25, 0.75]])
    """
    block = encoding.block(matrix, j)
    return np.hstack([1 - block, block]) if block.shape[1] == 1 else block


def calibrations(
    method: Any,
    matrix: np.ndarray,
    encoding: Encoding,
    numbers: np.ndarray,
    classes: Sequence[bool],
    seed: int,
) -> dict[int, Calibration]:
    """Return a calibration for each column with classes that vary.

    What the method hid to choose its settings is taken where it is enough. Otherwise some cells
    are hidden, and a copy of the method is fitted to the others, with the smoothing already chosen.

    Parameters
    ----------
    method : estimator
        Fitted to the matrix.
    matrix : ndarray of shape (n, m)
        What it was fitted to, NaN where missing.
    encoding : Encoding
        What the columns of the matrix mean.
    numbers : ndarray of shape (n, k)
        What was encoded, NaN where missing.
    classes : sequence of bool
        Which of the k columns have classes.
    seed : int
        Chooses the cells.

    Returns
    -------
    dict
        From the number of a column to its calibration.

    Examples
    --------
    >>> from sklearn.impute import KNNImputer
    >>> numbers = np.array([[0.0, 0.0, 1.0, 1.0, np.nan]] * 8).reshape(-1, 1)
    >>> encoding = Encoding.fit(numbers, [2], [1.0])
    >>> matrix = encoding.encode(numbers)
    >>> found = calibrations(KNNImputer().fit(matrix), matrix, encoding, numbers, [True], seed=0)
    >>> found[0].shares
    array([0.5, 0.5])
    """
    seen = ~np.isnan(numbers)
    varying = [j for j in np.flatnonzero(classes).tolist() if len(encoding.columns_of(j))]
    known = getattr(method, "held_out_", None)
    cells = {j: hidden_blocks(known, encoding.columns_of(j)) for j in varying}
    if any(len(rows) < min(ENOUGH, SHARE / 2 * seen[:, j].sum()) for j, (rows, _) in cells.items()):
        # Rows keep something to go by: cells are drawn from all columns.
        hidden = masks.hide(seen, SHARE, random_state=seed)[1] & np.asarray(classes)
        cells |= _hide_and_fit(method, matrix, encoding, hidden)
    found = {}
    for j, (rows, completed) in cells.items():
        full = np.zeros((len(rows), matrix.shape[1]))
        full[:, encoding.columns_of(j)] = completed
        codes = numbers[seen[:, j], j].astype(np.intp)
        said = scores(encoding, full, j)
        counts = np.bincount(codes, minlength=said.shape[1])
        found[j] = Calibration.fit(said, numbers[rows, j].astype(np.intp), counts / counts.sum())
    return found


def hidden_blocks(held: HeldOut | None, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of which all of some columns were hidden, and what came back for them.

    Parameters
    ----------
    held : HeldOut or None
        Of the matrix.
    columns : ndarray of int, shape (c,)
        Those of one column of the table.

    Returns
    -------
    rows : ndarray of int, shape (k,)
    completed : ndarray of shape (k, c)

    Examples
    --------
    >>> rows, columns, values = np.array([4, 7, 7]), np.array([0, 0, 1]), np.array([0.1, 0.2, 0.3])
    >>> hidden_blocks(HeldOut(rows, columns, values, values, values), np.array([0, 1]))
    (array([7]), array([[0.2, 0.3]]))
    """
    if held is None:
        return np.empty(0, dtype=np.intp), np.empty((0, len(columns)))
    parts = [held.columns == column for column in columns]
    found = [dict(zip(held.rows[part], held.completed[part], strict=True)) for part in parts]
    rows = sorted(set(found[0]).intersection(*found[1:])) if found else []
    values = [[part[row] for part in found] for row in rows]
    return np.array(rows, dtype=np.intp), np.reshape(values, (len(rows), len(columns)))


def _hide_and_fit(
    method: Any, matrix: np.ndarray, encoding: Encoding, hidden: np.ndarray
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return for each column with hidden cells their rows, and what came back for them."""
    if not hidden.any():
        return {}
    copy = clone(method)
    if "smoothing" in copy.get_params(deep=False) and hasattr(method, "smoothing_"):
        copy.set_params(smoothing=method.smoothing_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the first fit has said so
        shown = np.where(hidden[:, encoding.owners], np.nan, matrix)
        completed = checked(copy, shown, copy.fit_transform(shown))
    found = {}
    for j in np.flatnonzero(hidden.any(axis=0)).tolist():
        columns, rows = encoding.columns_of(j), np.flatnonzero(hidden[:, j])
        if len(columns):
            found[j] = rows, completed[np.ix_(rows, columns)]
    return found
