"""One row at a time: the energy of a row given the others, and how to complete it."""

from polycomplete.rows.energy import Expansion, RowEnergy, learn
from polycomplete.rows.solve import Candidates, candidates, nearest, settle, undetermined

__all__ = [
    "Candidates",
    "Expansion",
    "RowEnergy",
    "candidates",
    "learn",
    "nearest",
    "settle",
    "undetermined",
]
