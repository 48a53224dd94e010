"""The methods of the literature, each a completer, and a registry of them by name."""

from polycomplete.methods.feature_space import NLMC, PMC
from polycomplete.methods.lrmc import LRMC

__all__ = ["LRMC", "NLMC", "PMC"]
