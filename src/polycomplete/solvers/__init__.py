"""Solvers: how the missing entries move."""

from polycomplete.solvers.adam import AdamPlus
from polycomplete.solvers.base import PathSolver, Problem, Progress, Result, Solver
from polycomplete.solvers.exact import Exact, GramSolver
from polycomplete.solvers.factorisation import KernelFactorisation, partial_solve
from polycomplete.solvers.lifting import Lifting
from polycomplete.solvers.nuclear import AugmentedLagrangian
from polycomplete.solvers.self_representation import SelfRepresentation
from polycomplete.solvers.soft_impute import SoftImpute

__all__ = [
    "AdamPlus",
    "AugmentedLagrangian",
    "Exact",
    "GramSolver",
    "KernelFactorisation",
    "Lifting",
    "PathSolver",
    "Problem",
    "Progress",
    "Result",
    "SelfRepresentation",
    "SoftImpute",
    "Solver",
    "partial_solve",
]
