"""scikit-learn's own checks, on the completers as they come."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from polycomplete import NLMC, PMC, Completer


@parametrize_with_checks([PMC(), PMC(variant="S"), NLMC(), Completer()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)
