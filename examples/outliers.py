"""Find rows that do not fit: measurements with a faulty entry, among incomplete rows.

python examples/outliers.py [--out out/gallery/outliers.png]

The surface is learned from incomplete rows; new rows are incomplete too, and one in ten has a
faulty entry.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.metrics import roc_auc_score

from polycomplete import PMC, datasets, masks

mpl.use("Agg")
import matplotlib.pyplot as plt


def main() -> None:
    """Score and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/gallery/outliers.png"))
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X = datasets.make_polynomial_manifold(900, 12, random_state=0)
    given = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    pmc = PMC(random_state=0).fit(given[:500])
    new = given[500:].copy()
    faulty = rng.random(len(new)) < 0.1
    for row in np.flatnonzero(faulty):  # one of the entries that are there, off by half a spread
        column = rng.choice(np.flatnonzero(~np.isnan(new[row])))
        new[row, column] += 0.5 * X[:, column].std() * rng.choice([-1, 1])
    distance = -pmc.score_samples(new)
    largest = [np.nanmax(np.abs(new - X.mean(axis=0)) / X.std(axis=0), axis=1)]
    print(f"{faulty.sum()} of {len(new)} rows have one faulty entry")
    print(f"area under the curve: score_samples {roc_auc_score(faulty, distance):.3f}, "
          f"largest standardized entry {roc_auc_score(faulty, largest[0]):.3f}")  # fmt: skip
    figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    bins = np.geomspace(distance.min(), distance.max(), 50)
    axis.hist([distance[~faulty], distance[faulty]], bins, stacked=True, color=["0.7", "C3"],
              label=["as they should be", "one entry faulty"])  # fmt: skip
    axis.set(xscale="log", yscale="symlog", ylabel="rows")
    axis.set_xlabel("distance from the surface, in units of a usual row (−score_samples)")
    axis.legend(frameon=False)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out, dpi=110)
    print(f"picture in {args.out.name}")


if __name__ == "__main__":
    main()
