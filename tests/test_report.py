"""The report: what it says is right, for every completer, table and imputer; files appear whole."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.impute import KNNImputer, SimpleImputer

from polycomplete import LRMC, PMC, TableCompleter, load, masks
from polycomplete.model_selection import HeldOut
from polycomplete.report import Report
from polycomplete.report.columns import add_errors
from polycomplete.solvers import AugmentedLagrangian

T = np.linspace(-1, 1, 60)
ARC = np.c_[T, T**2, T**3, 2 * T + 1]
HOLES = masks.apply(ARC, masks.uniform(ARC.shape, 0.7, random_state=0))


FRAME = pd.DataFrame(HOLES, columns=["t", "square", "cube", "line"])


@pytest.fixture(scope="module")
def chosen():
    """Give a PMC as it comes, which has chosen by hidden entries, and what it completed."""
    completer = PMC(random_state=0)
    return completer, completer.fit_transform(FRAME)


@pytest.fixture(scope="module")
def pmc(chosen):
    return chosen[0]


@pytest.fixture(scope="module")
def report(chosen):
    return chosen[0].report(FRAME, chosen[1])


def report_of(completer, X, **options):
    return completer.report(X, completer.fit_transform(X), **options)


def test_every_completer_reports(fitted, problem):
    completer, completed = fitted
    report = completer.report(problem.X, completed)
    summary, missing = json.loads(report.json()), np.isnan(problem.X).sum()
    assert summary["table"]["missing"] == missing
    assert summary["fit"]["stop"] == completer.result_.stop
    assert summary["rows_of_fit"] is True
    assert summary["undetermined_rows"]["count"] == np.sum(~completer.row_determined_)
    assert "<h1>" in report.html()
    assert report.text().startswith(f"Completed {missing} of 240 cells (")


def test_the_summary_is_right(pmc, report):
    summary = report.summary
    square = summary["columns"][1]
    seen = HOLES[~np.isnan(HOLES[:, 1]), 1]
    assert (square["name"], square["observed"]) == ("square", len(seen))
    assert square["mean"] == pytest.approx(seen.mean())
    assert (square["lowest"], square["highest"]) == (seen.min(), seen.max())
    assert summary["table"]["complete_rows"] == np.sum(~np.isnan(HOLES).any(axis=1))
    assert summary["undetermined_rows"]["count"] == np.sum(~pmc.row_determined_)
    worst = summary["uncertain_cells"][0]
    assert worst["deviation"] == pmc.cell_std_[worst["row"], worst["column"]]
    assert np.isnan(HOLES[worst["row"], worst["column"]])


def test_python_lines_do_it_again():
    completer = TableCompleter(KNNImputer(n_neighbors=2), random_state=0)
    completed, space = completer.fit_transform(FRAME), {"table": FRAME}
    exec(completer.report(FRAME, completed).summary["reproduce"]["python"], space)
    assert repr(space["completer"]) == repr(completer)
    pd.testing.assert_frame_equal(space["completed"], completed)


def test_expected_errors_are_those_of_the_hidden_cells(pmc, report):
    held = pmc.held_out_
    error = report.summary["columns"][0]["expected_error"]
    mine = held.columns == 0
    assert error["cells"] == mine.sum()
    if "rmse" in error:
        rmse = np.sqrt(np.mean((held.completed - held.truth)[mine] ** 2))
        assert error["rmse"] == pytest.approx(rmse)
        assert error["interval"][0] <= rmse <= error["interval"][1]


def errors_of(at, truth, found, mean, spread, missing):
    """Return the expected error over all columns of numbers, and that of each."""
    parts = zip(mean, spread, missing, strict=True)
    columns = [{"mean": a, "spread": b, "missing": c, "labels": None} for a, b, c in parts]
    overall, _ = add_errors(columns, at, truth, found)
    return overall, [column["expected_error"] for column in columns]


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        drawn, none = rng.standard_normal(60), np.zeros(60)
        _, (found,) = errors_of(none.astype(int), drawn, none, [0.0], [1.0], [1])
        hits += found["interval"][0] <= 1.0 <= found["interval"][1]
    assert 0.88 < hits / 200 < 0.99


def test_filling_in_the_mean_is_a_hundred_percent_even_where_columns_hardly_vary():
    rng = np.random.default_rng(0)
    columns = np.repeat(np.arange(3), 40)
    truth = np.where(columns < 2, rng.standard_normal(120) * 10.0**columns, 0.0)
    truth[-1] = 500.0  # the one cell of its column that is not nil
    mean, spread = np.array([0.0, 0.0, 1.0]), np.array([1.0, 10.0, 2.0])
    overall, _ = errors_of(columns, truth, mean[columns], mean, spread, np.ones(3))
    assert overall["relative"] == pytest.approx(1.0)
    assert overall["interval"] == pytest.approx([1.0, 1.0])
    overall, each = errors_of(columns, truth, truth, mean, spread, np.ones(3))
    assert (overall["relative"], each[1]["rmse"]) == (0.0, 0.0)


def test_columns_with_few_hidden_cells_say_so(chosen):
    held = HeldOut(
        np.arange(12),
        np.r_[np.zeros(3, int), np.ones(9, int)],
        np.zeros(12),
        np.ones(12),
        np.full(12, np.nan),
    )
    shown = Report(_with(chosen[0], held_out_=held), FRAME, chosen[1])
    assert shown.summary["columns"][0]["expected_error"] == {"cells": 3}
    assert "too few held-out cells (3)" in shown.html()


def test_without_hidden_cells_the_error_is_not_measured():
    report = report_of(LRMC(), HOLES)
    assert report.summary["expected_error"] is None
    assert "polycomplete compare" in report.text()
    assert "polycomplete compare" in report.html()


def _with(completer, **attributes):
    other = type(completer)()
    vars(other).update(vars(completer) | attributes)
    return other


def test_a_report_keeps_what_it_says():
    completer, X = LRMC(), HOLES.copy()
    report = report_of(completer, X)
    before = report.json()
    completer.fit(HOLES[:20])
    X[:] = 0.0
    assert report.json() == before


def test_a_report_is_made_of_fits_which_keep_nothing_for_it():
    with pytest.raises(NotFittedError):
        LRMC().report(HOLES, HOLES)
    fitted = LRMC().fit(HOLES)
    assert not hasattr(fitted, "_record")
    assert not hasattr(fitted, "report_")


def test_saved_completers_report_the_same(tmp_path, chosen, report):
    pmc, completed = chosen
    pmc.save(tmp_path / "model.skops")
    after = load(tmp_path / "model.skops").report(FRAME, completed).summary
    assert {**report.summary, "created": ""} == {**after, "created": ""}


@pytest.mark.parametrize("imputer", [SimpleImputer(), KNNImputer(n_neighbors=2)])
def test_imputers_of_scikit_learn(imputer):
    report = Report(imputer, HOLES, imputer.fit_transform(HOLES))
    summary = report.summary
    assert summary["table"]["missing"] == summary["table"]["completed"] == np.isnan(HOLES).sum()
    assert (summary["fit"], summary["rows_of_fit"]) == (None, None)
    assert any("does not say how certain each cell is" in note for note in summary["notes"])
    assert "not those of the fit" not in report.text()
    assert "<h1>" in report.html()


def test_dropped_columns_and_indicators_do_not_shift_the_others():
    X = np.array([[1.0, np.nan, 5.0], [np.nan, np.nan, 7.0], [3.0, np.nan, np.nan]])
    for options in ({}, {"add_indicator": True}, {"keep_empty_features": True}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            imputer = SimpleImputer(**options)
            completed = imputer.fit_transform(X)
        table = Report(imputer, X, completed).summary
        # The means, 2 and 6, lie in the middle of their columns.
        filled = [column["histogram"] and np.argmax(column["histogram"]["completed"])
                  for column in table["columns"]]  # fmt: skip
        assert filled == [12, None, 12], options
        kept = options.get("keep_empty_features", False)
        assert table["table"]["completed"] == (5 if kept else 2)
        assert table["table"]["still_missing"] == (0 if kept else 3)


def test_other_rows_than_those_of_the_fit(pmc):
    new = FRAME[:10]
    report = pmc.report(new, pmc.transform(new))
    assert report.summary["table"]["rows"] == 10
    assert report.summary["expected_error"] is None
    assert report.summary["uncertain_cells"] == []
    assert "These rows are not those of the fit: " in report.text()
    assert "These rows are not those of the fit: " in report.html()
    assert "does not say" not in report.text()


def test_tables_of_different_rows_are_refused(pmc):
    with pytest.raises(ValueError, match="60 rows before and 10 rows after"):
        pmc.report(HOLES, HOLES[:10])


def test_lists_and_masked_arrays_are_tables_too():
    X = [[1.0, 2.0], [2.0, 4.1], [3.0, None]]
    for table in (X, np.ma.masked_invalid(np.array(X, dtype=float))):
        summary = report_of(LRMC(), table).summary
        assert (summary["table"]["completed"], summary["rows_of_fit"]) == (1, True)


LIBRARIES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pl.DataFrame(columns).to_arrow(),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_text_and_numbers(library):
    make = LIBRARIES[library]
    before = make({"n": [1.0, None, 3.0], "c": ["red", "blue", None], "b": [True, None, False]})
    after = make({"n": [1.0, 2.0, 3.0], "c": ["red", "blue", "red"], "b": [True, True, False]})
    summary = Report(SimpleImputer(), before, after).summary
    number, color, flag = summary["columns"]
    assert [column["missing"] for column in (number, color, flag)] == [1, 1, 1]
    assert color["labels"]["names"] == ["red", "blue"]
    assert color["labels"]["completed"] == [1, 0]
    assert flag["kind"] == "yes/no"


@pytest.fixture(scope="module")
def table():
    """A table of all kinds, completed; the first column is left alone."""
    frame = pd.DataFrame({
        "id": np.arange(60),
        "t": T,
        "kind": np.where(T > 0, "up", "down"),
        "flag": T > 0.3,
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.round(50 * T), unit="D"),
        "count": np.arange(60) % 7,
    }).astype({"flag": "boolean", "count": "Int64"})  # fmt: skip
    for place, name in enumerate(frame.columns[1:]):
        frame.loc[place::6, name] = None
    completer = TableCompleter(PMC(smoothing=1e-2), passthrough=["id"], random_state=0)
    return completer, frame, completer.fit_transform(frame)


def test_tables_report_labels_dates_and_whole_numbers(table):
    completer, frame, completed = table
    report = completer.report(frame, completed)
    summary = report.summary
    assert summary["rows_of_fit"] is True
    assert summary["table"]["used_columns"] == 5
    assert summary["method"] == "TableCompleter with PMC"
    assert [column["name"] for column in summary["columns"]] == list(frame.columns[1:])
    kind = summary["columns"][1]["labels"]
    gaps = frame["kind"].isna()
    counted = completed["kind"][gaps].value_counts()
    assert dict(zip(kind["names"], kind["completed"], strict=True)) == {
        name: counted.get(name, 0) for name in kind["names"]}  # fmt: skip
    assert summary["columns"][3]["kind"] == "date"
    assert "2023-11-1" in report.html()
    assert summary["columns"][4]["kind"] == "whole number"


def test_hidden_labels_are_judged_as_labels(table):
    completer, frame, completed = table
    truth = np.tile([1.0, 0.0], 10)
    found = truth.copy()
    found[0] = 0.0  # one of twenty comes back wrong
    held = HeldOut(np.arange(20), np.full(20, 1), truth, found, np.full(20, np.nan))
    judged = Report(_with(completer, held_out_=held), frame, completed)
    error = judged.summary["columns"][1]["expected_error"]
    assert (error["cells"], error["wrong"]) == (20, 0.05)
    assert judged.summary["wrong_labels"]["wrong"] == 0.05
    assert "Expected share of wrong labels: 5.0% (" in judged.text()
    assert "5.0% wrong" in judged.html()


def test_hidden_dates_are_judged_in_days(table):
    completer, frame, completed = table
    (day,) = [column for column in completer.schema_ if column.name == "day"]
    ticks = pd.Timedelta(hours=12) // pd.Timedelta(1, day.unit)  # half a day too late
    truth = np.tile([0.0, 5.0], 10) * 2 * ticks
    held = HeldOut(np.arange(20), np.full(20, 3), truth, truth + ticks, np.full(20, np.nan))
    error = Report(_with(completer, held_out_=held), frame, completed).summary["columns"][3]
    assert error["expected_error"]["rmse"] == pytest.approx(0.5)


def test_what_the_user_knows_is_shown(table):
    completer, frame, completed = table
    command = "polycomplete complete 'my file.csv'"
    report = completer.report(
        frame, completed, method="pmc-w", seconds=1.94, command=command, remarks=["It rained."]
    )
    assert report.summary["reproduce"]["command"] == command
    assert " by pmc-w in 1.9 s." in report.text().splitlines()[0]
    for made in (report.text(), report.html()):
        assert "It rained." in made


def test_written_files_hold_the_renderings(tmp_path, report):
    for name, made in {
        "a.html": report.html(),
        "a.json": report.json(),
        "a.TXT": report.text() + "\n",
    }.items():
        report.write(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == made


def test_a_failing_report_leaves_the_old_file_alone(tmp_path, report, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(Report, "html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_other_endings_are_refused(tmp_path, report):
    with pytest.raises(ValueError, match=r"\.html, \.json or \.txt"):
        report.write(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "X",
    [
        [[1.0]],
        [[np.nan, 1.0]],
        np.zeros((3, 2)),
        [[1e306, 1.0], [-1e306, np.nan], [1.0, 2.0]],
        [[1e306, 1.0], [1.5e306, np.nan], [1e306, 2.0]],
    ],
)
def test_odd_tables_have_reports_too(X):
    report = report_of(LRMC(keep_empty_features=True), X)
    assert report.summary["rows_of_fit"] is True
    assert json.loads(report.json())["table"]["columns"] == np.shape(X)[1]
    assert "<h1>" in report.html()
    assert report.text()


class Filler(BaseEstimator):
    """An imputer that tells nothing about itself."""


def test_what_has_no_names_goes_by_its_place():
    before = pd.DataFrame({"a": [1.0, np.nan, 5.0], "b": [np.nan] * 3, "c": [0.0, 4.0, np.nan]})
    for after in ([[1, 0], [3, 4], [5, 2]], [[1, 9, 0], [3, 9, 4], [5, 9, 2]]):
        columns = Report(Filler(), before, np.array(after, dtype=float)).summary["columns"]
        filled = [c["histogram"] and int(np.argmax(c["histogram"]["completed"])) for c in columns]
        assert filled == [12, None, 12]
    with pytest.raises(ValueError, match="rows and columns; got 1 dimensions"):
        Report(Filler(), np.ones(3), np.ones(3))


def test_attention_is_drawn_to_what_needs_it():
    X = HOLES.copy()
    X[:52, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LRMC(solver=AugmentedLagrangian(max_iter=2))
        completed = fitted.fit_transform(X)
    none = np.zeros(20)
    held = HeldOut(np.arange(20), none.astype(int), np.tile([-1.0, 1.0], 10), none, none)
    findings = Report(_with(fitted, held_out_=held), X, completed).summary["findings"]
    texts = " ".join(finding["text"] for finding in findings if finding["level"] != "good")
    assert "More than 80% of the cells are missing in column “x1”" in texts
    assert "hardly better than by the mean or the most frequent value in column “x0”" in texts
    assert "The solver stopped before it converged (max_iter, 2 iterations)." in texts


def test_invisible_marks_are_on_the_page_only():
    X = HOLES.copy()
    X[:52, 1] = np.nan
    report = report_of(LRMC(), X)
    for plain in (report.text(), report.json(), str(report.summary)):
        assert "missing in column “x1”" in plain
        assert not {"\u2068", "\u2069", r"\u2068"} & {*plain, *plain.split()}
    assert "missing in column “\u2068x1\u2069”" in report.html()


def test_rows_have_the_names_that_they_are_given(chosen, report):
    assert (report.summary["rows_by"], report.summary["rows_from"]) == ("row", 0)
    assert "Rows count from 0." in report.html()
    labels = [f"w\n{i}" for i in range(60)]
    named = chosen[0].report(FRAME, chosen[1], row_word="who", row_labels=labels)
    assert named.summary["rows_from"] is None
    for part in (named.summary["uncertain_cells"], named.summary["undetermined_rows"]["first"]):
        assert all(entry["row"].startswith("w ") for entry in part)
    rows = [entry["row"] for entry in report.summary["uncertain_cells"]]
    assert [entry["row"] for entry in named.summary["uncertain_cells"]] == [f"w {i}" for i in rows]
    assert f"<td><bdi>w {rows[0]}</bdi></td>" in named.html()
    assert "count from" not in named.html()


def test_columns_of_tables_that_hold_nothing_are_shown_as_such():
    frame = pd.DataFrame({"n": [1.0, None, 2.0, 4.0], "none": [None] * 4})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        report = report_of(TableCompleter(LRMC()), frame)
    summary = report.summary
    assert [column["kind"] for column in summary["columns"]] == ["whole number", "empty"]
    assert (summary["table"]["completed"], summary["table"]["still_missing"]) == (1, 4)
    assert "Nothing was observed in column “none”" in report.text()
