"""Subspace clustering: of complete points, and of points with missing entries."""

from polycomplete.clustering.incomplete import SubspaceClusterer
from polycomplete.clustering.ssc import SparseSubspaceClustering

__all__ = ["SparseSubspaceClustering", "SubspaceClusterer"]
