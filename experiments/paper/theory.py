"""The numerical examples of the paper, and its bounds on ranks tried on random data."""

from __future__ import annotations

import numpy as np

from experiments.experiment import Cell, Experiment, Scale
from experiments.families.ranks import RANKS
from experiments.report import Report, Table, Value, Verdict
from experiments.results import Results
from polycomplete import datasets, theory

__all__ = ["EXPERIMENT"]

#: Settings in which ranks are counted; the last two are those of the paper's synthetic data.
SETTINGS = [
    {"d": 2, "alpha": 3, "q": 2, "m": 10, "n": 50, "k": 1},
    {"d": 1, "alpha": 3, "q": 2, "m": 8, "n": 60, "k": 1},
    {"d": 2, "alpha": 2, "q": 2, "m": 12, "n": 120, "k": 1},
    {"d": 2, "alpha": 2, "q": 2, "m": 12, "n": 180, "k": 3},
    {"d": 3, "alpha": 2, "q": 2, "m": 15, "n": 150, "k": 1},
    {"d": 2, "alpha": 4, "q": 2, "m": 20, "n": 150, "k": 1},
]
KINDS = {"general": "all monomials", "generator": "the paper's generator"}


def examples() -> list[tuple[str, int, int]]:
    """Return what the paper states, its number, and ours."""
    big = {"m": 100, "n": 1000}
    return [
        ("Example 1: rank(X), m = 10, d = 2, n = 50, α = 3", 10,
         theory.rank_bound(d=2, alpha=3, m=10, n=50)),
        ("Example 1: rank(φ(X)), q = 2", 28, theory.rank_phi_bound(d=2, alpha=3, q=2, m=10, n=50)),
        ("Example 2: r, d = 3, p = 2", 10, theory.rank_bound(d=3, alpha=2, **big)),
        ("Example 2: r̃, q = 3", 6,
         theory.r_tilde(theory.rank_phi_bound(d=3, alpha=2, q=3, **big), q=3)),
        ("Example 3: r, d = 3, p = 2, k = 3", 30, theory.rank_bound(d=3, alpha=2, k=3, **big)),
        ("Example 3: r̃, q = 3", 10,
         theory.r_tilde(theory.rank_phi_bound(d=3, alpha=2, q=3, k=3, **big), q=3)),
        ("Synthetic data: d̃, d = 2, α = 4, q = 3", 73,
         theory.rank_phi_additive(d=2, alpha=4, q=3)),
        ("Synthetic data: r̃", 6, theory.r_tilde(73, q=3)),
        ("Synthetic data: rank(X)", 8,
         int(np.linalg.matrix_rank(datasets.make_polynomial_manifold(200, 20, random_state=0)))),
    ]  # fmt: skip


def cells(scale: Scale) -> list[Cell]:
    """Return every setting with a few or with fifty draws."""
    return [Cell(setting, 3 if scale == "quick" else 50) for setting in SETTINGS]


def report(results: Results) -> Report:
    """Show the examples, and the largest ranks that were found beside the bounds."""
    stated = examples()
    wrong = [name for name, printed, computed in stated if printed != computed]
    rows, broken = rank_rows(results)
    numbers = Table(
        "theory-examples",
        "The numerical examples of the paper, as printed and as computed.",
        ["quantity", "paper", "here"],
        stated,
    )
    ranks = Table(
        "theory-ranks",
        "Ranks of random data beside the bounds of the paper's lemma and corollary; the largest of "
        f"{results.counted()}.",
        ["maps", "d", "α", "q", "m", "n", "k", "rank(X)", "bound", "rank(φ(X))", "bound"],
        rows,
    )
    as_printed = Verdict(
        not wrong,
        f"{len(stated) - len(wrong)} of {len(stated)} printed numbers come out as printed"
        + (f"; not: {', '.join(wrong)}." if wrong else "."),
    )
    bounded = Verdict(
        not broken if rows else None,
        f"A rank exceeds its bound in {broken} of {len(rows)} settings.",
    )
    return Report(tables=[numbers, ranks], verdicts=[as_printed, bounded])


def rank_rows(results: Results) -> tuple[list[list[Value]], int]:
    """Return a line for each kind of maps and setting, and how many break a bound."""
    rows: list[list[Value]] = []
    broken = 0
    for kind, name in KINDS.items():
        for setting in SETTINGS:
            ranks = results.values("rank", kind, **setting)
            if not ranks.size:
                continue
            most = [int(ranks.max()), int(results.values("rank_phi", kind, **setting).max())]
            limits = [
                theory.rank_bound(**{key: setting[key] for key in ("d", "alpha", "m", "n", "k")}),
                theory.rank_phi_bound(**setting),
            ]
            broken += any(rank > limit for rank, limit in zip(most, limits, strict=True))
            rows.append([name, *(setting[key] for key in ("d", "alpha", "q", "m", "n", "k")),
                         most[0], limits[0], most[1], limits[1]])  # fmt: skip
    return rows, broken


EXPERIMENT = Experiment(
    name="theory",
    title="Numerical examples and rank bounds",
    printed_as="Examples 1–3, Lemma 1, Corollary 2",
    claim="The ranks of X and of φ(X) stay below min(k C(d + α, α), m, n) and min(k C(d + αq, αq), "
    "C(m + q, q), n), and PMC therefore needs fewer observed entries than low-rank completion.",
    family=RANKS,
    methods=tuple(KINDS),
    cells=cells,
    report=report,
)
