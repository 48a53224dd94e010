"""Errors of completions, classifications and clusterings.

The measures of a completion take the truth, the completed matrix and the mask (True where
observed; rows are samples) and compare the missing entries only, without those whose truth is
unknown (NaN or infinite in ``X_true``). ``min_observed`` restricts a measure to rows with at least
that many observed entries: no method can complete a row with fewer of them than the data have
dimensions, and a handful of such rows can dominate the total.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from polycomplete.masks import as_mask
from polycomplete.scaling import column_spread, is_constant

__all__ = [
    "classification_error",
    "clustering_error",
    "expected_calibration_error",
    "nrmse",
    "rae",
    "recovered_share",
    "rse",
]


def rse(
    X_true: ArrayLike, X_completed: ArrayLike, mask: ArrayLike, *, min_observed: int = 0
) -> float:
    """Relative squared error: norm of the errors over norm of the truth, on missing entries.

    The RSE of the paper's synthetic data.

    Parameters
    ----------
    X_true, X_completed : array-like, shape (n, m)
        The truth, NaN where unknown, and the completed matrix.
    mask : array-like of bool, shape (n, m)
        True where an entry was observed.
    min_observed : int, default=0
        Minimum number of observed entries of the rows to compare.

    Returns
    -------
    float
        0 if nothing is missing; infinite if only the truth is zero on all missing entries.

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

    The RAE of the paper's motion capture data. Columns of large scale dominate it less than `rse`.

    Parameters
    ----------
    X_true, X_completed, mask, min_observed : array-like, array-like, array-like of bool, int
        As in :func:`rse`.

    Returns
    -------
    float
        0 if nothing is missing; infinite if only the truth is zero on all missing entries.

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
    """Root mean squared error, each column in units of its standard deviation.

    Filling in the true column means scores about 1. The standard deviation is that of all known
    entries of the true column, with divisor n. Columns that are constant up to rounding are
    ignored.

    Parameters
    ----------
    X_true, X_completed, mask, min_observed : array-like, array-like, array-like of bool, int
        As in :func:`rse`.

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
    X = np.asarray(X_true, dtype=np.float64)
    known = np.isfinite(X)
    deviation = np.where(is_constant(X, known), 0.0, column_spread(X, known)[1])
    units = deviation[np.nonzero(cells)[1]]
    varying = units > 0
    return float(np.sqrt(np.mean((error[varying] / units[varying]) ** 2))) if varying.any() else 0.0


def recovered_share(
    X_true: ArrayLike,
    X_completed: ArrayLike,
    mask: ArrayLike,
    *,
    tol: float = 0.01,
    min_observed: int = 0,
) -> float:
    """Share of incomplete rows that were recovered, up to a relative error below ``tol``.

    The error of a row is the norm of its errors over the norm of the truth, both on its missing
    entries. If that truth is zero, the row counts as recovered if it was completed exactly.

    Parameters
    ----------
    X_true, X_completed, mask : array-like, shape (n, m)
        As in :func:`rse`.
    tol : float, default=0.01
        Relative error below which a row is recovered.
    min_observed : int, default=0
        As in :func:`rse`.

    Returns
    -------
    float
        Between 0 and 1; 1 if no row is incomplete.

    Examples
    --------
    >>> mask = [[True, False], [True, False]]
    >>> recovered_share([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.001], [1.0, 3.0]], mask)
    0.5
    """
    truth, error, cells = _missing(X_true, X_completed, mask, min_observed)
    if not truth.size:
        return 1.0
    rows = np.nonzero(cells)[0]
    lost, size = (np.sqrt(np.bincount(rows, v**2, len(cells))) for v in (error, truth))
    recovered = (lost < tol * size) | (lost == 0)
    return float(np.mean(recovered[cells.any(axis=1)]))


def _missing(
    X_true: ArrayLike, X_completed: ArrayLike, mask: ArrayLike, min_observed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return truth and error on the entries to compare, row by row, and where these are."""
    truth, completed = (np.asarray(X, dtype=np.float64) for X in (X_true, X_completed))
    if truth.ndim != 2 or truth.shape != completed.shape:
        raise ValueError(
            f"X_true and X_completed must be matrices of one shape, not {truth.shape} and "
            f"{completed.shape}; pass the same rows and columns of both."
        )
    observed = as_mask(mask, truth.shape)
    cells = ~observed & np.isfinite(truth)
    cells &= (np.count_nonzero(observed, axis=1) >= min_observed)[:, None]
    if np.isnan(completed[cells]).any():
        raise ValueError("X_completed still has NaN in missing entries; complete them first.")
    return truth[cells], completed[cells] - truth[cells], cells


def _ratio(part: float, whole: float) -> float:
    return 0.0 if part == 0 else part / whole if whole > 0 else float("inf")


def classification_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of wrong labels.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        True and predicted labels.

    Returns
    -------
    float
        Between 0 and 1; 0 without labels.

    Examples
    --------
    >>> classification_error(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.25
    """
    true, predicted = _labels(y_true, y_pred)
    return float(np.mean(true != predicted)) if true.size else 0.0


def expected_calibration_error(
    y_true: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None = None, bins: int = 10
) -> float:
    """Return the expected calibration error: how far confidence and accuracy are apart.

    Rows are binned by the probability of their most probable class, in bins of equal width. The
    differences between mean probability and accuracy of the bins are averaged, weighted by their
    numbers of rows. 0 is best: of the labels predicted with 80 %, 80 % are right.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        True labels.
    probabilities : array-like, shape (n, c)
        Probability of each class; rows sum to one.
    classes : array-like, shape (c,), optional
        The label of each column; by default 0 … c − 1.
    bins : int, default=10
        Number of bins between 0 and 1.

    Returns
    -------
    float
        Between 0 and 1; 0 without labels.

    Examples
    --------
    >>> sure = [[0.8, 0.2]] * 5
    >>> round(expected_calibration_error([0, 0, 0, 0, 1], sure), 6)
    0.0
    >>> round(expected_calibration_error([0, 0, 0, 1, 1], sure), 6)
    0.2
    """
    true, chances = np.asarray(y_true), np.asarray(probabilities, dtype=np.float64)
    if true.ndim != 1 or chances.ndim != 2 or len(true) != len(chances):
        raise ValueError(
            f"y_true and probabilities have shapes {true.shape} and {chances.shape}; pass n labels "
            "and n rows, with one column for each class."
        )
    named = np.arange(chances.shape[1]) if classes is None else np.asarray(classes)
    if named.shape != chances.shape[1:]:
        raise ValueError(f"There are {named.size} classes for {chances.shape[1]} columns.")
    strange = true[~np.isin(true, named)]
    if strange.size:
        raise ValueError(f"y_true holds {strange[0]!r}, which is not in classes; name all classes.")
    if not (np.all(chances >= 0) and np.allclose(chances.sum(axis=1), 1)):
        raise ValueError("Each row of probabilities must sum to one, without negative entries.")
    if not isinstance(bins, Integral) or bins < 1:
        raise ValueError(f"bins must be a positive whole number, got {bins!r}.")
    if not true.size:
        return 0.0
    sure = chances.max(axis=1)
    right = named[chances.argmax(axis=1)] == true
    place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], sure)  # an upper end is included
    return float(np.abs(np.bincount(place, weights=sure - right)).sum() / true.size)


def clustering_error(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of points in a wrong cluster, under the best matching of clusters with classes.

    Each cluster is matched with at most one class; all points of clusters without one are wrong.

    Parameters
    ----------
    labels_true, labels_pred : array-like, shape (n,)
        True and cluster labels.

    Returns
    -------
    float
        Between 0 and 1; 0 without labels.

    Examples
    --------
    >>> clustering_error([0, 0, 1, 1], [5, 5, 3, 5])
    0.25
    """
    true, predicted = _labels(labels_true, labels_pred)
    if not true.size:
        return 0.0
    counts = contingency_matrix(true, predicted)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float((true.size - matched) / true.size)


def _labels(true: ArrayLike, predicted: ArrayLike) -> tuple[NDArray, NDArray]:
    true, predicted = np.asarray(true), np.asarray(predicted)
    if true.ndim != 1 or true.shape != predicted.shape:
        shapes = f"{true.shape} and {predicted.shape}"
        raise ValueError(f"The labels have shapes {shapes}; pass two lists of the same length.")
    return true, predicted
