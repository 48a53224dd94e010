"""The methods of the literature, each a completer, and a registry of them by name."""

from polycomplete.methods.feature_space import NLMC, PMC
from polycomplete.methods.lrmc import LRMC
from polycomplete.methods.registry import METHODS, Method, get, names

__all__ = ["LRMC", "METHODS", "NLMC", "PMC", "Method", "get", "names"]
