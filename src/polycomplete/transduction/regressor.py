"""Regression by completion: the target is a column with holes."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from polycomplete.base import all_or_nothing
from polycomplete.tables.codecs import Number
from polycomplete.transduction.base import BaseTransducer, known_entries, refuse


class TransductiveRegressor(RegressorMixin, BaseTransducer):
    """Predict a number for rows with missing features by completing [features, number].

    Missing features and missing numbers are completed together; both are standardized by their
    observed entries.

    Parameters
    ----------
    estimator : completer or imputer, optional
        The estimator that completes features and numbers: any completer of this library, or an
        imputer of scikit-learn. By default :class:`~polycomplete.PMC`. A smoothing of "auto" and
        the width of a kernel of None or ``RBF()`` are chosen on held-out numbers; an estimator
        without a path of smoothings, such as one with :class:`~polycomplete.AdamPlus`, keeps its
        own smoothing.
    label_weight : "auto" or float, default="auto"
        The weight of the number; a feature has 1. "auto" chooses among 0.1, 0.3, 1 and 3 on
        held-out numbers.
    n_members : "auto" or int, default="auto"
        The maximum number of settings that are fitted and averaged: the best one, and those that
        held-out numbers cannot tell from it. "auto" is 3, or 1 if X has 100 000 entries or more.
    learn_from : {"auto", "all", "labeled"}, default="auto"
        The rows that the surface is learned from. "labeled" uses those whose number is known, and
        the others are completed one by one. "auto" does so if there are more than 400 of them with
        at least three quarters of their features observed, and otherwise uses all rows.
    max_samples : int, default=3000
        The maximum number of rows that the surface is learned from, with priority for labeled
        ones; the others are completed one by one.
    random_state : int, RandomState or None, default=None
        Seed of all random choices.
    verbose : int, default=0
        1 logs choices and stages of the fit, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The number of each row of X; known numbers as they were.
    members_ : list of Member
        The fits whose predictions are averaged, the best first, each with the ``weight`` of the
        number and the fitted ``estimator``.
    label_weight_ : float
        The weight of the number in the best of them.
    estimator_ : completer or imputer
        The fitted estimator of the best of them.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Their names, if X has any.

    See Also
    --------
    TransductiveClassifier : The same for classes.
    PMC : Completes columns of numbers, all with the same weight.

    References
    ----------
    J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data imputation
    and transductive learning. AAAI. Section "Transductive learning", for labels.

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
        with all_or_nothing(self):
            numbers = known_numbers(y)
            block, _, _ = self._fit(X, Number("y", "numeric", "Float64"), numbers)
            self.transduction_ = np.where(np.isnan(numbers), self._decode(block), numbers)
            return self


def known_numbers(y: Any) -> np.ndarray:
    """Return a numeric target as floats, NaN where missing."""
    y, known = known_entries(y)
    refuse(known, lambda entry: not isinstance(entry, Real),
           "is not a number; use TransductiveClassifier for classes")  # fmt: skip
    refuse(known, np.isinf, "is infinite; make it missing (NaN) instead")
    if not known:
        raise ValueError("y has no known value: at least one row must have one.")
    numbers = np.full(len(y), np.nan)
    numbers[list(known)] = list(known.values())
    return numbers
