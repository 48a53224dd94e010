"""Spectral clustering of the graph that coefficients define."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import laplacian
from scipy.sparse.linalg import lobpcg
from sklearn.cluster import k_means
from sklearn.cluster._spectral import cluster_qr, discretize
from sklearn.preprocessing import normalize

# Up to this size, a dense solver is used, which never misses a multiple eigenvalue.
_DENSE = 2000
# Added to eigenvalues, so that ratios of much smaller ones have no effect.
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
    """Return the coefficients as an n × n matrix, sparse if there are ``atoms`` for each point."""
    if atoms is None:
        return values
    used = values != 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return sparse.csr_matrix((values[used], atoms[used], starts), shape=(len(values),) * 2)


def symmetric_affinity(coefficients: Any) -> Any:
    """Return |C| + |C|ᵀ, after dividing every row of C by its largest absolute entry.

    Otherwise points that are represented by distant points, with small coefficients, would be
    connected only weakly.
    """
    scaled = normalize(abs(coefficients), norm="max")
    return scaled + scaled.T


def spectral_labels(affinity: Any, n_clusters: int, assign_labels: str, seed: int) -> np.ndarray:
    """Partition a graph by spectral clustering.

    This follows scikit-learn except for the eigenvectors: with multiple eigenvalues, as in a graph
    without edges, those of ARPACK depend on random numbers that no seed determines.
    """
    n = affinity.shape[0]
    if n_clusters in (1, n):
        return np.arange(n, dtype=np.int32) % n_clusters
    embedding = _spectrum(affinity, n_clusters, seed)[1]
    if assign_labels == "cluster_qr":
        return cluster_qr(embedding).astype(np.int32)
    if assign_labels == "discretize":
        # It normalizes points, but those without edges may be zero.
        embedding = np.where(embedding.any(axis=1, keepdims=True), embedding, 1.0)
        return discretize(embedding, random_state=seed).astype(np.int32)
    return k_means(embedding, n_clusters, random_state=seed, n_init=10)[1]


def eigengap(affinity: Any, at_most: int, seed: int = 0) -> int:
    """Estimate the number of clusters, two or more, by the largest ratio of eigenvalues.

    For k connected components, the eigenvalue 0 of the normalized Laplacian has multiplicity k; for
    k weakly connected ones, the first k are small, and the next is many times the k-th. The largest
    ratio of successive eigenvalues gives k. (Their largest difference, the usual rule, is right far
    less often on real motions; ``make bench-hopkins`` counts both.)
    """
    count = min(max(at_most, 2) + 1, affinity.shape[0])
    if count < 3:
        return count
    values = np.maximum(_spectrum(affinity, count, seed)[0], 0) + _FLOOR
    return int(np.argmax(values[2:] / values[1:-1])) + 2


def _spectrum(affinity: Any, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenvalues of the normalized Laplacian, and the spectral embedding."""
    matrix, root = laplacian(affinity, normed=True, return_diag=True)
    if sparse.issparse(matrix) and matrix.shape[0] > _DENSE:
        # A point without edges must not be a cluster of its own.
        matrix = sparse.csr_matrix(matrix) + sparse.diags_array(1 - matrix.diagonal())
        start = np.random.default_rng(seed).standard_normal((len(root), count))
        values, vectors = lobpcg(matrix, start, largest=False, tol=1e-4, maxiter=500)
        order = np.argsort(values)
        return values[order], vectors[:, order] / root[:, None]
    dense = np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
    np.fill_diagonal(dense, 1.0)
    values, vectors = linalg.eigh(dense, subset_by_index=[0, count - 1])
    return values, vectors / root[:, None]
