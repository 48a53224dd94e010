"""Solvers: how the missing entries move."""

from polycomplete.solvers.adam import AdamPlus
from polycomplete.solvers.continuation import Continuation
from polycomplete.solvers.result import Progress, Result

__all__ = ["AdamPlus", "Continuation", "Progress", "Result"]
