"""One row at a time: the energy of a row given the others, and how to complete it."""

from polycomplete.rows.energy import Expansion, Quadratic, RowEnergy, learn
from polycomplete.rows.holes import EVEN, PLAIN, Block, Holes, Packing, Run
from polycomplete.rows.pivots import pivots
from polycomplete.rows.restarts import retry, try_starts
from polycomplete.rows.solve import Candidates, candidates, evenly, near, nearest, padded, settle
from polycomplete.rows.spread import LOOSE, deviations, deviations_in_place
from polycomplete.rows.strays import Span, bring_back

__all__ = [
    "EVEN",
    "LOOSE",
    "PLAIN",
    "Block",
    "Candidates",
    "Expansion",
    "Holes",
    "Packing",
    "Quadratic",
    "RowEnergy",
    "Run",
    "Span",
    "bring_back",
    "candidates",
    "deviations",
    "deviations_in_place",
    "evenly",
    "learn",
    "near",
    "nearest",
    "padded",
    "pivots",
    "retry",
    "settle",
    "try_starts",
]
