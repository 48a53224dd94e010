"""The picture of docs/classification.md: wrong labels against the share of missing features.

python docs/classification_picture.py [--draws 4]

The wines that come with scikit-learn; half of the labels are known. Points are the mean of so many
draws of missing features and labels, bars their standard deviation. It prints what it draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polycomplete import TransductiveClassifier, masks, metrics

SHARES = (0.1, 0.3, 0.5, 0.7)
OURS = "TransductiveClassifier"
PEERS = {
    "means, then SVM": make_pipeline(SimpleImputer(), StandardScaler(), SVC()),
    "boosted trees on NaN": HistGradientBoostingClassifier(random_state=0),
}


def errors(share: float, seed: int) -> dict[str, float]:
    """Return the share of wrong labels of every method for one draw."""
    X, y = load_wine(return_X_y=True)
    X = masks.apply(X, masks.uniform(X.shape, 1 - share, random_state=seed))
    known = np.random.default_rng(seed).random(len(y)) < 0.5
    ours = TransductiveClassifier(random_state=seed).fit(X, np.where(known, y, -1))
    answers = {OURS: ours.transduction_[~known]}
    for name, peer in PEERS.items():
        answers[name] = peer.fit(X[known], y[known]).predict(X[~known])
    return {name: metrics.classification_error(y[~known], one) for name, one in answers.items()}


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4)
    draws = range(parser.parse_args().draws)
    found = {share: [errors(share, seed) for seed in draws] for share in SHARES}
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for place, name in enumerate((OURS, *PEERS)):
        wrong = 100 * np.array([[draw[name] for draw in found[share]] for share in SHARES])
        print(f"{name:24}", *(f"{mean:5.1f} %" for mean in wrong.mean(axis=1)))
        beside = 100 * np.array(SHARES) + place - 1  # so that bars do not hide each other
        ax.errorbar(beside, wrong.mean(axis=1), wrong.std(axis=1),
                    marker="o", capsize=3, label=name)  # fmt: skip
    ax.set(xlabel="features missing, %", ylabel="labels wrong, %", ylim=(0, None))
    ax.set_title("Wines, half of the labels known", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(Path(__file__).with_name("classification.png"), dpi=150)


if __name__ == "__main__":
    main()
