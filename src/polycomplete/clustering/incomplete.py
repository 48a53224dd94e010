"""Subspace clustering of points with missing entries: complete them, then cluster."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import validate_data

from polycomplete._messages import warn
from polycomplete.clustering.ssc import SparseSubspaceClustering
from polycomplete.frames import to_matrix
from polycomplete.keeping import Savable, all_or_nothing
from polycomplete.methods import PMC


class SubspaceClusterer(Savable, ClusterMixin, BaseEstimator):
    """Cluster points with missing entries by the subspaces on which they lie.

    The completer fills the holes, the clusterer takes the completed points. Both are copied, so
    that the objects passed in stay as they are.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters, handed on to the clusterer; "auto" takes it from where the smallest
        eigenvalues of the graph's Laplacian jump most, and is two or more.
    completer : transformer, optional
        Fills the holes, any imputer of scikit-learn's kind; :class:`~polycomplete.PMC` by default.
        Not asked where nothing is missing.
    clusterer : clusterer, optional
        Anything with a parameter ``n_clusters`` and ``fit``;
        :class:`~polycomplete.SparseSubspaceClustering` by default.
    random_state : int, RandomState or None, default=None
        Handed on to completer and clusterer, where these have one that is None.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_samples,)
        The cluster of each point; -1 for points without any observed entry.
    completed_ : ndarray of shape (n_samples, n_features)
        The completed points; columns without any observed entry are left out, where the completer
        leaves them out.
    n_clusters_ : int
        Number of clusters.
    completer_, clusterer_ : estimator
        As fitted; ``completer_`` is None where nothing was missing.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, where X had any.

    Examples
    --------
    >>> from polycomplete import datasets, masks, metrics
    >>> X, truth = datasets.make_union_of_subspaces(
    ...     120, 15, n_subspaces=3, dim=3, random_state=0, return_labels=True)
    >>> X_missing = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    >>> found = SubspaceClusterer(n_clusters=3, random_state=0).fit(X_missing)
    >>> metrics.clustering_error(truth, found.labels_)
    0.0
    """

    def __init__(
        self,
        n_clusters: int | str = "auto",
        completer: Any = None,
        clusterer: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_clusters = n_clusters
        self.completer = completer
        self.clusterer = clusterer
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: object = None) -> Self:
        """Complete and cluster the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Points, NaN where an entry is missing.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        self
        """
        matrix = check_array(
            to_matrix(X),
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=2,
            estimator=self,
            input_name="X",
        )
        validate_data(self, X, skip_check_array=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        clusterer = _ready(self.clusterer, SparseSubspaceClustering, seed)
        clusterer.set_params(n_clusters=self.n_clusters)
        observed = ~np.isnan(matrix)
        seen = observed.any(axis=1)
        _check_rows(seen)
        self.completer_, self.completed_ = None, matrix
        if not observed.all():
            self.completer_ = _ready(self.completer, PMC, seed)
            self.completed_ = np.asarray(self.completer_.fit_transform(matrix))
        self.clusterer_ = clusterer.fit(self.completed_[seen])
        self.labels_ = np.full(len(matrix), -1, dtype=np.int32)
        self.labels_[seen] = self.clusterer_.labels_
        self.n_clusters_ = len(np.unique(self.clusterer_.labels_))
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _ready(estimator: Any, default: type, seed: int) -> Any:
    """Return a copy to be fitted, with a seed where it takes one and has none."""
    copy = default() if estimator is None else clone(estimator)
    if copy.get_params().get("random_state", seed) is None:
        copy.set_params(random_state=seed)
    return copy


def _check_rows(seen: np.ndarray) -> None:
    """Say which points cannot be clustered; raise where fewer than two can."""
    if np.count_nonzero(seen) < 2:
        raise ValueError(
            f"X has {np.count_nonzero(seen)} rows with an observed entry; clustering needs 2."
        )
    if not seen.all():
        rows = np.flatnonzero(~seen)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        warn(
            f"Rows {shown} of X have no observed entry and get the label -1; drop them, or observe "
            "an entry of each.",
            UserWarning,
        )
