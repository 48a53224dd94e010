"""Motion capture with missing channels: joint angles over time, completed, and the truth.

    python examples/motion.py [--missing 0.5] [--out out/gallery/motion.png]

reads subject 56, recording 01 of the CMU motion capture database: from the folder that
POLYCOMPLETE_DATA names, from the user's cache, or downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.impute import KNNImputer

from polycomplete import LRMC, PMC, datasets, masks, metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

METHODS = {"LRMC": LRMC(), "KNNImputer": KNNImputer(), "PMC": PMC(random_state=0)}
CHANNELS = 4


def main() -> None:
    """Complete and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--missing", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=Path("out/gallery/motion.png"))
    args = parser.parse_args()
    X = datasets.load_cmu_mocap("56", "01").data
    kept = X.shape[1] - round(args.missing * X.shape[1])
    mask = masks.per_row(X.shape, kept, random_state=0)
    print(f"{X.shape[0]} frames, {X.shape[1]} channels, {kept} of them seen in each frame")
    done = {}
    for name, method in METHODS.items():
        done[name] = method.fit_transform(masks.apply(X, mask))
        print(f"{name:12} relative absolute error {metrics.rae(X, done[name], mask):.3f}")
    widest = np.argsort(-X.std(axis=0))[3 : 3 + CHANNELS]  # the first three: where the person is
    figure, axes = plt.subplots(CHANNELS, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for axis, channel in zip(axes, widest, strict=True):
        axis.plot(X[:, channel], color="0.75", linewidth=3, label="truth")
        lost = ~mask[:, channel]
        for name, color in (("LRMC", "C1"), ("PMC", "C0")):
            axis.plot(np.flatnonzero(lost), done[name][lost, channel], ".", markersize=3,
                      color=color, label=f"{name}, where the angle was lost")  # fmt: skip
        axis.set_ylabel(f"channel {channel}")
    axes[-1].set_xlabel("frame")
    axes[0].legend(frameon=False, ncols=3, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out, dpi=110)
    print(f"picture in {args.out.name}")


if __name__ == "__main__":
    main()
