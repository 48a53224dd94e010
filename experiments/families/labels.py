"""Tables with missing features and half of the labels: classification by completing the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

from experiments.experiment import Family
from experiments.rows import OURS, make
from polycomplete import datasets, metrics
from polycomplete.penalties import Schatten, Skip

__all__ = ["CLASSIFIERS", "LABELS", "LOADERS"]

LOADERS: dict[str, Callable[[], Any]] = {
    "Mice protein": datasets.load_mice_protein,
    "Shuttle": datasets.load_shuttle,
    "Dermatology": datasets.load_dermatology,
    "Satimage": datasets.load_satimage,
}
#: The paper's authors leave out five singular values here.
PUBLISHED = {"pmc-s-paper": {"penalty": Schatten(0.5, Skip(5))}}


class Problem(NamedTuple):
    """Standardised features with holes, classes from 0, and which rows show their class."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    labelled: NDArray[np.bool_]


def prepare() -> None:
    """Get the tables."""
    for load in LOADERS.values():
        load()


def problem(setting: Mapping[str, Any], seed: int) -> Problem:
    """Draw rows, remove a share of each row's features, hide half of the labels."""
    found = LOADERS[setting["data"]]()
    rng = np.random.default_rng([seed, round(100 * setting["theta"])])
    rows = stratified(found.target, setting["rows"] or len(found.target), rng)
    X, y = found.data[rows], np.unique(found.target[rows], return_inverse=True)[1]
    lost = _lost(~np.isnan(X), setting["theta"], rng)
    X = np.where(lost, np.nan, X)
    spread = np.nanstd(X, axis=0, ddof=1)
    X = (X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)
    labelled = np.zeros(len(y), dtype=bool)
    labelled[rng.permutation(len(y))[: round(len(y) / 2)]] = True
    return Problem(X, y, labelled)


def stratified(y: NDArray[Any], count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw so many rows with the classes in proportion, two of each at least; all if asked for."""
    if count >= len(y):
        return np.arange(len(y))
    chosen = []
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == label))
        chosen.append(own[: max(round(count * len(own) / len(y)), min(2, len(own)))])
    return np.sort(np.concatenate(chosen))


def _lost(known: NDArray[np.bool_], theta: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose the share `theta` of the known entries of every row."""
    ranks = np.argsort(np.argsort(np.where(known, rng.random(known.shape), 2.0), axis=1), axis=1)
    return known & (ranks < np.ceil(theta * known.sum(axis=1))[:, None])


class Answer(NamedTuple):
    """The class of every row, and the probability of each class where it is told."""

    guess: NDArray[np.int64]
    probabilities: NDArray[np.float64] | None = None


def by_completion(method: str, problem: Problem, seed: int) -> Answer:
    """Complete features and one-hot labels together; the largest label column wins."""
    labels = np.where(problem.labelled[:, None], np.eye(problem.y.max() + 1)[problem.y], np.nan)
    completer = make(method, seed, PUBLISHED)
    if "scale" in completer.get_params():
        completer.set_params(scale=None)  # label columns weigh what they weigh in the paper
    completed = completer.fit_transform(np.hstack([problem.X, labels]))
    return Answer(np.argmax(completed[:, problem.X.shape[1] :], axis=1))


def by_default(problem: Problem, seed: int) -> Answer:
    """Take the transductive classifier of this library as it comes."""
    from polycomplete.transduction import TransductiveClassifier

    y = np.where(problem.labelled, problem.y, -1)
    model = TransductiveClassifier(random_state=seed).fit(problem.X, y)
    told = np.zeros((len(y), problem.y.max() + 1))
    told[:, model.classes_] = model.label_distributions_
    return Answer(model.transduction_, told)


def _svm(X: NDArray[np.float64], problem: Problem) -> Answer:
    shown = problem.labelled
    return Answer(np.asarray(SVC().fit(X[shown], problem.y[shown]).predict(X)))


def svm_zero(problem: Problem, seed: int) -> Answer:
    """Fill with zeros, the means of the columns, and take a support vector machine."""
    return _svm(np.nan_to_num(problem.X), problem)


def svm_low_rank(problem: Problem, seed: int) -> Answer:
    """Complete the features by low rank, then take a support vector machine."""
    return _svm(make("lrmc-paper", seed).fit_transform(problem.X), problem)


def boosting(problem: Problem, seed: int) -> Answer:
    """Take boosted trees, which read missing values themselves: what a user would try today."""
    return _boosted(problem.X, problem, seed)


def imputed_boosting(problem: Problem, seed: int) -> Answer:
    """Let scikit-learn's iterative imputer fill in the features, then take boosted trees."""
    imputer = make("iterative", seed).set_params(keep_empty_features=True)
    return _boosted(imputer.fit_transform(problem.X), problem, seed)


def _boosted(X: NDArray[np.float64], problem: Problem, seed: int) -> Answer:
    shown = problem.labelled
    model = HistGradientBoostingClassifier(random_state=seed).fit(X[shown], problem.y[shown])
    told = np.zeros((len(X), problem.y.max() + 1))
    told[:, model.classes_] = model.predict_proba(X)
    return Answer(np.argmax(told, axis=1), told)


#: Rows that are more than completing features and labels by a method of the registry.
CLASSIFIERS: dict[str, Callable[[Problem, int], Answer]] = {
    "SVM": svm_zero,
    "LRMC+SVM": svm_low_rank,
    "boosted trees": boosting,
    "imputed + boosted": imputed_boosting,
    OURS: by_default,
}


def trial(setting: Mapping[str, Any], method: str, seed: int) -> dict[str, float]:
    """Classify the rows whose labels are hidden; error in per cent, calibration as a share."""
    posed = problem(setting, seed)
    if method in CLASSIFIERS:
        answer = CLASSIFIERS[method](posed, seed)
    else:
        answer = by_completion(method, posed, seed)
    hidden, told = ~posed.labelled, answer.probabilities
    y = posed.y[hidden]
    found = {"error": 100 * metrics.classification_error(y, answer.guess[hidden])}
    if told is not None:
        found["calibration"] = metrics.expected_calibration_error(y, told[hidden])
    return found


LABELS = Family("labels", 3, trial, prepare)
