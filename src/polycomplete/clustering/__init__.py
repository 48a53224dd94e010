"""Subspace clustering: of complete points, and of points with missing entries."""

from polycomplete.clustering.estimators import SparseSubspaceClustering, SubspaceClusterer

__all__ = ["SparseSubspaceClustering", "SubspaceClusterer"]
