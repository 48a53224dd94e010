"""How low the error on the Dermatology data can be expected to get, by peers who know more.

Table 1 of the paper classifies half of the rows by the labels of the other half, with a share θ of
every row's features missing. Here the peers learn from nine tenths of the rows with all of their
features (eight missing ages are put to the mean); θ is missing in the rows they classify alone.
Needs the data (POLYCOMPLETE_DATA).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.covariance import ledoit_wolf
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold

from experiments.store import save
from polycomplete import datasets, masks

Classify = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

COPIES = 20  # of the rows that trees learn from, each with its own holes
HOLE = -9.0  # what trees see of one: less than any standardized feature


def gaussians(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Classify by one normal distribution a class, with a common covariance, of what is seen."""
    means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    shares = np.log(np.bincount(y) / len(y))
    covariance, _ = ledoit_wolf(X - means[y], assume_centered=True)
    guess = []
    for row, known in zip(X_new, seen, strict=True):
        away = (row - means)[:, known]
        distance = np.sum(away.T * np.linalg.solve(covariance[np.ix_(known, known)], away.T), 0)
        guess.append(np.argmax(shares - distance / 2))
    return np.array(guess)


def trees(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Classify by random trees, which learned from rows with as many holes."""
    holes = masks.per_row((COPIES * len(X), X.shape[1]), int(seen[0].sum()), random_state=0)
    model = ExtraTreesClassifier(300, max_features=0.5, min_samples_leaf=3, random_state=0)
    model.fit(np.where(holes, np.tile(X, (COPIES, 1)), HOLE), np.tile(y, COPIES))
    return model.predict(np.where(seen, X_new, HOLE))


def error(classify: Classify, X: np.ndarray, y: np.ndarray, theta: float, seed: int) -> float:
    """Return wrong labels in percent; every row is classified once, by nine tenths of the rows."""
    observed = X.shape[1] - int(np.ceil(theta * X.shape[1]))
    seen = masks.per_row(X.shape, observed, random_state=seed)
    wrong = 0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
        wrong += np.sum(classify(X[train], y[train], X[test], seen[test]) != y[test])
    return 100 * wrong / len(y)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--draws", type=int, default=4)
    args = parser.parse_args()
    found = datasets.load_dermatology()
    X, y = found.data, np.unique(found.target, return_inverse=True)[1]
    X = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    rows = []
    for theta in (0.1, 0.5):
        for classify in (gaussians, trees):
            errors = [error(classify, X, y, theta, seed) for seed in range(args.draws)]
            rows.append({"theta": theta, "peer": classify.__name__, "errors": errors})
            print(f"theta {theta:.0%}, {classify.__name__:9}: {np.mean(errors):5.2f} % wrong "
                  f"(standard deviation {np.std(errors, ddof=1):.2f})", flush=True)  # fmt: skip
    save(args.out / "dermatology.jsonl", rows)


if __name__ == "__main__":
    main()
