"""Regression by completion: the target is a column with holes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from polycomplete.keeping import all_or_nothing
from polycomplete.transduction.base import BaseTransducer
from polycomplete.transduction.labels import known_numbers
from polycomplete.transduction.targets import Number


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

    def __init__(
        self,
        method: Any = None,
        label_weight: float | str = "auto",
        average: int | str = "auto",
        learn_from: str = "auto",
        max_rows: int = 3000,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.method = method
        self.label_weight = label_weight
        self.average = average
        self.learn_from = learn_from
        self.max_rows = max_rows
        self.random_state = random_state
        self.verbose = verbose

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
        target = Number.of(y[known])
        self.transduction_ = np.where(known, y, self._fit(X, target, y, known))
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
        return self._complete(X)
