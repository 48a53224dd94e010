"""scikit-learn's own checks, on every registered completer as it comes, and on what uses one."""

from sklearn.impute import KNNImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

from polycomplete import (
    PMC,
    RBF,
    Completer,
    Exact,
    TransductiveClassifier,
    TransductiveRegressor,
    methods,
)

REGISTERED = [methods.get(name) for name in methods.names("completer")]
#: With little to choose: what takes time in these checks is the choosing, on 300 rows.
QUICK = {
    "estimator": PMC(
        kernel=RBF(multiple=1.5), smoothing=0.1, solver=Exact(n_restarts=0, blend=False)
    ),
    "label_weight": 1.0,
}
TRANSDUCTIVE = [
    TransductiveClassifier(**QUICK),
    TransductiveClassifier(KNNImputer(), unlabeled=None),
    TransductiveRegressor(**QUICK),
    TransductiveRegressor(KNNImputer()),
]


def bound_to_fail(estimator):
    """Return the checks that an estimator fails on purpose, and why."""
    if isinstance(estimator, TransductiveClassifier) and estimator.unlabeled == "auto":
        return {"check_classifiers_classes": "labels -1 and 1 raise: -1 may mean a missing label"}
    return {}


@parametrize_with_checks([*REGISTERED, Completer()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@parametrize_with_checks(TRANSDUCTIVE, expected_failed_checks=bound_to_fail)
def test_scikit_learn_takes_transductive_estimators_for_its_own(estimator, check):
    check(estimator)
