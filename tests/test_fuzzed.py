"""Cases that random input found, each once, and a few more at random."""

import datetime as dt
import json
import zipfile

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import strategies as st

from polycomplete import LRMC, NLMC, PMC, Landmark, TableCompleter, load
from polycomplete.cli.trials import dimension_of, score
from polycomplete.io import ReadOptions, read_table
from polycomplete.persistence import ModelFileError
from polycomplete.tables.codecs import Time
from tests import fuzz

NAN = np.nan
FEW = [0.0, NAN, 0.0, 0.0, 0.0, NAN, 0.0, NAN, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_a_few_random_examples_keep_what_is_promised(target):
    fuzz.run(target, number=0, examples=3)


def test_a_failure_is_shrunk_and_comes_with_its_command(monkeypatch, capsys):
    def check(data):
        assert data.draw(st.integers(0, 100)) < 7

    monkeypatch.setitem(fuzz.TARGETS, "broken", check)
    assert fuzz.main(["--seed", "3", "--target", "broken"]) == 1
    said = capsys.readouterr().out
    assert "Draw 1: 7\n" in said
    assert "python tests/fuzz.py --seed 3 --target broken\n" in said


def test_an_outlier_beside_rows_that_are_equal_is_no_obstacle():
    X = np.c_[[0.0] * 10 + [1.0], np.multiply(FEW, 2), [0.0] * 7 + [NAN, 1e15, 0.0, 0.0]]
    completed = PMC(random_state=0).fit_transform(X)
    assert completed[[1, 5, 7], 1] == pytest.approx([0, 0, 0], abs=0.1)


@pytest.mark.parametrize("scale", ["auto", "sqrt"])
def test_hiding_the_only_entry_that_differs_tells_nothing(scale):
    X = np.c_[[0.0] * 10 + [1.0], FEW, [0.0] * 10 + [-1e100]]
    completed = PMC(random_state=1, scale=scale).fit_transform(X)
    assert completed[[1, 5, 7], 1] == pytest.approx([0, 0, 0], abs=0.1)


def test_columns_that_vanish_beside_others_are_judged_all_the_same():
    X = np.random.default_rng(0).standard_normal((9, 3)) * [1e-150, 1e-150, 1e300]
    assert NLMC(random_state=0).fit(X).held_out_ is not None


def test_threads_know_what_to_do_with_large_numbers():
    fitted = PMC(solver=Landmark(), n_jobs=2, random_state=0).fit([[-1.0, 1.0], [1.0, 1.5]])
    assert np.isfinite(fitted.transform([[1e300, NAN]])).all()


@pytest.mark.parametrize(
    ("dtype", "kind", "unit", "ends"),
    [
        (pl.Date, "datetime", "D", (dt.date.min, dt.date.max)),
        (pl.Datetime("us"), "datetime", "us", (dt.datetime.min, dt.datetime.max)),
        (pl.Duration("ms"), "duration", "ms", (dt.timedelta.min, dt.timedelta.max)),
    ],
)
def test_completed_times_are_times_of_python(dtype, kind, unit, ends):
    series = nw.from_native(pl.Series("t", [None, None], dtype=dtype), series_only=True)
    codec = Time("t", kind, str(dtype), unit=unit)
    found = codec.decode(series, np.arange(2), np.array([-1e300, 1e300])).to_list()
    assert found[0] == ends[0]
    assert ends[1] - found[1] < dt.timedelta(seconds=1)


@pytest.mark.parametrize("zone", ["America/Lima", "Asia/Tokyo"])
def test_completed_times_are_times_of_python_in_every_zone(zone):
    dtype = pl.Datetime("us", zone)
    series = nw.from_native(pl.Series("t", [None, None], dtype=dtype), series_only=True)
    codec = Time("t", "datetime", str(dtype), unit="us", aware=True)
    found = codec.decode(series, np.arange(2), np.array([-1e300, 1e300])).to_list()
    assert [each.year for each in found] == [1, 9999]


def test_completed_times_fit_the_unit_of_new_rows():
    days = np.array(["1000-01-01", "2000-01-01", "1500-01-01"], dtype="datetime64[s]")
    fitted = TableCompleter(LRMC(), random_state=0).fit(
        pd.DataFrame({"t": days, "x": [1.0, 2.0, 1.5]})
    )
    new = pd.DataFrame({"t": np.array(["NaT"], dtype="datetime64[ns]"), "x": [1.0]})
    assert fitted.transform(new).loc[0, "t"].year == 1677  # the first that nanoseconds reach


def test_text_that_is_no_unicode_is_completed():
    frame = pd.DataFrame({"t": pd.Series(["\ud800", None], dtype=object), "x": [1.0, 2.0]})
    completed = TableCompleter(LRMC(), random_state=0).fit_transform(frame)["t"]
    assert completed.tolist() == ["\ud800", "\ud800"]
    assert completed.dtype == object


def test_errors_of_numbers_near_the_largest_are_numbers():
    truth = pl.DataFrame({"a": [1e300, 2e300, 3e300]})
    found = pl.DataFrame({"a": [1e300, 2.5e300, 3e300]})
    hidden = np.array([[False], [True], [False]])
    assert score(truth, found, hidden)[0] == pytest.approx(0.5 / np.std([1, 2, 3]))


def test_the_dimension_of_numbers_near_the_largest_is_a_number():
    t = 1e300 * np.random.default_rng(0).random(60)
    assert dimension_of(pl.DataFrame({"a": t, "b": 2 * t})) == pytest.approx(1, abs=0.3)


def test_a_label_with_damaged_versions_is_no_model(tmp_path):
    LRMC().fit([[1.0, 2.0], [2.0, 4.0]]).save(tmp_path / "a.skops")
    with (
        zipfile.ZipFile(tmp_path / "a.skops") as given,
        zipfile.ZipFile(tmp_path / "b.skops", "w") as made,
    ):
        for name in given.namelist():
            content = given.read(name)
            if name == "polycomplete.json":
                content = json.dumps(json.loads(content) | {"versions": 7}).encode()
            made.writestr(name, content)
    with pytest.raises(ModelFileError, match="not a model of polycomplete"):
        load(tmp_path / "b.skops")


def test_what_stands_before_decimals_does_not_stand_between_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("length,cm;c\n1,5;2\n2,5;3\n")
    assert read_table(str(path), ReadOptions(decimal=",")).frame.rows() == [(1.5, 2), (2.5, 3)]
