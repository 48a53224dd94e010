"""Fill in the missing entries of data that lie on curved low-dimensional surfaces."""

from polycomplete import clustering, datasets, diagnostics, masks, methods, metrics, theory
from polycomplete.clustering import SparseSubspaceClustering, SubspaceClusterer
from polycomplete.completers import Completer
from polycomplete.exact import Exact
from polycomplete.kernels import RBF, Linear, Polynomial
from polycomplete.landmarks import Landmark, Sweeps
from polycomplete.lift import Lift
from polycomplete.methods import KFMC, LADMC, LRMC, NLMC, PMC, SRMC, VMC
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
from polycomplete.solvers import IRLS, AdamPlus, AugmentedLagrangian, Continuation, SoftImpute

__version__ = "0.1.0"

__all__ = [
    "IRLS",
    "KFMC",
    "LADMC",
    "LRMC",
    "NLMC",
    "PMC",
    "RBF",
    "SRMC",
    "VMC",
    "AdamPlus",
    "AugmentedLagrangian",
    "Completer",
    "Continuation",
    "Equal",
    "Exact",
    "Inverse",
    "Landmark",
    "Lift",
    "Linear",
    "Polynomial",
    "Ramp",
    "Schatten",
    "Skip",
    "SoftImpute",
    "SparseSubspaceClustering",
    "SubspaceClusterer",
    "Sweeps",
    "clustering",
    "datasets",
    "diagnostics",
    "masks",
    "methods",
    "metrics",
    "theory",
]
