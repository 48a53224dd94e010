"""TableCompleter: what it learns, its options, new rows, and what it says to bad input."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import polycomplete
from polycomplete import LRMC, PMC, TableCompleter, methods
from polycomplete.frames import table
from polycomplete.tables.codecs import CODECS
from tests.conftest import COMPLETERS, QUICK

NAN = np.nan


def whole():
    """Return a table whose columns all follow from one number, complete."""
    t = np.random.default_rng(0).uniform(-1, 1, size=60)
    return pd.DataFrame(
        {
            "who": [f"person {i}" for i in range(60)],
            "height": 170 + 20 * t,
            "weight": 70 + 20 * t**2 + 10 * t,
            "count": pd.array(np.rint(10 * t).astype(int), dtype="Int64"),
            "team": np.select([t < -0.4, t < 0.4], ["low", "middle"], "high"),
            "tall": pd.array(t > 0.1, dtype="boolean"),
            "size": pd.Categorical.from_codes(
                np.digitize(t, [-0.5, 0, 0.5]), ["S", "M", "L", "XL"], ordered=True
            ),
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(np.rint(1000 * t), unit="D"),
        }
    )


def holed():
    """Return the same with a fifth of the cells missing, and which."""
    table = whole()
    missing = np.random.default_rng(1).random(table.shape) < 0.2
    missing[:, 0] = False
    return table.mask(missing), missing


@pytest.fixture
def mixed():
    return whole()


@pytest.fixture
def holes():
    return holed()


@pytest.fixture
def completer():
    return TableCompleter(PMC(**QUICK | {"smoothing": 1e-3}), passthrough=["who"], random_state=0)


@pytest.fixture(scope="module")
def fitted():
    """Give a fitted completer, only to look at, and what it completed."""
    found = TableCompleter(PMC(**QUICK | {"smoothing": 1e-3}), passthrough=["who"], random_state=0)
    return found, found.fit_transform(holed()[0])


def test_columns_that_follow_from_each_other_are_recovered(mixed, holes, fitted):
    missing, (completer, completed) = holes[1], fitted
    kinds = {column.name: column.kind for column in completer.schema_}
    assert list(kinds.values()) == [
        "id", "numeric", "numeric", "integer", "categorical", "bool", "ordered", "datetime"
    ]  # fmt: skip
    for j, name in enumerate(mixed.columns[1:], start=1):
        rows = missing[:, j]
        truth, found = mixed.loc[rows, name], completed.loc[rows, name]
        if kinds[name] in ("categorical", "bool", "ordered"):
            assert (truth.astype(object) == found.astype(object)).mean() > 0.7
        else:
            error = np.abs((truth - found).to_numpy(dtype=float))
            assert np.median(error) < 0.1 * float(np.asarray(mixed[name], dtype=float).std())


def test_probabilities_are_those_of_the_missing_cells(holes, fitted):
    (frame, missing), (completer, completed) = holes, fitted
    assert list(completer.proba_) == ["team", "tall"]
    for name, levels in {"team": ["high", "low", "middle"], "tall": [False, True]}.items():
        found = completer.proba_[name]
        assert_array_equal(found.rows, np.flatnonzero(missing[:, frame.columns.get_loc(name)]))
        assert found.levels == levels
        assert_allclose(found.values.sum(axis=1), 1)
        likely = [levels[code] for code in found.values.argmax(axis=1)]
        assert completed[name].iloc[found.rows].tolist() == likely


def test_probabilities_of_new_rows(holes, fitted):
    completer, new = fitted[0], holes[0].iloc[:20]
    found, completed = completer.predict_proba(new), completer.transform(new)
    for name in "team", "tall":
        rows, levels, values = found[name]
        assert_array_equal(rows, np.flatnonzero(new[name].isna()))
        assert completed[name].iloc[rows].tolist() == [levels[k] for k in values.argmax(axis=1)]


def test_deviations_are_in_the_units_of_the_user(holes, fitted):
    (frame, missing), completer = holes, fitted[0]
    assert list(completer.cell_std_) == ["height", "weight", "count", "size", "born"]
    inside = completer.method_.cell_std_
    matrix_column = {"height": 0, "born": -1}
    spread = {
        "height": frame["height"].std(ddof=0),
        "born": frame["born"].std(ddof=0).total_seconds(),
    }
    for name, column in matrix_column.items():
        assert_allclose(completer.cell_std_[name], inside[:, column] * spread[name], rtol=1e-6)
    assert (completer.cell_std_["height"][~missing[:, 1]] == 0).all()


def test_methods_without_deviations_give_none(holes):
    assert TableCompleter(KNNImputer(), passthrough=["who"]).fit(holes[0]).cell_std_ is None


@pytest.mark.parametrize("method", [KNNImputer(), *COMPLETERS.values()], ids=str)
def test_any_method_serves(method, holes):
    completer = TableCompleter(method, passthrough=["who"], random_state=0)
    assert not completer.fit_transform(holes[0]).isna().any(axis=None)
    if "scale" in completer.method_.get_params():
        assert completer.method_.scale is None


def test_rows_of_new_tables_do_not_depend_on_their_company(holes, completer):
    frame, _ = holes
    completer.fit(frame.iloc[:40])
    whole = completer.transform(frame)
    for rows in ([45], [3, 50, 59], slice(40, 60)):
        part = completer.transform(frame.iloc[rows])
        pd.testing.assert_frame_equal(part, whole.iloc[rows])


def test_the_same_seed_gives_the_same_table(holes):
    runs = [TableCompleter(passthrough=["who"], random_state=3).fit(holes[0]) for _ in range(2)]
    one, two = (run.transform(holes[0]) for run in runs)
    pd.testing.assert_frame_equal(one, two)
    assert_array_equal(runs[0].proba_["team"].values, runs[1].proba_["team"].values)


def test_columns_may_come_in_another_order_and_from_another_library(holes, fitted):
    frame, completer = holes[0], fitted[0]
    expected = completer.transform(frame)
    shuffled = frame[frame.columns[::-1]]
    pd.testing.assert_frame_equal(completer.transform(shuffled), expected)
    found = completer.transform(pl.from_pandas(frame))
    assert found["team"].to_list() == expected["team"].tolist()
    assert_array_equal(found["height"].to_numpy(), expected["height"])


def test_columns_weigh_the_same_in_the_matrix(holes, completer):
    frame, _ = holes
    completer.set_params(column_weights={"team": 2.0, "height": 0.5}).fit(frame)
    columns = [column for column in completer.schema_ if column.is_completed]
    blocks = [column.spread(column.encode(table(frame)[column.name])[0]) for column in columns]
    totals = [np.nanvar(block, axis=0).sum() for block in blocks]
    assert_allclose(totals, [0.25, 1, 1, 4, 1, 1, 1])


def test_weights_matter(mixed):
    frame = mixed[["height", "team"]].assign(noise=np.random.default_rng(2).normal(size=60))
    frame.loc[::3, "team"] = None
    errors = [
        (TableCompleter(KNNImputer(), column_weights={"noise": weight}).fit_transform(frame)["team"]
         != mixed["team"]).mean()
        for weight in (1e-3, 1e3)
    ]  # fmt: skip
    assert errors[0] < errors[1]


def test_nothing_missing_comes_back_and_new_rows_are_completed(mixed, completer):
    pd.testing.assert_frame_equal(completer.fit_transform(mixed), mixed)
    assert len(completer.proba_["team"].rows) == 0
    new = mixed.iloc[:10].copy()
    new["team"] = None
    assert (completer.transform(new)["team"] == mixed["team"][:10]).mean() > 0.7


def test_probabilities_are_honest_though_the_method_did_not_hide_anything():
    # Classes are drawn by chance: no method can be sure, and one that is gets corrected.
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    team = np.where(rng.random(400) < 1 / (1 + np.exp(-1.5 * x)), "a", "b")
    frame = pd.DataFrame({"x": x, "team": team})
    hidden = rng.random(400) < 0.3
    completer = TableCompleter(KNNImputer(n_neighbors=1), random_state=0)
    completer.fit(frame.mask(np.c_[np.zeros(400, bool), hidden]))
    found = completer.proba_["team"].values
    sure, right = found.max(axis=1).mean(), (np.array(["a", "b"])[found.argmax(1)] == team[hidden])
    assert 0.5 < right.mean() < 0.85
    assert abs(sure - right.mean()) < 0.08


@pytest.mark.parametrize("name", ["y", "n", "when"])
def test_bounds(name):
    x = np.arange(20.0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(x, unit="D")
    frame = pd.DataFrame({"x": x, "y": 2 * x, "n": pd.array(x, "Int64"), "when": days})
    frame.loc[[0, 1, 18, 19], name] = None
    frame = frame[["x", name]]
    method = methods.get("iterative")  # it goes beyond what it has seen
    free = TableCompleter(method).fit_transform(frame)[name]
    kept = TableCompleter(method, clip="observed").fit_transform(frame)[name]
    assert free.min() < frame[name].min() == kept.min()
    assert free.max() > frame[name].max() == kept.max()


def test_bounds_of_some_columns(holes):
    frame, missing = holes
    clip = {
        "height": (160, None),
        "count": (-2.5, 2.5),
        "born": ("1999-12-25", dt.datetime(2000, 1, 10)),
        "weight": "observed",
    }
    completed = TableCompleter(LRMC(), passthrough=["who"], clip=clip).fit_transform(frame)
    where = dict(zip(frame.columns, missing.T, strict=True))
    assert completed.loc[where["height"], "height"].min() == 160
    count = completed.loc[where["count"], "count"]
    assert (count.min(), count.max()) == (-2, 2)
    born = completed.loc[where["born"], "born"]
    assert (born.min(), born.max()) == (pd.Timestamp("1999-12-25"), pd.Timestamp("2000-01-10"))


def test_whole_numbers_in_floats(mixed):
    frame = mixed[["height", "count"]].astype(float)
    frame.loc[::4, "count"] = NAN
    plain = TableCompleter(LRMC()).fit_transform(frame)["count"]
    whole = TableCompleter(LRMC(), integers="whole").fit_transform(frame)["count"]
    said = TableCompleter(LRMC(), column_types={"count": "integer"}).fit_transform(frame)["count"]
    assert plain.dtype == whole.dtype == float
    assert not (plain == plain.round()).all()
    assert (whole == plain.round()).all()
    assert (said == whole).all()


def test_numbers_that_are_names(mixed):
    frame = mixed[["height"]].assign(zip=np.where(mixed["height"] > 170, 8001, 3012))
    frame = frame.astype({"zip": "Int64"})
    frame.loc[::4, "zip"] = pd.NA
    completer = TableCompleter(LRMC(), column_types={"zip": "categorical"})
    completed = completer.fit_transform(frame)
    assert set(completed["zip"]) == {3012, 8001}
    assert completed["zip"].dtype == "Int64"
    assert completer.proba_["zip"].levels == [3012, 8001]


@pytest.mark.parametrize("dtype", [pl.String, pl.Enum(["S", "M", "L"]), pl.Categorical])
def test_an_order_may_be_given(dtype):
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0] * 5, "size": ["S", None, "L"] * 5},
                         schema_overrides={"size": dtype})  # fmt: skip
    assert TableCompleter(LRMC()).fit(frame).schema_[1].kind == "categorical"
    completer = TableCompleter(KNNImputer(n_neighbors=10), column_types={"size": ["S", "M", "L"]})
    completed = completer.fit_transform(frame)
    assert completer.schema_[1].levels == ["S", "M", "L"]
    assert completed["size"].to_list() == ["S", "M", "L"] * 5
    assert completed.schema == frame.schema


def test_kinds_may_be_said_for_all_that_they_fit():
    frame = pl.DataFrame({"x": [1, 2, None, 3] * 3})
    for kind in set(CODECS) - {"bool", "datetime", "duration"}:
        assert (
            TableCompleter(KNNImputer(), column_types={"x": kind}).fit(frame).schema_[0].kind
            == kind
        )


def test_columns_left_alone_do_not_count(holes):
    frame, _ = holes
    frame = frame.assign(note=[["any", "thing"], *[None] * 59])
    completer = TableCompleter(LRMC(), passthrough=("who", "note"), random_state=0)
    completed = completer.fit_transform(frame)
    pd.testing.assert_series_equal(completed["note"], frame["note"])
    other = completer.fit_transform(frame.assign(who="x", note=1.5))
    pd.testing.assert_frame_equal(other.iloc[:, 1:-1], completed.iloc[:, 1:-1])


def test_a_single_name_may_be_left_alone(holes):
    assert TableCompleter(LRMC(), passthrough="who").fit(holes[0]).schema_[0].kind == "id"


@pytest.mark.parametrize("empty", [[None] * 6, [NAN] * 6])
def test_empty_columns_stay_with_a_warning(empty):
    frame = pd.DataFrame({"nothing": empty, "x": [1.0, None] * 3, "y": range(6)})
    completer = TableCompleter(KNNImputer())
    with pytest.warns(UserWarning, match="without any observed cell stay empty: 'nothing'"):
        completed = completer.fit_transform(frame)
    pd.testing.assert_series_equal(completed["nothing"], frame["nothing"])
    assert completed["x"].notna().all()
    assert list(completer.transform(frame.iloc[:2]).columns) == list(frame.columns)


def test_one_row():
    frame = pl.DataFrame({"x": [1.5], "k": ["a"]})
    completer = TableCompleter(LRMC()).fit(frame)
    assert completer.method_ is None
    new = pl.DataFrame({"x": [None, 2.0], "k": [None, "a"]}, schema=frame.schema)
    assert completer.transform(new).rows() == [(1.5, "a"), (2.0, "a")]
    assert_array_equal(completer.predict_proba(new)["k"].values, [[1.0]])


def test_only_columns_left_alone():
    frame = pl.DataFrame({"who": ["a", None]})
    assert TableCompleter(passthrough=["who"]).fit_transform(frame).equals(frame)


def test_no_new_rows(holes, fitted):
    for library in pd.DataFrame, pl.from_pandas, pa.Table.from_pandas:
        new = library(holes[0].iloc[:0])
        assert len(fitted[0].transform(new)) == 0
        assert fitted[0].predict_proba(new)["team"].values.shape == (0, 3)


def test_rows_without_any_cell_get_something(holes, fitted):
    completer = fitted[0]
    new = holes[0].iloc[:1].copy()
    new[new.columns] = None
    new = new.astype(holes[0].dtypes)
    completed = completer.transform(new)
    assert completed.iloc[0, 1:].notna().all()
    shares = holes[0]["team"].value_counts(normalize=True).sort_index()
    assert_allclose(completer.predict_proba(new)["team"].values, [shares], atol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_missing_altogether_get_a_dtype(fitted, library):
    completer = fitted[0]
    names = ["who", "weight", "count", "team", "tall", "size", "born"]
    cells = {"height": [185.0]} | {name: [None] for name in names}
    new = pd.DataFrame(cells, index=[7]) if library == "pandas" else pl.DataFrame(cells)
    completed = completer.transform(new)
    row = completed.to_dict("list") if library == "pandas" else completed.to_dict(as_series=False)
    assert row["team"] == ["high"]
    assert row["tall"] == [True]
    assert row["size"] == ["XL"]
    assert isinstance(row["count"][0], int)
    assert row["born"][0].year == 2002
    assert row["weight"][0] == pytest.approx(89, abs=3)


def test_a_new_column_of_dates_keeps_to_time_zones():
    dates = pd.to_datetime(["2020-01-01", "2020-01-03"], utc=True).tz_convert("Europe/Berlin")
    completer = TableCompleter(KNNImputer()).fit(pd.DataFrame({"x": [1.0, 2.0], "d": dates}))
    completed = completer.transform(pl.DataFrame({"x": [2.0], "d": [None]}))
    assert completed["d"].to_list() == [dt.datetime(2020, 1, 2, tzinfo=dt.UTC)]


def test_truth_values_may_be_categories_but_not_numbers():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0] * 3, "b": [True, None, False] * 3})
    completer = TableCompleter(KNNImputer(), column_types={"b": "categorical"})
    assert completer.fit_transform(frame).schema == frame.schema
    assert completer.proba_["b"].levels == [False, True]
    with pytest.raises(ValueError, match=r"'b' is bool.*cannot be read as 'numeric'"):
        TableCompleter(column_types={"b": "numeric"}).fit(frame)


def test_mixed_objects_may_be_categories():
    frame = pd.DataFrame({"x": [1.0, 9.0] * 6, "v": pd.Series([7, "b", 7, None] * 3, dtype=object)})
    completed = TableCompleter(KNNImputer(), column_types={"v": "categorical"}).fit_transform(frame)
    assert completed["v"].tolist() == [7, "b"] * 6


def test_unseen_categories(holes, completer):
    completer.fit(holes[0])
    new = holes[0].iloc[:3].copy()
    new["team"] = ["low", "nowhere", None]
    with pytest.raises(ValueError, match=r"'team' holds 'nowhere' in row 1.*handle_unknown=\"mis"):
        completer.transform(new)
    completer.set_params(handle_unknown="missing")
    completed = completer.transform(new)
    assert completed["team"].tolist()[:2] == ["low", "nowhere"]
    assert completed["team"][2] in ("low", "middle", "high")


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_categories_that_new_rows_do_not_know_are_added(library):
    make = {
        "pandas": lambda cells: pd.Series(cells, dtype="category"),
        "pyarrow": lambda cells: pa.array(cells).dictionary_encode(),
    }[library]
    build = pd.DataFrame if library == "pandas" else pa.table
    completer = TableCompleter(LRMC())
    completer.fit(build({"x": [1.0, 1.1, 5.0, 5.1], "k": make(["a", "a", "b", "b"])}))
    completed = completer.transform(build({"x": [1.0, 5.0], "k": make(["a", None])}))
    assert list(completed["k"].to_numpy()) == ["a", "b"]


def test_an_enum_without_the_category_is_refused():
    completer = TableCompleter(LRMC())
    completer.fit(pl.DataFrame({"x": [1.0, 1.1, 5.0, 5.1], "k": ["a", "a", "b", "b"]}))
    new = pl.DataFrame({"x": [5.0], "k": [None]}, schema_overrides={"k": pl.Enum(["a"])})
    with pytest.raises(ValueError, match=r"'k' has to be completed by 'b'.*Enum"):
        completer.transform(new)


def test_pipelines(mixed, holes):
    frame, _ = holes
    numbers = ["height", "count"]
    pipeline = make_pipeline(TableCompleter(LRMC()), LinearRegression())
    pipeline.fit(frame[numbers], mixed["weight"])
    assert pipeline.predict(frame[numbers]).shape == (60,)
    pipeline.set_params(tablecompleter__clip="observed", tablecompleter__method__scale=None)
    assert pipeline.fit(frame[numbers], mixed["weight"]).score(frame[numbers], mixed["weight"]) > 0


def test_output_containers_of_scikit_learn(holes, fitted, completer):
    expected = fitted[1]
    with sklearn.config_context(transform_output="pandas"):
        pd.testing.assert_frame_equal(completer.fit_transform(holes[0]), expected)
    assert completer.set_output(transform="pandas").transform(holes[0]).shape == (60, 8)


def test_parameters_are_kept_as_they_are(holes):
    kinds, method = {"count": "numeric"}, PMC(smoothing=1e-2)
    completer = TableCompleter(method, column_types=kinds, passthrough=["who"], random_state=0)
    copy = clone(completer)
    assert copy.get_params()["method__smoothing"] == 1e-2
    completer.fit(holes[0])
    assert completer.method is method
    assert method.scale == "auto"
    assert completer.column_types is kinds
    assert completer.n_features_in_ == 8
    assert completer.feature_names_in_.tolist() == list(holes[0].columns)
    assert completer.get_feature_names_out().tolist() == list(holes[0].columns)


def test_a_completer_may_be_fitted_again(holes, completer):
    completer.fit(holes[0])
    numbers = holes[0][["height", "weight"]].set_axis([0, 1], axis=1)
    completer.set_params(passthrough=()).fit(numbers)
    assert not hasattr(completer, "feature_names_in_")
    assert completer.proba_ == {}
    assert completer.transform(numbers).shape == (60, 2)


def test_saved_and_loaded(holes, fitted, tmp_path):
    pytest.importorskip("skops")
    completer = fitted[0]
    completer.save(tmp_path / "table.skops")
    loaded = polycomplete.load(tmp_path / "table.skops")
    pd.testing.assert_frame_equal(loaded.transform(holes[0]), completer.transform(holes[0]))
    assert_array_equal(loaded.proba_["team"].values, completer.proba_["team"].values)
    assert loaded.schema_ == completer.schema_


FRAME = pd.DataFrame({"x": [1.0, None, 2.0], "k": ["a", "b", None]})
BAD_TABLES = {
    "array": (np.ones((3, 2)), TypeError, "must be a data frame.*got ndarray.*PMC"),
    "lazy": (pl.LazyFrame({"x": [1]}), TypeError, "in memory, got LazyFrame"),
    "no rows": (FRAME.iloc[:0], ValueError, "X has 0 rows and 2 columns; there is nothing"),
    "no columns": (FRAME[[]], ValueError, "X has 3 rows and 0 columns; there is nothing"),
    "same names": (FRAME.set_axis(["x", "x"], axis=1), ValueError, "rename columns first"),
    "infinity": (
        pd.DataFrame({"x": [1.0, np.inf, -np.inf]}),
        ValueError,
        r"Column 'x' contains infinity in row 1 \(2 in all\)",
    ),
    "lists": (pl.DataFrame({"v": [[1], None]}), TypeError, r"'v' holds List.*passthrough=\['v'\]"),
    "structs": (
        pa.table({"v": [{"a": 1}, None]}),
        TypeError,
        r"'v' holds struct.*passthrough=\['v'",
    ),
    "objects": (
        pd.DataFrame({"v": [{}, None]}),
        TypeError,
        "'v' holds Python objects of type dict",
    ),
    "dates in objects": (
        pd.DataFrame({"v": pd.Series([dt.date(2020, 1, 1), None], dtype=object)}),
        TypeError,
        "'v' holds Python objects of type date",
    ),
    "periods": (
        pd.DataFrame({"v": pd.period_range("2020", periods=2)}),
        TypeError,
        "'v' holds per",
    ),
    "complex": (pd.DataFrame({"v": [1j, 2]}), TypeError, "'v' holds complex"),
    "mixed": (
        pd.DataFrame({"v": pd.Series([1, "a"], dtype=object)}),
        TypeError,
        "'v' mixes numbers, text.*column_types={'v': \"categorical\"}",
    ),
    "names": (
        pl.DataFrame({"who": [f"person {i}" for i in range(60)]}),
        ValueError,
        r"'who' has 60 different levels.*categories=50.*passthrough=\['who'\].*raise max_cat",
    ),
}


@pytest.mark.parametrize(("frame", "kind", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(frame, kind, message):
    with pytest.raises(kind, match=message):
        TableCompleter(LRMC()).fit(frame)


@pytest.mark.parametrize("method", ["pmc-w", LRMC])
def test_a_method_must_be_an_estimator(method):
    with pytest.raises(TypeError, match=r"An estimator object is needed.*PMC\(\).*, got "):
        TableCompleter(method).fit(FRAME)


BAD_SETTINGS = {
    "unknown id": ({"passthrough": ["z"]}, "passthrough names column 'z'.*are 'x', 'k'"),
    "unknown kind": ({"column_types": {"z": "numeric"}}, "column_types names column 'z'"),
    "unknown weight": ({"column_weights": {"z": 1}}, "column_weights names column 'z'"),
    "unknown clip": ({"clip": {"z": (0, 1)}}, "clip names column 'z'"),
    "kind": ({"column_types": {"x": "float"}}, r"types\['x'\] must be one of num.*got 'float'"),
    "text as numbers": ({"column_types": {"k": "numeric"}}, "'k' is cat.*cannot be read as 'num"),
    "numbers as dates": ({"column_types": {"x": "datetime"}}, "'x' is num.*cannot be read as 'dat"),
    "order of text": ({"column_types": {"k": "ordered"}}, "'k' is text, whose order is not known"),
    "lacking level": ({"column_types": {"k": ["a", "c"]}}, "'k' holds 'b', which is not among"),
    "level twice": ({"column_types": {"k": ["a", "b", "a"]}}, r"types\['k'\] names a level twice"),
    "weight": ({"column_weights": {"x": -1}}, r"weights\['x'\] must be a positive .* -1"),
    "weight text": ({"column_weights": {"x": "2"}}, r"weights\['x'\] must be .* number, got '2'"),
    "clip": ({"clip": "range"}, 'clip must be None, "observed" or a dict.*got \'range\''),
    "clip for all": ({"clip": (0, 1)}, r"clip must be None.*got \(0, 1\)"),
    "clip name": ({"clip": {"x": "range"}}, "clip of column 'x' must be \"observed\" or a pair"),
    "clip words": ({"clip": {"k": (0, 1)}}, "clip of column 'k'.*kind 'categorical'"),
    "clip order": ({"clip": {"x": (2, 1)}}, "clip of column 'x'.*low <= high"),
    "clip pair": ({"clip": {"x": 3}}, "clip of column 'x'"),
    "clip text": ({"clip": {"x": ("a", "b")}}, "clip of column 'x'"),
    "integers": ({"integers": "round"}, 'integers must be "typed" or "whole", got \'round\''),
    "unknown": ({"handle_unknown": "drop"}, 'handle_unknown must be "error" or "missing"'),
    "categories": ({"max_categories": 0}, "max_categories must be a positive integer, got 0"),
    "too many": ({"max_categories": 1}, "'k' has 2 different levels"),
    "indicator": ({"method": SimpleImputer(add_indicator=True)}, "SimpleImputer returned.*add_ind"),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        TableCompleter(**{"method": LRMC()} | settings).fit(FRAME)


BAD_ROWS = {
    "lacking": (FRAME[["k"]], "Column 'x' of the fitted table is missing.*add it"),
    "more": (FRAME.assign(z=1), "Column 'z' was not in the fitted table.*drop it"),
    "text for numbers": (FRAME.assign(x="a"), "'x' was numeric .Float64. when it was learned, and"),
    "objects": (
        FRAME.assign(x=pd.Series([1, None, "b"], dtype=object)),
        "'x' holds 'b' in row 2, which is not a number.*encode",
    ),
    "numbers for text": (FRAME.assign(k=1.5), "'k' was categorical .String. when it was learned"),
    "infinity": (FRAME.assign(x=np.inf), "'x' contains infinity in row 0"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows(rows, message):
    completer = TableCompleter(LRMC()).fit(FRAME)
    with pytest.raises(ValueError, match=message):
        completer.transform(rows)


def test_time_zones_are_not_mixed_up():
    dates = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", None, "2020-01-05"])})
    completer = TableCompleter(KNNImputer()).fit(dates)
    with pytest.raises(ValueError, match="'d' was learned without a time zone"):
        completer.transform(dates.assign(d=dates["d"].dt.tz_localize("UTC")))


def test_it_has_to_be_fitted_first():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        TableCompleter().transform(FRAME)


def test_extreme_cells_are_completed_from_or_named():
    table = pl.DataFrame({"x": np.linspace(0, 1, 30), "n": range(30), "o": [1.5] + [2.5] * 29})
    fitted = TableCompleter(methods.get("lrmc"), random_state=0).fit(table)
    new = pl.DataFrame({"x": [1e306], "n": [None], "o": [2.5]}, schema=table.schema)
    assert fitted.transform(new)["n"].dtype == pl.Int64
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 30), eager=True)
    fitted = TableCompleter(methods.get("lrmc"), random_state=0).fit(table.with_columns(n=days))
    schema = {"x": pl.Float64, "n": pl.Date, "o": pl.Float64}
    pandas = pl.DataFrame({"x": [1e306], "n": [None], "o": [2.5]}, schema=schema).to_pandas()
    assert fitted.transform(pandas.astype({"n": "datetime64[us]"}))["n"].notna().all()
    fitted = TableCompleter(methods.get("srmc"), random_state=0).fit(table)
    with pytest.raises(ValueError, match=r"Row 0 .* its 1e\+306 in column 'x' is too far"):
        fitted.transform(new)


def test_whole_numbers_of_hundreds_of_digits_are_named():
    cells = pd.Series([10**400, 1, 2, None], dtype=object)
    table = pd.DataFrame({"o": cells, "x": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ValueError, match=r"'o' holds 10+ in row 0.*too large to convert.*make it"):
        TableCompleter(methods.get("lrmc")).fit(table)


@pytest.mark.parametrize("m", [64, 257, 1000])
def test_every_fitted_attribute_is_right_at_any_width(m):
    rng = np.random.default_rng(m)
    X = np.outer(rng.normal(size=24), rng.normal(size=m))
    kind = np.where(X[:, 0] * X[0, 0] > 0, "a", "b").astype(object)
    X[rng.random(X.shape) < 0.1], kind[::6] = np.nan, None
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(m)]).assign(kind=kind)
    found = TableCompleter(PMC(**QUICK), random_state=0).fit(frame)
    names, numbers = [*frame.columns], [*frame.columns[:-1]]
    assert (found.n_features_in_, found.n_samples_seen_) == (m + 1, 24)
    assert found.feature_names_in_.tolist() == found.get_feature_names_out().tolist() == names
    assert [column.name for column in found.schema_] == names
    assert list(found.calibrations_) == list(found.proba_) == ["kind"]
    assert_array_equal(found.proba_["kind"].rows, np.arange(0, 24, 6))
    assert_allclose(found.proba_["kind"].values.sum(axis=1), 1)
    assert list(found.cell_std_) == numbers
    for name, std in found.cell_std_.items():
        assert_array_equal(std > 0, frame[name].isna())
    assert (found.held_out_, found.fallback_columns_) == (None, [])
    assert found.method_.n_features_in_ == m + 2
    assert found.transform(frame[:2]).notna().all(axis=None)
