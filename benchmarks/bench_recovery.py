"""What the landmark solver recovers: each line a case, what came out, and the target beside it.

Synthetic data of the paper (m = 20, d = 2). A row is recovered if its error is below 1 %; it is
determined if it has at least 4 observed entries. ``PMC()`` with its defaults and the landmark
solver on all of them. ``--phase`` adds the share recovered over n and ρ, as a picture.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.bench_tables import tables
from experiments.store import save
from polycomplete import PMC, Exact, Landmark, datasets, masks, metrics, theory
from polycomplete.diagnostics import plot_phase_diagram

DETERMINED = 4
#: name: rows, manifolds, observed entries of a row (or share of all), noise
CASES = {
    "6 observed, n = 2000": (2000, 1, 6, 0.0),
    "5 observed, n = 2000": (2000, 1, 5, 0.0),
    "4 observed, n = 4000": (4000, 1, 4, 0.0),
    "uniform .4, n = 1000": (1000, 1, 0.4, 0.0),
    "uniform .3, n = 1000": (1000, 1, 0.3, 0.0),
    "uniform .2, n = 5000": (5000, 1, 0.2, 0.0),
    "3 manifolds x 500, .5": (1500, 3, 0.5, 0.0),
    "3 manifolds x 500, .4": (1500, 3, 0.4, 0.0),
    "5 manifolds x 500, .5": (2500, 5, 0.5, 0.0),
    "noise 1 %, 10 observed": (2000, 1, 10, 0.01),
    "noise 5 %, 10 observed": (2000, 1, 10, 0.05),
    "no noise, 10 observed": (2000, 1, 10, 0.0),
}
#: Of the error and the share of every seed: the condition, in words and as a function.
TARGETS = {
    "6 observed, n = 2000": ("each RSE < .002, >= 99.9 %",
                             lambda e, s: max(e) < 0.002 and min(s) >= 0.999),
    "5 observed, n = 2000": ("each >= 99.5 %, median RSE < .01",
                             lambda e, s: np.median(e) < 0.01 and min(s) >= 0.995),
    "4 observed, n = 4000": ("each >= 90 %", lambda e, s: min(s) >= 0.90),
    "uniform .4, n = 1000": ("each >= 99 %", lambda e, s: min(s) >= 0.99),
    "uniform .3, n = 1000": ("each >= 99 %", lambda e, s: min(s) >= 0.99),
    "uniform .2, n = 5000": ("each >= 99 %", lambda e, s: min(s) >= 0.99),
    "3 manifolds x 500, .5": ("median RSE < .01", lambda e, s: np.median(e) < 0.01),
    "3 manifolds x 500, .4": ("median RSE < .03", lambda e, s: np.median(e) < 0.03),
    "5 manifolds x 500, .5": ("median RSE < .05", lambda e, s: np.median(e) < 0.05),
    "noise 1 %, 10 observed": ("each RSE <= .013", lambda e, s: max(e) <= 0.013),
    "noise 5 %, 10 observed": ("each RSE <= .065", lambda e, s: max(e) <= 0.065),
    "no noise, 10 observed": ("smoothing 1e-7", lambda e, s: True),
}  # fmt: skip


def instance(
    n: int, k: int, observed: float, noise: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the truth, what is given, and the mask."""
    X = datasets.make_polynomial_manifold(n, 20, n_manifolds=k, random_state=seed)
    if observed >= 1:
        mask = masks.per_row(X.shape, int(observed), random_state=seed)
    else:
        mask = masks.uniform(X.shape, observed, random_state=seed)
    size = noise * np.sqrt(np.mean(X**2))
    return X, X + size * np.random.default_rng(seed).standard_normal(X.shape), mask


def one(name: str, seed: int) -> dict:
    """Run one case with one seed."""
    X, given, mask = instance(*CASES[name], seed)
    pmc = PMC(solver=Landmark(), n_jobs=1, random_state=seed)
    begin = time.process_time()
    completed = pmc.fit_transform(masks.apply(given, mask))
    seconds = time.process_time() - begin
    known = mask.sum(axis=1) >= DETERMINED
    return {
        "case": name,
        "seed": seed,
        "rse": np.linalg.norm((completed - X)[known]) / np.linalg.norm(X[known]),
        "share": metrics.recovered_share(X, completed, mask, min_observed=DETERMINED),
        "smoothing": pmc.smoothing_,
        "seconds": seconds,
    }


def report(rows: list[dict]) -> int:
    """Print each case with its target; return how many do not hold."""
    missed = 0
    print(f"{'case':25}{'RSE median':>11}{'worst':>8}{'recovered worst':>17}{'CPU s':>7}  target")
    for name in CASES:
        mine = [row for row in rows if row["case"] == name]
        if not mine:
            continue
        errors, shares = [row["rse"] for row in mine], [row["share"] for row in mine]
        words, holds = TARGETS[name]
        good = holds(errors, shares)
        if name.startswith("no noise"):
            good = max(row["smoothing"] for row in mine) <= 1e-7
        missed += not good
        seconds = np.mean([row["seconds"] for row in mine])
        print(f"{name:25}{np.median(errors):11.4f}{max(errors):8.4f}{min(shares):17.4f}"
              f"{seconds:7.1f}  {words}: {'holds' if good else 'MISSED'}")  # fmt: skip
    return missed


def table(name: str, X: np.ndarray, seed: int) -> dict:
    """Complete a table by both solvers."""
    mask = masks.uniform(X.shape, 0.7, random_state=seed)
    found = {"table": name, "seed": seed}
    for name, solver in (("exact", Exact()), ("landmark", Landmark())):
        pmc = PMC(solver=solver, n_jobs=1, random_state=0)
        found[name] = metrics.nrmse(X, pmc.fit_transform(masks.apply(X, mask)), mask)
    return found


def report_tables(rows: list[dict]) -> int:
    """Print the ratio of the solvers' errors; return how many tables are beyond 2 %."""
    missed = 0
    print(f"{'table':31}{'exact':>8}{'landmark':>10}{'ratio':>8}  target 1.02")
    for name in dict.fromkeys(row["table"] for row in rows):
        mine = [row for row in rows if row["table"] == name]
        exact, ours = (np.mean([row[e] for row in mine]) for e in ("exact", "landmark"))
        missed += ours > 1.02 * exact
        print(f"{name:31}{exact:8.4f}{ours:10.4f}{ours / exact:8.3f}"
              f"  {'holds' if ours <= 1.02 * exact else 'MISSED'}")  # fmt: skip
    return missed


FEW, SIZES = 150, (150, 300, 600, 1200)
DRAWS = 12  # masks: with three, the mean of 150 rows is uncertain by two percent


def more_rows(name: str, X: np.ndarray, seed: int) -> dict:
    """Complete some rows of a table in the company of more and more others."""
    mask = masks.uniform(X.shape, 0.7, random_state=seed)
    found = {}
    for n in [size for size in SIZES if size <= len(X)]:
        pmc = PMC(solver=Landmark(), n_jobs=1, random_state=0)
        completed = pmc.fit_transform(masks.apply(X[:n], mask[:n]))[:FEW]
        found[n] = metrics.nrmse(X[:FEW], completed, mask[:FEW])
    return {"table": name, "seed": seed, "errors": found}


def report_more(rows: list[dict]) -> int:
    """Print the error on the same rows over the number of rows; return how often it rises."""
    missed = 0
    print(f"error on the same {FEW} rows, completed together with others; target: it never rises")
    for name in dict.fromkeys(row["table"] for row in rows):
        mine = [row["errors"] for row in rows if row["table"] == name]
        errors = {n: float(np.mean([found[n] for found in mine])) for n in mine[0]}
        rises = [n for m, n in pairwise(errors) if errors[n] > errors[m]]
        missed += bool(rises)
        line = "  ".join(f"{n}: {error:.4f}" for n, error in errors.items())
        print(f"{name:31}{line}  {'MISSED' if rises else 'holds'}")
    return missed


PHASE_ROWS = (50, 100, 200, 400, 800, 1600)
PHASE_RATES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)


def phase_cell(n: int, rate: float, seed: int) -> float:
    """Return the share of determined rows that is recovered."""
    X, given, mask = instance(n, 1, rate, 0.0, seed)
    completed = PMC(solver=Landmark(), n_jobs=1, random_state=seed).fit_transform(
        masks.apply(given, mask)
    )
    return metrics.recovered_share(X, completed, mask, min_observed=DETERMINED)


def draw_phase(shares: np.ndarray, path: Path) -> None:
    """Draw the share recovered over n and ρ, with the paper's bound and the information limit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    bounds = {
        "the paper's bound": [theory.sampling_bound(20, n, 3, 73) for n in PHASE_ROWS],
        "information limit": [theory.information_limit(20, n, 2, 8) for n in PHASE_ROWS],
    }
    plot_phase_diagram(shares, PHASE_RATES, PHASE_ROWS, bounds=bounds, ax=figure.subplots())
    figure.suptitle("Determined rows recovered, in % (one manifold, m = 20, d = 2)")
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--tables", type=int, default=400, help="rows of a table; 0 for none")
    parser.add_argument("--phase", type=Path, help="draw the phase diagram here")
    args = parser.parse_args()
    run = Parallel(n_jobs=args.jobs)
    slowest_first = sorted(args.cases, key=lambda name: -CASES[name][0] * CASES[name][1])
    rows = run(delayed(one)(c, s) for c in slowest_first for s in range(args.seeds))
    missed = report(rows)
    if args.tables:
        compared = run(
            delayed(table)(name, X, seed)
            for name, X in tables(args.tables).items() for seed in range(3)
        )  # fmt: skip
        missed += report_tables(compared)
        whole = {name: X for name, X in tables(SIZES[-1]).items() if len(X) >= SIZES[1]}
        grown = run(
            delayed(more_rows)(name, X, seed) for name, X in whole.items() for seed in range(DRAWS)
        )
        missed += report_more(grown)
        rows += compared + grown
    if args.phase:
        cells = [(n, rate) for n in PHASE_ROWS[::-1] for rate in PHASE_RATES]
        found = run(delayed(phase_cell)(n, rate, seed) for n, rate in cells for seed in range(3))
        means = np.reshape(found, (len(cells), 3)).mean(axis=1)
        shares = dict(zip(cells, means, strict=True))
        draw_phase(np.array([[shares[n, r] for r in PHASE_RATES] for n in PHASE_ROWS]), args.phase)
        rows += [{"n": n, "rate": r, "share": share} for (n, r), share in shares.items()]
    print(f"targets missed: {missed}")
    save(args.out / "recovery.jsonl", rows)


if __name__ == "__main__":
    main()
