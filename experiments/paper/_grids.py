"""The report of a heat map, for one manifold and for several."""

from __future__ import annotations

from collections.abc import Callable

from experiments.comparison import (
    against_paper_methods,
    overall,
    setting_by_setting,
)
from experiments.figures.heatmaps import draw_heatmaps
from experiments.paper._synthetic import below_the_bound, grid_of, grid_table
from experiments.report import Figure, Report
from experiments.results import Results
from experiments.rows import ROWS, label


def grid_report(
    own: Results, over: str, name: str, heading: str, pair: Callable[[int], tuple[int, int]]
) -> Report:
    """Show a map for each method, all numbers, and who is lowest over the whole grid."""
    methods = own.methods(ROWS)
    settings = [{over: x, "rate": r} for x in own.levels(over) for r in own.levels("rate")]
    means = overall(own.shared(), "rse", methods, settings)
    order = ", ".join(f"{label(m)} {means[m]:.3g}" for m in sorted(means, key=means.__getitem__))
    return Report(
        figures=[
            Figure(
                name,
                f"{heading} Mean relative error, of {own.counted()} at most; dots mark "
                "RSE < 0.01, hatched cells were not run. The solid line is the paper's lower "
                "bound on the sampling rate (where it is not to be seen it lies above one), the "
                "dotted one the information limit.",
                f"{len(methods)} heat maps of the relative error, one for each method, "
                f"{'points' if over == 'n' else 'manifolds'} to the right and sampling rate "
                f"upwards. Means over the grid: {order}.",
                lambda: draw_heatmaps(
                    grid_of(own, over),
                    "points n" if over == "n" else "manifolds k",
                    "sampling rate ρ",
                ),
            )
        ],
        tables=[grid_table(own, over, name, f"{heading} Mean RSE of all cells.")],
        verdicts=[
            *against_paper_methods(means, "mean RSE over the grid"),
            setting_by_setting(own.shared(), "rse", settings),
            below_the_bound(own, over, pair),
        ],
    )
