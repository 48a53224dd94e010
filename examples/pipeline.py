"""Accuracy of a classifier with missing features, by imputer.

python examples/pipeline.py [--out out/gallery/pipeline.png]

Digits with missing pixels in training and test, two folds, a support vector machine. It takes a
minute or two.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from polycomplete import KFMC, PMC, masks

mpl.use("Agg")
import matplotlib.pyplot as plt

IMPUTERS = {
    "mean": SimpleImputer(keep_empty_features=True),
    "KNNImputer": KNNImputer(keep_empty_features=True),
    "KFMC": KFMC(keep_empty_features=True, random_state=0),
    "PMC": PMC(keep_empty_features=True, random_state=0),
}
MISSING = (0.3, 0.5, 0.7)


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/gallery/pipeline.png"))
    args = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    accuracy: dict[str, list[float]] = {name: [] for name in IMPUTERS}
    for missing in MISSING:
        holes = masks.apply(X, masks.uniform(X.shape, 1 - missing, random_state=0))
        for name, imputer in IMPUTERS.items():
            model = make_pipeline(imputer, SVC())
            accuracy[name].append(float(np.mean(cross_val_score(model, holes, y, cv=folds))))
    print("missing        " + "".join(f"{missing:8.0%}" for missing in MISSING))
    for name, values in accuracy.items():
        print(f"{name:15}" + "".join(f"{value:8.1%}" for value in values))
    figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for name, values in accuracy.items():
        axis.plot(MISSING, values, marker="o", label=name, linewidth=2.5 if name == "PMC" else 1.2)
    axis.set(xlabel="share of the pixels missing, in training and test", ylabel="accuracy")
    axis.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1))
    axis.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1))
    axis.legend(frameon=False)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out, dpi=110)
    print(f"picture in {args.out.name}")


if __name__ == "__main__":
    main()
