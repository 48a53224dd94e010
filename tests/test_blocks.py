"""Rows in blocks: the same sample, the same model, the same completion, in bounded memory."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from polycomplete import LRMC, PMC, RBF, Exact, Landmark, datasets, masks
from polycomplete._resources import blas_threads
from polycomplete.out_of_core import complete_file
from polycomplete.rows import EVEN, Holes, learn, settle
from polycomplete.sampling import Sampler, training_rows

QUICK = {
    "solver": Landmark(max_samples=80),
    "n_jobs": 1,
    "smoothing": 1e-4,
    "scale": "sqrt",
    "random_state": 0,
}


def holey(n, m=6, seed=0):
    """Return a surface with holes, some rows empty, some complete, one column constant."""
    X = datasets.make_polynomial_manifold(n, m, random_state=seed)
    X[:, 1] = 0.1
    X = masks.apply(X, masks.uniform(X.shape, 0.7, random_state=seed))
    X[[3, 5, n // 2]] = np.nan
    X[5, 1] = 0.1
    return X


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return holey(200)


@pytest.fixture(scope="module")
def whole(X):
    """The completer that was given everything at once, and the result."""
    pmc = PMC(**QUICK)
    return pmc, pmc.fit_transform(X)


def cut(X, *places):
    return np.split(X, places)


def same_model(one, two):
    return pickle.dumps(one.model_) == pickle.dumps(two.model_)


# The samples of blocks add up


def test_the_best_observed_rows_are_in_the_sample_and_some_of_the_others():
    mask = np.random.default_rng(0).random((500, 8)) < np.linspace(0.2, 1, 500)[:, None]
    rows = training_rows(mask, 100, seed=0)
    count, kept = mask.sum(axis=1), np.isin(np.arange(500), rows)
    assert 100 <= kept.sum() <= 100 + 2 * 8
    assert np.sort(count)[-50:].sum() == np.sort(count[kept])[-50:].sum()
    assert (kept & (count < np.median(count))).any()
    others = np.sort(count)[:-50]
    assert np.sort(count[kept])[:50].mean() > others.mean()  # drawn, but not evenly


def test_rows_that_are_alike_are_drawn_from_everywhere():
    rows = training_rows(np.ones((4000, 2), dtype=bool), 400, seed=1)
    assert 0.4 < np.mean(rows < 2000) < 0.6


@given(st.lists(st.integers(0, 60), max_size=5), st.integers(0, 9), st.integers(1, 70))
def test_blocks_choose_the_same_rows(places, seed, most):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    mask = rng.random((60, 3)) < rng.random(3) ** 3  # columns with a few entries, too
    edges = [0, *sorted(places), 60]
    parts = [slice(*pair) for pair in pairwise(edges)]
    choose = Sampler(lambda at: (X[at], mask[at]), most, seed)
    sample = reduce(add, [choose(at, at.start) for at in parts])
    chosen = training_rows(mask, most, seed)
    assert_array_equal(sample.number, chosen)
    assert_array_equal(sample.X, X[chosen])
    assert sample.n_rows == 60
    assert_array_equal(sample.mask.any(axis=0), mask.any(axis=0))
    assert_array_equal(sample.mask.all(axis=0), mask.all(axis=0))


def test_the_only_entry_and_the_only_hole_of_a_column_are_in_the_sample(X):
    X = X.copy()
    X[:, 2], X[:, 1] = np.nan, 0.1
    X[171, 2], X[188, 1] = 0.5, np.nan
    pmc = PMC(add_indicator=True, **QUICK).fit(X)
    assert pmc.statistics_[2] == 0.5
    assert 1 in pmc.indicator_.features_
    assert_array_equal(pmc.transform(X)[:, 2], 0.5)


# Whole fits


def test_many_rows_come_back_from_transform_as_from_fit(X, whole):
    pmc, completed = whole
    assert_array_equal(pmc.transform(X), completed)
    assert_array_equal(completed[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(completed).all()


@pytest.mark.parametrize("places", [(), (1, 5, 5, 120), (199,), (0,)])
def test_blocks_of_any_size_are_the_array(X, whole, places):
    pmc, completed = whole
    streamed = PMC(**QUICK).fit_blocks(cut(X, *places))
    assert same_model(streamed, pmc)
    assert_array_equal(streamed.statistics_, pmc.statistics_)
    parts = list(streamed.transform_blocks(cut(X, *places)))
    assert [len(part) for part in parts] == [len(part) for part in cut(X, *places)]
    assert_array_equal(np.vstack(parts), completed)


@pytest.mark.parametrize("run", [map, ThreadPoolExecutor(3).map], ids=["map", "threads"])
def test_a_row_takes_the_same_steps_beside_any_number_of_others(run):
    X = datasets.make_polynomial_manifold(900, 6, random_state=0)
    mask = masks.per_row(X.shape, 3, random_state=0)
    energy, begin = learn(RBF(3.0), X[::9], 1e-3), np.where(mask, X, 0.0)
    with blas_threads(1):  # as the solver does: several share rows among them by their number
        whole = settle(energy, begin, Holes(mask, EVEN), np.full(900, 0.1), 3, run=run)
        few = settle(energy, begin[:20], Holes(mask[:20], EVEN), np.full(20, 0.1), 3, run=run)
    for one, two in zip(whole, few, strict=True):
        assert_array_equal(one[:20], two)


def test_a_memory_map_and_a_function_are_the_array(tmp_path, X, whole):
    pmc, completed = whole
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_array_equal(PMC(**QUICK).fit_transform(mapped), completed)
    streamed = PMC(**QUICK).fit_blocks(mapped)
    assert same_model(streamed, pmc)
    assert_array_equal(np.vstack(list(streamed.transform_blocks(mapped))), completed)
    assert same_model(
        PMC(**QUICK).fit_blocks(lambda: (X[i : i + 90] for i in range(0, 200, 90))), pmc
    )


def test_few_rows_are_learned_from_all_together():
    X = holey(60)
    options = {"smoothing": 1e-3, "scale": "sqrt", "random_state": 0}
    one, two = PMC(**options).fit(X), PMC(**options).fit_blocks(cut(X, 10, 31))
    assert_array_equal(one.transform(X), two.transform(X))
    assert type(one.solver_) is type(two.solver_)


def test_frames_keep_their_index_and_names(X, whole):
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(len(X)) * 10)
    streamed = PMC(add_indicator=True, **QUICK).fit_blocks([frame[:150], frame[150:]])
    part = next(streamed.transform_blocks([frame[20:30]]))
    assert part.index.tolist() == list(range(200, 300, 10))
    assert part.columns[:6].tolist() == list("abcdef")
    assert part.shape == (10, 12)
    assert_array_equal(part.iloc[:, :6], whole[1][20:30])


def test_what_was_held_out_is_named_by_its_place_in_the_data(X):
    options = QUICK | {"smoothing": "auto"}
    for pmc in (PMC(**options).fit(X), PMC(**options).fit_blocks(cut(X, 100))):
        held = pmc.held_out_
        assert held.rows.max() > 80
        assert_array_equal(X[held.rows, held.columns], held.truth)


def test_what_has_a_number_for_each_row_is_kept_for_arrays_only(X, whole):
    pmc, _ = whole
    assert pmc.row_determined_.shape == (200,)
    assert not pmc.row_determined_[[3, 5, 100]].any()
    assert pmc.cell_std_.shape == X.shape
    assert (pmc.cell_std_[3, 2:] > 0).all()
    assert_array_equal(pmc.cell_std_[~np.isnan(X)], 0)
    assert not hasattr(PMC(**QUICK).fit(X).fit_blocks([X]), "row_determined_")


# Memory


def peak(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_block_and_not_with_the_data():
    block = masks.apply(np.random.default_rng(0).random((2000, 4)), np.ones((2000, 4), dtype=bool))
    block[::50, 0] = np.nan  # looking is what counts here, not completing
    pmc = PMC(**QUICK | {"solver": Landmark(max_samples=40), "smoothing": 1.0}).fit(block)

    def run(count):
        def blocks():
            return (block.copy() for _ in range(count))

        pmc.fit_blocks(blocks)
        for _ in pmc.transform_blocks(blocks()):
            pass

    run(2)
    few, many = peak(lambda: run(2)), peak(lambda: run(40))
    assert many < 1.3 * few
    assert many < 40 * block.nbytes


# What does not fit


def test_a_block_with_other_columns_is_named():
    frames = [pd.DataFrame(np.eye(3), columns=list(names)) for names in ("abc", "abd")]
    with pytest.raises(ValueError, match=r"Block 1: The feature names should match"):
        PMC(**QUICK).fit_blocks(frames)
    with pytest.raises(ValueError, match=r"Block 1: X has 2 features, but PMC is expecting 3"):
        PMC(**QUICK).fit_blocks([np.eye(3), np.eye(3)[:, :2]])
    pmc = PMC(**QUICK).fit_blocks([np.eye(3)])
    with pytest.raises(ValueError, match="Block 0: X has 2 features"):
        next(pmc.transform_blocks([np.eye(3)[:, :2]]))
    with pytest.raises(ValueError, match=r"Block 1: Input X contains infinity \(row 2, column 2"):
        PMC(**QUICK).fit_blocks([np.eye(3), np.diag([1.0, 2.0, np.inf])])


def test_what_is_no_collection_of_blocks_is_refused():
    with pytest.raises(TypeError, match="only once"):
        PMC(**QUICK).fit_blocks(block for block in [np.eye(3)])
    with pytest.raises(TypeError, match=r"pass \[X\]"):
        PMC(**QUICK).fit_blocks(pd.DataFrame(np.eye(3)))
    with pytest.raises(ValueError, match="no blocks"):
        PMC(**QUICK).fit_blocks([])
    with pytest.raises(ValueError, match="no observed entry in its 0 rows"):
        PMC(**QUICK).fit_blocks([np.empty((0, 3))])
    with pytest.raises(TypeError, match="learns from all rows at once"):
        PMC(solver=Exact()).fit_blocks([np.eye(3)])


# From disk to disk


def test_an_array_goes_from_file_to_file(tmp_path, X, whole):
    np.save(tmp_path / "x.npy", X)
    fitted = complete_file(tmp_path / "x.npy", tmp_path / "y.npy", PMC(**QUICK))
    assert same_model(fitted, whole[0])
    assert_array_equal(np.load(tmp_path / "y.npy"), whole[1])
    np.save(tmp_path / "z.npy", np.asfortranarray(X[:50], dtype=np.float32))
    complete_file(tmp_path / "z.npy", tmp_path / "z2.npy", fitted)
    assert_array_equal(np.load(tmp_path / "z2.npy"), fitted.transform(X[:50].astype(np.float32)))


@pytest.mark.parametrize("block", [31, 10**6])
def test_a_table_goes_from_file_to_file(monkeypatch, tmp_path, X, whole, block):
    monkeypatch.setattr("polycomplete.out_of_core.STREAM_ENTRIES", 6 * block)
    frame = pd.DataFrame(X, columns=list("abcdef"), index=pd.Index(np.arange(200) * 2, name="id"))
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=70)
    complete_file(tmp_path / "x.parquet", tmp_path / "y.parquet", PMC(**QUICK))
    expected = pd.DataFrame(whole[1], columns=frame.columns, index=frame.index)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "y.parquet"), expected)


def test_a_table_without_rows_keeps_its_columns(tmp_path, X, whole):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    pmc = PMC(**QUICK).fit(frame)
    frame[:0].to_parquet(tmp_path / "x.parquet")
    complete_file(tmp_path / "x.parquet", tmp_path / "y.parquet", pmc)
    assert pd.read_parquet(tmp_path / "y.parquet").shape == (0, 6)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError("No space left on device")])
def test_what_is_interrupted_leaves_nothing(monkeypatch, tmp_path, X, whole, stop):
    monkeypatch.setattr("polycomplete.out_of_core.STREAM_ENTRIES", 6 * 50)
    np.save(tmp_path / "x.npy", X)
    seen, transform = [], PMC.transform

    def interrupted(self, block):
        seen.append(len(list(tmp_path.iterdir())))
        if len(seen) == 3:
            raise stop
        return transform(self, block)

    monkeypatch.setattr(PMC, "transform", interrupted)
    with pytest.raises((KeyboardInterrupt, OSError)):
        complete_file(tmp_path / "x.npy", tmp_path / "y.npy", whole[0])
    assert seen == [2, 2, 2]  # there was something, under another name
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_files_that_do_not_fit_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"x.npy: The array has 1 dimensions"):
        complete_file(tmp_path / "x.npy", tmp_path / "y.npy", PMC(**QUICK))
    with pytest.raises(ValueError, match=r"y.parquet must be a .npy file"):
        complete_file(tmp_path / "x.npy", tmp_path / "y.parquet", PMC(**QUICK))
    with pytest.raises(FileExistsError, match="exists already"):
        complete_file(tmp_path / "x.npy", tmp_path / "x.npy", PMC(**QUICK))
    with pytest.raises(TypeError, match="LRMC cannot learn from blocks of rows; fit it"):
        complete_file(tmp_path / "x.npy", tmp_path / "y.npy", LRMC())
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(ValueError, match="is not a Parquet file, or is truncated"):
        complete_file(tmp_path / "x.parquet", tmp_path / "y.parquet", PMC(**QUICK))
    pd.DataFrame({"a": [1.0], "b": ["text"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t.parquet: Block 0: Column 'b' holds 'text' in row 0"):
        complete_file(tmp_path / "t.parquet", tmp_path / "y.parquet", PMC(**QUICK))
    assert not (tmp_path / "y.parquet").exists()


def test_many_rows_of_constants_are_all_told_of():
    X = np.ones((90, 2))
    X[::3, 0], X[5] = np.nan, np.nan
    pmc = PMC(solver=Landmark(max_samples=40))
    np.testing.assert_array_equal(pmc.fit_transform(X), np.ones((90, 2)))
    np.testing.assert_array_equal(np.flatnonzero(~pmc.row_determined_), [5])


def test_a_file_without_rows_stays_one(tmp_path):
    fitted = LRMC().fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    np.save(tmp_path / "x.npy", np.empty((0, 2)))
    complete_file(tmp_path / "x.npy", tmp_path / "y.npy", fitted)
    found = np.load(tmp_path / "y.npy")
    assert (found.shape, found.dtype) == ((0, 2), np.float64)
    with pytest.raises(ValueError, match="no observed entry in its 0 rows"):
        complete_file(tmp_path / "x.npy", tmp_path / "z.npy", PMC(**QUICK))


def test_a_file_of_whole_numbers_comes_back_exactly_or_not_at_all(tmp_path):
    fitted = LRMC().fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    np.save(tmp_path / "x.npy", np.array([[1, 2**53 + 1]]))
    with pytest.raises(ValueError, match=r"x\.npy: Column 1 holds 9007199254740993 in row 0"):
        complete_file(tmp_path / "x.npy", tmp_path / "y.npy", fitted)
    assert not (tmp_path / "y.npy").exists()
