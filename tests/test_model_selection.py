"""Choosing by hiding: the error that counts, when to stop, and which candidate wins."""

import numpy as np
import pytest

from polycomplete.model_selection import (
    Selection,
    Trial,
    follow,
    held_out_error,
    holdouts,
    indistinct,
)
from polycomplete.rows import Completion
from polycomplete.scaling import ColumnScaler

TRUTH = np.zeros((20, 2))
HIDDEN = np.ones(TRUTH.shape, bool)
UNIT = np.ones(2)


def path_of(errors):
    """Return a path whose completions miss the truth by given amounts."""
    return [(smoothing, TRUTH + error) for smoothing, error in errors]


def choose(*errors, **options):
    return follow(path_of(errors), TRUTH, HIDDEN, UNIT, **options)


def test_only_hidden_entries_count():
    completed, hidden = np.array([[3.0, 100.0]]), np.array([[True, False]])
    assert held_out_error(np.zeros((1, 2)), completed, hidden, UNIT) == pytest.approx(3.0)


def test_errors_are_counted_in_units_of_their_column():
    completed, hidden = np.array([[0.0, 30.0]]), np.array([[False, True]])
    assert held_out_error(np.zeros((1, 2)), completed, hidden, np.array([1.0, 10.0])) == 3.0


def test_the_error_of_the_truth_is_nil_and_that_of_an_offset_is_the_offset():
    assert held_out_error(TRUTH, TRUTH, HIDDEN, UNIT) == 0
    assert held_out_error(TRUTH, TRUTH - 0.5, HIDDEN, UNIT) == pytest.approx(0.5)


def test_the_lowest_error_wins():
    assert choose((0.1, 2.0), (0.01, 1.0), (0.001, 1.08)).smoothing == 0.01


def scattered(unit, *errors):
    """Return a path whose errors cannot be told apart if their means differ by a few percent."""
    rng, shape = np.random.default_rng(0), (200, 1)
    return [
        (smoothing, unit * error * (1 + 0.5 * rng.standard_normal(shape)))
        for smoothing, error in errors
    ]


ERRORS = ((0.1, 1.5), (0.01, 1.0), (0.001, 0.98), (0.0001, 1.0), (0.00001, 1.5))


@pytest.mark.parametrize(
    ("unit", "usual", "expected"),
    [(1.0, 0.01, 0.01), (1.0, 1.0, 0.01), (1.0, 1e-9, 0.0001), (0.01, 0.01, 0.0001)],
)
def test_of_errors_that_cannot_be_told_apart_the_usual_one_wins_or_the_finest_without_noise(
    unit, usual, expected
):
    truth, hidden = np.zeros((200, 1)), np.ones((200, 1), dtype=bool)
    path = scattered(unit, *ERRORS)
    assert follow(path, truth, hidden, np.ones(1), usual=usual).smoothing == expected


def test_what_cannot_be_told_from_the_best_is_within_a_standard_error():
    best, sign = np.linspace(0.5, 1, 100) ** 2, np.tile([1, -1], 50)
    losses = {"worse": best + 0.3, "alike": best + 0.001 + 0.1 * sign, "best": best, "same": best}
    assert indistinct(losses) == ["best", "same", "alike"]
    assert indistinct({"worse": best + 0.3}) == ["worse"]


def test_a_path_is_left_once_its_error_has_clearly_risen():
    walked = []

    def path():
        for smoothing, completed in path_of([(1.0, 3.0), (0.1, 1.0), (0.01, 1.2), (0.001, 0.1)]):
            walked.append(smoothing)
            yield smoothing, completed

    choice = follow(path(), TRUTH, HIDDEN, UNIT)
    assert walked == [1.0, 0.1, 0.01]
    assert choice.smoothing == 0.1
    assert choice.smoothing > min(choice.errors)


def test_a_rise_within_the_uncertainty_does_not_end_a_path():
    truth, hidden = np.zeros((200, 1)), np.ones((200, 1), dtype=bool)
    path = scattered(1.0, (0.1, 1.0), (0.01, 1.02), (0.001, 0.5))
    assert follow(path, truth, hidden, np.ones(1)).smoothing == 0.001


def test_a_few_stuck_rows_do_not_decide_where_there_is_little_noise():
    truth, hidden, unit = np.zeros((100, 1)), np.ones((100, 1), bool), np.ones(1)

    def completed(most, stuck):
        return np.r_[np.full(95, most), np.full(5, stuck)][:, None]

    # The others still gain when the error of five rows rises: neither left nor outvoted by them.
    path = [
        (0.1, completed(0.02, 0.02)),
        (0.01, completed(0.01, 0.05)),
        (0.001, completed(0.005, 0.1)),
    ]
    assert follow(path, truth, hidden, unit).smoothing == 0.001


def test_every_error_on_the_way_is_reported():
    choice = choose((0.1, 2.0), (0.01, 1.0))
    assert choice.errors == pytest.approx({0.1: 2.0, 0.01: 1.0})


@pytest.mark.parametrize("again", [0.5, 1.05])
def test_a_smoothing_that_comes_again_counts_with_its_better_completion(again):
    choice = choose((0.1, 2.0), (0.01, 1.0), (0.01, again))
    assert choice.errors == pytest.approx({0.1: 2.0, 0.01: min(again, 1.0)})


def test_columns_that_are_missing_together_are_hidden_together():
    mask = np.random.default_rng(0).random((60, 6)) < 0.7
    mask[:, 3] = mask[:, 5] = mask[:, 1]
    for visible, hidden in holdouts(mask, seed=0):
        assert np.array_equal(visible | hidden, mask)
        assert not (visible & hidden).any()
        assert np.array_equal(hidden[:, 3], hidden[:, 1])
        assert np.array_equal(hidden[:, 5], hidden[:, 1])
        assert not np.array_equal(hidden[:, 0], hidden[:, 1])


def test_complete_columns_are_hidden_each_by_itself():
    hidden = holdouts(np.ones((60, 3), dtype=bool), seed=0)[0][1]
    assert not np.array_equal(hidden[:, 0], hidden[:, 1])


def test_deviations_are_calibrated_on_held_out_entries():
    X, hidden = np.random.default_rng(0).standard_normal((40, 2)), np.ones((40, 2), dtype=bool)
    scaler = ColumnScaler.fit(X, hidden, None)
    trial = Trial(scaler, np.arange(40), ~hidden, hidden, X)

    def reading(trial):
        def read(factor):
            std = np.full(X.shape, factor)
            return Completion(X + 0.1, std, np.zeros(40), np.ones(40, dtype=bool))

        return read

    factor, held = Selection(None, 1e-2, trials=[trial]).calibrate(X, reading)
    np.testing.assert_allclose(held.completed - held.truth, 0.1)
    assert factor == pytest.approx(0.1 / 1.64485, rel=1e-4)
