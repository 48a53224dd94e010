"""What a report counts: right numbers for any table, odd ones too, without a copy of the data."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.base import BaseEstimator

from polycomplete import KFMC, LRMC, PMC, Landmark, TableCompleter, masks
from polycomplete.report import Report
from polycomplete.report.columns import BINS
from polycomplete.report.summary import HEIGHT, MOST, WIDTH


class Told(BaseEstimator):
    """A completer that knows what it is told of the rows of a fit."""

    def __init__(self, **known):
        vars(self).update(known)

    @classmethod
    def _get_param_names(cls):
        return []


def summary(X, completed=None, **known):
    completed = np.nan_to_num(X) if completed is None else completed
    means = [column[~np.isnan(column)].mean() for column in X.T] if known else []
    return Report(Told(n_samples_seen_=len(X), statistics_=means, **known), X, completed).summary


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 70), st.integers(1, 90)),
        elements=st.one_of(st.just(np.nan), st.floats(allow_infinity=False, allow_nan=False)),
        fill=st.just(np.nan),
    )
)
def test_counts_add_up_for_any_numbers(X):
    found = summary(X)
    observed = np.count_nonzero(~np.isnan(X), axis=0)
    for column, count in zip(found["columns"], observed, strict=True):
        assert (column["observed"], column["missing"]) == (count, len(X) - count)
        if count:
            bins = column["histogram"]
            assert (sum(bins["observed"]), sum(bins["completed"])) == (count, len(X) - count)
    assert np.shape(found["table"]["tiles"]) == (min(len(X), HEIGHT), min(X.shape[1], WIDTH))
    assert found["table"]["complete_rows"] == np.count_nonzero(~np.isnan(X).any(axis=1))


def test_tiles_average_to_the_share_missing():
    X = np.where(np.random.default_rng(0).random((240, 160)) < 0.3, np.nan, 1.0)
    assert np.mean(summary(X)["table"]["tiles"]) == pytest.approx(np.isnan(X).mean(), abs=1e-3)


def test_histograms_are_those_of_numpy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1))
    completed = X.copy()
    X[::3] = np.nan
    completed[::3] *= 2
    low, high = completed.min(), completed.max()
    (column,) = summary(X, completed)["columns"]
    expected = [
        np.histogram(part, BINS, (low, high))[0] for part in (X[~np.isnan(X)], completed[::3])
    ]
    bins = column["histogram"]
    assert bins["edges"] == [low, high]
    assert [bins["observed"], bins["completed"]] == [counts.tolist() for counts in expected]
    seen = X[~np.isnan(X)]
    outside = (completed[::3] < seen.min()) | (completed[::3] > seen.max())
    assert column["beyond_range"] == outside.sum()


def test_kinds_are_told_by_the_numbers():
    X = np.array([[0.0, 1.0, 0.5, np.nan], [1.0, 7.0, 2.0, np.nan]])
    kinds = [column["kind"] for column in summary(X)["columns"]]
    assert kinds == ["yes/no", "whole number", "number", "empty"]


def test_least_certain_cells_come_first_in_units_of_the_spread():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3)) * [1.0, 100.0, 0.01]
    X[rng.random(X.shape) < 0.4] = np.nan
    deviation = np.where(np.isnan(X), rng.random(X.shape) * np.nanstd(X, axis=0), 0.0)
    found = summary(X, cell_std_=deviation)["uncertain_cells"]
    score = deviation / np.nanstd(X, axis=0)
    rows, columns = np.unravel_index(np.argsort(-score, axis=None)[:MOST], score.shape)
    assert [cell["row"] for cell in found] == rows.tolist()
    assert [cell["column"] for cell in found] == columns.tolist()
    assert [cell["deviation"] for cell in found] == deviation[rows, columns].tolist()


def test_rows_that_are_not_determined_are_named_emptiest_first():
    X = np.ones((40, 4))
    X[5, :] = X[9, 1:] = X[7, 2:] = np.nan
    determined = np.ones(40, dtype=bool)
    determined[[5, 7, 9]] = False
    found = summary(X, row_determined_=determined)["undetermined_rows"]
    first = [{"row": 5, "observed": 0}, {"row": 9, "observed": 1}, {"row": 7, "observed": 2}]
    assert found == {"count": 3, "first": first}


def test_labels_are_counted_and_cut():
    before = np.array([["a"], ["b"], ["a"], [None], ["x" * 100_000]], dtype=object)
    after = np.where(before == None, "b", before)  # noqa: E711
    labels = Report(Told(), before, after).summary["columns"][0]["labels"]
    assert labels["names"][:2] == ["a", "b"]
    assert (labels["observed"][:2], labels["completed"][:2]) == ([2, 1], [0, 1])
    assert max(map(len, labels["names"])) < 100


def test_infinite_numbers_are_observed_and_not_drawn():
    X = np.array([[1.0], [np.inf], [3.0], [np.nan]])
    (column,) = summary(X)["columns"]
    assert (column["observed"], column["highest"]) == (3, 3.0)
    assert sum(column["histogram"]["observed"]) == 2


def test_a_report_is_made_without_a_copy_of_the_data():
    X = np.random.default_rng(0).standard_normal((50_000, 20))
    X[X < -1] = np.nan
    completed, deviation = np.nan_to_num(X), np.isnan(X).astype(float)
    summary(X[:50], completed[:50])  # whatever is loaded once
    tracemalloc.start()
    found = summary(X, completed, cell_std_=deviation, row_determined_=~np.isnan(X[:, 0]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["rows_of_fit"]
    assert peak < X.nbytes / 3


T = np.linspace(-1, 1, 60)
HOLES = masks.apply(np.c_[T, T**2, T**3], masks.uniform((60, 3), 0.7, random_state=0))


@pytest.fixture(scope="module")
def pmc():
    completer = PMC(smoothing=1e-3, scale="standard", random_state=0)
    return completer, completer.fit_transform(HOLES)


def test_the_rows_of_the_fit_are_recognized(pmc):
    completer, completed = pmc
    assert completer.report(HOLES, completed).summary["rows_of_fit"] is True


def less(X):
    X = X.copy()
    X[np.flatnonzero(~np.isnan(X[:, 0]))[0], 0] = np.nan
    return X


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X[:50],
        lambda X: X[::-1],
        lambda X: X + np.where(T[:, None] > 0.9, 1e-6, 0.0),
        lambda X: np.nan_to_num(X),
        less,
    ],
    ids=["fewer rows", "another order", "another number", "no holes", "one more hole"],
)
def test_other_rows_are_recognized(pmc, change):
    completer, X = pmc[0], change(HOLES)
    found = completer.report(X, completer.transform(X)).summary
    assert found["rows_of_fit"] is False
    assert found["undetermined_rows"] is None
    assert found["uncertain_cells"] == []


def test_rows_in_blocks_are_those_of_the_fit_all_together():
    X = np.tile(HOLES, (3, 1)) + 1e-3 * np.arange(180)[:, None]
    completer = PMC(solver=Landmark(), random_state=0).fit_blocks([X[:60], X[60:]])
    assert completer.n_samples_seen_ == 180
    found = completer.report(X, completer.transform(X)).summary
    assert found["rows_of_fit"] is True
    assert found["expected_error"]["cells"] > 0
    part = completer.report(X[:60], completer.transform(X[:60])).summary
    assert (part["rows_of_fit"], part["expected_error"]) == (False, None)


def test_after_a_later_batch_none_of_them_is_the_fit():
    X = np.outer(np.random.default_rng(0).standard_normal(40), [1.0, 2.0, 3.0])
    X[::5, 1] = np.nan
    completer = KFMC(random_state=0).partial_fit(X[:20])
    assert completer.report(X[:20], completer.transform(X[:20])).summary["rows_of_fit"] is True
    completer.partial_fit(X[20:])
    assert completer.n_samples_seen_ == 40
    for part in (X[:20], X[20:], X):
        found = completer.report(part, completer.transform(part)).summary
        assert found["rows_of_fit"] is False
        assert found["undetermined_rows"] is None


def test_tables_of_labels_alone_are_recognized_by_their_holes():
    kinds = np.where(T > 0, "up", "down").astype(object)
    frame = pd.DataFrame({"a": kinds, "b": kinds})
    frame.loc[::5, "a"] = None
    completer = TableCompleter(LRMC(), random_state=0)
    completed = completer.fit_transform(frame)
    assert completer.report(frame, completed).summary["rows_of_fit"] is True
    other = frame.iloc[::-1]
    assert completer.report(other, completed.iloc[::-1]).summary["rows_of_fit"] is False


def test_labels_that_the_fit_never_saw_are_neither_missing_nor_learned_from():
    frame = pd.DataFrame({"t": T, "kind": np.where(T > 0, "up", "down")})
    frame.loc[::6, "kind"] = None
    completer = TableCompleter(LRMC(), handle_unknown="missing", random_state=0).fit(frame)
    frame.loc[1:3, "kind"] = "sideways"
    report = completer.report(frame, completer.transform(frame))
    kind = report.summary["columns"][1]
    assert (kind["missing"], kind["completed"], kind["unknown_labels"]) == (10, 10, 3)
    assert set(kind["labels"]["names"]) == {"up", "down"}
    assert (
        "Labels that were not learned stay as they are: 3 cells in column “kind”." in report.text()
    )


def test_a_column_of_lists_is_left_alone():
    table = pl.DataFrame({"x": [1.0, None, 3.0], "pair": [[1, 2], [3, 4], [5, 6]]})
    completed = table.with_columns(x=[1.0, 2.0, 3.0])
    found = Report(Told(feature_names_in_=["x"]), table, completed).summary["table"]
    assert (found["columns"], found["used_columns"], found["completed"]) == (2, 1, 1)
