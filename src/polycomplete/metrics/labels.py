"""How good labels are, and how honest their probabilities."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment


def classification_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of the labels that are wrong.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        True labels.
    y_pred : array-like, shape (n,)
        Predicted labels.

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
    """How far the probability of the most probable class is from how often it is right.

    Rows are sorted by that probability into bins of equal width. In each bin, its mean is compared
    with the share of rows that are right; the differences are averaged, each row counting once. 0
    is best: of what was said with 80 %, 80 % is right.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        True labels.
    probabilities : array-like, shape (n, c)
        Of each class; rows sum to one.
    classes : array-like, shape (c,), optional
        The label of each column; by default 0 … c − 1.
    bins : int
        How many bins there are between 0 and 1.

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
    true, chances, named = _chances(y_true, probabilities, classes)
    if not isinstance(bins, Integral) or bins < 1:
        raise ValueError(f"bins must be a positive whole number, got {bins!r}.")
    if not true.size:
        return 0.0
    sure = chances.max(axis=1)
    right = named[chances.argmax(axis=1)] == true
    place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], sure)  # an upper end is included
    excess = np.bincount(place, weights=sure - right)
    return float(np.abs(excess).sum() / true.size)


def clustering_error(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of the points in a wrong cluster, clusters and classes being matched at their best.

    Each cluster is matched with at most one class; with different numbers of them, the points of
    those left over are wrong. The names of the clusters do not matter.

    Parameters
    ----------
    labels_true : array-like, shape (n,)
        True labels.
    labels_pred : array-like, shape (n,)
        Cluster labels.

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
    classes, i = np.unique(true, return_inverse=True)
    clusters, j = np.unique(predicted, return_inverse=True)
    counts = np.zeros((classes.size, clusters.size), dtype=np.int64)
    np.add.at(counts, (i, j), 1)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float((true.size - matched) / true.size)


def _labels(true: ArrayLike, predicted: ArrayLike) -> tuple[NDArray, NDArray]:
    true, predicted = np.asarray(true), np.asarray(predicted)
    if true.ndim != 1 or true.shape != predicted.shape:
        shapes = f"{true.shape} and {predicted.shape}"
        raise ValueError(f"The labels have shapes {shapes}; pass two lists of the same length.")
    return true, predicted


def _chances(
    y_true: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None
) -> tuple[NDArray, NDArray[np.float64], NDArray]:
    """Return labels, probabilities and the label of each column, all of them fitting."""
    true, chances = np.asarray(y_true), np.asarray(probabilities, dtype=np.float64)
    if true.ndim != 1 or chances.ndim != 2 or len(true) != len(chances):
        raise ValueError(
            f"y_true and probabilities have shapes {true.shape} and {chances.shape}; pass n labels "
            "and n rows, with one column for each class."
        )
    named = np.arange(chances.shape[1]) if classes is None else np.asarray(classes)
    if named.shape != chances.shape[1:]:
        raise ValueError(f"There are {named.size} classes for {chances.shape[1]} columns.")
    if not np.isin(true, named).all():
        strange = true[~np.isin(true, named)][0]
        raise ValueError(f"y_true holds {strange!r}, which is not in classes; name all classes.")
    if not (np.all(chances >= 0) and np.allclose(chances.sum(axis=1), 1)):
        raise ValueError("Each row of probabilities must sum to one, without negative entries.")
    return true, chances, named
