"""What the theory says beside what is measured: ranks, limits of sampling, effects of settings."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from experiments import families, figures
from experiments.methods import label
from experiments.report import Report, Value, means
from polycomplete import datasets, theory


def ranks(report: Report, results: pd.DataFrame) -> None:
    """Show the numerical examples, and the largest ranks that were found beside the bounds."""
    examples = numerical_examples()
    report.table(["quantity", "paper", "here"], examples, "-examples")
    keys = ["d", "alpha", "q", "m", "n", "k"]
    titles = {"general": "all monomials", "generator": "the paper's generator"}
    largest = results.groupby(["method", *keys])[["rank", "rank_phi"]].max()
    rows = []
    for (kind, d, alpha, q, m, n, k), rank, rank_phi in largest.itertuples():
        setting = {"d": d, "alpha": alpha, "m": m, "n": n, "k": k}
        limits = theory.rank_bound(**setting), theory.rank_phi_bound(q=q, **setting)
        rows.append([titles[kind], d, alpha, q, m, n, k, rank, limits[0], rank_phi, limits[1]])
    header = ["maps", "d", "α", "q", "m", "n", "k", "rank(X)", "bound", "rank(φ(X))", "bound"]
    report.table(header, rows, "-ranks")
    wrong = [name for name, stated, computed in examples if stated != computed]
    number, told = len(examples), f"; not: {', '.join(wrong)}" if wrong else ""
    report.verdict("examples", not wrong, right=number - len(wrong), number=number, wrong=told)
    broken = sum(row[-4] > row[-3] or row[-2] > row[-1] for row in rows)
    report.verdict("bounds", not broken, broken=broken, number=len(rows))


def numerical_examples() -> list[tuple[str, int, int]]:
    """Return what the paper states, its number, and ours."""
    small, big = {"d": 2, "alpha": 3, "m": 10, "n": 50}, {"d": 3, "alpha": 2, "m": 100, "n": 1000}
    phi, phi_3 = (theory.rank_phi_bound(q=3, k=k, **big) for k in (1, 3))
    drawn = datasets.make_polynomial_manifold(200, 20, random_state=0)
    additive = theory.rank_phi_additive(d=2, alpha=4, q=3)
    return [
        ("Example 1: rank(X), m = 10, d = 2, n = 50, α = 3", 10, theory.rank_bound(**small)),
        ("Example 1: rank(φ(X)), q = 2", 28, theory.rank_phi_bound(q=2, **small)),
        ("Example 2: r, d = 3, p = 2", 10, theory.rank_bound(**big)),
        ("Example 2: r̃, q = 3", 6, theory.r_tilde(phi, q=3)),
        ("Example 3: r, d = 3, p = 2, k = 3", 30, theory.rank_bound(k=3, **big)),
        ("Example 3: r̃, q = 3", 10, theory.r_tilde(phi_3, q=3)),
        ("Synthetic data: d̃, d = 2, α = 4, q = 3", 73, additive),
        ("Synthetic data: r̃", 6, theory.r_tilde(73, q=3)),
        ("Synthetic data: rank(X)", 8, int(np.linalg.matrix_rank(drawn))),
    ]


#: A row is recovered below this error in the median trial.
RECOVERED = 0.05


def transition(report: Report, results: pd.DataFrame) -> None:
    """Show from which rate on data are recovered, beside the bound of Theorem 2."""
    keys = ["d", "alpha", "k"]
    medians = results.groupby([*keys, "method", "observed"])["rse"].median()
    methods = [*means(results, "rse", "observed").index]
    rows: list[list[Value]] = []
    points: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    for d, alpha, k in sorted({cell[:3] for cell in medians.index}):
        bounds = [parameter_rate(d, alpha, k, q) for q in (2, 3)]
        least = theory.information_limit(families.NARROW, families.POINTS, d, d * alpha * k)
        ran = [m for m in methods if (d, alpha, k, m) in medians.index.droplevel("observed")]
        measured = {m: first_recovered(medians[d, alpha, k, m]) for m in ran}
        for method, rate in measured.items():
            if rate is not None and bounds[0] is not None:
                points[method].append((bounds[0], rate))
        rows.append([d, alpha, k, least, *bounds, *map(measured.get, methods)])
    header = ["d", "α", "k", "information limit", "mnp/(m n), q = 2", "mnp/(m n), q = 3"]
    report.table([*header, *map(label, methods)], rows)
    report.figure(partial(figures.against, points, "mnp/(m n), q = 2", "recovered from ρ"))
    pairs = [pair for own in points.values() for pair in own]
    below = sum(rate < limit for limit, rate in pairs)
    report.verdict("bound", below == 0 if pairs else None, below=below, number=len(pairs))
    rising = pd.DataFrame(pairs, columns=["bound", "rate"]).corr("spearman").iloc[0, 1]
    decided = None if np.isnan(rising) else rising > 0.5
    report.verdict("rising", decided, correlation=f"{rising:.2f}", number=len(pairs))


def parameter_rate(d: int, alpha: int, k: int, q: int) -> float | None:
    """Return mnp of Theorem 2 over all entries; None where φ(X) has full rank."""
    m, n = families.NARROW, families.POINTS
    rank_phi = theory.rank_phi_additive(d, alpha, q, k)
    if rank_phi > min(n, theory.rank_phi_bound(d, alpha, q, m, n, k)):
        return None
    return theory.sampling_bound(m, n, q, rank_phi)


def first_recovered(medians: pd.Series) -> float | None:
    """Return the smallest rate from which on every median is recovered."""
    failed = medians.index[medians > RECOVERED]
    good = (
        [count for count in medians.index if count > failed.max()] if len(failed) else medians.index
    )
    return min(good) / families.NARROW if len(good) else None


def sensitivity(report: Report, results: pd.DataFrame) -> None:
    """Show the error by the value of each setting of the paper's algorithm."""
    sizes = sorted(results["n"].unique())
    found = results.groupby(["parameter", "value", "n"])["rse"]
    mean, error = found.mean(), found.sem()
    rows: list[list[Value]] = []
    widest: dict[str, float] = {}
    for parameter, values in families.VARIED.items():
        ran = [value for value in values if (parameter, value) in mean.index.droplevel("n")]
        for value in ran:
            cells = [(parameter, value, n) for n in sizes]
            told = [f"{mean.get(c, np.nan):.3g} ± {error.get(c, np.nan):.1g}" for c in cells]
            rows.append([parameter, value, *(t.removesuffix(" ± nan") for t in told)])
        if len(ran) > 1:
            at = mean.loc[parameter].loc[ran].xs(sizes[-1], level="n")
            widest[parameter] = float(at.max() / at.min())
    report.table(["setting", "value", *(f"n = {n}" for n in sizes)], rows)
    order = sorted(widest, key=lambda parameter: -widest[parameter])
    factors = ", ".join(f"{parameter} {widest[parameter]:.3g}" for parameter in order)
    report.verdict("widest", None, "note", factors=factors, n=sizes[-1])
