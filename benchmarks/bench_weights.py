"""PMC's weights: equal, the ramp (w₂ of the paper, the default) and w₁ with several ε.

Curved data of the paper's generator (with few rows, and with landmarks), motion capture and
ordinary tables, by the default solver. Errors are those of :mod:`polycomplete.metrics` that fit the
data; shown are their geometric means over the problems of a kind, relative to the ramp's.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bench_tables import tables
from experiments.families import recording
from experiments.store import benchmark_store
from polycomplete import PMC, datasets, masks, metrics
from polycomplete.penalties import Equal, Inverse, Ramp

RULES = {
    "ramp": Ramp(),
    "equal": Equal(),
    "w1, .1": Inverse(0.1),
    "w1, 1e-2": Inverse(1e-2),
    "w1, 1e-3": Inverse(1e-3),
    "w1, 1e-4": Inverse(1e-4),
}
#: Rows of each manifold, manifolds, and observed share.
CURVED = ((60, 1, 0.5), (100, 1, 0.4), (100, 1, 0.5), (100, 1, 0.7), (200, 1, 0.4), (200, 1, 0.5),
          (50, 2, 0.5), (50, 3, 0.6))  # fmt: skip
MANY = ((1000, 1, 0.3), (500, 2, 0.4))


def problems(seed: int) -> Iterator[tuple[str, str, np.ndarray, np.ndarray, Any]]:
    """Yield kind, name, data, mask and measure."""
    for kind, cases in (("curved", CURVED), ("landmarks", MANY)):
        for n, k, rate in cases:
            X = datasets.make_polynomial_manifold(n * k, n_manifolds=k, random_state=500 + seed)
            mask = masks.per_row(X.shape, round(20 * rate), random_state=seed)
            yield kind, f"{k} x {n}, {rate}", X, mask, metrics.rse
    for missing in (0.3, 0.5):
        X = recording("01")[::2]
        kept = X.shape[1] - round(X.shape[1] * missing)
        mask = masks.per_row(X.shape, kept, random_state=seed)
        yield "motion", f"{missing}", X, mask, metrics.rae
    for name, X in tables(200).items():
        mask = masks.uniform(X.shape, 0.7, random_state=seed)
        yield "tables", name, X, mask, metrics.nrmse


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", default=["curved", "landmarks", "motion", "tables"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    store = benchmark_store(args.out / "weights.jsonl")
    with threadpool_limits(1):
        for seed in range(args.seeds):
            for kind, name, X, mask, measure in problems(seed):
                if kind not in args.kinds:
                    continue
                for rule, weights in RULES.items():
                    began = time.process_time()
                    completer = PMC(weights=weights, random_state=seed, n_jobs=1)
                    error = measure(X, completer.fit_transform(masks.apply(X, mask)), mask)
                    seconds = time.process_time() - began
                    store.add(kind=kind, problem=name, seed=seed, rule=rule, error=error,
                              seconds=seconds)  # fmt: skip
    report(store.results())


def report(rows: list[dict[str, Any]]) -> None:
    """Print a line for each kind of data and each rule."""
    ramp = {(r["kind"], r["problem"], r["seed"]): r["error"] for r in rows if r["rule"] == "ramp"}
    print(f"{'kind':12}{'fits':>5}" + "".join(f"{rule:>16}" for rule in RULES))
    for kind in dict.fromkeys(r["kind"] for r in rows):
        line, fits = "", 0
        for rule in RULES:
            own = [r for r in rows if (r["kind"], r["rule"]) == (kind, rule)]
            logs = [np.log(r["error"] / ramp[kind, r["problem"], r["seed"]]) for r in own]
            error, fits = np.std(logs, ddof=1) / np.sqrt(len(logs)), len(own)
            line += f"{np.exp(np.mean(logs)):9.3f} ± {error:.3f} "[:16].rjust(16)
        print(f"{kind:12}{fits:5}{line}")
    spent = {rule: sum(r["seconds"] for r in rows if r["rule"] == rule) for rule in RULES}
    print(f"{'CPU seconds':17}" + "".join(f"{seconds:16.0f}" for seconds in spent.values()))


if __name__ == "__main__":
    main()
