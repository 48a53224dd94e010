"""Fill in the missing entries of data that lie on curved low-dimensional surfaces."""

from polycomplete import datasets, diagnostics, masks, methods, metrics, theory
from polycomplete.completers import Completer
from polycomplete.exact import Exact
from polycomplete.kernels import RBF, Linear, Polynomial
from polycomplete.methods import KFMC, LADMC, LRMC, NLMC, PMC, SRMC, VMC
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
from polycomplete.solvers import AdamPlus, Continuation

__version__ = "0.1.0"

__all__ = [
    "KFMC",
    "LADMC",
    "LRMC",
    "NLMC",
    "PMC",
    "RBF",
    "SRMC",
    "VMC",
    "AdamPlus",
    "Completer",
    "Continuation",
    "Equal",
    "Exact",
    "Inverse",
    "Linear",
    "Polynomial",
    "Ramp",
    "Schatten",
    "Skip",
    "datasets",
    "diagnostics",
    "masks",
    "methods",
    "metrics",
    "theory",
]
