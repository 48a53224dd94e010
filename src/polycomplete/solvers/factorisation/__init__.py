"""KFMC's solver: a few atoms explain every row in feature space, at once or batch by batch."""

from polycomplete.solvers.factorisation.dictionary import Dictionary
from polycomplete.solvers.factorisation.solver import KernelFactorisation, partial_solve

__all__ = ["Dictionary", "KernelFactorisation", "partial_solve"]
