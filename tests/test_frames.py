"""Tables in, the same kind of table out."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polycomplete import LRMC, TableCompleter
from polycomplete.frames import find_missing, like_input, to_matrix

NAN = np.nan
NAMES = list("abcdef")
TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES, nan_to_null=True),
    "pyarrow": lambda X: pa.table([pa.array(x, from_pandas=True) for x in X.T], NAMES),
}
READ = {
    "float": ([[1.0, NAN]], [[1.0, NAN]]),
    "int": (np.array([[1, 2]], dtype=np.int8), [[1.0, 2.0]]),
    "bool": ([[True, False]], [[1.0, 0.0]]),
    "mixed list": ([[1, None], [True, 2.5]], [[1.0, NAN], [1.0, 2.5]]),
    "objects": (np.array([[1, pd.NA], [Decimal("1.5"), pd.NaT]]), [[1.0, NAN], [1.5, NAN]]),
    "masked": (np.ma.array([[1.0, 1e6]], mask=[[False, True]]), [[1.0, NAN]]),
    "masked ints": (np.ma.array([[1, -1]], mask=[[False, True]]), [[1.0, NAN]]),
    "Int64": (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), [[1.0], [NAN]]),
    "Float64": (pd.DataFrame({"a": pd.array([1.5, pd.NA], dtype="Float64")}), [[1.5], [NAN]]),
    "boolean": (pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}), [[1.0], [NAN]]),
    "arrow": (pd.DataFrame({"a": pd.array([1, None], dtype="int64[pyarrow]")}), [[1.0], [NAN]]),
    "object": (pd.DataFrame({"a": pd.Series([1, None, 2.5], dtype=object)}), [[1], [NAN], [2.5]]),
    "levels": (pd.DataFrame({"a": pd.Categorical([2, None])}), [[2.0], [NAN]]),
    "polars ints": (pl.DataFrame({"a": [1, None]}), [[1.0], [NAN]]),
    "polars bools": (pl.DataFrame({"a": [True, None]}), [[1.0], [NAN]]),
    "polars nulls": (pl.DataFrame({"a": [None, None]}), [[NAN], [NAN]]),
    "pyarrow": (pa.table({"a": [1, None], "b": [True, False]}), [[1.0, 1.0], [NAN, 0.0]]),
    "numbers as names": (pd.DataFrame([[1.0, NAN]]), [[1.0, NAN]]),
    "names of two levels": (
        pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("a", 1)])),
        [[1.0]],
    ),
}
REFUSED = {
    "text": (np.array([[1, "two"]], dtype=object), r"Column 1 holds 'two' in row 0.*encode"),
    "a long number": (np.array([[1], [10**5000]], dtype=object), "Column 0 holds a number of thou"),
    "digits": (np.array([[1], ["2"]], dtype=object), "Column 0 holds '2' in row 1.*not a number"),
    "strings": (np.array([["1", "2"]]), "Column 0 holds .*'1'.* in row 0.*not a number"),
    "pandas text": (pd.DataFrame({"n": ["x", None]}), "Column 'n' holds 'x' in row 0"),
    "polars text": (pl.DataFrame({"n": [None, "x"]}), "Column 'n' holds 'x' in row 1"),
    "pyarrow text": (pa.table({"n": ["x"]}), "Column 'n' holds 'x' in row 0"),
    "category": (pd.DataFrame({"n": pd.Categorical(["x"])}), "Column 'n' holds 'x' in row 0"),
    "dates": (pd.DataFrame({"d": pd.date_range("2020", periods=2)}), "Column 'd' holds .*2020"),
    "polars dates": (pl.DataFrame({"d": [datetime.date(2020, 1, 2)]}), "Column 'd' holds .*2020"),
    "NumPy dates": (np.array([["2020-01-02"]], dtype="datetime64[D]"), "Column 0 holds .*2020"),
    "durations": (np.array([[3]], dtype="timedelta64[D]"), "Column 0 holds .*3.* in row 0"),
    "complex": (np.array([[1j]]), "Complex data not supported; pass real and imaginary parts"),
    "complex objects": (np.array([[1j]], dtype=object), "Column 0 holds 1j in row 0"),
    "a huge number": (np.array([[10**400]], dtype=object), "Column 0 holds 1000.* in row 0"),
    "a dictionary": (np.array([[{}]]), "Column 0 holds {} in row 0"),
    "sparse": (sparse.csr_array(np.eye(2)), r"Sparse input is not supported.*X\.toarray\(\)"),
}


@pytest.mark.parametrize(("table", "expected"), READ.values(), ids=READ)
def test_anything_of_numbers_becomes_floats(table, expected):
    matrix = to_matrix(table)
    assert matrix.dtype == np.float64
    assert_array_equal(matrix, np.array(expected, dtype=float))


@pytest.mark.parametrize(("table", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_number_is_refused_with_its_place(table, message):
    with pytest.raises((ValueError, TypeError), match=message):
        to_matrix(table)


@pytest.mark.parametrize("kind", TABLES)
def test_single_precision_stays_where_all_columns_have_it(kind):
    X = np.ones((3, 6), dtype=np.float32)
    X[1, 2] = NAN
    table = TABLES[kind](X)
    assert to_matrix(table).dtype == np.float32
    assert_array_equal(to_matrix(table), X)


def test_one_column_of_double_precision_makes_all_double():
    frame = pd.DataFrame({"a": np.float32([0.1]), "b": [0.1]})
    assert_array_equal(to_matrix(frame), np.array([[np.float32(0.1), 0.1]]))


@pytest.mark.parametrize("number", [0.1, np.float64(0.1), np.float32(0.1)], ids=repr)
def test_a_number_that_stands_for_missing_is_found_in_single_precision(number):
    X = np.array([[0.1, 1.0, NAN]], dtype=np.float32)
    assert_array_equal(find_missing(X, number), [[False, True, False]])


def test_infinity_may_stand_for_missing_but_is_refused_otherwise():
    X = np.array([[1.0, 2.0], [-np.inf, np.inf]])
    with pytest.raises(ValueError, match=r"row 1, column 0; 2 in all.*replace inf by NaN"):
        find_missing(X, NAN)
    with pytest.raises(ValueError, match=r"row 1, column 0; 1 in all"):
        find_missing(X, np.inf)


@pytest.mark.parametrize("kind", TABLES)
def test_like_input_gives_the_same_library_and_the_given_names(kind):
    table = TABLES[kind](np.zeros((2, 6)))
    made = like_input(np.array([[1.0, 2.0], [3.0, 4.0]]), table, ["x", "y"])
    assert type(made) is type(table)
    assert_array_equal(to_matrix(made), [[1.0, 2.0], [3.0, 4.0]])
    names = made.column_names if kind == "pyarrow" else list(made.columns)
    assert names == ["x", "y"]


def test_like_input_gives_arrays_for_arrays_and_lists():
    result = np.ones((1, 2))
    assert like_input(result, result, ["a", "b"]) is result
    assert like_input(result, [[0, 0]], ["a", "b"]) is result


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_comes_back_as_that_table_completed(quick, problem, kind):
    expected = quick().fit_transform(problem.X)
    completer, table = quick(), TABLES[kind](problem.X)
    for made in completer.fit_transform(table), completer.transform(table):
        assert type(made) is type(table)
        assert (made.column_names if kind == "pyarrow" else list(made.columns)) == NAMES
    assert_array_equal(to_matrix(completer.fit_transform(table)), expected)
    assert list(completer.get_feature_names_out()) == NAMES


@pytest.mark.parametrize(
    "index",
    [
        list(range(40, 0, -1)),
        pd.date_range("2020", periods=40),
        pd.MultiIndex.from_product([list("uvwx"), range(10)], names=["run", "time"]),
        ["same"] * 40,
    ],
    ids=["numbers", "dates", "two levels", "not unique"],
)
def test_the_index_stays(problem, quick, index):
    frame = pd.DataFrame(problem.X, columns=NAMES, index=index)
    completer = quick()
    for made in completer.fit_transform(frame), completer.transform(frame):
        pd.testing.assert_index_equal(made.index, frame.index)


@pytest.mark.parametrize(
    "columns",
    [range(6), [5, 3, 1, 0, 2, 4], pd.MultiIndex.from_product([["u", "v"], [1, 2, 3]])],
    ids=["range", "numbers", "two levels"],
)
def test_names_that_are_not_text_stay(problem, quick, columns):
    frame = pd.DataFrame(problem.X, columns=columns)
    made = quick().fit_transform(frame)
    assert list(made.columns) == list(frame.columns)
    assert_array_equal(made.to_numpy(), quick().fit_transform(problem.X))


@pytest.mark.filterwarnings("ignore:Columns .* have no observed entry")
def test_names_of_kept_columns_and_indicators_come_back_in_order(problem, quick):
    frame = pd.DataFrame(problem.X, columns=NAMES).assign(b=NAN)
    made = quick(add_indicator=True).fit_transform(frame)
    kept = [name for name in NAMES if name != "b"]
    assert list(made.columns) == kept + [f"missingindicator_{name}" for name in NAMES]


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "object"])
def test_columns_that_hold_na_are_completed_like_nan(problem, quick, dtype):
    X = np.round(100 * problem.X)
    frame = pd.DataFrame(X, columns=NAMES).astype("Float64").mask(np.isnan(X))
    frame = (
        frame.astype(dtype) if dtype != "object" else frame.astype(object).replace({pd.NA: None})
    )
    assert frame.isna().to_numpy().any()
    made = quick().fit_transform(frame)
    assert (made.dtypes == np.float64).all()
    assert_array_equal(made.to_numpy(), quick().fit_transform(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", [None, *TABLES])
def test_set_output_decides_the_library(problem, quick, library, kind):
    given = problem.X if kind is None else TABLES[kind](problem.X)
    completer = quick(add_indicator=True).set_output(transform=library)
    expected = quick(add_indicator=True).fit_transform(problem.X)
    for made in completer.fit_transform(given), completer.fit(given).transform(given):
        assert type(made).__module__.split(".")[0] == library
        assert list(made.columns) == list(completer.get_feature_names_out())
    assert_array_equal(completer.fit_transform(given).to_numpy(), expected)


def test_the_global_setting_and_pipelines_decide_the_library(problem, quick):
    frame = pd.DataFrame(problem.X, columns=NAMES, index=range(40, 0, -1))
    with sklearn.config_context(transform_output="polars"):
        assert isinstance(quick().fit_transform(frame), pl.DataFrame)
    pipeline = make_pipeline(quick(), StandardScaler()).set_output(transform="pandas")
    made = pipeline.fit_transform(frame)
    assert list(made.columns) == NAMES
    assert list(made.index) == list(frame.index)


def test_levels_and_names_of_pandas_columns_stay(problem, quick):
    levels = pd.MultiIndex.from_product([["u", "v"], [1, 2, 3]], names=["part", "axis"])
    made = quick().fit_transform(pd.DataFrame(problem.X, columns=levels))
    pd.testing.assert_index_equal(made.columns, levels)


def test_dropped_columns_are_named(problem, quick):
    frame = pd.DataFrame(problem.X, columns=NAMES).assign(b=NAN, e=NAN)
    with pytest.warns(UserWarning, match=r"Columns b, e have no observed entry.*keep_empty_feat"):
        quick().fit(frame)


BIG = 2**53 + 1
ROUNDED = {
    "array": (np.array([[1, 2], [3, BIG]]), 1),
    "negative": (np.array([[1, 2], [3, -BIG]]), 1),
    "unsigned": (np.array([[1, 2], [3, 2**64 - 1]], dtype=np.uint64), 1),
    "objects": (np.array([[1, None], [3, BIG]], dtype=object), 1),
    "list of whole numbers and fractions": ([[1.5, 2], [3, BIG]], 1),
    "masked": (np.ma.array([[1, 2], [3, BIG]], mask=[[False, True], [False, False]]), 1),
    "pandas": (pd.DataFrame({"x": [1.5, 2.5], "id": [3, BIG]}), "id"),
    "Int64": (pd.DataFrame({"id": pd.array([None, BIG], dtype="Int64")}), "id"),
    "polars": (pl.DataFrame({"x": [1.5, 2.5], "id": [None, BIG]}), "id"),
    "pyarrow": (pa.table({"x": [1.5, 2.5], "id": [None, BIG]}), "id"),
}


@pytest.mark.parametrize(("table", "column"), ROUNDED.values(), ids=ROUNDED)
def test_whole_numbers_that_floats_would_change_are_refused_by_completers(table, column):
    said = rf"Column {column!r} holds -?\d+ in row 1, which float64 cannot hold.*TableCompleter"
    with pytest.raises(ValueError, match=said):
        LRMC().fit(table)
    assert (
        to_matrix(table).dtype == np.float64
    )  # elsewhere, such as in a report, it does not matter


def test_large_whole_numbers_that_floats_can_hold_come_back():
    X = np.array([[2**60, 1], [-(2**63), 3], [2**53, 5]])
    completed = LRMC().fit_transform(X)
    assert [[int(x) for x in row] for row in completed] == X.tolist()


def test_tables_keep_whole_numbers_that_floats_would_change():
    table = pl.DataFrame({"id": [BIG, BIG + 2, BIG + 4, None], "x": [1.0, 2.0, None, 4.0]})
    assert TableCompleter(LRMC()).fit_transform(table)["id"][:3].to_list() == [
        BIG,
        BIG + 2,
        BIG + 4,
    ]
