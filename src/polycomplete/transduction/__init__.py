"""Labels are one more column with holes: complete them along with the features."""

from polycomplete.transduction.estimators import TransductiveClassifier, TransductiveRegressor

__all__ = ["TransductiveClassifier", "TransductiveRegressor"]
