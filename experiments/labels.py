"""Trials of Table 1: features missing, half of the labels known, the others to be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from experiments.methods import OURS, make
from experiments.published import support_vectors
from experiments.trials import Family, Setting
from polycomplete import datasets, metrics
from polycomplete.transduction import TransductiveClassifier

LOADERS: dict[str, Callable[[], Any]] = {
    "Mice protein": datasets.load_mice_protein,
    "Shuttle": datasets.load_shuttle,
    "Dermatology": datasets.load_dermatology,
    "Satimage": datasets.load_satimage,
}
#: The paper's authors leave out five singular values here.
PUBLISHED = {"pmc-s-authors": {"s": 5}}

Array = NDArray[np.float64]
#: The class of every row, and the probability of each class if the method tells it.
Answer = tuple[NDArray[np.int64], Array | None]


class Problem(NamedTuple):
    """Standardized features with holes, classes from 0, and which rows show their class."""

    X: Array
    y: NDArray[np.int64]
    shown: NDArray[np.bool_]


def problem(setting: Setting, seed: int) -> Problem:
    """Draw rows (0: all), remove a share of each row's features, hide half of the labels."""
    found = LOADERS[setting["data"]]()
    rng = np.random.default_rng([seed, round(100 * setting["theta"])])
    rows = stratified(found.target, setting["rows"] or len(found.target), rng)
    X, y = found.data[rows], np.unique(found.target[rows], return_inverse=True)[1]
    X = np.where(_removed(~np.isnan(X), setting["theta"], rng), np.nan, X)
    spread = np.nanstd(X, axis=0, ddof=1)
    X = (X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)
    shown = np.zeros(len(y), dtype=bool)
    shown[rng.permutation(len(y))[: round(len(y) / 2)]] = True
    return Problem(X, y, shown)


def stratified(y: NDArray[Any], count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw this many rows, classes in proportion and two rows of each at least."""
    if count >= len(y):
        return np.arange(len(y))
    chosen = []
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == label))
        chosen.append(own[: max(round(count * len(own) / len(y)), min(2, len(own)))])
    return np.sort(np.concatenate(chosen))


def _removed(known: NDArray[np.bool_], theta: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose the share `theta` of the known entries of every row."""
    ranks = np.argsort(np.argsort(np.where(known, rng.random(known.shape), 2.0), axis=1), axis=1)
    return known & (ranks < np.ceil(theta * known.sum(axis=1))[:, None])


def by_completion(method: str, given: Problem, seed: int) -> Answer:
    """Complete features and one-hot labels together; the largest label column wins."""
    labels = np.where(given.shown[:, None], np.eye(given.y.max() + 1)[given.y], np.nan)
    completer = make(method, seed, PUBLISHED)
    if "scale" in completer.get_params():
        completer.set_params(scale=None)  # label columns weigh what they weigh in the paper
    completed = completer.fit_transform(np.hstack([given.X, labels]))
    return np.argmax(completed[:, given.X.shape[1] :], axis=1), None


def by_default(given: Problem, seed: int) -> Answer:
    """Take the transductive classifier of this library as it comes."""
    y = np.where(given.shown, given.y, -1)
    model = TransductiveClassifier(random_state=seed).fit(given.X, y)
    return model.transduction_, _spread(model.label_distributions_, model.classes_, given)


def by_support_vectors(X: Array, given: Problem, authors: bool) -> Answer:
    """Take a support vector machine on completed features."""
    model = support_vectors(authors).fit(X[given.shown], given.y[given.shown])
    return model.predict(X), None


def boosted_trees(X: Array, given: Problem, seed: int) -> Answer:
    """Take boosted trees, which read missing values themselves: what a user would try today."""
    model = HistGradientBoostingClassifier(random_state=seed)
    model.fit(X[given.shown], given.y[given.shown])
    told = _spread(model.predict_proba(X), model.classes_, given)
    return np.argmax(told, axis=1), told


def _spread(told: Array, classes: NDArray[np.int64], given: Problem) -> Array:
    """Return probabilities with a column for each class, also for those that were not shown."""
    every = np.zeros((len(told), given.y.max() + 1))
    every[:, classes] = told
    return every


def imputed(X: Array, seed: int) -> Array:
    """Let scikit-learn's iterative imputer fill in the features."""
    filled = make("iterative", seed).set_params(keep_empty_features=True).fit_transform(X)
    return np.asarray(filled)


#: Rows that are more than completing features and labels by a method of the registry.
CLASSIFIERS: dict[str, Callable[[Problem, int], Answer]] = {
    "SVM (authors)": lambda given, seed: by_support_vectors(
        np.nan_to_num(given.X), given, authors=True
    ),
    "LRMC+SVM (authors)": lambda given, seed: by_support_vectors(
        make("lrmc-authors", seed).fit_transform(given.X), given, authors=True
    ),
    "SVM": lambda given, seed: by_support_vectors(np.nan_to_num(given.X), given, authors=False),
    "LRMC+SVM": lambda given, seed: by_support_vectors(
        make("lrmc", seed).fit_transform(given.X), given, authors=False
    ),
    "boosted trees": lambda given, seed: boosted_trees(given.X, given, seed),
    "imputed + boosted": lambda given, seed: boosted_trees(imputed(given.X, seed), given, seed),
    OURS: by_default,
}


def labels(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Classify the rows whose labels are hidden; error in percent, calibration as a share."""
    given = problem(setting, seed)
    if method in CLASSIFIERS:
        guess, told = CLASSIFIERS[method](given, seed)
    else:
        guess, told = by_completion(method, given, seed)
    hidden = ~given.shown
    found = {"error": 100 * metrics.classification_error(given.y[hidden], guess[hidden])}
    if told is not None:
        error = metrics.expected_calibration_error(given.y[hidden], told[hidden])
        found["calibration"] = error
    return found


LABELS = Family("labels", 4, labels, lambda: [load() for load in LOADERS.values()])
