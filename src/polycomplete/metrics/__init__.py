"""How good a completion, a classification or a clustering is."""

from polycomplete.metrics.completion import nrmse, rae, recovered_share, rse
from polycomplete.metrics.labels import (
    classification_error,
    clustering_error,
    expected_calibration_error,
)

__all__ = [
    "classification_error",
    "clustering_error",
    "expected_calibration_error",
    "nrmse",
    "rae",
    "recovered_share",
    "rse",
]
