"""LADMC's solver: low rank of the products of two entries."""

from polycomplete.solvers.lifting.rows import LiftedModel
from polycomplete.solvers.lifting.solver import Lifting

__all__ = ["LiftedModel", "Lifting"]
