"""What the figures on synthetic data share: curves and heat maps over n or k and the rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from experiments.experiment import Cell
from experiments.families.synthetic import FEATURES, LATENT
from experiments.figures.heatmaps import RECOVERED, Grid
from experiments.report import Table, Verdict
from experiments.results import Results
from experiments.rows import OURS, ROWS, label
from polycomplete import theory

#: The paper's: degree of phi, and the rank of phi(X) on one manifold.
DEGREE, RANK_PHI = 3, 73
#: The generator has a coefficient for each of four powers of each latent variable.
COEFFICIENTS = 4 * LATENT
RATES = tuple(round(0.1 * i, 1) for i in range(1, 10))
#: Points on each of several manifolds.
EACH = 50


def setting(n: int, k: int, rate: float) -> dict[str, float]:
    """Return the setting of a trial."""
    return {"n": n, "k": k, "rate": rate}


def grid_cells(
    sizes: Sequence[tuple[int, int]], rates: Sequence[float], rivals: int, ours: int
) -> list[Cell]:
    """Return the cells of a grid; our default may have more trials than the others."""
    found = [Cell(setting(n, k, rate), rivals) for n, k in sizes for rate in rates]
    if ours > rivals:
        found += [Cell(setting(n, k, rate), ours, [OURS]) for n, k in sizes for rate in rates]
    return found


def paper_bound(n: int, k: int) -> float:
    """Return the paper's lower bound on the sampling rate."""
    return theory.sampling_bound(FEATURES, n * k, DEGREE, RANK_PHI * k)


def information_limit(n: int, k: int) -> float:
    """Return the rate at which there are as many observed entries as unknown numbers."""
    return theory.information_limit(FEATURES, n * k, LATENT, COEFFICIENTS * k)


def grid_of(results: Results, over: str) -> Grid:
    """Arrange the mean errors by method; `over` is "n" or "k"."""
    sizes, rates = results.levels(over), results.levels("rate")
    errors = {
        method: np.array(
            [[results.mean("rse", method, **{over: x}, rate=rate) for x in sizes] for rate in rates]
        )
        for method in results.methods(ROWS)
    }
    pairs = [(x, 1) if over == "n" else (EACH, x) for x in sizes]
    return Grid(
        sizes,
        rates,
        errors,
        {
            "lower bound of the paper": [paper_bound(*pair) for pair in pairs],
            "information limit": [information_limit(*pair) for pair in pairs],
        },
    )


def grid_table(results: Results, over: str, name: str, caption: str) -> Table:
    """Return the mean errors of all cells, a line for each setting."""
    methods = results.methods(ROWS)
    rows = [
        [x, rate, *(results.mean("rse", method, **{over: x}, rate=rate) for method in methods)]
        for x in results.levels(over)
        for rate in results.levels("rate")
    ]
    return Table(name, caption, [over, "rate", *map(label, methods)], rows)


def below_the_bound(results: Results, over: str, pair: Callable[[int], tuple[int, int]]) -> Verdict:
    """Say where the default recovers although the paper's bound forbids it."""
    sizes = results.levels(over)
    found = [
        (x, rate)
        for x in sizes
        for rate in results.levels("rate")
        if results.median("rse", OURS, **{over: x}, rate=rate) < RECOVERED
    ]
    if all(paper_bound(*pair(x)) >= 1 for x in sizes):
        told = (
            f"The paper's bound on the sampling rate lies above one for every {over} here, and says"
        )
        return Verdict(None, f"{told} nothing; the default recovers {_places(found, over)}.", True)
    below = [(x, rate) for x, rate in found if rate < paper_bound(*pair(x)) < 1]
    return Verdict(
        bool(below),
        f"Below the paper's lower bound on the sampling rate, where that is less than one, this "
        f"library's default recovers (RSE < {RECOVERED:g} in the median trial) "
        f"{_places(below, over)}. The bound counts the rank model only; the information limit is "
        "far lower.",
        beyond=True,
    )


def _places(cells: Sequence[tuple[int, float]], over: str) -> str:
    """Return the lowest recovered rate of every size, in words."""
    lowest: dict[int, float] = {}
    for x, rate in cells:
        lowest[x] = min(rate, lowest.get(x, rate))
    told = ", ".join(f"from ρ = {rate:g} at {over} = {x}" for x, rate in lowest.items())
    return f"in {len(cells)} cells: {told}" if cells else "in no cell"
