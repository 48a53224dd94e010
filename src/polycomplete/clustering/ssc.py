"""Sparse subspace clustering of complete data, as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from polycomplete._checks import check_numbers
from polycomplete._messages import warn
from polycomplete._resources import blas_threads_for
from polycomplete.clustering.admm import Schedule
from polycomplete.clustering.affinity import coefficient_matrix, keep_largest, symmetric_affinity
from polycomplete.clustering.self_expression import SelfExpression, by_all, by_nearest
from polycomplete.clustering.spectral import eigengap, spectral_labels
from polycomplete.frames import find_missing, to_matrix
from polycomplete.keeping import all_or_nothing

# Beyond so many points "auto" codes a point by its nearest others instead of by all.
_ALL, _NEAREST = 2000, 100
_ASSIGN = ("cluster_qr", "discretize", "kmeans")


class SparseSubspaceClustering(ClusterMixin, BaseEstimator):
    """Find the subspaces on which points lie, by writing each point with few others.

    Sparse subspace clustering (Elhamifar & Vidal 2013): coefficients from

        min |C|₁ + κ/2 |C|² + λₑ |E|₁ + λ/2 |X − CX − E|²,   diag C = 0, with ``affine`` C1 = 1,

    the largest of each row are kept, made symmetric, and scikit-learn's spectral clustering cuts
    the graph. Beyond 2000 points each point is written by its 100 nearest, with sparse matrices.

    The published objective is that with κ = 0. Its solution is sparser than good for the graph,
    which falls into pieces; the published algorithm stops long before it and lives by that. Here a
    small κ keeps the graph together, and the solution, which is then unique, is found in fewer
    iterations. ``ridge=0, balance=False, tol=2e-4, max_iter=200`` is the published algorithm.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of subspaces; "auto" takes it from where the smallest eigenvalues of the graph's
        Laplacian jump most, from two up to ``max_clusters``.
    alpha : float, default=800
        λ = alpha / min_i max_j |xᵢ·xⱼ|. Larger for less noise; must be above 1, or nothing is
        written at all. 800 is the published choice for motion, 20 that for faces.
    affine : bool, default=False
        Subspaces need not go through the origin, as the trajectories of rigid motions do not.
    normalize : bool or "auto", default="auto"
        Scale points to unit length first; "auto" does so unless ``affine``: a subspace through the
        origin does not mind, and short points are coded as well as long ones.
    outlier_alpha : float, optional
        λₑ = outlier_alpha / (second largest |xᵢ|₁): single entries of points may be wrong by any
        amount. By default none are. Not to be had with ``n_neighbors``.
    ridge : float, default=5
        κ: a point is written by several similar points instead of one of them.
    rho : float, default=0.7
        Share of the absolute sum of a row that its kept coefficients reach; 1 keeps all.
    n_neighbors : "auto", int or None, default="auto"
        How many nearest points a point may be written with; None is all. "auto" is all up to 2000
        points and 100 beyond.
    max_clusters : int, default=10
        The most that ``n_clusters="auto"`` finds.
    tol : float, default=1e-3
        Where ADMM stops, see ``balance``.
    max_iter : int, default=1000
        Most iterations of ADMM.
    balance : bool, default=True
        Adapt the penalty of ADMM as it runs, and stop where both residuals are below ``tol`` times
        the size of what they are residuals of. With False the penalty stays at alpha, and ADMM
        stops where its two copies of each coefficient differ by less than ``tol``.
    assign_labels : {"cluster_qr", "kmeans", "discretize"}, default="cluster_qr"
        How eigenvectors become labels, see :class:`sklearn.cluster.SpectralClustering`.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_samples,)
        The cluster of each point.
    coefficients_ : ndarray or csr_matrix of shape (n_samples, n_samples)
        Row i: how point i is written by the others.
    affinity_matrix_ : ndarray or csr_matrix of shape (n_samples, n_samples)
        The graph.
    outliers_ : ndarray of shape (n_samples, n_features)
        With ``outlier_alpha``: what was taken out of the points.
    n_clusters_ : int
        Number of clusters.
    n_iter_ : int
        Iterations of ADMM.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, where X had any.

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

    def __init__(
        self,
        n_clusters: int | str = 2,
        alpha: float = 800.0,
        affine: bool = False,
        normalize: bool | str = "auto",
        outlier_alpha: float | None = None,
        ridge: float = 5.0,
        rho: float = 0.7,
        n_neighbors: int | str | None = "auto",
        max_clusters: int = 10,
        tol: float = 1e-3,
        max_iter: int = 1000,
        balance: bool = True,
        assign_labels: str = "cluster_qr",
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.affine = affine
        self.normalize = normalize
        self.outlier_alpha = outlier_alpha
        self.ridge = ridge
        self.rho = rho
        self.n_neighbors = n_neighbors
        self.max_clusters = max_clusters
        self.tol = tol
        self.max_iter = max_iter
        self.balance = balance
        self.assign_labels = assign_labels
        self.random_state = random_state

    @all_or_nothing
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
        X = self._validated(X)
        self._check(len(X))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with blas_threads_for(len(X)):
            found = self._express(self._scaled(X))
            self.coefficients_ = coefficient_matrix(found.values, found.atoms)
            kept = coefficient_matrix(keep_largest(found.values, self.rho), found.atoms)
            self.affinity_matrix_ = symmetric_affinity(kept)
            self.n_clusters_ = self._count(seed)
            self.labels_ = spectral_labels(
                self.affinity_matrix_, self.n_clusters_, self.assign_labels, seed
            )
        self.n_iter_ = found.iterations
        if found.outliers is not None:
            self.outliers_ = found.outliers
        return self

    def _validated(self, X: Any) -> np.ndarray:
        matrix = check_array(
            to_matrix(X),
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=2,
            estimator=self,
            input_name="X",
        )
        validate_data(self, X, skip_check_array=True)
        holes = np.argwhere(~find_missing(matrix, np.nan))
        if len(holes):
            raise ValueError(
                f"Input X contains NaN (row {holes[0][0]}, column {holes[0][1]}; {len(holes)} in "
                "all); SparseSubspaceClustering takes complete points, SubspaceClusterer completes "
                "them first."
            )
        return matrix

    def _express(self, X: np.ndarray) -> SelfExpression:
        schedule = Schedule(self.alpha, self.tol, self.max_iter, self.balance)
        neighbors = self._neighbors(len(X))
        if neighbors is None:
            found = by_all(X, self.alpha, self.affine, self.outlier_alpha, schedule, self.ridge)
        else:
            found = by_nearest(X, self.alpha, self.affine, neighbors, schedule, self.ridge)
        if not found.converged:
            warn(
                f"The coefficients did not converge in {found.iterations} iterations; clusters may "
                "improve with a larger max_iter or tol.",
                ConvergenceWarning,
            )
        return found

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        if not (self.normalize is True or (self.normalize == "auto" and not self.affine)):
            return X
        length = np.linalg.norm(X, axis=1, keepdims=True)
        return X / np.where(length > 0, length, 1)

    def _neighbors(self, n: int) -> int | None:
        """Return how many points a point is written with; None for all."""
        if self.n_neighbors == "auto":
            return _NEAREST if n > _ALL and self.outlier_alpha is None else None
        return None if self.n_neighbors is None else min(int(self.n_neighbors), n - 1)

    def _count(self, seed: int) -> int:
        if self.n_clusters == "auto":
            return eigengap(self.affinity_matrix_, self.max_clusters, seed)
        return int(self.n_clusters)

    def _check(self, n: int) -> None:
        """Raise where a parameter is wrong, in itself or for so many points."""
        check_numbers(self, "alpha", "rho", "tol")
        check_numbers(self, "ridge", zero=True)
        if self.alpha <= 1 or self.rho > 1:
            raise ValueError(
                f"alpha={self.alpha!r} must be above 1, and rho={self.rho!r} must not."
            )
        _check_choice("normalize", self.normalize, (True, False, "auto"))
        _check_choice("assign_labels", self.assign_labels, _ASSIGN)
        _check_count("n_clusters", self.n_clusters, "auto")
        _check_count("n_neighbors", self.n_neighbors, "auto", None)
        _check_count("max_clusters", self.max_clusters)
        _check_count("max_iter", self.max_iter)
        if self.outlier_alpha is not None:
            check_numbers(self, "outlier_alpha")
            if isinstance(self.n_neighbors, Integral):
                raise ValueError(
                    "outlier_alpha needs all points as a dictionary; set n_neighbors=None, or "
                    "leave the outlier term out."
                )
        if isinstance(self.n_clusters, Integral) and self.n_clusters > n:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the {n} points of X; ask for at most "
                f"{n}."
            )


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not isinstance(value, str | bool) or value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {choices}.")


def _check_count(name: str, value: object, *others: object) -> None:
    """Raise unless the value is a whole number from 1 on, or one of the others."""
    if (value is None or isinstance(value, str)) and value in others:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        known = "".join(f" or {other!r}" for other in others)
        raise ValueError(f"{name}={value!r} must be a whole number from 1 on{known}.")
