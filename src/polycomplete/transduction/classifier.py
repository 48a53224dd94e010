"""Classification by completion: the label is a column with holes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from polycomplete.keeping import all_or_nothing
from polycomplete.tables import Calibration
from polycomplete.transduction.base import BaseTransducer
from polycomplete.transduction.labels import known_labels
from polycomplete.transduction.search import Search, Settings
from polycomplete.transduction.targets import Classes


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
        self.method = method
        self.label_weight = label_weight
        self.unlabeled = unlabeled
        self.average = average
        self.learn_from = learn_from
        self.max_rows = max_rows
        self.random_state = random_state
        self.verbose = verbose

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
        shares = np.bincount(codes[known], minlength=len(self.classes_)) / np.count_nonzero(known)
        scores = self._fit(X, Classes(shares), codes, known)
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
        assert isinstance(self._target, Classes)
        scores, y = np.empty((0, self._target.width)), np.empty(0, dtype=int)
        if search is not None:
            scores, y = search.answers(chosen)
        self.calibration_ = Calibration.fit(scores, y, self._target.shares)

    def _strata(self, y: np.ndarray) -> np.ndarray:
        return y
