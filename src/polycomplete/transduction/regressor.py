"""Regression by completion: the target is a column with missing entries."""

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
    observed entries. Everything else is as in :class:`TransductiveClassifier`, with
    numbers for labels.

    Parameters
    ----------
    estimator : completer or imputer, optional
        The estimator that completes features and numbers: any completer of this library, or an
        imputer of scikit-learn. By default :class:`~polycomplete.PMC`. A smoothing of "auto" and
        the width of a kernel of None or ``RBF()`` are chosen on held-out numbers; an estimator
        without a path of smoothings, such as one with :class:`~polycomplete.AdamPlus`, keeps its
        own smoothing.
    label_weight : "auto" or float, default="auto"
        Weight of the number relative to a feature.
    n_members : "auto" or int, default="auto"
        How many settings that cannot be told apart are averaged.
    learn_from : {"auto", "all", "labeled"}, default="auto"
        The rows to learn from.
    max_samples : int, default=3000
    random_state : int, RandomState or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The number of each row of X; known numbers as they were.
    members_, estimator_, label_weight_ : list of Member, completer or imputer, float
    n_features_in_, feature_names_in_ : int, ndarray of str

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
