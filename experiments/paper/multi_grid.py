"""Figure 4: several manifolds, the error over their number and the sampling rate."""

from __future__ import annotations

from experiments.comparison import spoken
from experiments.experiment import Cell, Experiment, Scale
from experiments.families.synthetic import SYNTHETIC
from experiments.paper._grids import grid_report
from experiments.paper._synthetic import EACH, RATES, grid_cells
from experiments.report import Report, Verdict
from experiments.results import Results
from experiments.rows import PMC, ROWS

__all__ = ["EXPERIMENT"]

COUNTS = (1, 2, 3, 4, 5)


def cells(scale: Scale) -> list[Cell]:
    """Return every other rate with one trial, or all with fifty."""
    if scale == "quick":
        return grid_cells([(EACH, k) for k in COUNTS], RATES[::2], rivals=1, ours=1)
    return grid_cells([(EACH, k) for k in COUNTS], RATES, rivals=50, ours=50)


def report(results: Results) -> Report:
    """Show the maps of all k, and the paper's remark on its two methods."""
    own = results.where(n=EACH)
    rates = [r for r in own.levels("rate") if len(own.where(rate=r).levels("k")) > 1]
    own = own.only("rate", rates)
    heading = f"Figure 4. k manifolds of {EACH} points each, sampling rate ρ."
    found = grid_report(own, "k", "multi-grid", heading, lambda k: (EACH, k))
    return Report(found.figures, found.tables, [*found.verdicts, weights_better(own)])


def weights_better(own: Results) -> Verdict:
    """Say whether PMC-W is a little better than PMC-S."""
    fair = own.shared()
    means = {m: fair.mean("rse", m) for m in PMC}
    if any(value != value for value in means.values()):
        return Verdict(None, "PMC-S and PMC-W were not both run.")
    return Verdict(
        means["pmc-w-paper"] <= means["pmc-s-paper"],
        f"Over the grid {spoken('pmc-w-paper', means)} and {spoken('pmc-s-paper', means)}; the "
        "paper finds PMC-W a little better.",
    )


EXPERIMENT = Experiment(
    name="multi-grid",
    title="Several manifolds: error over their number and the sampling rate",
    printed_as="Figure 4",
    claim="PMC-S and PMC-W always outperform the other methods and comply with the bound; PMC-W is "
    "a little better than PMC-S.",
    family=SYNTHETIC,
    methods=ROWS,
    cells=cells,
    report=report,
)
