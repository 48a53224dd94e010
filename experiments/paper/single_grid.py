"""Figure 3: one manifold, the error over the number of points and the sampling rate."""

from __future__ import annotations

from experiments.experiment import Cell, Experiment, Scale
from experiments.families.synthetic import SYNTHETIC
from experiments.paper._grids import grid_report
from experiments.paper._synthetic import RATES, grid_cells
from experiments.report import Report
from experiments.results import Results
from experiments.rows import ROWS

__all__ = ["EXPERIMENT"]

SIZES = tuple(range(20, 201, 20))


def cells(scale: Scale) -> list[Cell]:
    """Return every other n with one trial and three of our default, or all with fifty."""
    if scale == "quick":
        return grid_cells([(n, 1) for n in SIZES[1::2]], RATES, rivals=1, ours=3)
    return grid_cells([(n, 1) for n in SIZES], RATES, rivals=50, ours=50)


def report(results: Results) -> Report:
    """Show the maps of the sizes for which every rate was run."""
    own = results.where(k=1)
    rates = len(own.levels("rate"))
    sizes = [n for n in SIZES if len(own.where(n=n).levels("rate")) == rates]
    heading = "Figure 3. One manifold, n points, sampling rate ρ."
    return grid_report(own.only("n", sizes), "n", "single-grid", heading, lambda n: (n, 1))


EXPERIMENT = Experiment(
    name="single-grid",
    title="One manifold: error over points and sampling rate",
    printed_as="Figure 3",
    claim="PMC-S and PMC-W outperform the other methods, in accordance with the lower bound on the "
    "sampling rate.",
    family=SYNTHETIC,
    methods=ROWS,
    cells=cells,
    report=report,
)
