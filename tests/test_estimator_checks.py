"""scikit-learn's own checks, on every class of completer and on what uses one.

They look at what estimators do with their input; all settings are the quickest there are.
"""

import numpy as np
import pandas as pd
from sklearn.impute import KNNImputer
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import check_classifiers_classes, parametrize_with_checks

from polycomplete import (
    LRMC,
    NLMC,
    PMC,
    VMC,
    Completer,
    Exact,
    TableCompleter,
    TransductiveClassifier,
    TransductiveRegressor,
    methods,
)

QUICK = {
    "solver": Exact(n_restarts=0, blend=False),
    "smoothing": 0.1,
    "scale": "standard",
}
COMPLETERS = [
    *(make(**QUICK) for make in (Completer, PMC, NLMC, VMC)),
    methods.get("kfmc", beta=1e-2),
    methods.get("ladmc", rank=2),
    methods.get("srmc", smoothing=0.1),
    LRMC(),
]
TRANSDUCTIVE = [
    TransductiveClassifier(LRMC(), label_weight=1.0),
    TransductiveRegressor(LRMC(), label_weight=1.0),
]


class OfArrays(TableCompleter):
    """A TableCompleter for the arrays of the checks, which come as tables and go as arrays.

    It has no ``predict_proba``, which answers in a dict, column by column, and no array.
    """

    predict_proba = property()

    def fit(self, X, y=None):
        return super().fit(as_table(X))

    def fit_transform(self, X, y=None):
        return np.asarray(super().fit_transform(as_table(X)))

    def transform(self, X):
        return np.asarray(super().transform(as_table(X)))


def as_table(X):
    array = check_array(X, dtype=None, ensure_all_finite=False)
    return pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])


def bound_to_fail(estimator):
    """Return the checks that an estimator fails on purpose, and why."""
    if isinstance(estimator, TableCompleter):
        said = "columns are matched by name: the message names one instead of counting them"
        return {"check_n_features_in_after_fitting": said}
    if isinstance(estimator, TransductiveClassifier):
        return {"check_classifiers_classes": "labels -1 and 1 raise: -1 may mean a missing label"}
    return {}


@parametrize_with_checks(COMPLETERS)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@parametrize_with_checks(TRANSDUCTIVE, expected_failed_checks=bound_to_fail)
def test_scikit_learn_takes_transductive_estimators_for_its_own(estimator, check):
    check(estimator)


def test_labels_minus_one_and_one_are_classes_where_all_labels_are_known():
    classifier = TransductiveClassifier(KNNImputer(), label_weight=1.0, unlabeled=None)
    check_classifiers_classes("TransductiveClassifier", classifier)


@parametrize_with_checks([OfArrays(LRMC())], expected_failed_checks=bound_to_fail)
def test_scikit_learn_takes_a_completer_of_tables_for_its_own(estimator, check):
    check(estimator)
