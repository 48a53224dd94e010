"""Ordinary tables against the imputers of scikit-learn, in one process, one after the other.

30 % of the entries are removed at random. Error: root mean squared error on the removed ones, each
column in units of its standard deviation. At most 400 rows of each table. The last columns compare
us with the most accurate peer: ratio of the errors, seconds and peak memory of both.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets as bundled
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from experiments.machine import measure
from experiments.store import save
from polycomplete import PMC, datasets, masks, metrics

PEERS = {
    "mean": SimpleImputer,
    "KNN": KNNImputer,
    "iterative": lambda: IterativeImputer(random_state=0),
    "PMC": lambda: PMC(random_state=0),
}


def tables(most: int) -> dict[str, np.ndarray]:
    """Return scikit-learn's tables, and those of the data folder where there is one."""
    found = {
        "diabetes": bundled.load_diabetes(scaled=False).data,
        "wine": bundled.load_wine().data,
        "breast cancer": bundled.load_breast_cancer().data,
        "iris": bundled.load_iris().data,
    }
    for name in datasets.list_tabular():
        found[name] = datasets.load_tabular(name).data
    rng = np.random.default_rng(0)
    return {name: _some_rows(np.asarray(X, float), most, rng) for name, X in found.items()}


def _some_rows(X: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    X = X[~np.isnan(X).any(axis=1)]
    X = X[rng.permutation(len(X))[:most]]
    return X[:, X.std(axis=0) > 0]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--rows", type=int, default=400)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # IterativeImputer says that it did not converge
    rows = []
    print(
        f"{'table':31}" + "".join(f"{name:>11}" for name in PEERS) + "   ratio   seconds        MB"
    )
    for table, X in tables(args.rows).items():
        mask = masks.uniform(X.shape, 0.7, random_state=0)
        given = masks.apply(X, mask)
        runs = {
            name: measure(lambda m=make, g=given: m().fit_transform(g), memory=True)
            for name, make in PEERS.items()
        }
        errors = {name: metrics.nrmse(X, run.value, mask) for name, run in runs.items()}
        best = min((name for name in PEERS if name != "PMC"), key=lambda name: errors[name])
        ours, peer = runs["PMC"], runs[best]
        rows.append({"table": table, "shape": X.shape, "best": best, "our seconds": ours.wall,
                     "peer seconds": peer.wall, "our MB": ours.peak_mb, "peer MB": peer.peak_mb,
                     **errors})  # fmt: skip
        print(f"{table:31}" + "".join(f"{error:11.3f}" for error in errors.values())
              + f"{errors['PMC'] / errors[best]:8.2f}{ours.wall:6.1f}/{peer.wall:<4.1f}"
              + f"{ours.peak_mb:6.0f}/{peer.peak_mb:<3.0f}")  # fmt: skip
    ratios = [r["PMC"] / min(r[n] for n in PEERS if n != "PMC") for r in rows]
    print(f"geometric mean of ours / best peer: {np.exp(np.mean(np.log(ratios))):.3f}")
    save(args.out / "tables.jsonl", rows)


if __name__ == "__main__":
    main()
