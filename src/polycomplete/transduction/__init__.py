"""Labels are one more column with missing entries: complete them along with the features."""

from polycomplete.transduction.classifier import TransductiveClassifier
from polycomplete.transduction.regressor import TransductiveRegressor

__all__ = ["TransductiveClassifier", "TransductiveRegressor"]
