"""Figure 1: the three kinds of data whose matrices have high rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycomplete import datasets
from polycomplete.experiments.experiment import Cell, Experiment, Family, Scale
from polycomplete.experiments.figures.surfaces import draw_surfaces
from polycomplete.experiments.report import Figure, Report, Table, Value, Verdict
from polycomplete.experiments.results import Results

__all__ = ["EXPERIMENT"]

Points = tuple[NDArray[np.float64], NDArray[np.int64]]
KINDS = {
    "subspaces": "(a) several subspaces",
    "manifold": "(b) one curved manifold",
    "manifolds": "(c) several curved manifolds",
}
#: Seeds of the points that are drawn: with these, no plane is seen from its edge.
SHOWN = {"subspaces": 5, "manifold": 0, "manifolds": 0}


def draw(kind: str, seed: int) -> Points:
    """Return points of one kind in three dimensions and the part each belongs to."""
    if kind == "subspaces":
        points, part = datasets.make_union_of_subspaces(
            1200, 3, n_subspaces=2, dim=2, random_state=seed, return_labels=True
        )
        # On discs, evenly: a cloud that thins out does not look like a plane.
        radius = np.sqrt(np.random.default_rng(seed).random((len(points), 1)))
        return radius * points / np.linalg.norm(points, axis=1, keepdims=True), part
    if kind == "manifold":
        return datasets.make_polynomial_manifold(
            1500, 3, n_dims=2, degree=2, random_state=seed, return_labels=True
        )
    return datasets.make_polynomial_manifold(
        600, 3, n_dims=1, n_manifolds=3, random_state=seed, return_labels=True
    )


def trial(setting: Mapping[str, Any], method: str, seed: int) -> dict[str, float]:
    """Count the ranks of the whole matrix and of its parts."""
    points, part = draw(setting["kind"], seed)
    ranks = [np.linalg.matrix_rank(points[part == i]) for i in np.unique(part)]
    return {"rank": int(np.linalg.matrix_rank(points)), "part": int(max(ranks))}


def cells(scale: Scale) -> list[Cell]:
    """Return a trial for each kind."""
    return [Cell({"kind": kind}, 1) for kind in KINDS]


def report(results: Results) -> Report:
    """Show the points, and that their matrices have full rank."""
    panels = {title: draw(kind, SHOWN[kind]) for kind, title in KINDS.items()}
    rows: list[list[Value]] = [
        [title, results.mean("rank", "rank", kind=kind), results.mean("part", "rank", kind=kind)]
        for kind, title in KINDS.items()
    ]
    full = all(row[1] == 3 for row in rows) if len(results.trials) == len(KINDS) else None
    return Report(
        figures=[
            Figure(
                "manifolds",
                "Figure 1. Data that fill three dimensions although few numbers describe a point: "
                "(a) two planes through the origin, (b) one curved surface, (c) three curves.",
                "Three scatter plots in space: points on two flat planes that cross in the "
                "origin; points on one bent surface; points on three bent curves.",
                lambda: draw_surfaces(panels),
            )
        ],
        tables=[
            Table(
                "manifolds",
                "Rank of the whole matrix in three dimensions, and of its largest part.",
                ["data", "rank", "rank of a part"],
                rows,
            )
        ],
        verdicts=[
            Verdict(
                full,
                "All three matrices have full rank 3, although two numbers, or one, and the part "
                "describe a point." if full else "The ranks are in the table.",
            )
        ],
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="manifolds",
    title="Three kinds of high-rank data in three dimensions",
    printed_as="Figure 1",
    claim="Several subspaces, one nonlinear manifold and several nonlinear manifolds all give "
    "matrices of high rank.",
    family=Family("manifolds", 1, trial),
    methods=("rank",),
    cells=cells,
    report=report,
)
