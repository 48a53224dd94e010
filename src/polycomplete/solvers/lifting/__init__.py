"""LADMC's solver: low rank of the products of two entries."""

from polycomplete.solvers.lifting.solver import Lifting
from polycomplete.solvers.lifting.space import LiftedModel

__all__ = ["LiftedModel", "Lifting"]
