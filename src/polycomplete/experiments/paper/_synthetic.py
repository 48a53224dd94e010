"""What the figures on synthetic data share: curves and heat maps over n or k and the rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polycomplete import theory
from polycomplete.experiments.experiment import Cell
from polycomplete.experiments.families.synthetic import FEATURES, LATENT
from polycomplete.experiments.figures.heatmaps import RECOVERED, Grid
from polycomplete.experiments.report import Table, Verdict
from polycomplete.experiments.results import Results
from polycomplete.experiments.rows import OURS, ROWS, label

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
    found = [
        (x, rate)
        for x in results.levels(over)
        for rate in results.levels("rate")
        if rate < paper_bound(*pair(x))
        and results.median("rse", OURS, **{over: x}, rate=rate) < RECOVERED
    ]
    places = ", ".join(f"{over} = {x}, ρ = {rate:g}" for x, rate in found[:6])
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    told = f"in {len(found)} cells: {places}{more}" if found else "in no cell"
    return Verdict(
        bool(found),
        f"Below the paper's lower bound on the sampling rate, this library's default recovers (RSE "
        f"< {RECOVERED:g} in the median trial) {told}. The bound counts the rank model only; the "
        f"information limit is far lower.",
        beyond=True,
    )
