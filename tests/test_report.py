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

from polycomplete import LRMC, PMC, TableCompleter, load, masks, methods
from polycomplete.report import Report, errors
from polycomplete.report.curves import POINTS, convergence, spectrum
from polycomplete.solvers import AugmentedLagrangian
from polycomplete.tuning import HeldOut

T = np.linspace(-1, 1, 60)
ARC = np.c_[T, T**2, T**3, 2 * T + 1]
HOLES = masks.apply(ARC, masks.uniform(ARC.shape, 0.7, random_state=0))


@pytest.fixture(scope="module")
def pmc():
    return PMC(random_state=0).fit(pd.DataFrame(HOLES, columns=["t", "square", "cube", "line"]))


@pytest.mark.parametrize("name", methods.names("completer"))
def test_every_completer_reports(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        completer = methods.get(name).set_params(random_state=0)
        if "smoothing" in completer.get_params():
            completer.set_params(smoothing=1e-2)
        completer.fit(HOLES[:30])
    report = completer.report_
    summary = json.loads(report.json())
    assert summary["table"]["missing"] == np.isnan(HOLES[:30]).sum()
    assert summary["convergence"]["stop"] == completer.result_.stop
    assert f"--method {name} --seed 0" in (summary["reproduce"]["command"] or "") or (
        "smoothing" in completer.get_params()
    )
    assert "<h1>" in report.html()
    assert report.text().startswith(type(completer).__name__)


def test_the_summary_is_right(pmc):
    summary = pmc.report_.summary
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


def test_python_lines_do_it_again(pmc):
    lines = pmc.report_.summary["reproduce"]["python"]
    space = {"table": HOLES}
    exec(lines, space)
    assert np.array_equal(space["completed"], PMC(random_state=0).fit_transform(HOLES))


def test_expected_errors_are_those_of_the_hidden_cells(pmc):
    held = pmc.held_out_
    error = pmc.report_.summary["columns"][0]["expected_error"]
    mine = held.columns == 0
    assert error["cells"] == mine.sum()
    if "rmse" in error:
        rmse = np.sqrt(np.mean((held.completed - held.truth)[mine] ** 2))
        assert error["rmse"] == pytest.approx(rmse)
        assert error["interval"][0] <= rmse <= error["interval"][1]


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        drawn, none = rng.standard_normal(60), np.zeros(60)
        _, (found,) = errors.expected_errors(
            none.astype(int), drawn, none, np.zeros(1), np.ones(1), np.ones(1)
        )
        hits += found["interval"][0] <= 1.0 <= found["interval"][1]
    assert 0.88 < hits / 200 < 0.99


def test_filling_in_the_mean_is_a_hundred_percent_even_where_columns_hardly_vary():
    rng = np.random.default_rng(0)
    columns = np.repeat(np.arange(3), 40)
    truth = np.where(columns < 2, rng.standard_normal(120) * 10.0**columns, 0.0)
    truth[-1] = 500.0  # the one cell of its column that is not nil
    mean, spread = np.array([0.0, 0.0, 1.0]), np.array([1.0, 10.0, 2.0])
    overall, _ = errors.expected_errors(columns, truth, mean[columns], mean, spread, np.ones(3))
    assert overall["relative"] == pytest.approx(1.0)
    assert overall["interval"] == pytest.approx([1.0, 1.0])
    overall, each = errors.expected_errors(columns, truth, truth, mean, spread, np.ones(3))
    assert (overall["relative"], each[1]["rmse"]) == (0.0, 0.0)


def test_columns_with_few_hidden_cells_say_so(pmc):
    held = HeldOut(
        np.arange(12),
        np.r_[np.zeros(3, int), np.ones(9, int)],
        np.zeros(12),
        np.ones(12),
        np.full(12, np.nan),
    )
    shown = Report(_with(pmc, held_out_=held), pmc._record)
    assert shown.summary["columns"][0]["expected_error"] == {"cells": 3}
    assert "too few hidden cells (3)" in shown.text()
    assert "too few hidden cells (3)" in shown.html()


def test_without_hidden_cells_the_error_is_not_measured():
    report = LRMC().fit(HOLES).report_
    assert report.summary["expected_error"] is None
    assert "polycomplete compare" in report.text()
    assert "polycomplete compare" in report.html()


def _with(completer, **attributes):
    other = type(completer)()
    vars(other).update(vars(completer) | attributes)
    return other


def test_a_report_is_of_the_fit_that_it_was_asked_of():
    completer = LRMC().fit(HOLES)
    report = completer.report_
    completer.fit(HOLES[:20])
    assert report.summary["convergence"]["iterations"] != 0
    assert report.summary["table"]["rows"] == 60
    assert completer.report_.summary["table"]["rows"] == 20


def test_no_report_before_fitting():
    assert not hasattr(LRMC(), "report_")
    with pytest.raises(NotFittedError):
        LRMC().report_  # noqa: B018


def test_saved_completers_report_the_same(tmp_path, pmc):
    pmc.save(tmp_path / "model.skops")
    before, after = pmc.report_.summary, load(tmp_path / "model.skops").report_.summary
    assert {**before, "created": ""} == {**after, "created": ""}


def test_stages_and_spectrum_of_the_curves(pmc):
    course = convergence(pmc.result_)
    assert course["objective"][-1] == pmc.result_.objective[-1]
    assert len(course["objective"]) <= POINTS
    found = spectrum(pmc.model_)
    assert found["values"] == sorted(found["values"], reverse=True)
    assert found["rank"] == np.sum(np.array(found["values"]) > found["level"])
    assert spectrum(None) is None


def test_the_landmark_engine_has_a_spectrum_with_about_the_same_rank():
    t = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    X = np.c_[t, t**2, t[:, :1] * t[:, 1:]]
    X[::3, 1] = np.nan
    ranks = [
        PMC(engine=engine, smoothing=1e-4, scale="standard", random_state=0)
        .fit(X)
        .report_.summary["spectrum"]["rank"]
        for engine in ("exact", "landmark")
    ]
    assert 0.5 < ranks[0] / ranks[1] < 2


@pytest.mark.parametrize("imputer", [SimpleImputer(), KNNImputer(n_neighbors=2)])
def test_imputers_of_scikit_learn(imputer):
    completed = imputer.fit_transform(HOLES)
    summary = Report.of(imputer, HOLES, completed).summary
    assert summary["table"]["missing"] == np.isnan(HOLES).sum()
    assert summary["convergence"] is None
    assert any("does not tell how its iterations went" in note for note in summary["notes"])
    assert "<h1>" in Report.of(imputer, HOLES, completed).html()


def test_dropped_columns_and_indicators_do_not_shift_the_others():
    X = np.array([[1.0, np.nan, 5.0], [np.nan, np.nan, 7.0], [3.0, np.nan, np.nan]])
    for options in ({}, {"add_indicator": True}, {"keep_empty_features": True}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            imputer = SimpleImputer(**options)
            completed = imputer.fit_transform(X)
        table = Report.of(imputer, X, completed).summary
        # The means, 2 and 6, lie in the middle of their columns.
        filled = [column["histogram"] and np.argmax(column["histogram"]["completed"])
                  for column in table["columns"]]  # fmt: skip
        assert filled == [12, None, 12], options
        assert table["table"]["filled"] == 2


def test_other_rows_than_those_of_the_fit(pmc):
    new = pd.DataFrame(HOLES[:10], columns=["t", "square", "cube", "line"])
    summary = Report.of(pmc, new, pmc.transform(new)).summary
    assert summary["table"]["rows"] == 10
    assert summary["expected_error"] is None
    assert summary["uncertain_cells"] == []


def test_before_without_after_is_refused(pmc):
    with pytest.raises(ValueError, match="before and after"):
        Report.of(pmc, HOLES)


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
    summary = Report.of(SimpleImputer(), before, after).summary
    number, colour, flag = summary["columns"]
    assert [column["missing"] for column in (number, colour, flag)] == [1, 1, 1]
    assert colour["labels"]["names"] == ["red", "blue"]
    assert colour["labels"]["completed"] == [1, 0]
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
    completer = TableCompleter(PMC(smoothing=1e-2), ids=["id"], random_state=0)
    return completer, frame, completer.fit_transform(frame)


def test_tables_report_labels_dates_and_whole_numbers(table):
    completer, frame, completed = table
    summary = completer.report_.summary
    assert summary["method"] == "TableCompleter with PMC"
    assert [column["name"] for column in summary["columns"]] == list(frame.columns[1:])
    kind = summary["columns"][1]["labels"]
    gaps = frame["kind"].isna()
    counted = completed["kind"][gaps].value_counts()
    assert dict(zip(kind["names"], kind["completed"], strict=True)) == {
        name: counted.get(name, 0) for name in kind["names"]}  # fmt: skip
    assert "2023-11-1" in completer.report_.text() or "2023-11-1" in completer.report_.html()
    assert summary["columns"][4]["kind"] == "whole number"


def test_hidden_labels_are_judged_as_labels(table):
    completer = table[0]
    truth = np.tile([1.0, 0.0], 10)
    found = truth.copy()
    found[0] = 0.0  # one of twenty comes back wrong
    held = HeldOut(np.arange(20), np.full(20, 1), truth, found, np.full(20, np.nan))
    judged = Report(_with(completer, held_out_=held), completer._record)
    error = judged.summary["columns"][1]["expected_error"]
    assert (error["cells"], error["wrong"]) == (20, 0.05)
    assert judged.summary["wrong_labels"]["wrong"] == 0.05
    assert "5 % wrong" in judged.text()
    assert "5\u00a0% wrong" in judged.html()


def test_the_table_of_the_fit_is_known_again(table):
    completer, frame, completed = table
    report = Report.of(completer, frame, completed, command="polycomplete complete 'my file.csv'")
    assert report.summary["columns"] == completer.report_.summary["columns"]
    assert report.summary["reproduce"]["command"] == "polycomplete complete 'my file.csv'"


def test_written_files_hold_the_renderings(tmp_path, pmc):
    report = pmc.report_
    for name, made in {
        "a.html": report.html(),
        "a.json": report.json(),
        "a.TXT": report.text(),
    }.items():
        report.write(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == made


def test_a_failing_report_leaves_the_old_file_alone(tmp_path, pmc, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(Report, "html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pmc.report_.write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_other_endings_are_refused(tmp_path, pmc):
    with pytest.raises(ValueError, match=r"\.html, \.json or \.txt"):
        pmc.report_.write(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "X",
    [[[1.0]], [[np.nan, 1.0]], np.zeros((3, 2)), [[1e306, 1.0], [-1e306, np.nan], [1.0, 2.0]]],
)
def test_odd_tables_have_reports_too(X):
    report = LRMC(keep_empty_features=True).fit(X).report_
    assert json.loads(report.json())["table"]["columns"] == np.shape(X)[1]
    assert "<h1>" in report.html()
    assert report.text()


class Filler(BaseEstimator):
    """An imputer that tells nothing about itself."""


def test_what_has_no_names_goes_by_its_place():
    before = pd.DataFrame({"a": [1.0, np.nan, 5.0], "b": [np.nan] * 3, "c": [0.0, 4.0, np.nan]})
    for after in ([[1, 0], [3, 4], [5, 2]], [[1, 9, 0], [3, 9, 4], [5, 9, 2]]):
        columns = Report.of(Filler(), before, np.array(after, dtype=float)).summary["columns"]
        filled = [c["histogram"] and int(np.argmax(c["histogram"]["completed"])) for c in columns]
        assert filled == [12, None, 12]
    with pytest.raises(ValueError, match="rows and columns; got 1 dimensions"):
        Report.of(Filler(), np.ones(3), np.ones(3))


def test_attention_is_drawn_to_what_needs_it():
    X = HOLES.copy()
    X[:52, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LRMC(solver=AugmentedLagrangian(max_iter=2)).fit(X)
    none = np.zeros(20)
    held = HeldOut(np.arange(20), none.astype(int), np.tile([-1.0, 1.0], 10), none, none)
    findings = Report(_with(fitted, held_out_=held), fitted._record).summary["findings"]
    texts = " ".join(finding["text"] for finding in findings if finding["level"] != "good")
    assert "More than 80 % of the cells are missing in column “x1”" in texts
    assert "hardly better than by filling in the mean or the most frequent label in" in texts
    assert "reached its largest number of iterations" in texts


def test_invisible_marks_are_on_the_page_only():
    X = HOLES.copy()
    X[:52, 1] = np.nan
    report = LRMC().fit(X).report_
    for plain in (report.text(), report.json(), str(report.summary)):
        assert "missing in column “x1”" in plain
        assert not {"\u2068", "\u2069", r"\u2068"} & {*plain, *plain.split()}
    assert "missing in column “\u2068x1\u2069”" in report.html()


def test_rows_have_the_names_that_they_are_given(pmc):
    plain = pmc.report_
    assert (plain.summary["rows_by"], plain.summary["rows_from"]) == ("row", 0)
    assert "Least certain cells (rows count from 0)" in plain.text()
    assert "Rows count from 0." in plain.html()
    named = Report.of(pmc, row_word="who", row_labels=[f"w\n{i}" for i in range(60)])
    assert named.summary["rows_from"] is None
    for part in (named.summary["uncertain_cells"], named.summary["undetermined_rows"]["first"]):
        assert all(entry["row"].startswith("w ") for entry in part)
    rows = [entry["row"] for entry in plain.summary["uncertain_cells"]]
    assert [entry["row"] for entry in named.summary["uncertain_cells"]] == [f"w {i}" for i in rows]
    assert f"\n  who w {rows[0]}, " in named.text()
    assert "count from" not in named.text() + named.html()


def test_columns_of_tables_that_hold_nothing_are_shown_as_such():
    frame = pd.DataFrame({"n": [1.0, None, 2.0, 4.0], "none": [None] * 4})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        completer = TableCompleter(LRMC()).fit(frame)
    summary = completer.report_.summary
    assert [column["kind"] for column in summary["columns"]] == ["whole number", "empty"]
    assert summary["table"]["filled"] == 1
    assert "Nothing was observed in column" in completer.report_.text()
