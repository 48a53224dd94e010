"""What a fit remembers of its data: right counts, odd numbers, no copy of the data."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from polycomplete import KFMC, LRMC
from polycomplete.record import BINS, HEIGHT, MOST, WIDTH, Cells, cells_of, record_of


def record(X, completed=None, **more):
    mask = ~np.isnan(X)
    completed = np.nan_to_num(X) if completed is None else completed
    return record_of(cells_of(X, mask, completed), mask, **more)


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 70), st.integers(1, 90)),
        elements=st.one_of(st.just(np.nan), st.floats(allow_infinity=False, allow_nan=False)),
        fill=st.just(np.nan),
    )
)
@settings(max_examples=40)
def test_counts_add_up_for_any_numbers(X):
    known = record(X)
    observed = np.count_nonzero(~np.isnan(X), axis=0)
    assert known["observed"].tolist() == observed.tolist()
    assert known["counts"][:, 0].sum(axis=1).tolist() == observed.tolist()
    missing = np.where(observed > 0, len(X) - observed, 0)
    assert known["counts"][:, 1].sum(axis=1).tolist() == missing.tolist()
    assert known["tiles"].shape == (min(len(X), HEIGHT), min(X.shape[1], WIDTH))


def test_tiles_average_to_the_share_missing():
    X = np.where(np.random.default_rng(0).random((240, 160)) < 0.3, np.nan, 1.0)
    assert record(X)["tiles"].mean() == pytest.approx(np.isnan(X).mean())


def test_histograms_are_those_of_numpy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1))
    completed = X.copy()
    X[::3] = np.nan
    completed[::3] *= 2
    low, high = completed.min(), completed.max()
    known = record(X, completed)
    expected = [
        np.histogram(part, BINS, (low, high))[0] for part in (X[~np.isnan(X)], completed[::3])
    ]
    assert known["edges"].tolist() == [[low, high]]
    assert known["counts"][0].tolist() == [counts.tolist() for counts in expected]
    seen = X[~np.isnan(X)]
    outside = (completed[::3] < seen.min()) | (completed[::3] > seen.max())
    assert known["beyond"].tolist() == [outside.sum()]


def test_kinds_are_told_by_the_numbers():
    X = np.array([[0.0, 1.0, 0.5, np.nan], [1.0, 7.0, 2.0, np.nan]])
    assert record(X)["kinds"] == ["yes/no", "whole number", "number", "empty"]


def test_least_certain_cells_come_first_in_units_of_the_spread():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3)) * [1.0, 100.0, 0.01]
    X[rng.random(X.shape) < 0.4] = np.nan
    deviation = np.where(np.isnan(X), rng.random(X.shape) * np.nanstd(X, axis=0), 0.0)
    found = record(X, deviation=deviation)["uncertain"]
    score = deviation / np.nanstd(X, axis=0)
    best = np.argsort(-score, axis=None)[:MOST]
    rows, columns = np.unravel_index(best, score.shape)
    assert found["rows"] == rows.tolist()
    assert found["columns"] == columns.tolist()
    assert found["deviations"] == deviation[rows, columns].tolist()


def test_rows_that_are_not_determined_are_named_emptiest_first():
    X = np.ones((40, 4))
    X[5, :] = X[9, 1:] = X[7, 2:] = np.nan
    determined = np.ones(40, dtype=bool)
    determined[[5, 7, 9]] = False
    assert record(X, determined=determined)["loose"] == {
        "count": 3, "rows": [5, 9, 7], "observed": [0, 1, 2]}  # fmt: skip


def test_labels_are_counted_and_cut():
    given = np.array(["a", "b", "a", None, "x" * 100_000], dtype=object)
    seen = np.array([True, True, True, False, True])
    completed = np.where(seen, given, "b")
    known = record_of([Cells("c", given, seen, completed, "text")], seen[:, None])
    found = known["labels"]["0"]
    assert found["names"][:2] == ["a", "b"]
    assert (found["observed"][:2], found["completed"][:2]) == ([2, 1], [0, 1])
    assert max(map(len, found["names"])) < 100


def test_a_record_is_small_and_made_without_a_copy_of_the_data():
    X = np.random.default_rng(0).standard_normal((50_000, 20))
    mask, deviation = X > 0, np.ones_like(X)
    tracemalloc.start()
    known = record_of(cells_of(X, mask, X), mask, deviation, mask[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 4
    assert len(pickle.dumps(known)) < 25_000


def test_completers_keep_the_record_of_their_last_fit():
    completer = LRMC().fit([[1.0, 2.0], [2.0, 4.1], [4.0, np.nan]])
    assert completer._record["observed"].tolist() == [3, 2]
    completer.fit([[1.0, 2.0], [2.0, 4.0], [3.0, 6.1], [4.0, 8.0]])
    assert completer._record["rows"] == 4


def test_a_later_batch_makes_the_record_of_the_first_void():
    rng = np.random.default_rng(0)
    X = np.outer(rng.standard_normal(40), [1.0, 2.0, 3.0])
    completer = KFMC(random_state=0).partial_fit(X[:20])
    assert completer._record["rows"] == 20
    completer.partial_fit(X[20:])
    with pytest.raises(ValueError, match=r"Report.of\(completer, X, completed\)"):
        completer.report_.text()
