"""Figure 2 (b): several manifolds of fifty points each, half of the entries observed."""

from __future__ import annotations

from experiments.comparison import spoken
from experiments.experiment import Cell, Experiment, Scale
from experiments.families.synthetic import SYNTHETIC
from experiments.paper._curves import Curve, curve_report
from experiments.paper._synthetic import EACH, setting
from experiments.report import Report, Verdict
from experiments.results import Results
from experiments.rows import ROWS

__all__ = ["EXPERIMENT"]

RATE = 0.5
COUNTS = (1, 2, 3, 4, 5)
CURVE = Curve(
    "multi-manifolds",
    "k",
    "manifolds k",
    "Figure 2 (b)",
    f"Manifolds of {EACH} points each, ρ = {RATE:g}",
)
#: The paper says that these fail when k grows; an error of a third is no recovery.
FAILING, FAILED = ("lrmc-paper", "srmc"), 0.3


def cells(scale: Scale) -> list[Cell]:
    """Return all k: two trials, or the paper's fifty."""
    return [Cell(setting(EACH, k, RATE), 2 if scale == "quick" else 50) for k in COUNTS]


def report(results: Results) -> Report:
    """Show the curves and the numbers."""
    own = results.where(n=EACH, rate=RATE)
    return curve_report(own, CURVE, claims=[failing(own, own.levels("k"))])


def failing(own: Results, counts: list[int]) -> Verdict:
    """Say whether the linear methods fail with many manifolds."""
    last = {m: own.mean("rse", m, k=counts[-1]) for m in FAILING}
    known = {m: value for m, value in last.items() if value == value}
    return Verdict(
        all(value > FAILED for value in known.values()) if known else None,
        f"With k = {counts[-1]} manifolds: {' and '.join(spoken(m, known) for m in known)}.",
    )


EXPERIMENT = Experiment(
    name="multi-manifolds",
    title="Several manifolds: error against their number",
    printed_as="Figure 2 (b)",
    claim="LRMC and SRMC fail as k grows; the errors of PMC-S and PMC-W are much lower than those "
    "of the other methods.",
    family=SYNTHETIC,
    methods=ROWS,
    cells=cells,
    report=report,
)
