"""What each part of the default solver is worth, by leaving it out or changing it.

Mean relative error (geometric, against the default) and CPU seconds over instances of the paper's
generator, one and several manifolds, made here with seeds that were not used to choose anything.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.machine import measure
from experiments.store import save
from polycomplete import Completer, Equal, Exact, Ramp, Schatten, datasets, masks, metrics

BASE = {"penalty": Schatten(-0.5, Ramp()), "smoothing": 1e-9, "random_state": 0}
VARIANTS = {
    "default, smoothing given": {},
    "smoothing chosen by hiding": {"smoothing": "auto"},
    "quasi-Newton steps": {"solver": Exact(algorithm="quasi-newton")},
    "without restarts": {"solver": Exact(n_restarts=0)},
    "without wider kernel at the end": {"solver": Exact(stretch=1.0)},
    "without blending": {"solver": Exact(blend=False)},
    "p = 0 (log)": {"penalty": Schatten(0.0, Ramp())},
    "p = 0.1": {"penalty": Schatten(0.1, Ramp())},
    "p = 0.5": {"penalty": Schatten(0.5, Ramp())},
    "equal weights (NLMC)": {"penalty": Schatten(-0.5, Equal())},
    "scale=None": {"scale": None},
    "scale='standard'": {"scale": "standard"},
}
CASES = [(n, 1, rho) for n in (60, 120, 200) for rho in (0.4, 0.6)]
CASES += [(50 * k, k, 0.6) for k in (2, 3)] + [(100, 2, 0.4)]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for seed in range(args.seeds):
            for n, k, rho in CASES:
                X = datasets.make_polynomial_manifold(n, n_manifolds=k, random_state=900 + seed)
                mask = masks.uniform(X.shape, rho, random_state=seed)
                given = masks.apply(X, mask)
                for name, change in VARIANTS.items():
                    completer = Completer(**(BASE | change))
                    ours = measure(lambda c=completer, g=given: c.fit_transform(g))
                    error = metrics.rse(X, ours.value, mask)
                    case = f"n={n} k={k} rho={rho} seed={seed}"
                    rows.append({"variant": name, "case": case, "error": error, "cpu": ours.cpu})
    base = {r["case"]: r["error"] for r in rows if r["variant"] == next(iter(VARIANTS))}
    print(f"{'variant':34}{'error / default':>16}{'worst':>8}{'CPU s':>8}")
    for name in VARIANTS:
        own = [r for r in rows if r["variant"] == name]
        ratio = [r["error"] / base[r["case"]] for r in own]
        print(f"{name:34}{np.exp(np.mean(np.log(ratio))):16.2f}{max(ratio):8.1f}"
              f"{sum(r['cpu'] for r in own):8.1f}")  # fmt: skip
    save(args.out / "solver.jsonl", rows)


if __name__ == "__main__":
    main()
