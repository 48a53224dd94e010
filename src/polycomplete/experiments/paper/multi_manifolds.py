"""Figure 2 (b): several manifolds of fifty points each, half of the entries observed."""

from __future__ import annotations

from polycomplete.experiments.comparison import (
    against_paper_methods,
    overall,
    setting_by_setting,
    spoken,
)
from polycomplete.experiments.experiment import Cell, Experiment, Scale
from polycomplete.experiments.families.synthetic import SYNTHETIC
from polycomplete.experiments.figures.curves import Panel, draw_curves
from polycomplete.experiments.paper._synthetic import EACH, setting
from polycomplete.experiments.report import Figure, Report, Table, Verdict
from polycomplete.experiments.results import Results
from polycomplete.experiments.rows import OURS, ROWS, label

__all__ = ["EXPERIMENT"]

RATE = 0.5
COUNTS = (1, 2, 3, 4, 5)
#: The paper says that these fail when k grows; an error of a third is no recovery.
FAILING, FAILED = ("lrmc-paper", "srmc"), 0.3


def cells(scale: Scale) -> list[Cell]:
    """Return all k: two trials, or the paper's fifty."""
    return [Cell(setting(EACH, k, RATE), 2 if scale == "quick" else 50) for k in COUNTS]


def report(results: Results) -> Report:
    """Show the curves and the numbers."""
    own = results.where(n=EACH, rate=RATE)
    methods, counts = own.methods(ROWS), own.levels("k")
    lines = {m: [own.mean("rse", m, k=k) for k in counts] for m in methods}
    settings = [{"k": k} for k in counts]
    means = overall(own, "rse", methods, settings)
    best = min(means, key=means.__getitem__, default=OURS)
    return Report(
        figures=[
            Figure(
                "multi-manifolds",
                f"Figure 2 (b). Relative error against the number of manifolds k, {EACH} points on "
                f"each, ρ = {RATE:g}; mean of {own.counted()}.",
                f"Curves of the relative error against k, one for each of {len(methods)} methods; "
                f"the lowest in mean over k is {label(best)}.",
                lambda: draw_curves(
                    [Panel(f"k manifolds, ρ = {RATE:g}", counts, lines)], "manifolds k", "RSE"
                ),
            )
        ],
        tables=[
            Table(
                "multi-manifolds",
                f"RSE by number of manifolds k, {EACH} points on each, ρ = {RATE:g}; mean of "
                f"{own.counted()}.",
                ["method", *(f"k = {k}" for k in counts)],
                [[label(m), *lines[m]] for m in methods],
            )
        ],
        verdicts=[
            *against_paper_methods(means, "mean RSE over all k"),
            setting_by_setting(own, "rse", settings),
            failing(own, counts),
        ],
    )


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
