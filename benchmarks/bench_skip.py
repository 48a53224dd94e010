"""PMC-S: how many of the largest singular values to leave out.

The paper suggests s = m, the number of columns. On its own synthetic data rank(X) = 8 < m = 20, so
that s = m also sets directions free which should vanish. Compared with the default, an estimate
from the observed entries, and fixed values, by the paper's algorithm with its settings and by our
solver.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.store import save
from polycomplete import AdamPlus, Completer, Schatten, Skip, datasets, masks, metrics
from polycomplete.penalties import linear_rank

CHOICES = ["auto", 0, 4, 8, 12, 20]
SOLVERS = {
    "paper": lambda skip: {"penalty": Schatten(0.5, skip), "solver": AdamPlus(), "scale": None},
    "default": lambda skip: {"penalty": Schatten(-0.5, skip), "smoothing": 1e-9},
}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    rows = []
    warnings.simplefilter("ignore")  # some runs of Adam+ stop at 500 iterations
    with threadpool_limits(1):
        for n, k, rho in [(100, 1, 0.5), (200, 1, 0.5), (200, 1, 0.7), (150, 3, 0.6)]:
            for seed in range(args.seeds):
                X = datasets.make_polynomial_manifold(n, n_manifolds=k, random_state=900 + seed)
                mask = masks.uniform(X.shape, rho, random_state=seed)
                for solver, s in product(SOLVERS, CHOICES):
                    completer = Completer(**SOLVERS[solver](Skip(s)))
                    error = metrics.rse(X, completer.fit_transform(masks.apply(X, mask)), mask)
                    case = f"{solver:10} n={n} k={k} rho={rho}"
                    estimate = linear_rank(X, mask)
                    rows.append({"case": case, "s": s, "error": error, "estimate": estimate})
    print(f"{'mean RSE':30}" + "".join(f"{f's = {s}':>11}" for s in CHOICES) + "   auto is")
    for case in sorted({r["case"] for r in rows}):
        own = [r for r in rows if r["case"] == case]
        errors = [np.mean([r["error"] for r in own if r["s"] == s]) for s in CHOICES]
        used = sorted({r["estimate"] for r in own})
        print(f"{case:30}" + "".join(f"{e:11.5f}" for e in errors) + f"   {used}")
    save(args.out / "skip.jsonl", rows)


if __name__ == "__main__":
    main()
