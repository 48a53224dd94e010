"""Masks: exact counts, seeds, what depends on the data, and what must never be lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from polycomplete import masks

SHAPES = st.tuples(st.integers(1, 25), st.integers(1, 25))
SHARES = st.floats(0, 1)
SEEDS = st.integers(0, 2**32 - 1)
GAUSSIAN = np.random.default_rng(0).normal(size=(4000, 5))
MAKERS = {
    "uniform": lambda seed: masks.uniform((20, 6), 0.4, random_state=seed),
    "per_row": lambda seed: masks.per_row((20, 6), 2, random_state=seed),
    "per_column": lambda seed: masks.per_column((20, 6), 0.4, random_state=seed),
    "block": lambda seed: masks.block((20, 6), 0.4, random_state=seed),
    "mar": lambda seed: masks.mar(GAUSSIAN[:20], 0.4, random_state=seed),
    "mnar": lambda seed: masks.mnar(GAUSSIAN[:20], 0.4, random_state=seed),
    "hide": lambda seed: masks.hide(np.ones((20, 6), dtype=bool), 0.4, random_state=seed)[0],
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_masks_are_boolean_and_seeded(maker):
    first = maker(3)
    assert first.dtype == np.bool_
    assert first.shape[0] == 20
    np.testing.assert_array_equal(first, maker(3))
    np.testing.assert_array_equal(first, maker(np.random.default_rng(3)))
    assert (first != maker(4)).any()
    assert maker(None).shape == first.shape


@given(shape=SHAPES, rate=SHARES, seed=SEEDS, cover=st.booleans())
def test_uniform_is_exact_and_covers(shape, rate, seed, cover):
    mask = masks.uniform(shape, rate, cover=cover, random_state=seed)
    count = round(rate * shape[0] * shape[1])
    assert mask.shape == shape
    assert mask.sum() == count
    if cover:
        assert mask.any(axis=1).sum() == min(shape[0], count)
        assert mask.any(axis=0).sum() == min(shape[1], count)


def test_uniform_is_uniform():
    hits = sum(masks.uniform((6, 5), 0.3, random_state=seed).astype(int) for seed in range(1500))
    np.testing.assert_allclose(hits / 1500, 0.3, atol=0.05)


@given(shape=SHAPES, share=SHARES, seed=SEEDS)
def test_per_row_and_per_column_are_exact(shape, share, seed):
    count = round(share * shape[1])
    assert (masks.per_row(shape, count, random_state=seed).sum(axis=1) == count).all()
    columns = masks.per_column(shape, share, random_state=seed).sum(axis=0)
    assert (columns == round(share * shape[0])).all()


@given(shape=SHAPES, rate=SHARES, block=SHAPES, seed=SEEDS)
def test_block_is_exact(shape, rate, block, seed):
    mask = masks.block(shape, rate, block, random_state=seed)
    assert (~mask).sum() == round(rate * shape[0] * shape[1])


def test_block_loses_rectangles():
    mask = masks.block((50, 40), 20 / 2000, (5, 4), random_state=0)
    rows, columns = np.nonzero(~mask)
    assert np.ptp(rows) == 4
    assert np.ptp(columns) == 3


@pytest.mark.parametrize(("rate", "strength"), [(0.05, 2.0), (0.3, -3.0), (0.75, 0.0)])
def test_mar_meets_its_rate_and_depends_on_the_pivot(rate, strength):
    mask = masks.mar(GAUSSIAN, rate, pivot=2, strength=strength, random_state=1)
    assert mask[:, 2].all()
    assert (~mask).mean() == pytest.approx(rate, abs=0.02)
    lost = (~mask).sum(axis=1)
    slope = np.corrcoef(GAUSSIAN[:, 2], lost)[0, 1]
    assert np.sign(slope.round(1)) == np.sign(strength)
    # Given the pivot, nothing else tells what is lost.
    near = np.abs(GAUSSIAN[:, 2]) < 0.2
    assert abs(np.corrcoef(GAUSSIAN[near, 0], lost[near])[0, 1]) < 0.15


@pytest.mark.parametrize(("rate", "strength"), [(0.05, 2.0), (0.3, -3.0), (0.75, 0.0)])
def test_mnar_meets_its_rate_and_depends_on_the_value(rate, strength):
    X = GAUSSIAN * 10.0 ** np.arange(5) - 100
    mask = masks.mnar(X, rate, strength=strength, random_state=1)
    np.testing.assert_allclose((~mask).mean(axis=0), rate, atol=0.04)
    for j in range(5):
        slope = np.corrcoef(X[:, j], ~mask[:, j])[0, 1]
        assert np.sign(slope.round(1)) == np.sign(strength)


def test_mnar_follows_the_logistic_curve():
    X = np.repeat([[70.0], [90.0]], 20_000, axis=0)  # deviation 10
    lost = ~masks.mnar(X, 0.5, strength=1.5, random_state=0)
    np.testing.assert_allclose(
        [lost[:20_000].mean(), lost[20_000:].mean()], expit([-1.5, 1.5]), atol=0.015
    )


@pytest.mark.parametrize("mechanism", [masks.mar, masks.mnar])
def test_unknown_values_stay_missing_and_do_not_count(mechanism):
    X = GAUSSIAN.copy()
    X[::3, 1] = np.nan
    X[:, 3] = np.nan
    mask = mechanism(X, 0.3, random_state=0)
    known = ~np.isnan(X)
    assert not mask[~known].any()
    assert (~mask)[known].mean() == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("mechanism", [masks.mar, masks.mnar])
def test_constant_columns_and_extreme_rates(mechanism):
    X = np.tile([3.0, 0.1], (500, 1))
    assert (~mechanism(X, 0.3, random_state=0)).mean() == pytest.approx(0.3, abs=0.06)
    assert mechanism(X, 0.0).all()
    assert not masks.mnar(X, 1.0).any()
    np.testing.assert_array_equal(masks.mar(X, 0.5), [[True, False]] * 500)
    outlier = np.vstack([GAUSSIAN, np.full((1, 5), 1e8)])
    assert (~mechanism(outlier, 0.3, random_state=0)).mean() == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(("given", "kept"), [("f4", "f4"), ("f8", "f8"), ("i8", "f8"), ("?", "f8")])
def test_apply_copies_and_keeps_float32(given, kept):
    X = np.ones((3, 2), dtype=given)
    mask = np.array([[True, False], [True, True], [False, True]])
    holed = masks.apply(X, mask)
    assert holed.dtype == kept
    assert X.all()
    np.testing.assert_array_equal(np.isnan(holed), ~mask)
    np.testing.assert_array_equal(holed[mask], 1.0)


@given(shape=SHAPES, rate=SHARES, share=SHARES, seed=SEEDS)
def test_hide_splits_the_mask_and_empties_nothing(shape, rate, share, seed):
    mask = masks.uniform(shape, rate, cover=False, random_state=seed)
    before = mask.copy()
    visible, hidden = masks.hide(mask, share, random_state=seed)
    np.testing.assert_array_equal(mask, before)
    np.testing.assert_array_equal(visible | hidden, mask)
    assert not (visible & hidden).any()
    np.testing.assert_array_equal(visible.any(axis=1), mask.any(axis=1))
    np.testing.assert_array_equal(visible.any(axis=0), mask.any(axis=0))
    wanted = round(share * mask.sum())
    assert max(0, min(wanted, mask.sum() - sum(shape))) <= hidden.sum() <= wanted


def test_hide_is_exact_where_there_is_enough():
    mask = masks.uniform((200, 20), 0.5, random_state=0)
    assert masks.hide(mask, 0.2, random_state=0)[1].sum() == 400


def test_hide_takes_every_entry_alike():
    mask = np.ones((6, 5), dtype=bool)
    hits = sum(masks.hide(mask, 0.3, random_state=seed)[1].astype(int) for seed in range(1500))
    np.testing.assert_allclose(hits / 1500, 0.3, atol=0.05)


def test_unusable_arguments_are_named():
    square = np.ones((2, 2), dtype=bool)
    with pytest.raises(ValueError, match=r"rate=1.2"):
        masks.uniform((3, 3), 1.2)
    with pytest.raises(ValueError, match="rate=nan"):
        masks.per_column((3, 3), float("nan"))
    with pytest.raises(ValueError, match="shape="):
        masks.uniform((3, 0), 0.5)
    with pytest.raises(ValueError, match="block="):
        masks.block((3, 3), 0.5, (0, 1))
    for count in (4, -1, 1.5):
        with pytest.raises(ValueError, match=f"count={count}"):
            masks.per_row((3, 3), count)
    with pytest.raises(ValueError, match="mask must be boolean"):
        masks.hide(square.astype(float), 0.5)
    with pytest.raises(ValueError, match=r"mask has shape \(2, 2\)"):
        masks.apply(np.ones((2, 3)), square)
    with pytest.raises(ValueError, match="a matrix"):
        masks.hide(square[0], 0.5)
    with pytest.raises(ValueError, match="share=2"):
        masks.hide(square, 2)


def test_unusable_data_are_named():
    with pytest.raises(ValueError, match="pivot=7"):
        masks.mar(GAUSSIAN, 0.3, pivot=7)
    with pytest.raises(ValueError, match="without NaN"):
        masks.mar([[np.nan, 1.0], [1.0, 2.0]], 0.3)
    with pytest.raises(ValueError, match=r"at most 0\.8"):
        masks.mar(GAUSSIAN, 0.9)
    with pytest.raises(ValueError, match="finite numbers"):
        masks.mnar([[np.inf, 1.0]], 0.3)
    with pytest.raises(ValueError, match="finite numbers"):
        masks.mnar([1.0, 2.0], 0.3)
