"""Figure 2 (a): one manifold, half of the entries observed, more and more points."""

from __future__ import annotations

from experiments.experiment import Cell, Experiment, Scale
from experiments.families.synthetic import SYNTHETIC
from experiments.paper._curves import Curve, curve_report
from experiments.paper._synthetic import setting
from experiments.printed import AUTHORS_SINGLE
from experiments.report import Report, Table, Verdict
from experiments.results import Results
from experiments.rows import ROWS, label

__all__ = ["EXPERIMENT"]

RATE = 0.5
SIZES = tuple(range(20, 201, 20))
CURVE = Curve("single-columns", "n", "points n", "Figure 2 (a)", f"One manifold, ρ = {RATE:g}")
#: The paper says that the errors of these fall quickly with n.
FALLING = ("vmc-2", "vmc-3", "nlmc-paper", "pmc-s-paper", "pmc-w-paper")


def cells(scale: Scale) -> list[Cell]:
    """Return all n: three trials, or the paper's fifty."""
    return [Cell(setting(n, 1, RATE), 3 if scale == "quick" else 50) for n in SIZES]


def report(results: Results) -> Report:
    """Show the curves, the numbers, and the authors' own code beside them."""
    own = results.where(k=1, rate=RATE).only("n", SIZES)
    return curve_report(own, CURVE, [authors_table(own)], [falling(own, own.levels("n"))])


def authors_table(own: Results) -> Table:
    """Put the authors' code and this run side by side."""
    return Table(
        "single-columns-authors",
        "RSE of the authors' public code (on instances of its own) and of this run, ρ = 0.5.",
        ["method", *(f"n = {n}, {who}" for n in AUTHORS_SINGLE for who in ("authors", "here"))],
        [
            [label(m), *(value for n, theirs in AUTHORS_SINGLE.items()
                         for value in (theirs.get(m), own.mean("rse", m, n=n)))]
            for m in own.methods(ROWS)
        ],
    )  # fmt: skip


def falling(own: Results, sizes: list[int]) -> Verdict:
    """Say whether the errors fall to less than half from few points to many."""
    ends = {m: (own.mean("rse", m, n=sizes[0]), own.mean("rse", m, n=sizes[-1])) for m in FALLING}
    known = {m: pair for m, pair in ends.items() if pair[0] == pair[0] and pair[1] == pair[1]}
    slow = [label(m) for m, (few, many) in known.items() if not many < few / 2]
    told = ", ".join(f"{label(m)} {few:.3g} → {many:.3g}" for m, (few, many) in known.items())
    return Verdict(
        not slow if known else None,
        f"From n = {sizes[0]} to n = {sizes[-1]} the errors go {told}"
        + (f"; not by half: {', '.join(slow)}." if slow else "; all fall by more than half."),
    )


EXPERIMENT = Experiment(
    name="single-columns",
    title="One manifold: error against the number of points",
    printed_as="Figure 2 (a)",
    claim="The errors of VMC, NLMC and PMC fall quickly as n grows; PMC-S and PMC-W are lowest.",
    family=SYNTHETIC,
    methods=ROWS,
    cells=cells,
    report=report,
)
