"""What held-out cells are for in tables: an honest error, honest deviations, honest fallbacks."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from polycomplete import PMC, TableCompleter, datasets, masks
from polycomplete.model_selection import HeldOut, held_out_error, holdouts
from polycomplete.report.columns import add_errors
from polycomplete.tables.calibration import fall_back
from polycomplete.tables.codecs import Category


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data.assign(species=data.target_names[data.target])


@pytest.fixture(scope="module")
def flowers(iris):
    """Every species is known, every fifth length is missing; with its completer."""
    table = iris.copy()
    table.iloc[::5, 0] = np.nan
    completer = TableCompleter(random_state=0)
    return table, completer, completer.fit_transform(table)


def test_a_table_with_a_complete_text_column_has_a_report(flowers):
    table, completer, completed = flowers
    report = completer.report(table, completed)
    assert "30 of 750 cells" in report.text()
    assert "<table" in report.html()
    assert json.loads(report.json())["columns"][4]["expected_error"]["wrong"] < 0.5


def test_the_indicators_of_a_complete_category_are_held_out_together(flowers):
    completer = flowers[1]
    held = completer.method_.held_out_
    rows = [set(held.rows[held.columns == column]) for column in (4, 5, 6)]
    assert len(rows) == 3
    assert rows[0]
    assert rows[0] == rows[1] == rows[2]


def test_groups_of_complete_columns_are_hidden_together():
    groups = np.array([0, 1, 1, 2])
    for _, hidden in holdouts(np.ones((60, 4), dtype=bool), seed=0, groups=groups):
        np.testing.assert_array_equal(hidden[:, 1], hidden[:, 2])
    assert (hidden[:, 0] != hidden[:, 1]).any()


def test_a_group_counts_as_one_column_in_the_error():
    X, hidden = np.zeros((2, 3)), np.array([[True, False, False], [False, True, True]])
    found = np.array([[0.5, 0.0, 0.0], [0.0, 0.3, 0.4]])
    error = held_out_error(X, found, hidden, np.ones(3), np.array([0, 1, 1]))
    assert error == pytest.approx(0.5)


def mixed(n, rng, levels=3):
    """Return a table with a curve in it, noise, and a category that says nothing."""
    t = rng.uniform(-1, 1, n)
    noise = 0.2 * rng.standard_normal((3, n))
    return pd.DataFrame(
        {
            "a": t + noise[0],
            "b": 100 * (t**2 + noise[1]),
            "c": np.sin(3 * t) + noise[2],
            "noise": rng.standard_normal(n),
            "place": rng.choice([f"p{i}" for i in range(levels)], n),
        }
    )


def test_deviations_hold_beside_a_complete_category_of_many_levels():
    rng = np.random.default_rng(1)
    truth = mixed(420, rng, levels=40)
    holes = rng.random(truth.shape) < 0.2
    holes[:, 4] = False
    completer = TableCompleter(random_state=0)
    completed = completer.fit_transform(truth.mask(holes))
    within = []
    for j, name in enumerate("abc"):
        error = np.abs(completed[name] - truth[name])[holes[:, j]]
        within.append(error <= 1.645 * completer.cell_std_[name][holes[:, j]])
    assert 0.8 <= np.concatenate(within).mean() <= 0.97


def test_each_column_has_deviations_of_its_own():
    """Three columns follow from each other to a per mille, the fourth is noise."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, 300)
    truth = pd.DataFrame({"a": t, "b": t**2, "c": t**3, "noise": rng.standard_normal(300)})
    truth["kind"] = rng.choice(["x", "y"], 300)
    holes = rng.random(truth.shape) < 0.15
    completer = TableCompleter(PMC(smoothing="auto"), random_state=0)
    completed = completer.fit_transform(truth.mask(holes))
    for j, name in enumerate(["a", "b", "c", "noise"]):
        error = np.abs(completed[name] - truth[name])[holes[:, j]]
        within = error <= 1.645 * completer.cell_std_[name][holes[:, j]]
        assert within.mean() > 0.75, name
    assert 0.7 < completer.cell_std_["noise"][holes[:, 3]].mean() < 1.5


def test_a_category_of_many_levels_does_not_spoil_the_numbers():
    rng = np.random.default_rng(0)
    truth = mixed(420, rng, levels=40)
    holes = rng.random(truth.shape) < 0.2
    table, errors = truth.mask(holes), []
    for place in truth["place"], np.where(truth["place"] < "p2", "here", "there"):
        given = table.assign(place=np.where(holes[:, 4], None, place)).drop(columns="noise")
        completed = TableCompleter(random_state=0).fit_transform(given)
        off = (completed[["a", "b", "c"]] - truth[["a", "b", "c"]]) / truth[["a", "b", "c"]].std()
        errors.append(np.sqrt(np.mean(off.to_numpy()[holes[:, :3]] ** 2)))
    assert errors[0] < 1.08 * errors[1]


@pytest.fixture(scope="module")
def hopeless():
    """Twenty columns that are complete and easy, and a noisy one with holes: with its completer."""
    X = datasets.make_polynomial_manifold(150, 20, random_state=2) * np.repeat([1, 30], 10)
    table = pd.DataFrame(X).rename(columns=str)
    table["noise"] = 5 + np.random.default_rng(2).standard_normal(150)
    table.loc[::3, "noise"] = np.nan
    # So little smoothing that noise makes waves.
    completer = TableCompleter(PMC(smoothing=1e-6), random_state=0)
    return table, completer, completer.fit_transform(table)


def test_a_column_that_is_completed_worse_than_by_its_mean_gets_its_mean(hopeless):
    table, completer, completed = hopeless
    assert "noise" in completer.fallback_columns_
    gaps = table["noise"].isna()
    np.testing.assert_allclose(completed["noise"][gaps], table["noise"].mean())
    np.testing.assert_allclose(completer.cell_std_["noise"][gaps], table["noise"].std(ddof=0))
    assert (completer.cell_std_["noise"][~gaps] == 0).all()
    new = completer.transform(table[gaps])
    np.testing.assert_allclose(new["noise"], table["noise"].mean())


def test_the_report_says_which_columns_fell_back(hopeless):
    table, completer, completed = hopeless
    summary = completer.report(table, completed).summary
    assert "noise" in summary["fallback_columns"]
    texts = " ".join(finding["text"] for finding in summary["findings"])
    assert "mean or most frequent value, which did better: column" in texts
    # As good as the mean, on the cells that were held out.
    assert summary["expected_error"]["relative"] == pytest.approx(1.0)


def test_a_category_that_is_completed_worse_than_by_its_mode_gets_its_mode():
    table = mixed(150, np.random.default_rng(1))
    table["place"] = np.where(np.arange(150) % 10, "home", "away")
    table.loc[::4, "place"] = None
    completer = TableCompleter(random_state=0).fit(table)
    completer.schema_[4].falls_back = True
    assert completer.fallback_columns_ == ["place"]
    completed = completer.transform(table)
    assert set(completed["place"][table["place"].isna()]) == {"home"}
    found = completer.predict_proba(table)["place"]
    away = (table["place"] == "away").sum() / table["place"].notna().sum()
    np.testing.assert_allclose(found.values[:, found.levels.index("away")], away)


@pytest.mark.parametrize(("wrong", "falls_back"), [(2, False), (3, False), (12, True)])
def test_columns_fall_back_where_they_are_worse_by_more_than_a_standard_error(wrong, falls_back):
    """Of twenty held-out cells three are not of the most frequent level."""
    codec = Category("kind", "categorical", "String", levels=["a", "b"])
    codec.fit_block(np.array([0.0, 0.0, 1.0] * 10))
    truth = (np.arange(20) < 3).astype(float)
    found = np.where(np.arange(20) < wrong, 1 - truth, truth)
    cells = HeldOut(np.arange(20), np.zeros(20, int), truth, found, np.full(20, np.nan))
    fall_back([codec], cells)
    assert codec.falls_back == falls_back


def test_the_headline_is_about_what_was_filled_in(hopeless):
    table, completer, completed = hopeless
    summary = completer.report(table, completed).summary
    easy = [c["expected_error"].get("relative", 0) for c in summary["columns"][:20]]
    assert np.mean(easy) < 0.5 < summary["expected_error"]["relative"]


def test_labels_count_where_labels_are_missing(iris):
    table = iris.copy()
    table.loc[::5, "species"] = None
    completer = TableCompleter(random_state=0)
    summary = completer.report(table, completer.fit_transform(table)).summary
    assert summary["expected_error"] is None
    assert summary["wrong_labels"]["cells"] > 0


def test_a_column_counts_by_the_cells_that_it_lacks():
    """One column came back with the wrong sign, the other as it was."""
    columns, truth = np.repeat([0, 1], 20), np.tile([1.0, -1.0], 20)
    found = np.where(columns == 0, -truth, truth)
    for missing, expected in [(30, 10), 0.75], [(0, 10), 0.0], [(0, 0), 0.5]:
        lacks = [{"mean": 0.0, "spread": 1.0, "missing": k, "labels": None} for k in missing]
        overall, _ = add_errors(lacks, columns, truth, found)
        assert overall["relative"] == pytest.approx(2 * np.sqrt(expected))


def test_a_table_of_floats_is_completed_as_its_completer_does():
    X = datasets.make_polynomial_manifold(120, 8, random_state=0) * 10.0 ** np.arange(-2, 6)
    X[masks.uniform(X.shape, 0.3, random_state=0)] = np.nan
    table = pd.DataFrame(X).rename(columns=str)
    completer = TableCompleter(PMC(random_state=0))
    completed = completer.fit_transform(table)
    expected = PMC(random_state=0).fit_transform(X)
    keep = [name not in completer.fallback_columns_ for name in table]
    off = np.abs(completed.to_numpy() - expected)[:, keep] / np.nanstd(X, axis=0)[keep]
    assert off.max() < 1e-9
