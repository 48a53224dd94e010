"""Reading labels of which some are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from polycomplete.frames import is_missing

__all__ = ["known_labels", "known_numbers"]


def known_labels(y: Any, unlabeled: Any = "auto") -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the number of the class of each label; −1 where it is missing.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels; None, NaN and NA are always missing.
    unlabeled : object, default="auto"
        What else stands for a missing label. "auto" takes the number −1, as scikit-learn's
        semi-supervised estimators do; None takes nothing else.

    Returns
    -------
    classes : ndarray
        Sorted.
    codes : ndarray of int, shape (n,)

    Examples
    --------
    >>> known_labels(["b", None, "a"])
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    >>> known_labels([0, -1, 2])
    (array([0, 2]), array([ 0, -1,  1]))
    """
    y = np.asarray(column_or_1d(y, warn=True))
    missing = _holes(y)
    if isinstance(unlabeled, str) and unlabeled == "auto":
        if np.issubdtype(y.dtype, np.number) or _all_numbers(y[~missing]):
            missing |= _minus_one(y, missing)
    elif unlabeled is not None:
        missing |= np.array([not hole and entry == unlabeled
                             for entry, hole in zip(y, missing, strict=True)])  # fmt: skip
    if missing.all():
        raise ValueError(
            "y has no known label: at least one row must have one; missing ones are None, NaN or "
            f"{-1 if unlabeled == 'auto' else unlabeled!r}."
        )
    known = np.array(y[~missing].tolist()) if y.dtype == object else y[~missing]
    check_classification_targets(known)
    classes, found = np.unique(known, return_inverse=True)
    codes = np.full(len(y), -1)
    codes[~missing] = found
    return classes, codes


def known_numbers(y: Any) -> np.ndarray:
    """Return a numeric target as float64, NaN where it is missing.

    Parameters
    ----------
    y : array-like of shape (n,)
        Numbers; None, NaN and NA are missing.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> known_numbers([1, None, 3])
    array([ 1., nan,  3.])
    """
    y = np.asarray(column_or_1d(y, warn=True))
    missing = _holes(y)
    numbers = np.full(len(y), np.nan)
    try:
        numbers[~missing] = y[~missing].astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "y holds something that is not a number; use TransductiveClassifier for classes."
        ) from None
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise ValueError(f"y has an infinite value in row {row}; make it missing (NaN) instead.")
    if np.isnan(numbers).all():
        raise ValueError("y has no known value: at least one row must have one.")
    return numbers


def _holes(y: np.ndarray) -> np.ndarray:
    if y.dtype == object:
        return np.array([is_missing(entry) for entry in y], dtype=bool)
    return np.isnan(y) if np.issubdtype(y.dtype, np.floating) else np.zeros(len(y), dtype=bool)


def _all_numbers(known: np.ndarray) -> bool:
    return all(isinstance(entry, int | float | np.number) for entry in known)


def _minus_one(y: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return where −1 stands, unless it may as well be a class."""
    found = np.zeros(len(y), dtype=bool)
    found[~missing] = y[~missing] == -1
    if found.any() and set(np.unique(y[~missing].astype(np.float64))) == {-1.0, 1.0}:
        raise ValueError(
            "y holds -1 and 1 alone: -1 may be a class or mean a missing label. Say unlabeled=None "
            "if it is a class (missing labels are then None or NaN), unlabeled=-1 if it is missing."
        )
    return found
