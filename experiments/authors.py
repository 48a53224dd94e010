"""What the authors' own code reached on the anchors, all methods among themselves."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.report import Table, Value

RESULTS = Path(__file__).parents[1] / "benchmarks" / "anchors" / "results.csv"
#: Families of instances; on which of the paper's methods an instance counts.
FAMILIES = {"a": "one manifold", "b": "several manifolds", "c": "motion capture",
            "d": "hidden labels", "e": "feature trajectories"}  # fmt: skip
THEIRS, NEEDED = ["PMC-S", "PMC-W"], ["PMC-S", "PMC-W", "NLMC", "LRMC"]


def lowest_counts() -> list[tuple[str, int, int, str]]:
    """Return family, instances in which PMC-S or PMC-W is lowest, all instances, and its rivals."""
    runs = pd.read_csv(RESULTS).pivot_table("error", "instance", "method").dropna(subset=NEEDED)
    counts = []
    for family, what in FAMILIES.items():
        own = runs[runs.index.str[0] == family].dropna(axis=1, how="all")
        rivals = own[[m for m in own if m not in THEIRS and not m.startswith("KFMC")]]
        won = int((own[THEIRS].min(axis=1) <= rivals.min(axis=1)).sum())
        told = ", ".join(f"{method} ({rivals[method].count()})" for method in rivals)
        counts.append((what, won, len(own), told))
    return counts


def table(caption: str) -> Table:
    """Return the counts as a table."""
    header = ("instances", "PMC-S or PMC-W lowest", "instances in all", "rivals (instances)")
    rows: list[list[Value]] = [[*row] for row in lowest_counts()]
    return Table("authors", caption, header, rows)
