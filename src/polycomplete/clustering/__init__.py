"""Subspace clustering of points with and without missing entries."""

from polycomplete.clustering.ssc import SparseSubspaceClustering, SubspaceClusterer

__all__ = ["SparseSubspaceClustering", "SubspaceClusterer"]
