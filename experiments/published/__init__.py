"""Rivals by their published algorithms, in the registry once this package is imported.

They are short programs from the mathematics of the publications, with the constants that the paper
or the rivals' authors give; nothing is tuned. What the library recommends instead is in the package
under the same names without ending. Rows are samples.
"""

from experiments.published.base import Published
from experiments.published.ladmc import AlternatingProjections
from experiments.published.lrmc import GrowingMultipliers
from experiments.published.srmc import JointRepresentation
from experiments.published.svm import support_vectors
from experiments.published.vmc import ReweightedVariety
from polycomplete.methods import METHODS, Method, register

__all__ = [
    "AlternatingProjections",
    "GrowingMultipliers",
    "JointRepresentation",
    "Published",
    "ReweightedVariety",
    "support_vectors",
]

_VMC, _LADMC, _SRMC, _LRMC = (METHODS[m].citation for m in ("vmc-2", "ladmc", "srmc", "lrmc"))
for _entry in (
    Method("lrmc-authors", "LRMC (authors)", GrowingMultipliers, _LRMC, kind="rival"),
    Method("srmc-paper", "SRMC (paper)", JointRepresentation, _SRMC, {"penalty": 1.0}, "rival"),
    Method("srmc-authors", "SRMC (authors)", JointRepresentation, _SRMC, kind="rival"),
    Method("ladmc-paper", "LADMC (paper)", AlternatingProjections, _LADMC, kind="rival"),
    Method("vmc-2-paper", "VMC-2 (paper)", ReweightedVariety, _VMC, {"degree": 2}, "rival"),
    Method("vmc-3-paper", "VMC-3 (paper)", ReweightedVariety, _VMC, {"degree": 3}, "rival"),
    Method("vmc-3-authors", "VMC-3 (authors)", ReweightedVariety, _VMC,
           {"degree": 3, "offset": 10.0}, "rival"),
):  # fmt: skip
    register(_entry)
