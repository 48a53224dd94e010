"""The methods of the literature, each a completer, and a registry of them by name."""

from polycomplete.methods.feature_space import NLMC, PMC, VMC
from polycomplete.methods.kfmc import KFMC
from polycomplete.methods.ladmc import LADMC
from polycomplete.methods.lrmc import LRMC
from polycomplete.methods.registry import METHODS, Method, get, names, register
from polycomplete.methods.srmc import SRMC

__all__ = [
    "KFMC",
    "LADMC",
    "LRMC",
    "METHODS",
    "NLMC",
    "PMC",
    "SRMC",
    "VMC",
    "Method",
    "get",
    "names",
    "register",
]
