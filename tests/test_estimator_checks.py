"""scikit-learn's own checks, on every registered completer as it comes."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from polycomplete import Completer, methods

REGISTERED = [methods.get(name) for name in methods.names("completer")]


@parametrize_with_checks([*REGISTERED, Completer()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)
