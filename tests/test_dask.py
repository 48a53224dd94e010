"""Dask: what one process gives, whatever the partitions and the workers, and whatever happens."""

import os
import signal
import threading
import time
from itertools import pairwise
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.diagnostics import ProgressBar
from distributed import Client, LocalCluster
from numpy.testing import assert_array_equal

from polycomplete import LRMC, PMC, Landmark, TableCompleter, datasets, masks
from polycomplete.dask import KEEP_MEMORY, complete_parquet, connected, fit, transform

NAMES = list("abcdef")
QUICK = {
    "solver": Landmark(max_samples=100),
    "smoothing": 1e-4,
    "scale": "sqrt",
    "random_state": 0,
}
CALM = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture(scope="module")
def frame():
    """A surface with holes, rows without any entry, and a stretch without holes."""
    X = datasets.make_polynomial_manifold(350, 6, random_state=0)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    mask[100:150], mask[[7, 200]] = True, False
    return pd.DataFrame(masks.apply(X, mask), columns=NAMES, index=np.arange(350) * 2)


@pytest.fixture(scope="module")
def expected(frame):
    """What one process gives."""
    pmc = PMC(**QUICK)
    return pd.DataFrame(pmc.fit_transform(frame), columns=NAMES, index=frame.index)


@pytest.fixture(scope="module")
def client():
    """Two worker processes; what is not within ``as_current`` does not see them."""
    with (
        LocalCluster(n_workers=2, **CALM) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def parts_of(frame, *places):
    edges = [0, *places, len(frame)]
    return [frame.iloc[a:b] for a, b in pairwise(edges)]


def from_parts(parts):
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0])


def check_frame(frame, expected, X):
    pmc = fit(PMC(**QUICK), X)
    found = transform(pmc, X)
    assert found.npartitions == X.npartitions
    pd.testing.assert_frame_equal(found.compute(), expected)


# The same result


@pytest.mark.parametrize("places", [(), (170,), (0, 60, 100, 150, 150, 349)], ids=[1, 2, 7])
def test_partitions_do_not_matter(frame, expected, places):
    X = from_parts(parts_of(frame, *places))  # some empty, one complete
    with dask.config.set(scheduler="synchronous"):
        check_frame(frame, expected, X)


@pytest.mark.parametrize("chunks", [(170, 180), 50])
def test_arrays_do_as_frames(frame, expected, chunks):
    X = da.from_array(frame.to_numpy(), chunks=(chunks, 4))
    with dask.config.set(scheduler="synchronous"):
        found = transform(fit(PMC(**QUICK), X), X)
        assert isinstance(found, da.Array)
        assert found.shape == (350, 6)
        assert_array_equal(found.compute(), expected)


def test_arrays_may_have_unknown_lengths(frame, expected):
    X = dd.from_pandas(frame, npartitions=3).to_dask_array()
    assert np.isnan(X.shape[0])
    assert_array_equal(transform(fit(PMC(**QUICK), X), X).compute(), expected)


def test_workers_do_not_matter(frame, expected):
    # Workers in this process are like others, and there at once.
    with LocalCluster(n_workers=4, processes=False, **CALM) as cluster, Client(cluster):
        check_frame(frame, expected, from_parts(parts_of(frame, 40, 80, 120, 160, 200, 300)))


def test_what_is_fitted_is_an_ordinary_completer(frame, expected):
    pmc = fit(PMC(add_indicator=True, **QUICK), from_parts(parts_of(frame, 100)))
    whole = PMC(add_indicator=True, **QUICK).fit(frame)
    assert pmc.feature_names_in_.tolist() == NAMES
    assert_array_equal(pmc.statistics_, whole.statistics_)
    assert_array_equal(pmc.transform(frame), whole.transform(frame))
    X = dd.from_pandas(frame, npartitions=3)
    assert transform(pmc, X).columns.tolist() == whole.transform(frame).columns.tolist()


def test_any_fitted_completer_completes_partitions(frame):
    lrmc = LRMC().fit(frame)
    found = transform(lrmc, dd.from_pandas(frame, npartitions=3)).compute()
    pd.testing.assert_frame_equal(found, lrmc.transform(frame))


def test_worker_processes_keep_freed_memory():
    with connected(workers=1) as client:
        for name, value in KEEP_MEMORY.items():
            assert list(client.run(os.environ.get, name).values()) == [str(value)]


def test_nothing_is_computed_before_it_is_asked_for(frame):
    def load(number):
        raise RuntimeError("too early")

    pmc = PMC(**QUICK).fit(frame)
    assert transform(pmc, dd.from_map(load, range(3), meta=frame.iloc[:0])).npartitions == 3


# What goes wrong


def fatal(part, marker):
    """Return a part of the data; the first time the third is asked for, the process dies."""
    number, rows = part
    if number == 3 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return rows


def test_a_killed_worker_changes_nothing(client, tmp_path, frame, expected):
    parts = list(enumerate(parts_of(frame, 50, 100, 150, 200, 250)))
    marker = str(tmp_path / "killed")
    X = dd.from_map(fatal, parts, marker=marker, meta=frame.iloc[:0])
    with client.as_current():
        pmc = fit(PMC(**QUICK), X)
        assert Path(marker).exists()
        pd.testing.assert_frame_equal(transform(pmc, X).compute(), expected)


def test_a_partition_without_a_column_is_named(frame, expected):
    parts = parts_of(frame, 100, 200)
    parts[1] = parts[1].drop(columns="c")
    X = dd.from_delayed(
        [dask.delayed(part) for part in parts], meta=frame.iloc[:0], verify_meta=False
    )
    with pytest.raises(ValueError, match=r"(?s)Partition 1: The feature names should match.*- c"):
        fit(PMC(**QUICK), X)
    pmc = PMC(**QUICK).fit(frame)
    with pytest.raises(ValueError, match=r"(?s)Partition 1: The feature names should match.*- c"):
        transform(pmc, X).compute()


def test_what_is_not_for_dask_is_refused(frame):
    with pytest.raises(TypeError, match="must be a Dask array or data frame, got DataFrame"):
        fit(PMC(**QUICK), frame)
    with pytest.raises(ValueError, match="two dimensions"):
        fit(PMC(**QUICK), da.ones(5))
    with pytest.raises(TypeError, match="LRMC learns from all rows at once"):
        fit(LRMC(), da.ones((5, 2)))
    with pytest.raises(ValueError, match="not both"), connected(2, "tcp://localhost:1"):
        pass


# Folders of Parquet files


@pytest.fixture
def folder(tmp_path, frame):
    """The data in five files, one without rows."""
    source = tmp_path / "source"
    for number, part in enumerate(parts_of(frame, 50, 50, 150, 300)):
        path = source / f"year={number // 2}" / f"part.{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        part.to_parquet(path)
    (source / "_metadata").write_bytes(b"not for us")
    return source


def read(folder):
    """Return the rows of all files."""
    paths = sorted(folder.rglob("*.parquet"))
    return pd.concat([pd.read_parquet(path, partitioning=None) for path in paths])


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own
def test_a_folder_becomes_a_folder(client, tmp_path, folder, expected):
    with client.as_current():
        pmc = complete_parquet(folder, tmp_path / "target", PMC(**QUICK))
    pd.testing.assert_frame_equal(read(tmp_path / "target"), expected, check_names=False)
    (tmp_path / "again").mkdir()  # empty: it gives way
    again = complete_parquet(folder, tmp_path / "again", pmc)  # fitted, and by threads
    assert again is pmc
    for name in names(tmp_path / "target"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "target" / name).read_bytes()


def test_a_killed_worker_leaves_a_whole_folder(client, tmp_path, folder, expected):
    target = tmp_path / "target"
    pids = list(client.run(os.getpid).values())

    def kill_one():
        while not list(tmp_path.rglob(".target*/*.parquet")):
            time.sleep(0.001)
        os.kill(pids[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    with client.as_current():
        complete_parquet(folder, target, PMC(**QUICK))
    killer.join()
    pd.testing.assert_frame_equal(read(target), expected, check_names=False)
    assert not list(tmp_path.glob(".target*"))


def test_a_job_that_fails_leaves_nothing(tmp_path, folder):
    target = tmp_path / "target"
    wrong = PMC(**QUICK).fit(pd.DataFrame(np.eye(50, 3), columns=["a", "b", "q"]))
    with pytest.raises(ValueError, match="feature names"):
        complete_parquet(folder, target, wrong)
    assert {path.name for path in tmp_path.iterdir()} == {"source"}


def test_what_is_there_is_not_overwritten(tmp_path, folder):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious.txt").touch()
    with pytest.raises(FileExistsError, match="not empty; choose another folder"):
        complete_parquet(folder, tmp_path / "other", PMC(**QUICK))
    assert (tmp_path / "other" / "precious.txt").exists()


def test_a_file_without_a_column_is_named(tmp_path, folder, frame):
    with pytest.raises(NotADirectoryError, match="complete_file takes a single file"):
        complete_parquet(folder / "year=0" / "part.0.parquet", tmp_path / "a", PMC(**QUICK))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no .parquet file"):
        complete_parquet(tmp_path / "nothing", tmp_path / "a", PMC(**QUICK))
    frame[["a", "b", "d", "e", "f", "b"]].set_axis([*"abdef", "z"], axis=1).to_parquet(
        folder / "year=1" / "part.2.parquet")  # fmt: skip
    with pytest.raises(ValueError, match=r"part.2.parquet does not .* they differ in c, z; make"):
        complete_parquet(folder, tmp_path / "target", PMC(**QUICK))
    assert not (tmp_path / "target").exists()


# Where the work is done


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own
def test_a_scheduler_and_a_progress_bar_of_dask(client, capsys, tmp_path, folder, frame):
    pmc = PMC(**QUICK).fit(frame)
    with ProgressBar():
        complete_parquet(folder, tmp_path / "by threads", pmc)
    assert "Completed" in capsys.readouterr().out
    complete_parquet(folder, tmp_path / "by workers", pmc, scheduler=client.scheduler.address)
    assert names(tmp_path / "by threads") == names(tmp_path / "by workers")


# Tables with columns of all kinds


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
    return TableCompleter(method=LRMC(), passthrough=["who"], random_state=0)


def test_a_table_is_completed_as_in_memory_where_it_is_small():
    frame = mixed()
    expected = table_completer().fit(frame).transform(frame)
    X = dd.from_pandas(frame, npartitions=4)
    found = transform(fit(table_completer(), X), X).compute()
    assert found["kind"].tolist() == expected["kind"].tolist()
    numbers = ["x", "y", "count", "when"]
    pd.testing.assert_frame_equal(found[numbers], expected[numbers])


def test_a_table_is_learned_from_a_sample_with_all_of_its_labels(monkeypatch):
    monkeypatch.setattr("polycomplete.dask.TABLE_ROWS", 40)
    frame, fitted = mixed(), []
    for count in (1, 2, 7):
        X = dd.from_pandas(frame, npartitions=count)
        fitted.append(fit(table_completer(), X))
    columns = {column.name: column for column in fitted[0].schema_}
    assert columns["kind"].levels == ["long", "rare", "short"]
    assert fitted[0].n_samples_seen_ == len(frame)
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
