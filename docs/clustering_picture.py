"""The picture of docs/clustering.md: points of a video colored by the motion they follow.

    python docs/clustering_picture.py [sequence] [--frames 6] [--missing 0.5]

Needs the Hopkins 155 data (POLYCOMPLETE_DATA). Points are drawn where they are in the first of the
frames, with their way to the last; a ring marks points that are in the wrong cluster.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from polycomplete import SparseSubspaceClustering, SubspaceClusterer, masks, metrics
from polycomplete.datasets import load_hopkins155

COLORS = np.array(["C0", "C1", "C2", "C3", "C4"])


def matched(truth: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the labels with the names of the motions that they agree with best."""
    counts = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(counts, (labels, truth), 1)
    clusters, motions = linear_sum_assignment(counts, maximize=True)
    names = dict(zip(clusters, motions, strict=True))
    return np.array([names[label] for label in labels])


def panel(ax: plt.Axes, X: np.ndarray, labels: np.ndarray, wrong: np.ndarray, title: str) -> None:
    """Draw points and their ways, colored."""
    ways = X.reshape(len(X), -1, 2)
    for way, color in zip(ways, COLORS[labels], strict=True):
        ax.plot(*way.T, color=color, linewidth=0.5, alpha=0.6)
    ax.scatter(*ways[:, 0].T, s=7, c=COLORS[labels])
    ax.scatter(*ways[wrong, 0].T, s=60, facecolors="none", edgecolors="k")
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize=9)


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sequence", nargs="?", default="1R2RC")
    parser.add_argument("--frames", type=int, default=6)
    parser.add_argument("--missing", type=float, default=0.5)
    args = parser.parse_args()
    found = load_hopkins155(args.sequence, args.frames)
    X, truth = found.data, found.target
    mask = masks.uniform(X.shape, 1 - args.missing, random_state=0)
    clusterer = SubspaceClusterer(
        n_clusters=int(truth.max()) + 1,
        clusterer=SparseSubspaceClustering(affine=True),
        random_state=0,
    ).fit(masks.apply(X, mask))
    labels = matched(truth, clusterer.labels_)
    error = metrics.clustering_error(truth, clusterer.labels_)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
    for ax in axes:
        ax.invert_yaxis()  # in a picture y grows downwards
    panel(axes[0], X, truth, np.zeros(len(X), dtype=bool), "the truth")
    panel(axes[1], X, labels, labels != truth,
          f"found with {args.missing:.0%} of the entries missing: {error:.1%} wrong")  # fmt: skip
    figure.suptitle(f"{args.sequence}, {len(X)} points, {args.frames} frames", fontsize=10)
    out = Path(__file__).resolve().with_name("clustering.png")
    figure.savefig(out, dpi=100)
    print(f"{args.sequence}: clustering error {error:.1%}; picture in {out.name}")


if __name__ == "__main__":
    main()
