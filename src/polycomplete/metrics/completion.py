"""How good a completion is: errors on the entries that were missing.

All measures take the truth, the completed matrix and the mask (True where observed; rows
are samples) and look at the missing entries only. Missing entries whose truth is unknown (NaN or
infinite in ``X_true``) are left out. ``min_observed`` restricts a measure to rows with at least
that many observed entries: a row with fewer of them than the data have dimensions is beyond any
method, and a handful of such rows can rule the total.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polycomplete.masks import _as_mask
from polycomplete.scaling import column_spread, is_constant


def rse(
    X_true: ArrayLike, X_completed: ArrayLike, mask: ArrayLike, *, min_observed: int = 0
) -> float:
    """Relative squared error: norm of the errors over norm of the truth, on missing entries.

    Parameters
    ----------
    X_true : array-like, shape (n, m)
        The complete truth; NaN where it is unknown.
    X_completed : array-like, shape (n, m)
        The completed matrix.
    mask : array-like of bool, shape (n, m)
        True where an entry was observed.
    min_observed : int
        Look only at rows with at least this many observed entries.

    Returns
    -------
    float
        0 if nothing is missing; infinite if the truth is zero on all missing entries and the
        completion is not.

    Examples
    --------
    >>> rse([[3.0, 4.0]], [[3.0, 5.0]], [[True, False]])
    0.25
    """
    truth, error, _ = _missing(X_true, X_completed, mask, min_observed)
    return _ratio(float(np.linalg.norm(error)), float(np.linalg.norm(truth)))


def rae(
    X_true: ArrayLike, X_completed: ArrayLike, mask: ArrayLike, *, min_observed: int = 0
) -> float:
    """Relative absolute error: sum of absolute errors over that of the truth, on missing entries.

    Less than `rse` it is ruled by a few columns of large scale.

    Parameters
    ----------
    X_true : array-like, shape (n, m)
        The complete truth; NaN where it is unknown.
    X_completed : array-like, shape (n, m)
        The completed matrix.
    mask : array-like of bool, shape (n, m)
        True where an entry was observed.
    min_observed : int
        Look only at rows with at least this many observed entries.

    Returns
    -------
    float
        0 if nothing is missing; infinite if the truth is zero on all missing entries and the
        completion is not.

    Examples
    --------
    >>> rae([[3.0, 4.0], [1.0, 4.0]], [[3.0, 5.0], [1.0, 3.0]], [[True, False], [True, False]])
    0.25
    """
    truth, error, _ = _missing(X_true, X_completed, mask, min_observed)
    return _ratio(float(np.abs(error).sum()), float(np.abs(truth).sum()))


def nrmse(
    X_true: ArrayLike, X_completed: ArrayLike, mask: ArrayLike, *, min_observed: int = 0
) -> float:
    """Root mean squared error with every column in units of its standard deviation.

    Filling in the true column means scores about 1. The standard deviation is that of the known
    entries of the whole true column (all rows, divisor n). Columns that are constant up to
    rounding, with a deviation below 1e-12 times the largest entry of `X_true`, are left out.

    Parameters
    ----------
    X_true : array-like, shape (n, m)
        The complete truth; NaN where it is unknown.
    X_completed : array-like, shape (n, m)
        The completed matrix.
    mask : array-like of bool, shape (n, m)
        True where an entry was observed.
    min_observed : int
        Look only at rows with at least this many observed entries.

    Returns
    -------
    float
        0 if nothing is missing, or only entries of constant columns.

    Examples
    --------
    >>> nrmse([[0.0, 1.0], [4.0, 1.0]], [[1.0, 1.0], [4.0, 9.0]], [[False, True], [True, False]])
    0.5
    """
    _, error, cells = _missing(X_true, X_completed, mask, min_observed)
    deviation = _column_deviations(np.asarray(X_true, dtype=np.float64))[np.nonzero(cells)[1]]
    varying = deviation > 0
    if not varying.any():
        return 0.0
    return float(np.sqrt(np.mean((error[varying] / deviation[varying]) ** 2)))


def recovered_share(
    X_true: ArrayLike,
    X_completed: ArrayLike,
    mask: ArrayLike,
    *,
    tol: float = 0.01,
    min_observed: int = 0,
) -> float:
    """Share of the rows with holes that were recovered: relative error of the row below `tol`.

    The error of a row is the norm of its errors over the norm of its truth, both on its missing
    entries. A row whose missing truth is zero counts as recovered if it was completed exactly.

    Parameters
    ----------
    X_true : array-like, shape (n, m)
        The complete truth; NaN where it is unknown.
    X_completed : array-like, shape (n, m)
        The completed matrix.
    mask : array-like of bool, shape (n, m)
        True where an entry was observed.
    tol : float
        Largest relative error of a recovered row (excluded).
    min_observed : int
        Look only at rows with at least this many observed entries.

    Returns
    -------
    float
        Between 0 and 1; 1 if there is no row with holes.

    Examples
    --------
    >>> mask = [[True, False], [True, False]]
    >>> recovered_share([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.001], [1.0, 3.0]], mask)
    0.5
    """
    truth, error, cells = _missing(X_true, X_completed, mask, min_observed)
    holed = cells.any(axis=1)
    if not holed.any():
        return 1.0
    rows = np.nonzero(cells)[0]
    lost = np.sqrt(np.bincount(rows, error**2, len(cells)))[holed]
    size = np.sqrt(np.bincount(rows, truth**2, len(cells)))[holed]
    return float(np.mean((lost < tol * size) | (lost == 0)))


def _missing(
    X_true: ArrayLike, X_completed: ArrayLike, mask: ArrayLike, min_observed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Truth and error on the entries to measure (row by row), and where these are."""
    truth = np.asarray(X_true, dtype=np.float64)
    completed = np.asarray(X_completed, dtype=np.float64)
    if truth.ndim != 2 or truth.shape != completed.shape:
        raise ValueError(
            f"X_true and X_completed must be matrices of one shape, not {truth.shape} and "
            f"{completed.shape}; pass the same rows and columns of both."
        )
    observed = _as_mask(mask, truth.shape)
    cells = ~observed & np.isfinite(truth)
    cells &= (np.count_nonzero(observed, axis=1) >= min_observed)[:, None]
    if np.isnan(completed[cells]).any():
        raise ValueError("X_completed still has NaN in missing entries; complete them first.")
    return truth[cells], completed[cells] - truth[cells], cells


def _ratio(part: float, whole: float) -> float:
    if part == 0:
        return 0.0
    return part / whole if whole > 0 else float("inf")


def _column_deviations(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the deviation of each column's finite entries; 0 where it is only rounding."""
    known = np.isfinite(X)
    deviation = column_spread(X, known)[1]
    return np.where(is_constant(X, known), 0.0, deviation)
