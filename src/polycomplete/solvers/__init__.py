"""Solvers: how the missing entries move."""

from polycomplete.solvers.adam import AdamPlus
from polycomplete.solvers.continuation import Continuation
from polycomplete.solvers.factorisation import KernelFactorisation, partial_solve
from polycomplete.solvers.irls import IRLS
from polycomplete.solvers.lifting import Lifting
from polycomplete.solvers.nuclear import AugmentedLagrangian
from polycomplete.solvers.result import Progress, Result
from polycomplete.solvers.self_representation import SelfRepresentation
from polycomplete.solvers.soft_impute import SoftImpute

__all__ = [
    "IRLS",
    "AdamPlus",
    "AugmentedLagrangian",
    "Continuation",
    "KernelFactorisation",
    "Lifting",
    "Progress",
    "Result",
    "SelfRepresentation",
    "SoftImpute",
    "partial_solve",
]
