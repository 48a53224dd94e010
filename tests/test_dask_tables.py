"""Dask: tables with columns of all kinds."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from polycomplete import LRMC, TableCompleter
from polycomplete.dask import complete_parquet, fit, transform


def mixed(n=240):
    """A table with numbers, whole numbers, dates and labels; one label occurs once."""
    t = np.random.default_rng(0).random(n)
    frame = pd.DataFrame({
        "who": np.arange(n),
        "x": t,
        "y": t**2,
        "count": (10 * t).astype(int),
        "kind": np.where(t > 0.5, "long", "short"),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta((1000 * t).round(), unit="h"),
    })  # fmt: skip
    frame.loc[37, "kind"] = "rare"
    frame.loc[::7, "x"] = np.nan
    frame.loc[::5, "kind"] = None
    frame.loc[3::9, "when"] = pd.NaT
    return frame


def table_completer():
    return TableCompleter(method=LRMC(), ids=["who"], random_state=0)


def test_a_table_is_completed_as_in_memory_where_it_is_small():
    frame = mixed()
    expected = table_completer().fit(frame).transform(frame)
    X = dd.from_pandas(frame, npartitions=4)
    found = transform(fit(table_completer(), X), X).compute()
    assert found["kind"].tolist() == expected["kind"].tolist()
    numbers = ["x", "y", "count", "when"]
    pd.testing.assert_frame_equal(found[numbers], expected[numbers])


def test_a_table_is_learned_from_a_sample_with_all_of_its_labels(monkeypatch):
    monkeypatch.setattr("polycomplete.dask.tables.ROWS", 40)
    frame, fitted = mixed(), []
    for count in (1, 2, 7):
        completer = table_completer().set_params(clip="observed")
        fitted.append(fit(completer, dd.from_pandas(frame, npartitions=count)))
    columns = {column.name: column for column in fitted[0].schema_}
    assert columns["kind"].levels == ["long", "rare", "short"]
    assert (columns["x"].low, columns["x"].high) == (frame["x"].min(), frame["x"].max())
    for other in fitted[1:]:
        pd.testing.assert_frame_equal(other.transform(frame), fitted[0].transform(frame))


def test_tables_in_parquet_files(tmp_path):
    frame = mixed()
    expected = table_completer().fit(frame).transform(frame)
    (tmp_path / "given").mkdir()
    for number, part in enumerate([frame[:100], frame[100:150], frame[150:]]):
        part.to_parquet(tmp_path / "given" / f"{number}.parquet")
    complete_parquet(tmp_path / "given", tmp_path / "done", table_completer())
    found = pd.read_parquet(tmp_path / "done")
    assert found["kind"].tolist() == expected["kind"].tolist()
    numbers = ["who", "x", "y", "count", "when"]
    pd.testing.assert_frame_equal(found[numbers], expected[numbers])


def test_tables_that_do_not_fit_are_refused():
    frame = mixed()
    parts = [frame[:100], frame[100:].drop(columns="y")]
    tasks = [dask.delayed(part) for part in parts]
    X = dd.from_delayed(tasks, meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"Partition 1: Column 'y' of the fitted table"):
        fit(table_completer(), X)
    X = dd.from_pandas(frame, npartitions=2).astype({"kind": "category"})
    with pytest.raises(ValueError, match=r"categories of column 'kind' yet; call X = X.categorize"):
        fit(table_completer(), X)
    assert fit(table_completer(), X.categorize()).schema_[4].levels == ["long", "rare", "short"]
