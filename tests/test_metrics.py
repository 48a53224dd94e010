"""Completion and label errors against definitions, invariances and corner cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycomplete import metrics

COMPLETION = [metrics.rse, metrics.rae, metrics.nrmse]
MEASURES = [*COMPLETION, metrics.recovered_share]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(2.0, 1.0, (30, 6))
    mask = rng.random(X.shape) < 0.6
    return X, X + 0.1 * rng.normal(size=X.shape), mask


def test_rse_is_its_definition(problem):
    X, Y, mask = problem
    total = error = 0.0
    for i, j in zip(*np.nonzero(~mask), strict=True):
        total += X[i, j] ** 2
        error += (X[i, j] - Y[i, j]) ** 2
    assert metrics.rse(X, Y, mask) == pytest.approx(np.sqrt(error / total), rel=1e-12)


def test_rae_is_its_definition(problem):
    X, Y, mask = problem
    expected = np.abs(X - Y)[~mask].sum() / np.abs(X)[~mask].sum()
    assert metrics.rae(X, Y, mask) == pytest.approx(expected, rel=1e-12)


def test_nrmse_is_rmse_of_scaled_columns(problem):
    X, Y, mask = problem
    scaled = (X - Y) / X.std(axis=0)
    assert metrics.nrmse(X, Y, mask) == pytest.approx(np.sqrt(np.mean(scaled[~mask] ** 2)))


def test_nrmse_of_column_means_is_one():
    X = np.random.default_rng(1).normal(5.0, [1.0, 1000.0], (50, 2))
    nothing = np.zeros(X.shape, dtype=bool)
    assert metrics.nrmse(X, np.tile(X.mean(axis=0), (50, 1)), nothing) == pytest.approx(1.0)


@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(1e-6, 1e6))
def test_measures_are_scale_and_order_free(seed, factor):
    rng = np.random.default_rng(seed)
    X, Y, mask = rng.normal(size=(12, 5)), rng.normal(size=(12, 5)), rng.random((12, 5)) < 0.5
    rows, columns = rng.permutation(12), rng.permutation(5)
    for measure in MEASURES:
        expected = measure(X, Y, mask)
        assert measure(factor * X, factor * Y, mask) == pytest.approx(expected)
        moved = [a[rows][:, columns] for a in (X, Y, mask)]
        assert measure(*moved) == pytest.approx(expected)


def test_nrmse_is_free_of_each_columns_scale(problem):
    X, Y, mask = problem
    factors = 10.0 ** np.arange(-3, 3)
    assert metrics.nrmse(X * factors, Y * factors, mask) == pytest.approx(metrics.nrmse(X, Y, mask))


@pytest.mark.parametrize("measure", MEASURES)
def test_observed_entries_do_not_matter(measure, problem):
    X, Y, mask = problem
    disturbed = np.where(mask, np.nan, Y)
    assert measure(X, disturbed, mask) == measure(X, Y, mask)


@pytest.mark.parametrize("measure", COMPLETION)
def test_nothing_missing_is_no_error(measure, problem):
    X, Y, mask = problem
    assert measure(X, Y, np.ones_like(mask)) == 0.0
    assert measure(X, Y, mask, min_observed=7) == 0.0


def test_nothing_missing_is_all_recovered(problem):
    X, Y, mask = problem
    assert metrics.recovered_share(X, Y, np.ones_like(mask)) == 1.0
    assert metrics.recovered_share(X, Y, mask, min_observed=7) == 1.0


@pytest.mark.parametrize("measure", [metrics.rse, metrics.rae])
def test_zero_truth(measure):
    X, mask = np.zeros((2, 2)), np.array([[True, False], [True, True]])
    assert measure(X, X, mask) == 0.0
    assert measure(X, X + 1, mask) == np.inf


@pytest.mark.parametrize("measure", MEASURES)
def test_unknown_truth_is_left_out(measure, problem):
    X, Y, mask = problem
    holes = np.flatnonzero(~mask)
    unknown, closed = X.copy(), mask.copy()
    unknown.flat[holes[::2]] = np.nan
    if measure is metrics.nrmse:
        # Its column scale changes with the known truth, so only that of the hidden cells is tested.
        scale = np.nanstd(unknown, axis=0)
        left = holes[1::2]
        expected = np.sqrt(np.mean(((X - Y) / scale).flat[left] ** 2))
    else:
        closed.flat[holes[::2]] = True
        expected = measure(X, Y, closed)
    assert measure(unknown, Y, mask) == pytest.approx(expected)


@pytest.mark.parametrize("measure", MEASURES)
def test_min_observed_restricts_the_rows(measure, problem):
    X, Y, mask = problem
    Y = np.where(mask.sum(axis=1, keepdims=True) < 3, 1e6, Y)
    rows = mask.sum(axis=1) >= 3
    assert 0 < rows.sum() < 30
    closed = np.where(rows[:, None], mask, True)
    assert measure(X, Y, mask, min_observed=3) == pytest.approx(measure(X, Y, closed))


def test_nrmse_leaves_out_constant_columns():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 4)) * 100
    X[:, 1] = 7.125
    X[:, 2] = 7.125 + 1e-14 * rng.normal(size=20)
    X[:, 3] = np.nan
    Y, mask = np.nan_to_num(X) + 1.0, np.zeros(X.shape, dtype=bool)
    assert metrics.nrmse(X, Y, mask) == pytest.approx(1.0 / X[:, 0].std())
    assert metrics.nrmse(X[:, 1:], Y[:, 1:], mask[:, 1:]) == 0.0


def test_nrmse_counts_ordinary_columns_beside_huge_ones():
    X = np.c_[1e18 * np.arange(5.0), np.arange(5.0)]
    mask = np.c_[np.ones(5, dtype=bool), np.zeros(5, dtype=bool)]
    assert metrics.nrmse(X, X + 1.0, mask) == pytest.approx(1 / np.arange(5.0).std())


def test_recovered_share_counts_rows():
    X = np.ones((5, 4))
    mask = np.tile([True, True, False, False], (5, 1))
    mask[4] = True
    Y = X.copy()
    Y[0, 2] = 1.005
    Y[1, 2] = 1.5
    Y[4] = 9.0
    assert metrics.recovered_share(X, Y, mask) == 0.75
    assert metrics.recovered_share(X, Y, mask, tol=1e-4) == 0.5
    assert metrics.recovered_share(X, Y, mask, tol=1.0) == 1.0
    assert metrics.recovered_share(0 * X, 0 * X, mask) == 1.0


def test_diverged_completion_is_infinite_not_an_error():
    X, mask = np.ones((2, 2)), np.zeros((2, 2), dtype=bool)
    assert metrics.rse(X, np.full((2, 2), np.inf), mask) == np.inf


@pytest.mark.parametrize("measure", MEASURES)
def test_unusable_arguments_are_named(measure, problem):
    X, Y, mask = problem
    with pytest.raises(ValueError, match="X_true and X_completed"):
        measure(X, Y[:-1], mask)
    with pytest.raises(ValueError, match="X_true and X_completed"):
        measure(X[0], Y[0], mask[0])
    with pytest.raises(ValueError, match=r"mask has shape \(29, 6\)"):
        measure(X, Y, mask[:-1])
    with pytest.raises(ValueError, match="mask must be boolean"):
        measure(X, Y, mask.astype(int))
    with pytest.raises(ValueError, match="still has NaN"):
        measure(X, np.where(mask, Y, np.nan), mask)


def test_classification_error():
    assert metrics.classification_error([1, 2, 3, 4], [1, 2, 0, 0]) == 0.5
    assert metrics.classification_error(["a", "b"], ["a", "b"]) == 0.0
    assert metrics.classification_error([], []) == 0.0


@given(
    labels=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40),
    names=st.permutations("abcde"),
)
def test_clustering_error_properties(labels, names):
    true, predicted = (np.array(side) for side in zip(*labels, strict=True))
    error = metrics.clustering_error(true, predicted)
    assert 0.0 <= error <= metrics.classification_error(true, predicted)
    assert metrics.clustering_error(predicted, true) == pytest.approx(error)
    assert metrics.clustering_error(true, np.array(names)[predicted]) == pytest.approx(error)
    assert metrics.clustering_error(true, np.array(names)[true]) == 0.0


def test_clustering_error_with_other_numbers_of_clusters():
    assert metrics.clustering_error([0, 0, 1, 1], [0, 0, 0, 0]) == 0.5
    assert metrics.clustering_error([0, 0, 0, 0], [0, 1, 2, 3]) == 0.75
    assert metrics.clustering_error([], []) == 0.0


@pytest.mark.parametrize("measure", [metrics.classification_error, metrics.clustering_error])
def test_labels_of_different_length(measure):
    with pytest.raises(ValueError, match="labels have shapes"):
        measure([1, 2], [1])
    with pytest.raises(ValueError, match="labels have shapes"):
        measure([[1, 2]], [[1, 2]])


def naive_calibration_error(true, chances, bins):
    total, sure, said = 0.0, chances.max(axis=1), chances.argmax(axis=1)
    for k in range(bins):
        inside = (sure > k / bins) & (sure <= (k + 1) / bins)
        if inside.any():
            gap = np.mean(said[inside] == true[inside]) - np.mean(sure[inside])
            total += np.mean(inside) * abs(gap)
    return total


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 4), st.integers(1, 15))
def test_calibration_error_is_its_definition(seed, n, c, bins):
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(c, 0.5), size=n)
    true = rng.integers(c, size=n)
    found = metrics.expected_calibration_error(true, chances, bins=bins)
    assert found == pytest.approx(naive_calibration_error(true, chances, bins), abs=1e-12)
    assert 0 <= found <= 1


def test_honest_probabilities_have_a_small_calibration_error_and_bold_ones_a_large_one():
    rng = np.random.default_rng(0)
    first = rng.uniform(size=20_000)
    true = (rng.uniform(size=first.size) >= first).astype(int)
    honest = np.column_stack([first, 1 - first])
    bold = np.eye(2)[honest.argmax(axis=1)]
    assert metrics.expected_calibration_error(true, honest) < 0.01
    assert metrics.expected_calibration_error(true, bold) == pytest.approx(0.25, abs=0.01)


def test_calibration_error_takes_classes_by_name_and_in_any_order():
    chances = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    by_number = metrics.expected_calibration_error([0, 1, 0], chances)
    names = metrics.expected_calibration_error(["b", "a", "b"], chances, classes=["b", "a"])
    assert by_number == names == pytest.approx((0.1 + 0.4 + 0.7) / 3)
    assert metrics.expected_calibration_error([], np.empty((0, 2))) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [[0.5, 0.5]]), r"shapes \(2,\) and \(1, 2\)"),
        (([0], [0.5]), "one column for each class"),
        (([0], [[0.5, 0.6]]), "sum to one"),
        (([0], [[1.5, -0.5]]), "without negative"),
        (([0], [[np.nan, 0.5]]), "sum to one"),
        (([2], [[0.5, 0.5]]), "holds .*2.* not in classes"),
        (([0], [[0.5, 0.5]], [0]), "1 classes for 2 columns"),
        (([0], [[0.5, 0.5]], None, 0), "bins must be"),
    ],
)
def test_what_is_no_distribution_over_the_classes_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.expected_calibration_error(*arguments)
