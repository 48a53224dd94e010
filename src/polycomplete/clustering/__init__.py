"""Subspace clustering: of complete points, and of points with missing entries."""

from polycomplete.clustering.ssc import SparseSubspaceClustering, SubspaceClusterer

__all__ = ["SparseSubspaceClustering", "SubspaceClusterer"]
