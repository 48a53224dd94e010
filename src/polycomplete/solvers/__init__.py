"""Solvers: how the missing entries move."""

from polycomplete.solvers.adam import AdamPlus
from polycomplete.solvers.continuation import Continuation
from polycomplete.solvers.nuclear import AugmentedLagrangian
from polycomplete.solvers.result import Progress, Result
from polycomplete.solvers.self_representation import SelfRepresentation
from polycomplete.solvers.soft_impute import SoftImpute

__all__ = [
    "AdamPlus",
    "AugmentedLagrangian",
    "Continuation",
    "Progress",
    "Result",
    "SelfRepresentation",
    "SoftImpute",
]
