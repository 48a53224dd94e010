"""A fit that is interrupted or fails leaves its estimator as it was."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from polycomplete import (
    KFMC,
    LADMC,
    PMC,
    SRMC,
    Exact,
    Landmark,
    SubspaceClusterer,
    TableCompleter,
    TransductiveClassifier,
)

interrupting = False


def ctrl_c(_):
    """Interrupt the solver, if asked to; a function, because clones copy objects."""
    if interrupting:
        raise KeyboardInterrupt


@pytest.fixture
def interrupt(monkeypatch):
    return lambda: monkeypatch.setitem(globals(), "interrupting", True)


def pmc():
    return PMC(solver=Exact(callback=ctrl_c), smoothing=1e-2, scale=None)


def curve():
    t = np.linspace(-1, 1, 40)
    X = np.c_[t, t**2, t**3]
    X[::4, 1] = np.nan
    return X


COMPLETERS = [
    pmc(),
    KFMC(callback=ctrl_c),
    LADMC(callback=ctrl_c),
    SRMC(callback=ctrl_c),
    TableCompleter(pmc()),
]


def table_for(completer, X):
    return pd.DataFrame(X, columns=list("abc")) if isinstance(completer, TableCompleter) else X


@pytest.mark.parametrize("completer", COMPLETERS, ids=lambda one: type(one).__name__)
def test_an_interrupted_fit_is_no_fit(completer, interrupt):
    X = table_for(completer, curve())
    before = vars(completer).copy()
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        completer.fit(X)
    assert vars(completer) == before
    with pytest.raises(NotFittedError):
        completer.transform(X)


@pytest.mark.parametrize("completer", COMPLETERS, ids=lambda one: type(one).__name__)
def test_a_fitted_completer_survives_an_interrupted_fit(completer, interrupt):
    X = table_for(completer, curve())
    expected = completer.fit(X).transform(X)
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        completer.fit(X * 2 + 1)
    assert_array_equal(completer.transform(X), expected)


def test_a_batch_that_is_interrupted_is_not_learned(interrupt):
    X = curve()
    completer = KFMC(callback=ctrl_c).partial_fit(X)
    before = vars(completer).copy()
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        completer.partial_fit(X + 1)
    assert vars(completer) == before


def test_blocks_that_cannot_be_read_leave_the_completer_as_it_was():
    X = np.tile(curve(), (20, 1))

    def blocks():
        yield X[:400]
        raise OSError("the disk is gone")

    completer = PMC(solver=Landmark(), smoothing=1e-2, scale=None)
    with pytest.raises(OSError, match="disk"):
        completer.fit_blocks(blocks)
    assert not [name for name in vars(completer) if name.endswith("_")]


def test_classifiers_and_clusterers_too(interrupt):
    X = curve()
    y = np.where(X[:, 0] > 0, "right", "left")
    classifier, clusterer = TransductiveClassifier(pmc()), SubspaceClusterer(2, completer=pmc())
    interrupt()
    for estimator in classifier, clusterer:
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(X, y)
        assert not [name for name in vars(estimator) if name.endswith("_")]
