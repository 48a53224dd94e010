"""The parts of tables: numbers to a matrix and back, bounds, calibration on hidden cells."""

import datetime as dt
from typing import ClassVar

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stnp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin

from polycomplete.model_selection import HeldOut
from polycomplete.tables.calibration import FEWEST, calibrate
from polycomplete.tables.codecs import CODECS, Category, Number, Order, Time, codec_of

CODES = st.sampled_from([0.0, 1.0, 2.0, np.nan])
NUMBERS = st.floats(-1e9, 1e9).map(lambda number: round(number, 3)) | st.just(np.nan)


def number(numbers, weight=1.0):
    codec = Number("x", "numeric", "")
    codec.fit_block(numbers, weight)
    return codec


def category(codes, size=3, weight=1.0):
    codec = Category("k", "categorical", "", levels=list(range(size)))
    codec.fit_block(codes, weight)
    return codec


@given(stnp.arrays(float, 6, elements=NUMBERS), st.floats(0.1, 10))
def test_encoding_numbers_is_undone(numbers, weight):
    numbers[0] = 1.0  # nothing is empty
    codec, seen = number(numbers, weight), ~np.isnan(numbers)
    block = codec.spread(numbers)
    assert block.shape == (6, len(codec.center))
    assert np.isnan(block[~seen]).all()
    scale = 1e-9 * (1 + np.abs(numbers[seen]).max())
    assert_allclose(codec.gather(block)[seen], numbers[seen], rtol=1e-9, atol=scale)


@given(stnp.arrays(float, 6, elements=CODES), st.floats(0.1, 10))
def test_encoding_levels_is_undone(codes, weight):
    codes[0] = 0.0
    codec, seen = category(codes, weight=weight), ~np.isnan(codes)
    block = codec.spread(codes)
    assert np.isnan(block[~seen]).all()
    if codec.center:
        assert_array_equal(codec.scores(block[seen]).argmax(axis=1), codes[seen])
    else:
        assert_array_equal(codec.gather(block)[seen], codes[seen])


def test_every_column_varies_as_much():
    rng = np.random.default_rng(0)
    numbers, codes = 1e6 + 50 * rng.normal(size=500), rng.integers(0, 5, size=500).astype(float)
    one, many = number(numbers).spread(numbers), category(codes, 5, weight=2.0).spread(codes)
    assert_allclose(np.hstack([one, many]).mean(axis=0), 0, atol=1e-8)
    assert_allclose([one.var(), many.var(axis=0).sum()], [1, 4])


def test_columns_that_do_not_vary_are_left_out():
    for codec, value in (number(np.array([7.0, np.nan, 7.0])), 7), (category(np.full(3, 2.0)), 2):
        block = codec.spread(np.array([np.nan, value]))
        assert block.shape == (2, 0)
        assert_array_equal(codec.gather(block), [value, value])


BOUNDS = {
    "none": ("numeric", None, (-np.inf, np.inf)),
    "observed": ("numeric", "observed", (-2, 3)),
    "pair": ("numeric", (0, 1.5), (0, 1.5)),
    "open": ("numeric", (None, 1.5), (-np.inf, 1.5)),
    "whole": ("integer", (0.5, 2.5), (1 - 10, 2 - 10)),
    "date": ("datetime", ("1970-01-03", dt.date(1970, 1, 21)), (-8, 10)),
    "duration": ("duration", (dt.timedelta(days=4), None), (-6, np.inf)),
    "levels": ("categorical", "observed", (-2, 3)),
}


@pytest.mark.parametrize(("kind", "clip", "expected"), BOUNDS.values(), ids=BOUNDS)
def test_bounds(kind, clip, expected):
    time = kind in ("datetime", "duration")
    origin = 10 if time or kind == "integer" else 0
    codec = CODECS[kind]("x", kind, "", origin=origin, unit="D" if time else "")
    assert codec.bounds(clip, np.array([-2.0, 3.0])) == expected


class Hider(TransformerMixin, BaseEstimator):
    """Complete by zeros, and claim to have hidden some entries; counts how often it is fitted."""

    fits = 0

    def __init__(self, held=None):
        self.held = held

    def fit_transform(self, X, y=None):
        Hider.fits += 1
        self.held_out_ = self.held
        return np.nan_to_num(X)


def held_block(rows, n_columns, completed):
    """Return blocks that were hidden whole."""
    cells = [(row, column) for row in rows for column in range(n_columns)]
    rows, columns = np.array(cells).T
    values = completed[rows, columns]
    return HeldOut(rows, columns, np.zeros(len(cells)), values, np.full(len(cells), np.nan))


@pytest.fixture
def codes():
    return np.random.default_rng(0).integers(0, 3, size=200).astype(float)


def calibrated(method, *columns):
    """Let a method complete categories; return the codec of the first, calibrated."""
    codecs = [category(codes) for codes in columns]
    matrix = np.hstack([codec.spread(codes) for codec, codes in zip(codecs, columns, strict=True)])
    method.fit_transform(matrix)
    owners = np.repeat(np.arange(len(codecs)), 3)
    calibrate(method, matrix, owners, np.column_stack(columns), codecs, 0)
    return codecs[0].calibration


def test_what_the_method_hid_is_used(codes):
    rows, matrix, before = np.arange(0, 200, 5), category(codes).spread(codes), Hider.fits
    sure = calibrated(Hider(held_block(rows, 3, matrix)), codes)
    assert sure.apply(np.eye(3))[0, 0] > 0.97
    doubted = calibrated(Hider(held_block(rows, 3, np.roll(matrix, 1, axis=0))), codes)
    assert doubted.apply(np.eye(3))[0, 0] < 0.6
    assert Hider.fits == before + 2  # no further fits


@pytest.mark.parametrize("held", [None, "few", "parts"])
def test_where_it_hid_too_little_cells_are_hidden_here(codes, held):
    rows = np.arange(FEWEST // 2) if held == "few" else np.arange(100)
    matrix, before = category(codes).spread(codes), Hider.fits
    known = None if held is None else held_block(rows, 1 if held == "parts" else 3, matrix)
    found = calibrated(Hider(known), codes, codes)
    assert Hider.fits == before + 2
    # Zeros in the matrix are the shares of the classes: the scores say nothing.
    assert_allclose(found.apply(found.shares[None]), [found.shares])


def test_columns_of_numbers_need_no_calibration(codes):
    codec = number(codes)
    calibrate(Hider(), codec.spread(codes), np.array([0]), codes[:, None], [codec], 0)
    assert codec.calibration is None


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.Int64, pl.UInt64])
def test_whole_numbers_stay_within_their_dtype(dtype, sign):
    series = nw.from_native(pl.Series("n", [3, None], dtype=dtype), series_only=True)
    found = Number("n", "integer", "").decode(series, np.array([1]), np.array([sign * 1e30]))
    limits = np.iinfo(str(dtype).lower())
    assert found.to_list() == [3, limits.max if sign > 0 else limits.min]


@pytest.mark.parametrize("sign", [-1, 1])
def test_dates_stay_dates(sign):
    dates = pl.Series("d", [dt.datetime(2020, 1, 1), None], dtype=pl.Datetime("ns"))
    codec, series = Time("d", "datetime", "", unit="ns"), nw.from_native(dates, series_only=True)
    found = codec.decode(series, np.array([1]), np.array([sign * 1e30])).to_native()
    assert found.null_count() == 0
    assert found.dt.year().to_list() == [2020, 2262 if sign > 0 else 1677]


def test_floats_stay_finite():
    series = nw.from_native(pl.Series("x", [1.0, None], dtype=pl.Float32), series_only=True)
    found = Number("x", "numeric", "").decode(series, np.array([1]), np.array([1e300]))
    assert found.to_list()[1] == np.finfo(np.float32).max


def test_levels_end_at_the_first_and_the_last():
    codec = Order("size", "ordered", "", levels=["S", "M", "L"])
    codec.fit_block(np.array([0.0, 1.0, 2.0]))
    assert_array_equal(codec.gather(np.array([[-50.0], [0.1], [50.0]])), [0, 1, 2])


def test_the_second_fit_takes_the_smoothing_of_the_first(codes):
    class Smooth(Hider):
        seen: ClassVar[list] = []

        def __init__(self, held=None, smoothing="auto"):
            super().__init__(held)
            self.smoothing = smoothing

        def fit_transform(self, X, y=None):
            self.seen.append(self.smoothing)
            self.smoothing_ = 0.25
            return super().fit_transform(X)

    calibrated(Smooth(), codes, codes)
    assert Smooth.seen == ["auto", 0.25]


def test_categories_that_do_not_occur_are_no_classes():
    series = pl.Series("k", ["b", "a"], dtype=pl.Enum(["c", "b", "a"]))
    assert codec_of(nw.from_native(series, series_only=True)).levels == ["b", "a"]
