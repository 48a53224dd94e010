"""From coefficients to a graph, and to clusters by scikit-learn's spectral clustering."""

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


def keep_largest(values: np.ndarray, share: float) -> np.ndarray:
    """Set all but the largest coefficients of each row to zero."""
    if share >= 1:
        return values.copy()
    size = np.abs(values)
    order = np.argsort(-size, axis=1, kind="stable")
    sizes = np.take_along_axis(size, order, axis=1)
    reached = np.cumsum(sizes, axis=1)
    needed = reached - sizes < share * reached[:, -1:]
    kept = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(kept, order, needed, axis=1)
    return np.where(kept, values, 0.0)


def coefficient_matrix(values: np.ndarray, atoms: np.ndarray | None) -> Any:
    """Return the coefficients as a matrix of points against points."""
    if atoms is None:
        return values
    used = values != 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return sparse.csr_matrix((values[used], atoms[used], starts), shape=(len(values),) * 2)


def symmetric_affinity(coefficients: Any) -> Any:
    """Return |C| + |C|ᵀ with every row of C divided by its largest entry first.

    Without the division a point that is written by far-away points, with small coefficients, would
    hang on the graph by threads.
    """
    size = abs(coefficients)
    if sparse.issparse(size):
        largest = size.max(axis=1).toarray().ravel()
        scaled = sparse.diags_array(1 / np.where(largest > 0, largest, 1)) @ size
        return sparse.csr_matrix(scaled + scaled.T)
    largest = size.max(axis=1, keepdims=True)
    scaled = size / np.where(largest > 0, largest, 1)
    return scaled + scaled.T


def spectral_labels(affinity: Any, n_clusters: int, assign_labels: str, seed: int) -> np.ndarray:
    """Cut a graph into clusters."""
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
    dense = _dense(matrix)
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
        return linalg.eigh(_dense(matrix), eigvals_only=True, subset_by_index=[0, count - 1])
    start = np.random.default_rng(seed).standard_normal((n, count))
    return np.sort(
        lobpcg(sparse.csr_matrix(matrix), start, largest=False, tol=1e-4, maxiter=500)[0]
    )


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
