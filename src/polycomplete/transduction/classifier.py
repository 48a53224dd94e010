"""Classification by completion: indicators of the classes are columns with missing entries."""

from __future__ import annotations

import math
from dataclasses import dataclass
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


@dataclass(eq=False, repr=False)
class TransductiveClassifier(ClassifierMixin, BaseTransducer):
    """Classify rows with missing features by completing [features, indicators of the labels].

    Missing features and missing labels are completed together. If labels are few or many features
    are missing, unlabeled rows help to learn the surface. Features are standardized by their
    observed entries.

    Parameters
    ----------
    estimator : completer or imputer, optional
        The estimator that completes features and labels: any completer of this library, or an
        imputer of scikit-learn. By default :class:`~polycomplete.PMC`. A smoothing of "auto" and
        the width of a kernel of None or ``RBF()`` are chosen on held-out labels; an estimator
        without a path of smoothings, such as one with :class:`~polycomplete.AdamPlus`, keeps its
        own smoothing.
    label_weight : "auto" or float, default="auto"
        The weight of the label; a feature has 1. "auto" chooses among 0.1, 0.3, 1 and 3 on
        held-out labels.
    unlabeled : object, default="auto"
        The mark of a missing label in y, in addition to None and NaN. "auto" is the number −1; if
        y holds only −1 and 1, give −1 (missing) or None (a class).
    n_members : "auto" or int, default="auto"
        The maximum number of settings that are fitted and averaged: the best one, and those that
        held-out labels cannot tell from it. "auto" is 3, or 1 if X has 100 000 entries or more.
    learn_from : {"auto", "all", "labeled"}, default="auto"
        The rows that the surface is learned from. "labeled" uses those whose label is known, and
        the others are completed one by one. "auto" does so if there are more than 400 of them with
        at least three quarters of their features observed, and otherwise uses all rows.
    max_samples : int, default=3000
        The maximum number of rows that the surface is learned from, with priority for labeled ones
        and for rare classes, and at least one row of each class; the others are completed one by
        one.
    random_state : int, RandomState or None, default=None
        Seed of all random choices.
    verbose : int, default=0
        1 logs choices and stages of the fit, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    transduction_ : ndarray of shape (n_samples,)
        The label of each row of X; known labels as they were.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The probability of each class for each row of X; 1 for known labels.
    members_ : list of Member
        The fits whose predictions are averaged, the best first, each with the ``weight`` of the
        label and the fitted ``estimator``.
    label_weight_ : float
        The weight of the label in the best of them.
    estimator_ : completer or imputer
        The fitted estimator of the best of them.
    calibration_ : Calibration
        From completed indicators to probabilities, fitted on held-out labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Their names, if X has any.

    See Also
    --------
    TransductiveRegressor : The same for a number.
    TableCompleter : Completes all columns of a table, labels among them.
    sklearn.semi_supervised.LabelSpreading : Labels from neighbors, for complete features.

    References
    ----------
    J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data imputation
    and transductive learning. AAAI. Section "Transductive learning", and Table 1, where labels have
    weight 1.

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

    unlabeled: Any = "auto"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, and find the missing labels.

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

    def _decode(self, block: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[super()._decode(block)])

    def _errors(self, block: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return deviance residuals of calibrated probabilities.

        They say more than right or wrong, and calibration keeps smooth surfaces, whose scores are
        shrunk towards the mean, from looking bad.
        """
        scores, codes = self._codec.scores(block), numbers.astype(np.intp)
        found = Calibration.fit(scores, codes, np.array(self._codec.center)).apply(scores)
        own = found[np.arange(len(codes)), codes]
        return np.sqrt(-2 * np.log(np.maximum(own, np.finfo(float).tiny)))


def known_labels(y: Any, unlabeled: Any = "auto") -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, and the number of the class of each label, NaN where missing.

    None, NaN and NA are always missing. With "auto" so is the number −1, as in scikit-learn's
    semi-supervised estimators.
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
    """Return the entries without -1; raise if that may be a class."""
    kept = {row: e for row, e in known.items() if not (isinstance(e, Real) and e == -1)}
    others = kept.values()
    if len(kept) < len(known) and kept and all(isinstance(e, Real) and e == 1 for e in others):
        raise ValueError(
            "y holds -1 and 1 alone: -1 may be a class or mean a missing label. Set unlabeled=None "
            "if it is a class (missing labels are then None or NaN), unlabeled=-1 if it is missing."
        )
    return kept


def _check_kinds(known: dict[int, Any]) -> None:
    """Raise for labels that cannot be classes, and for classes that cannot be sorted."""
    refuse(known, lambda entry: isinstance(entry, Real) and math.isinf(entry),
           "is infinite; make it missing (NaN) instead")  # fmt: skip
    refuse(known, lambda entry: not isinstance(entry, str | Real | np.generic),
           "is neither text nor a number; turn labels into text")  # fmt: skip
    if any(isinstance(entry, str) for entry in known.values()):
        refuse(known, lambda entry: not isinstance(entry, str),
               "is a number among labels that are text; turn all of them into text")  # fmt: skip
