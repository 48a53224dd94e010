"""A knot seen by nine sensors, a third of their readings missing, completed by three methods.

python examples/curve.py [--out out/gallery/curve.png]

Gray is the curve, dots are the completed rows. It takes a few seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.impute import KNNImputer

from polycomplete import LRMC, PMC, masks, metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

METHODS = {"low rank (LRMC)": LRMC(), "KNNImputer": KNNImputer(), "PMC": PMC(random_state=0)}


def knot(n: int) -> np.ndarray:
    """Return the three coordinates of points of a trefoil knot, and six readings that bend more.

    One number describes each row, yet the matrix has full rank.
    """
    t = np.linspace(0, 2 * np.pi, n, endpoint=False)
    place = [np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)]
    return np.column_stack([*place, *(np.sin(k * t + k) for k in range(1, 7))])


def main() -> None:
    """Complete and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/gallery/curve.png"))
    args = parser.parse_args()
    X = knot(240)
    mask = masks.uniform(X.shape, 2 / 3, random_state=0)
    figure = plt.figure(figsize=(9, 3.3), layout="constrained")
    for place, (name, method) in enumerate(METHODS.items(), start=1):
        completed = method.fit_transform(masks.apply(X, mask))
        error = metrics.rse(X, completed, mask)
        print(f"{name:16} relative error {error:.3f}")
        axis = figure.add_subplot(1, 3, place, projection="3d")
        axis.plot(*X[:, :3].T, color="0.8", linewidth=1)
        axis.scatter(*completed[:, :3].T, s=6, color="C0" if name == "PMC" else "C3")
        axis.set(xticks=[], yticks=[], zticks=[])
        axis.set_title(f"{name}: error {error:.2f}", fontsize=10)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out, dpi=110)
    print(f"picture in {args.out.name}")


if __name__ == "__main__":
    main()
