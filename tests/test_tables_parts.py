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
from sklearn.impute import KNNImputer

from polycomplete.model_selection import HeldOut
from polycomplete.tables.bounds import bounds_of
from polycomplete.tables.calibrate import ENOUGH, calibrations
from polycomplete.tables.decode import Decoder
from polycomplete.tables.encode import Encoding
from polycomplete.tables.schema import Column, learn_column
from polycomplete.tables.writing import write

CODES = st.sampled_from([0.0, 1.0, 2.0, np.nan])
NUMBERS = st.floats(-1e9, 1e9).map(lambda number: round(number, 3)) | st.just(np.nan)


@given(
    stnp.arrays(float, (6, 2), elements=NUMBERS),
    stnp.arrays(float, (6, 1), elements=CODES),
    st.floats(0.1, 10),
)
def test_encoding_is_undone(values, codes, weight):
    numbers = np.hstack([values, codes])
    numbers[0] = [1.0, 2.0, 0.0]  # nothing is empty
    encoding = Encoding.fit(numbers, [0, 0, 3], [weight, 1.0, 1 / weight])
    matrix = encoding.encode(numbers)
    assert matrix.shape == (6, len(encoding.owners))
    for j, size in enumerate([0, 0, 3]):
        seen = ~np.isnan(numbers[:, j])
        columns = encoding.columns_of(j)
        if len(columns) == 0:
            assert_allclose(numbers[seen, j], encoding.constants[j], rtol=1e-9)
            continue
        block = encoding.block(matrix, j)
        assert np.isnan(matrix[~seen][:, columns]).all()
        found = block[seen].argmax(axis=1) if size else block[seen, 0]
        scale = 1 + np.abs(numbers[seen, j]).max()
        assert_allclose(found, numbers[seen, j], atol=1e-9 * scale)


def test_every_column_varies_as_much():
    rng = np.random.default_rng(0)
    numbers = np.c_[1e6 + 50 * rng.normal(size=500), rng.integers(0, 5, size=500)]
    encoding = Encoding.fit(numbers, [0, 5], [1.0, 2.0])
    matrix = encoding.encode(numbers)
    assert_allclose(matrix.mean(axis=0), 0, atol=1e-8)
    assert_allclose([matrix[:, :1].var(), matrix[:, 1:].var(axis=0).sum()], [1, 4])


def test_columns_that_do_not_vary_are_left_out():
    numbers = np.array([[7.0, 2.0, 1.0], [np.nan, 2.0, 0.0], [7.0, np.nan, 0.0]])
    encoding = Encoding.fit(numbers, [0, 3, 2], [1.0] * 3)
    assert_array_equal(encoding.constants, [7, 2, np.nan])
    assert_array_equal(encoding.owners, [2, 2])


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
    column = Column("x", kind, "", origin=origin, unit="D" if time else "")
    assert bounds_of(column, clip, np.array([-2.0, np.nan, 3.0])) == expected


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
def block():
    """Give codes of three classes, their encoding, and the matrix."""
    numbers = np.random.default_rng(0).integers(0, 3, size=(200, 1)).astype(float)
    encoding = Encoding.fit(numbers, [3], [1.0])
    return numbers, encoding, encoding.encode(numbers)


def test_what_the_method_hid_is_used(block):
    numbers, encoding, matrix = block
    rows = np.arange(0, 200, 5)
    method = Hider(held_block(rows, 3, matrix))
    method.fit_transform(matrix)
    before = Hider.fits
    sure = calibrations(method, matrix, encoding, numbers, [True], 0)[0]
    assert Hider.fits == before  # no second fit
    assert sure.apply(np.eye(3))[0, 0] > 0.97
    method.held_out_ = held_block(rows, 3, np.roll(matrix, 1, axis=0))
    doubted = calibrations(method, matrix, encoding, numbers, [True], 0)[0]
    assert doubted.apply(np.eye(3))[0, 0] < 0.6


@pytest.mark.parametrize("held", [None, "few", "parts"])
def test_where_it_hid_too_little_cells_are_hidden_here(block, held):
    numbers, encoding, matrix = block
    rows = np.arange(ENOUGH // 4) if held == "few" else np.arange(100)
    known = None if held is None else held_block(rows, 1 if held == "parts" else 3, matrix)
    method = Hider(known)
    method.fit_transform(matrix)
    before = Hider.fits
    numbers, matrix = np.hstack([numbers, numbers]), np.hstack([matrix, matrix])
    encoding = Encoding.fit(numbers, [3, 3], [1.0, 1.0])
    found = calibrations(method, matrix, encoding, numbers, [True, True], 0)
    assert Hider.fits == before + 1
    # Zeros in the matrix are the shares of the classes: the scores say nothing.
    assert_allclose(found[0].apply(found[0].shares[None]), [found[0].shares])


def test_columns_of_numbers_need_no_calibration(block):
    numbers, encoding, matrix = block
    assert calibrations(KNNImputer().fit(matrix), matrix, encoding, numbers, [False], 0) == {}


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.Int64, pl.UInt64])
def test_whole_numbers_stay_within_their_dtype(dtype, sign):
    series = nw.from_native(pl.Series("n", [3, None], dtype=dtype), series_only=True)
    found = write(series, Column("n", "integer", ""), np.array([1]), np.array([sign * 1e30]))
    limits = np.iinfo(str(dtype).lower())
    assert found.to_list() == [3, limits.max if sign > 0 else limits.min]


@pytest.mark.parametrize("sign", [-1, 1])
def test_dates_stay_dates(sign):
    dates = pl.Series("d", [dt.datetime(2020, 1, 1), None], dtype=pl.Datetime("ns"))
    column = Column("d", "datetime", "", unit="ns")
    series = nw.from_native(dates, series_only=True)
    found = write(series, column, np.array([1]), np.array([sign * 1e30])).to_native()
    assert found.null_count() == 0
    assert found.dt.year().to_list() == [2020, 2262 if sign > 0 else 1677]


def test_floats_stay_finite():
    series = nw.from_native(pl.Series("x", [1.0, None], dtype=pl.Float32), series_only=True)
    found = write(series, Column("x", "numeric", ""), np.array([1]), np.array([1e300]))
    assert found.to_list()[1] == np.finfo(np.float32).max


def test_levels_end_at_the_first_and_the_last():
    numbers = np.array([[0.0], [1.0], [2.0]])
    encoding = Encoding.fit(numbers, [0], [1.0])
    column = Column("size", "ordered", "", levels=["S", "M", "L"])
    decoder = Decoder([column], encoding, {}, np.array([[-np.inf, np.inf]]))
    found = decoder.numbers(np.array([[-50.0], [0.1], [50.0]]))
    assert_array_equal(found, [[0], [1], [2]])


def test_the_second_fit_takes_the_smoothing_of_the_first(block):
    class Smooth(Hider):
        seen: ClassVar[list] = []

        def __init__(self, held=None, smoothing="auto"):
            super().__init__(held)
            self.smoothing = smoothing

        def fit_transform(self, X, y=None):
            self.seen.append(self.smoothing)
            self.smoothing_ = 0.25
            return super().fit_transform(X)

    numbers = np.hstack([block[0], block[0]])
    encoding = Encoding.fit(numbers, [3, 3], [1.0, 1.0])
    matrix, method = encoding.encode(numbers), Smooth()
    method.fit_transform(matrix)
    calibrations(method, matrix, encoding, numbers, [True, True], 0)
    assert Smooth.seen == ["auto", 0.25]


def test_categories_that_do_not_occur_are_no_classes():
    series = pl.Series("k", ["b", "a"], dtype=pl.Enum(["c", "b", "a"]))
    assert learn_column(nw.from_native(series, series_only=True)).levels == ["b", "a"]
