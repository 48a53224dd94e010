"""Column scales: there and back, constants, and numbers whose squares do not exist."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polycomplete.scaling import SCALES, ColumnScaler, column_spread, is_constant

every_scale = pytest.mark.parametrize("kind", SCALES)


def full(X):
    return np.ones(np.shape(X), bool)


@pytest.fixture(name="data")
def incomplete():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 1e3, 2.0, -7.0]
    mask = rng.random(X.shape) < 0.7
    return X, mask


def test_spread_is_mean_and_standard_deviation_of_observed_entries(data):
    X, mask = data
    mean, std = column_spread(np.where(mask, X, np.nan), mask)
    for j in range(4):
        seen = [X[i, j] for i in range(40) if mask[i, j]]
        assert mean[j] == pytest.approx(sum(seen) / len(seen), rel=1e-13)
        assert std[j] == pytest.approx(np.std(seen), rel=1e-11)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_spread_of_huge_and_tiny_entries(size):
    mean, std = column_spread(np.array([[1.0], [3.0]]) * size, full([[1], [1]]))
    np.testing.assert_allclose([mean[0], std[0]], [2 * size, size], rtol=1e-15)


@every_scale
@given(X=hnp.arrays(float, (6, 3), elements=st.floats(-1e6, 1e6)))
def test_undo_is_the_inverse_of_apply(kind, X):
    scaler = ColumnScaler.fit(X, full(X), kind)
    back = scaler.undo(scaler.apply(X))
    largest = np.abs(X).max(axis=0, initial=0.0)
    # Below the smallest normal number digits are lost whatever is done.
    allowed = 8 * np.finfo(float).eps * largest + np.finfo(float).tiny
    assert np.all(np.abs(back - X) <= allowed)


@every_scale
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_huge_and_tiny_columns_go_there_and_back(kind, size):
    X = np.random.default_rng(0).standard_normal((20, 3)) * size
    scaler = ColumnScaler.fit(X, full(X), kind)
    scaled = scaler.apply(X)
    assert np.all(np.isfinite(scaled))
    np.testing.assert_allclose(scaler.undo(scaled), X, rtol=1e-13, atol=1e-15 * size)
    if kind is not None:
        assert 0.5 < np.abs(scaled).max() < 10


def test_columns_of_very_different_size_are_scaled_together():
    X = np.random.default_rng(0).standard_normal((20, 2)) * [1e300, 1e-300]
    assert np.allclose(ColumnScaler.fit(X, full(X), "standard").apply(X).std(axis=0), 1)


def test_standard_gives_mean_zero_and_deviation_one(data):
    X, mask = data
    mean, std = column_spread(ColumnScaler.fit(X, mask, "standard").apply(X), mask)
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    np.testing.assert_allclose(std, 1, rtol=1e-12)


def test_sqrt_keeps_the_root_of_the_ratio_down_to_one_per_cent(data):
    X, mask = data
    std = column_spread(X, mask)[1]
    mean, scaled = column_spread(ColumnScaler.fit(X, mask, "sqrt").apply(X), mask)
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    widest = std.max()
    expected = [s / np.sqrt(max(s, widest / 100) * widest) for s in std]
    np.testing.assert_allclose(scaled, expected, rtol=1e-12)


def test_range_maps_observed_entries_to_zero_and_one(data):
    X, mask = data
    scaled = ColumnScaler.fit(X, mask, "range").apply(X)
    for j in range(4):
        seen = scaled[mask[:, j], j]
        assert seen.min() == 0
        assert seen.max() == pytest.approx(1, rel=1e-12)


def test_none_changes_nothing(data):
    X, mask = data
    scaler = ColumnScaler.fit(X, mask, None)
    assert np.array_equal(scaler.apply(X), X)
    assert np.array_equal(scaler.undo(X), X)


@every_scale
def test_missing_cells_do_not_matter(kind, data):
    X, mask = data
    one = ColumnScaler.fit(np.where(mask, X, np.nan), mask, kind)
    two = ColumnScaler.fit(np.where(mask, X, 1e9), mask, kind)
    assert np.array_equal(one.centre, two.centre)
    assert np.array_equal(one.scale, two.scale)


@every_scale
def test_a_constant_column_can_be_scaled(kind):
    for constant in 0.0, 5.0, 0.1, -1e300:
        X = np.c_[np.full(7, constant), np.arange(7.0)]
        scaler = ColumnScaler.fit(X, full(X), kind)
        assert np.all(scaler.scale > 0)
        np.testing.assert_allclose(scaler.undo(scaler.apply(X)), X, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("column", "constant"),
    [
        ([5.0, 5.0, 5.0], True),
        ([0.1 + 0.2, 0.3, 0.3], True),  # equal up to rounding
        ([1e9, 1e9 + 1e-4, 1e9], True),
        ([1e9, 1e9 + 1.0, 1e9], False),
        ([0.0, 1e-3, 0.0], False),
        ([1e-300, 2e-300, 3e-300], False),
        ([1e300, 2e300, 3e300], False),
        ([0.0, 0.0, 0.0], True),
    ],
)
def test_constant_columns_are_those_that_vary_by_rounding_only(column, constant):
    X = np.array(column)[:, None]
    assert is_constant(X, full(X))[0] == constant


def test_a_column_is_judged_by_itself_whatever_the_others_hold():
    X = np.array([[1.0, 3e18, 1e18], [2.0, 1e18, 3e18]])
    assert not is_constant(X, full(X)).any()
    assert not is_constant(np.array([[1.0, 3.0], [2.0, 1.0]]) * 1e-300, full(X[:, :2])).any()


def test_a_zero_that_carries_rounding_is_constant():
    X = np.array([[1.0, 1e-14, 40.0], [2.0, 3e-14, 70.0]])
    assert is_constant(X, full(X)).tolist() == [False, True, False]


def test_constancy_is_judged_by_observed_entries():
    X, mask = np.array([[1.0], [1.0], [9.0]]), np.array([[True], [True], [False]])
    assert is_constant(X, mask)[0]
    assert not is_constant(X, full(X))[0]
