"""One row at a time: the energy of a row given the others, and how to complete it."""

from polycomplete.rows.energy import Quadratic, RowEnergy, learn
from polycomplete.rows.holes import EVEN, PLAIN, Block, Holes, Packing, Run
from polycomplete.rows.pivots import pivots
from polycomplete.rows.posterior import Completion, Minima, Posterior, nearest, spreads
from polycomplete.rows.restarts import folds, restart
from polycomplete.rows.steps import settle

__all__ = [
    "EVEN",
    "PLAIN",
    "Block",
    "Completion",
    "Holes",
    "Minima",
    "Packing",
    "Posterior",
    "Quadratic",
    "RowEnergy",
    "Run",
    "folds",
    "learn",
    "nearest",
    "pivots",
    "restart",
    "settle",
    "spreads",
]
