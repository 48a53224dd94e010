"""Figure 1: the three kinds of data whose matrices have high rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Cell, Experiment, Family, Scale
from experiments.figures.surfaces import draw_surfaces
from experiments.report import Figure, Report, Table, Verdict
from experiments.results import Results
from polycomplete import datasets

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
    picture = Figure(
        "manifolds",
        "Figure 1. Data that fill three dimensions although few numbers describe a point: "
        "(a) two planes through the origin, (b) one curved surface, (c) three curves.",
        "Three scatter plots in space: points on two flat planes that cross in the origin; points "
        "on one bent surface; points on three bent curves.",
        lambda: draw_surfaces(panels),
    )
    ranks = Table(
        "manifolds",
        "Rank of the whole matrix in three dimensions, and of its largest part.",
        ["data", "rank", "rank of a part"],
        [
            [title, *(results.mean(what, "rank", kind=kind) for what in ("rank", "part"))]
            for kind, title in KINDS.items()
        ],
    )
    return Report([picture], [ranks], [full_rank(results)])


def full_rank(results: Results) -> Verdict:
    """Say whether all three matrices have full rank."""
    found = [results.mean("rank", "rank", kind=kind) for kind in KINDS]
    return Verdict(
        None if len(results.levels("kind")) < len(KINDS) else all(rank == 3 for rank in found),
        "The ranks of the three matrices are "
        + ", ".join(f"{rank:g}" for rank in found)
        + "; full "
        "rank is 3, although two numbers, or one, and the part describe a point.",
    )


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
