"""Solvers, which optimize the missing entries."""

from polycomplete.solvers.adam import AdamPlus
from polycomplete.solvers.base import PathSolver, Problem, Progress, Result, Solver
from polycomplete.solvers.exact import Exact, GramSolver
from polycomplete.solvers.kernel_factorization import KernelFactorization
from polycomplete.solvers.low_rank import AugmentedLagrangian, SoftImpute
from polycomplete.solvers.rank_path import RankPath
from polycomplete.solvers.sparse_representation import SelfRepresentation

__all__ = [
    "AdamPlus",
    "AugmentedLagrangian",
    "Exact",
    "GramSolver",
    "KernelFactorization",
    "PathSolver",
    "Problem",
    "Progress",
    "RankPath",
    "Result",
    "SelfRepresentation",
    "SoftImpute",
    "Solver",
]
