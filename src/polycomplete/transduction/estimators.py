"""Classification and regression by completion: the target is columns with holes."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from polycomplete.frames import is_missing
from polycomplete.keeping import all_or_nothing
from polycomplete.scaling import column_spread, is_constant
from polycomplete.tables.simplex import Calibration
from polycomplete.transduction.base import BaseTransducer
from polycomplete.transduction.search import Search, Settings, Target

TINY = 1e-12  # no probability counts as smaller


class Classes(Target):
    """Indicator columns; the centre are the shares of the classes among the known labels."""

    @classmethod
    def of(cls, codes: np.ndarray, count: int) -> Self:
        """Learn the shares from known classes, given as numbers 0 … count − 1."""
        shares = np.bincount(codes, minlength=count) / len(codes)
        return cls(shares, float(np.sqrt(np.sum(shares * (1 - shares)))) or 1.0)

    def columns(self, y: np.ndarray) -> np.ndarray:
        """Return ones for the class of each row."""
        return np.eye(len(self.centre))[y]

    def groups(self, y: np.ndarray) -> np.ndarray:
        """Return the classes: each has some rows where rows are drawn."""
        return y

    def loss(self, answers: np.ndarray, y: np.ndarray) -> float:
        """Return the log-loss of the probabilities that these scores can be calibrated to.

        It tells more than right or wrong, and a smooth surface whose scores are right but timid
        is not taken for a bad one.
        """
        probability = Calibration.fit(answers, y, self.centre).apply(answers)
        return float(-np.mean(np.log(np.maximum(probability[np.arange(len(y)), y], TINY))))


class Number(Target):
    """One column, standardized."""

    @classmethod
    def of(cls, y: np.ndarray) -> Self:
        """Take mean and spread from known values; what is constant up to rounding has spread 1."""
        column, seen = y[:, None], np.ones((len(y), 1), dtype=bool)
        mean, spread = column_spread(column, seen)
        return cls(mean, 1.0 if is_constant(column, seen)[0] else float(spread[0]))

    def columns(self, y: np.ndarray) -> np.ndarray:
        """Return the numbers."""
        return y[:, None]

    def loss(self, answers: np.ndarray, y: np.ndarray) -> float:
        """Return the mean squared error, as a share of the variance."""
        return float(np.mean(((answers[:, 0] - y) / self.unit) ** 2))


class TransductiveClassifier(ClassifierMixin, BaseTransducer):
    """Classify rows with missing features by completing [features, indicators of the labels].

    Missing features and missing labels are found together. Where labels are few or many features
    are missing, unlabelled rows take part in learning the surface. Features are standardised by
    their observed entries.

    Parameters
    ----------
    method : completer, optional
        What completes; :class:`~polycomplete.PMC` by default. Its smoothing, and the width of its
        kernel where nothing is said of it, are chosen by hiding known labels.
    label_weight : "auto" or float, default="auto"
        The weight of the label; a feature has 1. "auto" chooses by hiding known labels.
    unlabeled : object, default="auto"
        What stands for a missing label in y, besides None and NaN. "auto": the number −1; where
        y holds −1 and 1 alone, say −1 (missing) or None (a class).
    average : "auto" or int, default="auto"
        With how many settings the surface is learned, at most: those that do about as well as the
        best on hidden labels, whose answers are averaged. "auto" takes three, and one from
        100 000 entries of X on.
    learn_from : {"auto", "all", "labelled"}, default="auto"
        The rows that the surface is learned from. "labelled": those whose target is known; the
        others are completed row by row. "auto" does so where there are 200 of them or more and
        at least three quarters of their features are observed, and takes all rows elsewhere.
    max_rows : int, default=3000
        With more rows, the surface is learned from so many, labelled ones first, of rare classes
        more than their share and of each at least one; the others are completed row by row.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.
    verbose : int, default=0
        1 shows what is chosen and stages of the fit, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n_samples,)
        The label of each row of X; known labels as they were.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Probabilities, calibrated on labels that were hidden.
    members_ : list of Member
        The fits whose answers are averaged: ``weight`` of the target and fitted ``method``.
    label_weight_ : float
        The weight in the first of them, the best.
    method_ : completer
        The method of the first of them.
    calibration_ : Calibration
        From completed indicators to probabilities.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from polycomplete import TransductiveClassifier, masks
    >>> X, y = load_iris(return_X_y=True)
    >>> X_missing = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    >>> labelled = np.random.default_rng(0).random(len(y)) < 0.5
    >>> found = TransductiveClassifier(random_state=0).fit(X_missing, np.where(labelled, y, -1))
    >>> bool(np.mean(found.transduction_ == y) > 0.9)
    True
    >>> found.predict([[5.0, np.nan, 1.4, 0.2], [np.nan, 3.0, 5.5, 2.0]])
    array([0, 2])
    """

    def __init__(
        self,
        method: Any = None,
        label_weight: float | str = "auto",
        unlabeled: Any = "auto",
        average: int | str = "auto",
        learn_from: str = "auto",
        max_rows: int = 3000,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, label_weight, average, learn_from, max_rows, random_state, verbose)
        self.unlabeled = unlabeled

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, and label those that have no label.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, NaN where missing.
        y : array-like of shape (n_samples,)
            Labels; None, NaN or ``unlabeled`` where missing.

        Returns
        -------
        self
        """
        self._check_lengths(X, y)
        self.classes_, codes = known_labels(y, self.unlabeled)
        known = codes >= 0
        target = Classes.of(codes[known], len(self.classes_))
        scores = self._fit(X, target, codes, known)
        self.label_distributions_ = self.calibration_.apply(scores)
        self.label_distributions_[known] = np.eye(len(self.classes_))[codes[known]]
        self.transduction_ = self.classes_[np.argmax(self.label_distributions_, axis=1)]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row, without refitting.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, NaN where missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each row, without refitting.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, NaN where missing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._complete(X)
        return self.calibration_.apply(scores)

    def _calibrate(self, chosen: list[Settings], search: Search | None) -> None:
        shares = self._target.centre
        scores, y = np.empty((0, len(shares))), np.empty(0, dtype=int)
        if search is not None:
            scores, y = search.answers(chosen)
        self.calibration_ = Calibration.fit(scores, y, shares)


class TransductiveRegressor(RegressorMixin, BaseTransducer):
    """Predict a number for rows with missing features by completing [features, number].

    Parameters
    ----------
    method : completer, optional
        What completes; :class:`~polycomplete.PMC` by default. Its smoothing, and the width of its
        kernel where nothing is said of it, are chosen by hiding known values of y.
    label_weight : "auto" or float, default="auto"
        The weight of the target; a feature has 1. "auto" chooses by hiding known values.
    average : "auto" or int, default="auto"
        With how many settings the surface is learned, at most: those that do about as well as the
        best on hidden targets, whose answers are averaged. "auto" takes three, and one from
        100 000 entries of X on.
    learn_from : {"auto", "all", "labelled"}, default="auto"
        The rows that the surface is learned from. "labelled": those whose target is known; the
        others are completed row by row. "auto" does so where there are 200 of them or more and
        at least three quarters of their features are observed, and takes all rows elsewhere.
    max_rows : int, default=3000
        With more rows, the surface is learned from so many, those with a known target first, and
        the others are completed row by row.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.
    verbose : int, default=0
        1 shows what is chosen and stages of the fit, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The target of each row of X; known values as they were.
    members_ : list of Member
        The fits whose answers are averaged: ``weight`` of the target and fitted ``method``.
    label_weight_ : float
        The weight in the first of them, the best.
    method_ : completer
        The method of the first of them.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete import TransductiveRegressor
    >>> t = np.linspace(-1, 1, 80)
    >>> X, y = np.c_[t, t**2], t**3
    >>> X[::5, 0], y[::2] = np.nan, np.nan
    >>> found = TransductiveRegressor(random_state=0).fit(X, y)
    >>> bool(np.median(np.abs(found.transduction_ - t**3)) < 0.05)
    True
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, and complete y.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, NaN where missing.
        y : array-like of shape (n_samples,)
            Numbers; None or NaN where missing.

        Returns
        -------
        self
        """
        self._check_lengths(X, y)
        y = known_numbers(y)
        known = ~np.isnan(y)
        self.transduction_ = np.where(known, y, self._fit(X, Number.of(y[known]), y, known)[:, 0])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the target of each row, without refitting.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, NaN where missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._complete(X)[:, 0]


def known_labels(y: Any, unlabeled: Any = "auto") -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, and the number of the class of each label; −1 where it is missing.

    None, NaN and NA are always missing. "auto" takes the number −1 for missing, too, as
    scikit-learn's semi-supervised estimators do; None takes nothing else.
    """
    y = _entries(y)
    missing, auto = _holes(y), isinstance(unlabeled, str) and unlabeled == "auto"
    if auto:
        missing |= _minus_one(y, missing)
    elif not is_missing(unlabeled):
        missing |= _which(y, missing, lambda entry: entry == unlabeled)
    if missing.all():
        raise ValueError(
            "y has no known label: at least one row must have one; None, NaN and "
            f"{-1 if auto else repr(unlabeled)} stand for missing ones."
        )
    _check_kinds(y, missing)
    known = np.array(y[~missing].tolist()) if y.dtype == object else y[~missing]
    check_classification_targets(known)
    codes = np.full(len(y), -1)
    classes, codes[~missing] = np.unique(known, return_inverse=True)
    return classes, codes


def known_numbers(y: Any) -> np.ndarray:
    """Return a numeric target as float64, NaN where it is missing."""
    y = _entries(y)
    missing = _holes(y)
    _refuse(y, missing, lambda entry: not isinstance(entry, Real),
            "is not a number; use TransductiveClassifier for classes")  # fmt: skip
    _refuse(y, missing, np.isinf, "is infinite; make it missing (NaN) instead")
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
    _refuse(y, missing, lambda entry: isinstance(entry, Real) and math.isinf(entry),
            "is infinite; make it missing (NaN) instead")  # fmt: skip
    if y.dtype != object:
        return
    _refuse(y, missing, lambda entry: not isinstance(entry, str | Real | np.bool_),
            "is neither text nor a number; turn labels into text")  # fmt: skip
    if any(isinstance(entry, str) for entry in y[~missing]):
        _refuse(y, missing, lambda entry: not isinstance(entry, str),
                "is a number among labels that are text; turn all of them into text")  # fmt: skip


def _refuse(y: np.ndarray, missing: np.ndarray, test: Callable[[Any], bool], why: str) -> None:
    """Raise with the first entry that passes a test."""
    for row in np.flatnonzero(_which(y, missing, test)):
        raise ValueError(f"y holds {y[row]!r:.60} in row {row}, which {why}.")
