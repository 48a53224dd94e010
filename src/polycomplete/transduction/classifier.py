"""Classification by completion: indicators of the classes are columns with holes."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from polycomplete.base import all_or_nothing
from polycomplete.frames import is_missing
from polycomplete.tables.calibration import Calibration
from polycomplete.tables.codecs import Category
from polycomplete.transduction.base import BaseTransducer, known_entries, refuse


class TransductiveClassifier(ClassifierMixin, BaseTransducer):
    """Classify rows with missing features by completing [features, indicators of the labels].

    Missing features and missing labels are found together. Where labels are few or many features
    are missing, unlabeled rows take part in learning the surface. Features are standardized by
    their observed entries.

    Parameters
    ----------
    estimator : completer or imputer, optional
        What completes features and label side by side: any completer of this library, or an
        imputer of scikit-learn. By default :class:`~polycomplete.PMC`. Its smoothing ("auto") and
        the width of its kernel (None or ``RBF()``) are chosen by hiding known labels; an
        estimator that follows no path of smoothings, such as one with
        :class:`~polycomplete.AdamPlus`, keeps its own.
    label_weight : "auto" or float, default="auto"
        The weight of the label; a feature has 1. "auto" chooses among 0.1, 0.3, 1 and 3 by
        hiding known labels.
    unlabeled : object, default="auto"
        What stands for a missing label in y, besides None and NaN. "auto": the number −1; where
        y holds −1 and 1 alone, say −1 (missing) or None (a class).
    n_members : "auto" or int, default="auto"
        The maximum number of settings that are fitted and averaged: the best one, and those that
        hidden labels cannot tell from it. "auto" is 3, and 1 from 100 000 entries of X on.
    learn_from : {"auto", "all", "labeled"}, default="auto"
        The rows that the surface is learned from. "labeled": those whose label is known; the
        others are completed row by row. "auto" does so where there are 200 of them or more and
        at least three quarters of their features are observed, and takes all rows elsewhere.
    max_samples : int, default=3000
        The maximum number of rows that the surface is learned from, labeled ones first, of rare
        classes more than their share and of each at least one;
        the others are completed row by row.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.
    verbose : int, default=0
        1 shows what is chosen and stages of the fit, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    transduction_ : ndarray of shape (n_samples,)
        The label of each row of X; known labels as they were.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The probability of each class for each row of X; 1 for known labels.
    members_ : list of Member
        The fits whose answers are averaged, the best first: ``weight`` of the label and fitted
        ``estimator``.
    label_weight_ : float
        The weight in the first of them.
    estimator_ : completer or imputer
        The estimator of the first of them.
    calibration_ : Calibration
        From completed indicators to probabilities, learned on hidden labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    TransductiveRegressor : The same for a number.
    TableCompleter : Completes any column of a table, labels among them.
    sklearn.semi_supervised.LabelSpreading : Labels from neighbors, for features without holes.

    References
    ----------
    J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data imputation
    and transductive learning. AAAI. Section "Transductive learning", and
    Table 1. Labels are appended to the features there as they are, with weight 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from polycomplete import TransductiveClassifier, masks
    >>> X, y = load_iris(return_X_y=True)
    >>> X_missing = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    >>> known = np.random.default_rng(0).random(len(y)) < 0.5
    >>> found = TransductiveClassifier(random_state=0).fit(X_missing, np.where(known, y, -1))
    >>> bool(np.mean(found.transduction_ == y) > 0.9)
    True
    >>> found.predict([[5.0, np.nan, 1.4, 0.2], [np.nan, 3.0, 5.5, 2.0]])
    array([0, 2])
    """

    _codec: Category

    def __init__(
        self,
        estimator: Any = None,
        label_weight: float | str = "auto",
        unlabeled: Any = "auto",
        n_members: int | str = "auto",
        learn_from: str = "auto",
        max_samples: int = 3000,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            estimator, label_weight, n_members, learn_from, max_samples, random_state, verbose
        )
        self.unlabeled = unlabeled

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
        with all_or_nothing(self):
            self.classes_, numbers = known_labels(y, self.unlabeled)
            known = np.flatnonzero(~np.isnan(numbers))
            codes = numbers[known].astype(np.intp)
            codec = Category("y", "categorical", str(self.classes_.dtype), self.classes_.tolist())
            block, held, truth = self._fit(X, codec, numbers)
            scores = codec.scores(held) if codec.center else np.empty((0, 1))
            self.calibration_ = Calibration.fit(scores, truth, np.bincount(codes) / len(codes))
            codec.calibration = self.calibration_
            self.label_distributions_ = codec.probabilities(block)
            self.label_distributions_[known] = np.eye(len(self.classes_))[codes]
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
        block = self._complete(X)
        return np.asarray(self._codec.probabilities(block))

    def _errors(self, block: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return deviance residuals of the probabilities that the scores can be calibrated to.

        They tell more than right or wrong, and a smooth surface whose scores are right but timid
        is not taken for a bad one.
        """
        scores, codes = self._codec.scores(block), numbers.astype(np.intp)
        found = Calibration.fit(scores, codes, np.array(self._codec.center)).apply(scores)
        own = found[np.arange(len(codes)), codes]
        return np.sqrt(-2 * np.log(np.maximum(own, np.finfo(float).tiny)))


def known_labels(y: Any, unlabeled: Any = "auto") -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, and the number of the class of each label, NaN where missing.

    None, NaN and NA are always missing. "auto" takes the number −1 for missing, too, as
    scikit-learn's semi-supervised estimators do; None takes nothing else.
    """
    y, known = known_entries(y)
    auto = isinstance(unlabeled, str) and unlabeled == "auto"
    if auto:
        known = _without_minus_one(known)
    elif not is_missing(unlabeled):
        known = {row: entry for row, entry in known.items() if entry != unlabeled}
    if not known:
        raise ValueError(
            "y has no known label: at least one row must have one; None, NaN and "
            f"{-1 if auto else repr(unlabeled)} stand for missing ones."
        )
    _check_kinds(known)
    labels = y[list(known)]
    labels = np.array(labels.tolist()) if y.dtype == object else labels
    check_classification_targets(labels)
    numbers = np.full(len(y), np.nan)
    classes, numbers[list(known)] = np.unique(labels, return_inverse=True)
    return classes, numbers


def _without_minus_one(known: dict[int, Any]) -> dict[int, Any]:
    """Leave out -1, unless it may as well be a class."""
    kept = {row: e for row, e in known.items() if not (isinstance(e, Real) and e == -1)}
    others = kept.values()
    if len(kept) < len(known) and kept and all(isinstance(e, Real) and e == 1 for e in others):
        raise ValueError(
            "y holds -1 and 1 alone: -1 may be a class or mean a missing label. Say unlabeled=None "
            "if it is a class (missing labels are then None or NaN), unlabeled=-1 if it is missing."
        )
    return kept


def _check_kinds(known: dict[int, Any]) -> None:
    """Refuse what cannot be a class, and classes that cannot be sorted."""
    refuse(known, lambda entry: isinstance(entry, Real) and math.isinf(entry),
           "is infinite; make it missing (NaN) instead")  # fmt: skip
    refuse(known, lambda entry: not isinstance(entry, str | Real | np.generic),
           "is neither text nor a number; turn labels into text")  # fmt: skip
    if any(isinstance(entry, str) for entry in known.values()):
        refuse(known, lambda entry: not isinstance(entry, str),
               "is a number among labels that are text; turn all of them into text")  # fmt: skip
