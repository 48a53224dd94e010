"""One row at a time: the energy of a row given the others, and how to complete it."""

from polycomplete.rows.energy import Expansion, RowEnergy, learn
from polycomplete.rows.holes import Block, Holes
from polycomplete.rows.pivots import pivots
from polycomplete.rows.solve import (
    Candidates,
    candidates,
    evenly,
    near,
    nearest,
    settle,
    undetermined,
)
from polycomplete.rows.spread import deviations, deviations_in_place

__all__ = [
    "Block",
    "Candidates",
    "Expansion",
    "Holes",
    "RowEnergy",
    "candidates",
    "deviations",
    "deviations_in_place",
    "evenly",
    "learn",
    "near",
    "nearest",
    "pivots",
    "settle",
    "undetermined",
]
