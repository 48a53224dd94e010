"""Reading labels of which some are missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from polycomplete.frames import is_missing


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
    y = _entries(y)
    missing = _holes(y)
    if isinstance(unlabeled, str) and unlabeled == "auto":
        missing |= _minus_one(y, missing)
    elif not is_missing(unlabeled):
        missing |= _which(y, missing, lambda entry: entry == unlabeled)
    if missing.all():
        other = "-1" if isinstance(unlabeled, str) and unlabeled == "auto" else repr(unlabeled)
        raise ValueError(
            "y has no known label: at least one row must have one; None, NaN and "
            f"{other} stand for missing ones."
        )
    _check_kinds(y, missing)
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
    y = _entries(y)
    missing = _holes(y)
    _refuse(y, _which(y, missing, lambda entry: not isinstance(entry, Real)),
            "is not a number; use TransductiveClassifier for classes")  # fmt: skip
    _refuse(y, _which(y, missing, np.isinf), "is infinite; make it missing (NaN) instead")
    if missing.all():
        raise ValueError("y has no known value: at least one row must have one.")
    numbers = np.full(len(y), np.nan)
    numbers[~missing] = y[~missing].astype(np.float64)
    return numbers


def _entries(y: Any) -> np.ndarray:
    """Return y as an array of one dimension.

    Lists and the columns of data frames are taken entry by entry: NumPy would make a text of NaN
    where it stands among texts, and a float of a whole number beside None.
    """
    column = nw.from_native(y, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(column, nw.Series):
        y = column.to_list()
    if isinstance(y, list | tuple) and not any(isinstance(one, list | np.ndarray) for one in y):
        return np.fromiter(y, dtype=object, count=len(y))
    return np.asarray(column_or_1d(y, warn=True))


def _which(y: np.ndarray, missing: np.ndarray, test: Callable[[Any], bool]) -> np.ndarray:
    """Return where there is an entry that passes a test."""
    pairs = zip(y.tolist(), missing, strict=True)
    return np.array([not hole and bool(test(entry)) for entry, hole in pairs], dtype=bool)


def _holes(y: np.ndarray) -> np.ndarray:
    if y.dtype == object:
        return np.array([is_missing(entry) for entry in y], dtype=bool)
    return np.isnan(y) if y.dtype.kind in "fmM" else np.zeros(len(y), dtype=bool)


def _minus_one(y: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return where −1 stands, unless it may as well be a class."""
    found = _which(y, missing, lambda entry: isinstance(entry, Real) and entry == -1)
    others = y[~found & ~missing].tolist()
    if found.any() and others and all(isinstance(one, Real) and one == 1 for one in others):
        raise ValueError(
            "y holds -1 and 1 alone: -1 may be a class or mean a missing label. Say unlabeled=None "
            "if it is a class (missing labels are then None or NaN), unlabeled=-1 if it is missing."
        )
    return found


def _check_kinds(y: np.ndarray, missing: np.ndarray) -> None:
    """Refuse what cannot be a class, and classes that cannot be sorted."""
    _refuse(y, _which(y, missing, lambda entry: isinstance(entry, Real) and math.isinf(entry)),
            "is infinite; make it missing (NaN) instead")  # fmt: skip
    if y.dtype != object:
        return
    text = _which(y, missing, lambda entry: isinstance(entry, str))
    number = _which(y, missing, lambda entry: isinstance(entry, Real | np.bool_))
    _refuse(y, ~missing & ~text & ~number, "is neither text nor a number; turn labels into text")
    if text.any():
        _refuse(y, number, "is a number among labels that are text; turn all of them into text")


def _refuse(y: np.ndarray, wrong: np.ndarray, why: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"y holds {y[row]!r:.60} in row {row}, which {why}.")
