"""How sure is a completed cell? The estimated deviation against the actual error.

python examples/how_sure.py [--out out/gallery/how_sure.png]

Three tables of scikit-learn with 30 % of their cells held out; below the line are errors that are
smaller than the estimated deviation, below the dotted one those within two.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from polycomplete import PMC, masks

mpl.use("Agg")
import matplotlib.pyplot as plt

TABLES = {"wine": load_wine, "diabetes": load_diabetes, "breast cancer": load_breast_cancer}
ROWS = 300


def missed(X: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Hide 30 % of a table, complete it, return deviations and errors in units of the columns."""
    mask = masks.uniform(X.shape, 0.7, random_state=seed)
    pmc = PMC(random_state=seed)
    completed = pmc.fit_transform(masks.apply(X, mask))
    spread = X.std(axis=0)
    return (pmc.cell_std_ / spread)[~mask], (np.abs(completed - X) / spread)[~mask]


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/gallery/how_sure.png"))
    args = parser.parse_args()
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained")
    for axis, (name, load) in zip(axes, TABLES.items(), strict=True):
        X = load().data
        X = X[np.random.default_rng(0).permutation(len(X))[:ROWS]]
        deviation, error = missed(X, seed=0)
        inside = np.mean(error < deviation), np.mean(error < 2 * deviation)
        order = np.argsort(deviation)
        fifths = np.array_split(order, 5)
        print(f"{name:14} within one deviation {inside[0]:.0%}, within two {inside[1]:.0%};"
              " error of the surest fifth"
              f" {np.sqrt(np.mean(error[fifths[0]] ** 2)):.2f}, of the least sure"
              f" {np.sqrt(np.mean(error[fifths[-1]] ** 2)):.2f}")  # fmt: skip
        axis.scatter(deviation, error, s=4, alpha=0.35)
        top = float(np.quantile(deviation, 0.995))
        axis.plot([0, top], [0, top], color="k", linewidth=0.8)
        axis.plot([0, top], [0, 2 * top], color="k", linewidth=0.8, linestyle=":")
        axis.set(xlim=(0, top), ylim=(0, 3 * top), xlabel="estimated deviation")
        axis.set_title(f"{name}: {inside[0]:.0%} below the line", fontsize=10)
    axes[0].set_ylabel("error, in spreads of the column")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out, dpi=110)
    print(f"picture in {args.out.name}")


if __name__ == "__main__":
    main()
