"""Unions of subspaces, the home ground of VMC and LADMC: error against sampling and rows.

Rows lie on k random linear subspaces of dimension d in R^15 (Gaussian bases and coefficients),
entries are observed uniformly at random. First the bars: the means of ten instances with 50 rows a
subspace against what the public code of VMC's authors (degree 2, offset 0, 1000 iterations) reached
on instances made the same way. Then the curves, over the share observed and the rows a subspace.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from experiments.machine import measure
from experiments.store import save
from polycomplete import masks, methods, metrics

COLUMNS = 15
#: The methods as used on unions of linear subspaces, which go through the origin: no offset, data
#: as they are.
SETTINGS = {
    "vmc-2": {"offset": 0.0, "scale": None},
    "ladmc": {"offset": 0.0, "scale": None},
    "nlmc": {},
    "pmc-w": {},
}
#: Mean relative error of the VMC authors' code (two instances each), by (k, d, share observed).
AUTHORS = {(5, 2, 0.6): 0.28, (5, 2, 0.7): 0.09, (3, 3, 0.6): 0.25, (3, 3, 0.7): 0.18}
RATES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
ROWS = (15, 25, 50, 100)


def draw(k: int, d: int, rows: int, seed: int) -> np.ndarray:
    """Draw k subspaces with Gaussian bases, and rows with Gaussian coefficients on each."""
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((rows, d)) @ rng.standard_normal((d, COLUMNS)) for _ in range(k)]
    return np.vstack(parts)


def one(method: str, k: int, d: int, rows: int, rate: float, seed: int) -> dict:
    """Complete one random instance."""
    X = draw(k, d, rows, seed)
    mask = masks.uniform(X.shape, rate, random_state=seed)
    completer = methods.get(method, random_state=seed, **SETTINGS[method])
    with threadpool_limits(1):
        done = measure(lambda: completer.fit_transform(masks.apply(X, mask)))
    error = float(metrics.rse(X, done.value, mask))
    print(f"  {method:6} k={k} d={d} rows={rows} rate={rate} seed={seed}: {error:.4f} "
          f"{done.cpu:.1f} s", file=sys.stderr, flush=True)  # fmt: skip
    return {"method": method, "k": k, "d": d, "rows": rows, "rate": rate, "seed": seed,
            "error": error, "seconds": done.cpu}  # fmt: skip


def bars(seeds: int, jobs: int) -> list[dict]:
    """Print the means beside the authors'."""
    cells = [(method, k, d, 50, rate) for method in ("vmc-2", "ladmc") for k, d, rate in AUTHORS]
    tasks = [(*cell, seed) for cell in cells for seed in range(seeds)]
    rows = Parallel(n_jobs=jobs)(delayed(one)(*task) for task in tasks)
    print(
        f"{'subspaces':>10}{'dimension':>10}{'observed':>9}{'authors':>9}{'VMC-2':>9}{'LADMC':>9}"
    )
    for (k, d, rate), theirs in AUTHORS.items():
        cell = [row for row in rows if (row["k"], row["d"], row["rate"]) == (k, d, rate)]
        ours = [np.mean([row["error"] for row in cell if row["method"] == method])
                for method in ("vmc-2", "ladmc")]  # fmt: skip
        print(f"{k:10}{d:10}{rate:9.0%}{theirs:9.2f}{ours[0]:9.4f}{ours[1]:9.4f}")
    return rows


def curves(seeds: int, jobs: int, picture: Path) -> list[dict]:
    """Print and draw the median error over the share observed, and over the rows a subspace."""
    by_rate = [(method, 5, 2, 50, rate, seed)
               for method in SETTINGS for rate in RATES for seed in range(seeds)]  # fmt: skip
    by_rows = [(method, 5, 2, count, 0.6, seed)
               for method in SETTINGS for count in ROWS for seed in range(seeds)]  # fmt: skip
    tasks = list(dict.fromkeys(by_rate + by_rows))
    found = dict(zip(tasks, Parallel(n_jobs=jobs)(delayed(one)(*task) for task in tasks),
                     strict=True))  # fmt: skip
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for ax, tasks_of, key, where, label in (
        (axes[0], by_rate, "rate", RATES, "share observed (50 rows a subspace)"),
        (axes[1], by_rows, "rows", ROWS, "rows a subspace (60 % observed)"),
    ):
        print(f"\n{label:>38}" + "".join(f"{value:>9}" for value in where))
        for method in SETTINGS:
            own = [found[task] for task in tasks_of if task[0] == method]
            line = [np.median([row["error"] for row in own if row[key] == x]) for x in where]
            name = methods.METHODS[method].label
            print(f"{name:>38}" + "".join(f"{value:9.4f}" for value in line))
            ax.semilogy(where, line, marker="o", markersize=4, label=name)
        ax.set_xlabel(label)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("relative error, median")
    axes[1].legend()
    figure.suptitle("Five subspaces of dimension 2 in R¹⁵")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=130)
    print(f"picture in {picture}")
    return list(found.values())


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--seeds", type=int, default=10, help="instances of each bar")
    parser.add_argument("--curve-seeds", type=int, default=3, help="instances of each point")
    parser.add_argument("--jobs", type=int, default=1, help="instances at a time, one thread each")
    args = parser.parse_args()
    rows = bars(args.seeds, args.jobs)
    if args.curve_seeds:
        rows += curves(args.curve_seeds, args.jobs, args.out / "subspaces.png")
    save(args.out / "subspaces.jsonl", rows)


if __name__ == "__main__":
    main()
