"""Every dtype of every library comes back as it was, with only its missing cells changed."""

import datetime as dt
from zoneinfo import ZoneInfo

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import KNNImputer

from polycomplete import LRMC, TableCompleter
from polycomplete.frames import present, table

BIG = 2**53 + 1
DAYS = [dt.datetime(2020, 1, day, 3, 4, 5, 678901) for day in (1, 5, 9, 20)]
BERLIN = [day.replace(tzinfo=ZoneInfo("Europe/Berlin")) for day in DAYS]
DATES = [day.date() for day in DAYS]
LENGTHS = [dt.timedelta(days=d, microseconds=7) for d in (1, 2, 9, 4)]
NANOSECONDS = np.array([1577836800123456789, 1577836800123456790, 1, -5], dtype=np.int64)
SIZES = ["S", "M", "L", "XL"]
COLOURS = ["red", "blue", "red", "green"]


def gaps(values):
    """Put missing cells between values."""
    return [values[0], None, *values[1:], None, values[0]]


def pandas_(values, dtype):
    return pd.DataFrame({"x": pd.Series(gaps(list(values)), dtype=dtype)})


def polars_(values, dtype):
    return pl.DataFrame({"x": pl.Series(gaps(list(values)), dtype=dtype)})


def pyarrow_(values, dtype):
    return pa.table({"x": pa.array(gaps(list(values)), type=dtype)})


def arrow_in_pandas(values, dtype):
    return pandas_(values, pd.ArrowDtype(dtype))


FLOATS, INTS, BOOLS = [0.1, -1.5, 1e300, 3.0], [BIG, 3, -7, 2**63 - 1], [True, False, True, True]
SMALL = [0.5, -1.5, 2.25, 3.0]
PANDAS = {
    "float64": (FLOATS, "float64"),
    "float32": (SMALL, "float32"),
    "Float64": (FLOATS, "Float64"),
    "Int64": (INTS, "Int64"),
    "Int8": ([1, 127, -128, 4], "Int8"),
    "UInt64": ([2**64 - 1, 0, 5, 2**63], "UInt64"),
    "boolean": (BOOLS, "boolean"),
    "bools in objects": (BOOLS, object),
    "text in objects": (COLOURS, object),
    "whole numbers in objects": ([1, 5, 3, 7], object),
    "numbers in objects": ([1, 5.5, 3, 7], object),
    "str": (COLOURS, "str"),
    "string": (COLOURS, "string"),
    "category": (COLOURS, pd.CategoricalDtype(["green", "red", "blue", "unused"])),
    "numbers as categories": ([3, 1, 3, 2], pd.CategoricalDtype([3, 2, 1])),
    "ordered": (SIZES, pd.CategoricalDtype(SIZES, ordered=True)),
    "intervals": (
        pd.cut([1.0, 2.0, 3.0, 4.0], 3).tolist(),
        pd.CategoricalDtype(pd.cut([1.0, 2.0, 3.0, 4.0], 3).categories, ordered=True),
    ),
    "datetime ns": (pd.to_datetime(NANOSECONDS), "datetime64[ns]"),
    "datetime s": (DAYS, "datetime64[s]"),
    "datetime zone": (pd.to_datetime(NANOSECONDS, utc=True), "datetime64[ns, Europe/Berlin]"),
    "timedelta": (pd.to_timedelta(NANOSECONDS), "timedelta64[ns]"),
    "timedelta s": (LENGTHS, "timedelta64[s]"),
}
ARROW = {
    "double": (FLOATS, pa.float64()),
    "float": (SMALL, pa.float32()),
    "int64": (INTS, pa.int64()),
    "uint64": ([2**64 - 1, 0, 5, 2**63], pa.uint64()),
    "int8": ([1, 127, -128, 4], pa.int8()),
    "bool": (BOOLS, pa.bool_()),
    "string": (COLOURS, pa.string()),
    "large string": (COLOURS, pa.large_string()),
    "timestamp us": (DAYS, pa.timestamp("us")),
    "timestamp zone": (BERLIN, pa.timestamp("us", "Europe/Berlin")),
    "date": (DATES, pa.date32()),
    "duration": (LENGTHS, pa.duration("us")),
}
POLARS = {
    "Float64": (FLOATS, pl.Float64),
    "Float32": (SMALL, pl.Float32),
    "Int64": (INTS, pl.Int64),
    "UInt64": ([2**64 - 1, 0, 5, 2**63], pl.UInt64),
    "Int8": ([1, 127, -128, 4], pl.Int8),
    "Boolean": (BOOLS, pl.Boolean),
    "String": (COLOURS, pl.String),
    "Categorical": (COLOURS, pl.Categorical),
    "Enum": (SIZES, pl.Enum([*SIZES, "unused"])),
    "Datetime": (DAYS, pl.Datetime("us")),
    "Datetime ms": ([day.replace(microsecond=678000) for day in DAYS], pl.Datetime("ms")),
    "Datetime zone": (BERLIN, pl.Datetime("ns", "Europe/Berlin")),
    "Date": (DATES, pl.Date),
    "Duration": (LENGTHS, pl.Duration("us")),
}
if hasattr(nw, "Float16"):  # not in the oldest versions, as the next
    PANDAS["float16"] = (SMALL, "float16")
if hasattr(pl, "Int128"):
    POLARS["Int128"] = ([2**100, 0, -(2**90), 5], pl.Int128)
DICTIONARIES = {
    "dictionary": pa.array(gaps(COLOURS)).dictionary_encode(),
    "ordered dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 2, 1, 2, None, 0], pa.int8()), pa.array(["S", "M", "L"]), ordered=True
    ),
}
TABLES = (
    {f"pandas {name}": pandas_(*case) for name, case in PANDAS.items()}
    | {f"pandas arrow {name}": arrow_in_pandas(*case) for name, case in ARROW.items()}
    | {f"polars {name}": polars_(*case) for name, case in POLARS.items()}
    | {f"pyarrow {name}": pyarrow_(*case) for name, case in ARROW.items()}
    | {f"pyarrow {name}": pa.table({"x": array}) for name, array in DICTIONARIES.items()}
)


def with_driver(frame, values=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)):
    """Append a complete column of numbers."""
    values = list(values)
    if isinstance(frame, pa.Table):
        return frame.append_column("driver", pa.array(values, pa.float64()))
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(driver=pl.Series(values, dtype=pl.Float64))
    return frame.assign(driver=np.array(values, dtype=float))


def schema_of(frame):
    return frame.dtypes.to_dict() if isinstance(frame, pd.DataFrame) else dict(
        zip(frame.schema.names, frame.schema.types, strict=True)
    ) if isinstance(frame, pa.Table) else dict(frame.schema)  # fmt: skip


def exact(cell):
    """Return a cell in a form whose equality is that of bits."""
    if isinstance(cell, float | np.floating):
        return np.float64(cell).tobytes()
    if isinstance(cell, pd.Timestamp | pd.Timedelta):
        return cell.value, cell.unit
    return type(cell), cell


def assert_only_missing_cells_changed(before, after):
    """Check library, dtypes, order, present cells, and that nothing is missing any more."""
    assert type(after) is type(before)
    assert schema_of(after) == schema_of(before)
    assert list(schema_of(after)) == list(schema_of(before))
    for old, new in zip(table(before).iter_columns(), table(after).iter_columns(), strict=True):
        there = present(old)
        assert present(new).all()
        pairs = zip(old.to_list(), new.to_list(), there, strict=True)
        assert all(exact(a) == exact(b) for a, b, ok in pairs if ok)


@pytest.mark.parametrize("frame", TABLES.values(), ids=TABLES)
def test_every_dtype_comes_back_and_the_input_stays(frame):
    before = repr(next(table(frame).iter_columns()).to_list())
    whole, completer = with_driver(frame), TableCompleter(LRMC(), random_state=0)
    assert_only_missing_cells_changed(whole, completer.fit_transform(whole))
    assert_only_missing_cells_changed(whole, completer.transform(whole))
    assert repr(next(table(frame).iter_columns()).to_list()) == before


def test_constant_columns_are_filled_with_their_constant():
    for name, frame in TABLES.items():
        first = frame.iloc[[0, 1]] if isinstance(frame, pd.DataFrame) else frame[:2]
        completed = TableCompleter(LRMC()).fit_transform(first)
        assert_only_missing_cells_changed(first, completed)
        cells = next(table(completed).iter_columns()).to_list()
        assert cells[0] == cells[1], name


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table, pd.DataFrame])
def test_nan_and_null_are_both_missing(library):
    frame = library({"x": [1.0, float("nan"), None, 2.0], "y": [1.0, 2.0, 3.0, 4.0]})
    completed = TableCompleter(LRMC()).fit_transform(frame)
    assert np.isfinite(table(completed)["x"].to_numpy()).all()


def test_pandas_keeps_index_names_and_notes():
    frame = with_driver(pandas_(COLOURS, "str")).set_axis(list("aabbccd"))
    frame.columns.name, frame.index.name, frame.attrs["source"] = "field", "row", "a file"
    completed = TableCompleter(LRMC()).fit_transform(frame)
    pd.testing.assert_index_equal(completed.index, frame.index)
    pd.testing.assert_index_equal(completed.columns, frame.columns)
    assert completed.attrs == {"source": "a file"}


@pytest.mark.parametrize("names", [[0, 1], ["a", 1], [("a", 1), ("a", 2)]])
def test_pandas_may_have_other_things_than_text_for_names(names):
    frame = with_driver(pandas_(COLOURS, "str"))
    tuples = isinstance(names[0], tuple)
    frame.columns = pd.MultiIndex.from_tuples(names) if tuples else names
    completer = TableCompleter(LRMC())
    completed = completer.fit_transform(frame)
    pd.testing.assert_index_equal(completed.columns, frame.columns)
    assert completer.get_feature_names_out().tolist() == names
    assert not completed.isna().any(axis=None)


def test_chunks_of_pyarrow_are_read_as_one_column():
    parts = [pa.array(part).dictionary_encode() for part in (["b", None], ["a", "b", None])]
    frame = pa.table({"x": pa.chunked_array(parts), "driver": [1.0, 1.1, 5.0, 1.2, 5.1]})
    completed = TableCompleter(LRMC()).fit_transform(frame)
    assert completed["x"].to_pylist() == ["b", "b", "a", "b", "a"]
    assert completed.schema == frame.schema


CELLS = {
    "f": st.floats(-1e6, 1e6) | st.none(),
    "i": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "b": st.booleans() | st.none(),
    "k": st.sampled_from(["a", "b", "c d", ""]) | st.none(),
    "d": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)) | st.none(),
    "t": st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999)) | st.none(),
}
TYPES = {
    "f": (pl.Float64, pa.float64(), "float64"),
    "i": (pl.Int64, pa.int64(), "Int64"),
    "b": (pl.Boolean, pa.bool_(), "boolean"),
    "k": (pl.String, pa.string(), "string"),
    "d": (pl.Datetime("us"), pa.timestamp("us"), "datetime64[us]"),
    "t": (pl.Duration("us"), pa.duration("us"), "timedelta64[us]"),
}
MAKERS = {
    "polars": lambda rows: pl.DataFrame(
        {key: pl.Series([row[key] for row in rows], dtype=TYPES[key][0]) for key in CELLS}
    ),
    "pyarrow": lambda rows: pa.table(
        {key: pa.array([row[key] for row in rows], TYPES[key][1]) for key in CELLS}
    ),
    "pandas": lambda rows: pd.DataFrame(
        {key: pd.Series([row[key] for row in rows], dtype=TYPES[key][2]) for key in CELLS}
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.filterwarnings("ignore:Columns without any observed cell")
@given(st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=8))
def test_drawn_tables_come_back(make, rows):
    frame = make(rows)
    completer = TableCompleter(KNNImputer(), random_state=0)
    completed = completer.fit_transform(frame)
    empty = [column.name for column in completer.schema_ if column.kind == "empty"]
    kept = [name for name in CELLS if name not in empty]
    pick = (lambda t: t.select(kept)) if not isinstance(frame, pd.DataFrame) else lambda t: t[kept]
    assert_only_missing_cells_changed(pick(frame), pick(completed))
    assert schema_of(completed) == schema_of(frame)
    for name, found in completer.proba_.items():
        np.testing.assert_allclose(found.values.sum(axis=1), 1, err_msg=name)
