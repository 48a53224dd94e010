"""Sparse subspace clustering of complete points, and of points with missing entries."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_array, check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from polycomplete._messages import warn
from polycomplete._resources import blas_threads_for
from polycomplete.base import all_or_nothing, prepared
from polycomplete.clustering.spectral import (
    coefficient_matrix,
    eigengap,
    keep_largest,
    spectral_labels,
    symmetric_affinity,
)
from polycomplete.frames import find_missing, to_matrix
from polycomplete.methods import PMC
from polycomplete.persistence import Savable
from polycomplete.solvers.sparse_representation import BLOCK, Admm, Misfit

# Beyond 2000 points, "auto" represents each point by its 100 nearest instead of all others.
_ALL, _NEAREST = 2000, 100
_GRAPHS = {"coefficients_", "affinity_matrix_"}
_COUNT = Interval(Integral, 1, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")


class Codes(NamedTuple):
    """Coefficients of every point, iterations (of the slowest batch), and whether they converged.

    ``atoms`` are the indices of the points with these coefficients, None for all points in order;
    ``outliers`` is the outlier term, if any.
    """

    values: np.ndarray
    iterations: int
    converged: bool
    atoms: np.ndarray | None = None
    outliers: np.ndarray | None = None


@dataclass(eq=False, repr=False)
class SparseSubspaceClustering(Savable, ClusterMixin, BaseEstimator):
    """Find the subspaces on which points lie, by representing each point by a few others.

    Sparse subspace clustering (Elhamifar & Vidal 2013) computes coefficients from

        min |C|₁ + κ/2 |C|² + λₑ |E|₁ + λ/2 |X − CX − E|²,   diag C = 0, with ``affine`` C1 = 1,

    keeps the largest of each row, symmetrizes them, and partitions the graph by spectral
    clustering. Beyond 2000 points, each is represented by its 100 nearest, with sparse matrices.

    The published objective has κ = 0. Its solution is so sparse that graphs become disconnected,
    which the published algorithm avoids by stopping early. A small κ keeps the graph connected, and
    the solution, which is then unique, takes fewer iterations.
    ``ridge=0, balance=False, tol=2e-4, max_iter=200`` is the published algorithm.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of subspaces; "auto" chooses it by the largest ratio of successive eigenvalues of the
        graph's Laplacian, from two to ``max_clusters``.
    alpha : float, default=800
        λ = alpha / min_i max_j |xᵢ·xⱼ|; larger for less noise. It must be above 1, or all
        coefficients would be zero. The published values are 800 for motion and 20 for faces.
    affine : bool, default=False
        Whether subspaces need not contain the origin, as for the trajectories of rigid motions.
    normalize : bool or "auto", default="auto"
        Scale points to unit length first; "auto" does so unless ``affine``. Linear subspaces do not
        change, and short points are represented as well as long ones.
    outlier_alpha : float, optional
        λₑ = outlier_alpha / (second largest |xᵢ|₁), if single entries of points may be wrong by any
        amount. By default there is no outlier term. Not available with an integer ``n_neighbors``.
    ridge : float, default=5
        κ, which spreads weight over similar points.
    rho : float, default=0.7
        Share of the absolute sum of a row that the kept coefficients reach; 1 keeps all.
    n_neighbors : "auto", int or None, default="auto"
        Number of nearest points that may represent a point; None for all. "auto" is all for up to
        2000 points, and 100 beyond.
    max_clusters : int, default=10
        Maximum number of clusters for ``n_clusters="auto"``.
    tol : float, default=1e-3
        Tolerance of ADMM, see ``balance``.
    max_iter : int, default=1000
        Maximum number of iterations of ADMM.
    balance : bool, default=True
        Adapt the penalty of ADMM, and stop when both relative residuals are below ``tol``. If
        False, the penalty is alpha, and ADMM stops when its two copies of each coefficient differ
        by less than ``tol``.
    assign_labels : {"cluster_qr", "kmeans", "discretize"}, default="cluster_qr"
        How to assign labels in the embedding, see :class:`sklearn.cluster.SpectralClustering`.
    random_state : int, RandomState or None, default=None
        Seed of everything random.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_samples,)
        The cluster of each point.
    coefficients_ : ndarray or csr_matrix of shape (n_samples, n_samples)
        Row i has the coefficients that represent point i.
    affinity_matrix_ : ndarray or csr_matrix of shape (n_samples, n_samples)
        The graph.
    outliers_ : ndarray of shape (n_samples, n_features)
        The outlier term E, with ``outlier_alpha``.
    n_clusters_ : int
        Number of clusters.
    n_iter_ : int
        Number of iterations of ADMM.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, if X had any.

    See Also
    --------
    SubspaceClusterer : For points with missing entries.
    SRMC : Completes rows with the same objective.

    References
    ----------
    E. Elhamifar and R. Vidal (2013). Sparse subspace clustering: algorithm, theory, and
    applications. IEEE Transactions on Pattern Analysis and Machine Intelligence 35.

    Examples
    --------
    >>> from polycomplete import datasets, metrics
    >>> X, truth = datasets.make_union_of_subspaces(
    ...     90, 15, n_subspaces=3, dim=2, random_state=0, return_labels=True)
    >>> found = SparseSubspaceClustering(n_clusters="auto", random_state=0).fit(X)
    >>> found.n_clusters_, metrics.clustering_error(truth, found.labels_)
    (3, 0.0)
    """

    n_clusters: int | str = 2
    alpha: float = 800.0
    affine: bool = False
    normalize: bool | str = "auto"
    outlier_alpha: float | None = None
    ridge: float = 5.0
    rho: float = 0.7
    n_neighbors: int | str | None = "auto"
    max_clusters: int = 10
    tol: float = 1e-3
    max_iter: int = 1000
    balance: bool = True
    assign_labels: str = "cluster_qr"
    random_state: int | np.random.RandomState | None = None

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn reads it from the class)
        "n_clusters": [_COUNT, StrOptions({"auto"})],
        "alpha": [Interval(Real, 1, None, closed="neither")],
        "affine": ["boolean"],
        "normalize": ["boolean", StrOptions({"auto"})],
        "outlier_alpha": [_POSITIVE, None],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "rho": [Interval(Real, 0, 1, closed="right")],
        "n_neighbors": [_COUNT, StrOptions({"auto"}), None],
        "max_clusters": [_COUNT],
        "tol": [_POSITIVE],
        "max_iter": [_COUNT],
        "balance": ["boolean"],
        "assign_labels": [StrOptions({"cluster_qr", "kmeans", "discretize"})],
        "random_state": ["random_state"],
    }

    def fit(self, X: Any, y: object = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Complete points.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            X = _points(self, X, dtype=np.float64, ensure_all_finite=False)
            self._check(X)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            if self.normalize is True or (self.normalize == "auto" and not self.affine):
                X = normalize(X)
            with blas_threads_for(len(X)):
                found = self._express(X)
                self.coefficients_ = coefficient_matrix(found.values, found.atoms)
                kept = coefficient_matrix(keep_largest(found.values, self.rho), found.atoms)
                self.affinity_matrix_ = graph = symmetric_affinity(kept)
                auto = self.n_clusters == "auto"
                self.n_clusters_ = (
                    eigengap(graph, self.max_clusters, seed) if auto else int(self.n_clusters)
                )
                self.labels_ = spectral_labels(graph, self.n_clusters_, self.assign_labels, seed)
            self.n_iter_ = found.iterations
            if found.outliers is not None:
                self.outliers_ = found.outliers
            return self

    def _express(self, X: np.ndarray) -> Codes:
        """Represent each point by all others, or by the nearest ones."""
        nearest = self.n_neighbors
        if nearest == "auto":
            nearest = _NEAREST if len(X) > _ALL and self.outlier_alpha is None else None
        found = self._by_all(X) if nearest is None else self._by_nearest(X, int(nearest))
        if not found.converged:
            warn(
                f"The coefficients did not converge in {found.iterations} iterations; clusters may "
                "improve with a larger max_iter or tol.",
                ConvergenceWarning,
            )
        return found

    def _by_all(self, X: np.ndarray) -> Codes:
        """Represent every point by all others, and outliers."""
        n, m = X.shape
        products = np.abs(X @ X.T)
        np.fill_diagonal(products, 0)
        atoms, counted = X, np.ones(n)
        if self.outlier_alpha is not None:
            # λₑ = outlier_alpha / min_i max_{j≠i} |xⱼ|₁: that minimum is the second largest norm.
            scale = self.outlier_alpha / (float(np.sort(np.abs(X).sum(axis=1))[-2]) or 1.0)
            # Outliers are combinations of unit vectors; dividing these by λₑ gives the penalty λₑ.
            atoms, counted = np.vstack([X, np.eye(m) / scale]), np.r_[counted, np.zeros(m)]
        weight = self.alpha / _smallest(products.max(axis=1))
        misfit = Misfit(X, atoms, weight, counted if self.affine else None)
        admm = self._admm((n, len(atoms)), self.ridge * counted, bar_self=True)
        iterations, converged = admm.run(misfit, self.tol, self.max_iter)
        outliers = None if self.outlier_alpha is None else admm.codes[:, n:] / scale
        return Codes(admm.codes[:, :n], iterations, converged, outliers=outliers)

    def _by_nearest(self, X: np.ndarray, count: int) -> Codes:
        """Represent every point by its nearest ones, in batches, so that memory is linear."""
        atoms, largest = find_nearest(X, self.affine, min(count, len(X) - 1))
        weight = self.alpha / _smallest(largest)
        counted = np.ones(atoms.shape[1]) if self.affine else None
        values, iterations, converged = np.zeros(atoms.shape), 0, True
        for rows in gen_batches(len(X), BLOCK):
            misfit = Misfit(X[rows], X[atoms[rows]], weight, counted)
            admm = self._admm(atoms[rows].shape, self.ridge)
            taken, finished = admm.run(misfit, self.tol, self.max_iter)
            values[rows] = admm.codes
            iterations, converged = max(iterations, taken), converged and finished
        return Codes(values, iterations, converged, atoms)

    def _admm(self, shape: Any, ridge: Any, bar_self: bool = False) -> Admm:
        return Admm(shape, np.array([[float(self.alpha)]]), ridge, bar_self, self.balance)

    def _check(self, X: np.ndarray) -> None:
        """Raise if points have holes, or a parameter is not an allowed value."""
        holes = np.argwhere(~find_missing(X, np.nan))
        if len(holes):
            raise ValueError(
                f"Input X contains NaN (row {holes[0][0]}, column {holes[0][1]}; {len(holes)} in "
                "all); SparseSubspaceClustering needs complete points, SubspaceClusterer completes "
                "them first."
            )
        self._validate_params()
        if self.outlier_alpha is not None and isinstance(self.n_neighbors, Integral):
            raise ValueError(
                "outlier_alpha needs all points as a dictionary; set n_neighbors=None or "
                "outlier_alpha=None."
            )
        if isinstance(self.n_clusters, Integral) and self.n_clusters > len(X):
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the {len(X)} points of X; ask for at "
                f"most {len(X)}."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, with sparse matrices as arrays."""
        state = dict(super().__getstate__())
        for name in _GRAPHS & state.keys():
            if sparse.issparse(A := state[name]):
                state[name] = {"shape": list(A.shape), "csr": [A.data, A.indices, A.indptr]}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, with sparse matrices."""
        for name in _GRAPHS & state.keys():
            if isinstance(saved := state[name], dict):
                matrix = sparse.csr_matrix(tuple(saved["csr"]), shape=tuple(saved["shape"]))
                state = state | {name: matrix}
        super().__setstate__(state)


@dataclass(eq=False, repr=False)
class SubspaceClusterer(Savable, ClusterMixin, BaseEstimator):
    """Cluster points with missing entries by the subspaces on which they lie.

    The completer fills in the missing entries, and the clusterer clusters the completed points.
    Both are cloned.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters, passed to the clusterer; "auto" chooses it, two or more, by the largest
        ratio of successive eigenvalues of the graph's Laplacian.
    completer : transformer, optional
        Any imputer that follows scikit-learn; :class:`~polycomplete.PMC` by default. Not used if
        nothing is missing.
    clusterer : clusterer, optional
        Any estimator with a parameter ``n_clusters`` and ``fit``;
        :class:`~polycomplete.SparseSubspaceClustering` by default.
    random_state : int, RandomState or None, default=None
        Seed passed to completer and clusterer, if theirs is None.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_samples,)
        The cluster of each point; -1 for points without any observed entry.
    completed_ : ndarray of shape (n_samples, n_features)
        The completed points, without columns that the completer drops.
    n_clusters_ : int
        Number of clusters.
    completer_, clusterer_ : estimator
        The fitted completer and clusterer; ``completer_`` is None if nothing was missing.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, if X had any.

    See Also
    --------
    SparseSubspaceClustering : For complete points, with all of its parameters.
    PMC : The default completer.

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

    n_clusters: int | str = "auto"
    completer: Any = None
    clusterer: Any = None
    random_state: int | np.random.RandomState | None = None

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
        with all_or_nothing(self):
            matrix = _points(self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            clusterer = SparseSubspaceClustering() if self.clusterer is None else self.clusterer
            clusterer = prepared(clusterer, seed).set_params(n_clusters=self.n_clusters)
            observed = ~np.isnan(matrix)
            seen = observed.any(axis=1)
            _check_rows(seen)
            self.completer_, self.completed_ = None, matrix
            if not observed.all():
                completer = PMC() if self.completer is None else self.completer
                self.completer_ = prepared(completer, seed)
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


def _points(estimator: Any, X: Any, **how: Any) -> np.ndarray:
    """Validate the points to fit an estimator to."""
    matrix = check_array(
        to_matrix(X), ensure_min_samples=2, estimator=estimator, input_name="X", **how
    )
    validate_data(estimator, X, skip_check_array=True)
    return np.asarray(matrix)


def find_nearest(X: np.ndarray, affine: bool, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the nearest points of each, sorted, and the largest product of each.

    Nearest by distance for affine subspaces, and by angle for subspaces through the origin.
    """
    norms = np.linalg.norm(X, axis=1)
    atoms, largest = np.empty((len(X), count), dtype=np.intp), np.empty(len(X))
    for rows in gen_batches(len(X), BLOCK):
        products = X[rows] @ X.T
        own = np.arange(len(products)), np.arange(rows.start, rows.stop)
        closeness = (
            2 * products - norms**2 if affine else np.abs(products) / np.maximum(norms, 1e-300)
        )
        closeness[own], products[own] = -np.inf, 0
        largest[rows] = np.abs(products).max(axis=1)
        # Sorted by index, so that no result depends on the order of the search.
        atoms[rows] = np.sort(np.argpartition(-closeness, count - 1)[:, :count], axis=1)
    return atoms, largest


def _smallest(largest: np.ndarray) -> float:
    """Return the smallest number that is not rounding, ignoring points at the origin."""
    positive = largest[largest > 1e-12 * largest.max()]
    return float(positive.min()) if positive.size else 1.0


def _check_rows(seen: np.ndarray) -> None:
    """Warn of points that cannot be clustered; raise if fewer than two can."""
    if np.count_nonzero(seen) < 2:
        raise ValueError(
            f"X has {np.count_nonzero(seen)} rows with an observed entry; clustering needs 2."
        )
    if not seen.all():
        rows = np.flatnonzero(~seen)
        shown = ", ".join(map(str, rows[:5])) + ", ..." * (len(rows) > 5)
        warn(
            f"Rows {shown} of X have no observed entry and get the label -1; drop them or provide "
            "an entry of each.",
            UserWarning,
        )
