"""What must not change the answer: order, units, dtype, container, company."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

from polycomplete import KFMC, PMC
from tests.conftest import QUICK, drawn

SEEDS = st.integers(0, 10_000)
FEW = settings(max_examples=3)


def holed(seed, n=30, m=5):
    return drawn(n, m, seed=seed).X


def completed(X, **params):
    return PMC(**QUICK | {"smoothing": 1e-3} | params).fit_transform(X)


def assert_close(actual, expected, spread, tolerance=1e-4):
    """Compare in units of each column's spread; a run ends when entries move less than 1e-3."""
    assert np.max(np.abs(actual - expected) / spread) < tolerance


def test_containers_and_memory_layouts_change_no_bit(fitted, problem):
    usual, expected = fitted
    X = problem.X
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for same in frame, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist():
        assert_array_equal(clone(usual).fit_transform(same), expected)


def test_units_that_are_powers_of_two_change_no_bit_of_standardized_data(fitted, problem):
    usual, expected = fitted
    for units in 2.0 ** np.array([3, -5, 8, 0, 2, -9]), 4.0**40:
        assert_array_equal(clone(usual).fit_transform(problem.X * units), expected * units)


def test_order_origin_and_precision_do_not_matter(fitted, problem):
    usual, expected = fitted
    X, rng = problem.X, np.random.default_rng(0)
    if isinstance(usual, KFMC):  # few atoms, which the data determine
        usual = clone(usual).set_params(n_atoms=5, beta=1e-2, tol=1e-8, max_iter=20_000)
        expected = usual.fit_transform(X)
    rows, columns, spread = rng.permutation(40), rng.permutation(6), np.nanstd(X, axis=0)

    def answer(X):
        return clone(usual).fit_transform(X)

    assert_close(answer(X[:, columns]), expected[:, columns], spread[columns])
    assert_close(answer(X + 50.0) - 50.0, expected, spread)
    assert_close(answer(X[rows]), expected[rows], spread)
    assert_close(answer(X.astype(np.float32)), expected, spread)


@pytest.mark.parametrize("scale", ["standard", "sqrt", "range", None])
@given(seed=SEEDS)
@FEW
def test_permuted_columns_give_permuted_columns(scale, seed):
    X = holed(seed)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    spread = np.nanstd(X, axis=0)[order]
    together = completed(X, scale=scale)[:, order]
    assert_close(completed(X[:, order], scale=scale), together, spread)


@pytest.mark.parametrize("scale", ["auto", "standard", "sqrt", "range"])
@given(power=st.integers(-450, 450), seed=SEEDS)
@FEW
def test_one_unit_for_all_columns_changes_no_bit(scale, power, seed):
    X, unit = holed(seed), 4.0**power  # whose square root is exact too
    assert_array_equal(completed(X * unit, scale=scale), completed(X, scale=scale) * unit)


@given(seed=SEEDS, count=st.integers(1, 79))
@FEW
def test_new_rows_do_not_depend_on_their_company(seed, count):
    fitted = PMC(**QUICK).fit(holed(seed, n=60, m=8))  # enough for BLAS to notice shapes
    rows = holed(seed + 1, n=80, m=8)
    rows[3] = np.nan
    together = fitted.transform(rows)
    chosen = np.random.default_rng(seed).permutation(80)[:count]
    assert_array_equal(fitted.transform(rows[chosen]), together[chosen])
    alone = np.vstack([fitted.transform(rows[[i]]) for i in chosen[:5]])
    assert_array_equal(alone, together[chosen[:5]])


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=2)
def test_a_seed_decides_everything(seed):
    X = holed(0, n=60, m=8)
    auto = {"smoothing": "auto", "scale": "auto", "random_state": seed}
    assert_array_equal(completed(X, **auto), completed(X, **auto))


@given(seed=SEEDS)
@FEW
def test_without_anything_to_choose_the_seed_changes_nothing(seed):
    X = holed(0)
    assert_array_equal(completed(X, random_state=seed), completed(X, random_state=0))
