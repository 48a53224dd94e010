"""From a graph to clusters: scikit-learn's spectral clustering, and how many clusters there are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import laplacian
from scipy.sparse.linalg import lobpcg
from sklearn.cluster import k_means, spectral_clustering
from sklearn.cluster._spectral import cluster_qr, discretize

# Up to here a graph is decomposed as a dense matrix, which never misses a multiple eigenvalue.
_DENSE = 2000
# Eigenvalues below this are as good as zero: how much below says nothing.
_FLOOR = 1e-3


def spectral_labels(affinity: Any, n_clusters: int, assign_labels: str, seed: int) -> np.ndarray:
    """Cut a graph into clusters.

    Parameters
    ----------
    affinity : ndarray or sparse matrix of shape (n_points, n_points)
        Weights of the edges, symmetric.
    n_clusters : int
        From 1 to the number of points.
    assign_labels : {"cluster_qr", "kmeans", "discretize"}
        How the eigenvectors become labels, see :func:`sklearn.cluster.spectral_clustering`.
    seed : int
        Seed.

    Returns
    -------
    ndarray of int, shape (n_points,)

    Examples
    --------
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)))
    >>> labels = spectral_labels(blocks, 2, "cluster_qr", 0)
    >>> len(set(labels[:3])), len(set(labels[3:])), int(labels[0]) != int(labels[3])
    (1, 1, True)
    """
    n = affinity.shape[0]
    if n_clusters == 1:
        return np.zeros(n, dtype=np.int32)
    if n_clusters == n:
        return np.arange(n, dtype=np.int32)
    if n <= _DENSE:
        return _assigned(_embedding(affinity, n_clusters), assign_labels, seed)
    with warnings.catch_warnings():
        # A graph in pieces is what subspace clustering hopes for.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return spectral_clustering(
            affinity,
            n_clusters=n_clusters,
            # Shift-and-invert fills a large sparse graph up; blocks of vectors do not.
            eigen_solver="lobpcg",
            assign_labels=assign_labels,
            random_state=seed,
        )


def _embedding(affinity: Any, count: int) -> np.ndarray:
    """Return the first eigenvectors as scikit-learn does, but by LAPACK.

    ARPACK draws vectors that no seed decides where eigenvalues coincide, as in a graph without
    edges.
    """
    matrix, root = laplacian(affinity, normed=True, return_diag=True)
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    np.fill_diagonal(dense, 1.0)  # a point without edges is no cluster of its own
    return linalg.eigh(dense, subset_by_index=[0, count - 1])[1] / root[:, None]


def _assigned(embedding: np.ndarray, assign_labels: str, seed: int) -> np.ndarray:
    """Return the labels of embedded points."""
    if assign_labels == "cluster_qr":
        return cluster_qr(embedding).astype(np.int32)
    if assign_labels == "discretize":
        # It brings points to length one; those without edges may have none.
        embedding = np.where(embedding.any(axis=1, keepdims=True), embedding, 1.0)
        return discretize(embedding, random_state=seed).astype(np.int32)
    return k_means(embedding, embedding.shape[1], random_state=seed, n_init=10)[1]


def eigengap(affinity: Any, at_most: int, seed: int = 0) -> int:
    """Return the number of clusters, two or more, after which the eigenvalues jump most.

    A graph of k separate pieces has the eigenvalue 0 of its normalised Laplacian k times; where the
    pieces hang together a little, the first k are small and the next is many times the k-th. So the
    largest ratio of neighbours among the smallest eigenvalues tells k. (Their difference, the usual
    rule, tells it far less often on real motions; ``make bench-hopkins`` counts both.)

    Parameters
    ----------
    affinity : ndarray or sparse matrix of shape (n_points, n_points)
        Weights of the edges, symmetric.
    at_most : int
        The largest number to consider.
    seed : int
        Where the iteration for large graphs starts.

    Returns
    -------
    int

    Examples
    --------
    >>> eigengap(np.kron(np.eye(3), np.ones((4, 4))), 10)
    3
    """
    n = affinity.shape[0]
    count = min(max(at_most, 2) + 1, n)
    if count < 3:
        return count
    values = _smallest_eigenvalues(laplacian(affinity, normed=True), count, seed)
    values = np.maximum(values, 0) + _FLOOR
    return int(np.argmax(values[2:] / values[1:-1])) + 2


def _smallest_eigenvalues(matrix: Any, count: int, seed: int) -> np.ndarray:
    n = matrix.shape[0]
    if n <= _DENSE:
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        return linalg.eigh(dense, eigvals_only=True, subset_by_index=[0, count - 1])
    start = np.random.default_rng(seed).standard_normal((n, count))
    return np.sort(
        lobpcg(sparse.csr_matrix(matrix), start, largest=False, tol=1e-4, maxiter=500)[0]
    )
