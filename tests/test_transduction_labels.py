"""Labels and numbers of which some are missing: every convention, clear refusals."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycomplete.transduction import classifier
from polycomplete.transduction.regressor import known_numbers

NAN = float("nan")


def known_labels(y, unlabeled="auto"):
    """Return the classes and the number of the class of each label, -1 where it is missing."""
    classes, numbers = classifier.known_labels(y, unlabeled)
    return classes, np.nan_to_num(numbers, nan=-1).astype(int)


THREE = {
    "minus one": np.array([5, -1, 3]),
    "minus one as float": np.array([5.0, -1.0, 3.0]),
    "None": [5, None, 3],
    "NaN": np.array([5.0, NAN, 3.0]),
    "NaN in a list": [5, NAN, 3],
    "NA": [5, pd.NA, 3],
    "object array": np.array([5, None, 3], dtype=object),
    "pandas": pd.Series([5, None, 3]),
    "pandas Int64": pd.Series([5, None, 3], dtype="Int64"),
    "pandas category": pd.Series([5, None, 3], dtype="category"),
    "polars": pl.Series([5, None, 3]),
    "pyarrow": pa.chunked_array([[5, None], [3]]),
    "tuple": (5, None, 3),
}
TEXT = {
    "None": ["b", None, "a"],
    "NaN": ["b", NAN, "a"],
    "minus one": ["b", -1, "a"],
    "object array": np.array(["b", NAN, "a"], dtype=object),
    "pandas": pd.Series(["b", None, "a"]),
    "pandas string": pd.Series(["b", None, "a"], dtype="string"),
    "pandas category": pd.Series(["b", None, "a"], dtype="category"),
    "polars": pl.Series(["b", None, "a"]),
    "polars category": pl.Series(["b", None, "a"], dtype=pl.Categorical),
    "pyarrow": pa.chunked_array([["b", None, "a"]]),
}
TRUTH = {
    "None": [True, None, False],
    "pandas": pd.Series([True, None, False], dtype="boolean"),
    "polars": pl.Series([True, None, False]),
}


def test_classes_are_told_and_holes_are_found():
    for name, y in THREE.items():
        classes, codes = known_labels(y)
        assert (classes.tolist(), codes.tolist()) == ([3, 5], [1, -1, 0]), name
        assert classes.dtype.kind in "if"
    for name, y in TEXT.items():
        classes, codes = known_labels(y)
        assert (classes.tolist(), codes.tolist()) == (["a", "b"], [1, -1, 0]), name
    for name, y in TRUTH.items():
        classes, codes = known_labels(y)
        assert (classes.dtype, codes.tolist()) == (bool, [1, -1, 0]), name


def test_minus_one_in_quotes_is_a_text_like_any_other():
    for y in ["7", "-1"], np.array(["7", "-1"]):
        assert known_labels(y)[0].tolist() == ["-1", "7"]


def test_anything_may_stand_for_a_missing_label():
    for y, unlabeled in [
        ([2, 0, 3], 0),
        (["x", "?", "y"], "?"),
        ([2, 99, 3], 99.0),
        ([True, False, True], False),
        (np.array([2.5, -1, 2.5]).round(), -1),
        ([1, "", 2], ""),
        ([1, pd.NA, 2], pd.NA),
        ([1, NAN, 2], NAN),
    ]:
        assert (known_labels(y, unlabeled)[1] >= 0).tolist() == [True, False, True]


def test_another_mark_makes_minus_one_a_class():
    assert known_labels([-1, 1, None], None)[0].tolist() == [-1, 1]
    assert known_labels([-1, 1, 0], 0)[0].tolist() == [-1, 1]
    assert known_labels([-1, 1, 1], -1)[0].tolist() == [1]


def test_minus_one_beside_one_alone_is_a_question_to_the_user():
    for y in [-1, 1, 1], np.array([1.0, -1.0]), [1, -1, None], np.array([-1, 1]):
        with pytest.raises(ValueError, match=r"unlabeled=None .* unlabeled=-1"):
            known_labels(y)


@pytest.mark.parametrize(
    ("y", "unlabeled", "message"),
    [
        ([None, NAN], "auto", "no known label: .*None, NaN and -1 stand"),
        ([-1, -1], "auto", "no known label"),
        (["?", "?"], "?", r"no known label.*'\?' stand"),
        ([None], None, "no known label"),
        ([1.0, np.inf], "auto", "inf in row 1"),
        ([1.5, 2.5, 3.0], "auto", "continuous"),
        ([1, "a"], "auto", "holds 1 in row 0, which is a number among .* text"),
        ([(1, 2), (3, 4)], "auto", r"\(1, 2\) in row 0, which is neither text nor a number"),
        ([{}], "auto", "turn labels into text"),
    ],
)
def test_what_cannot_be_labels_is_refused(y, unlabeled, message):
    with pytest.raises(ValueError, match=message):
        known_labels(y, unlabeled)


def test_dates_that_are_missing_are_no_class():
    y = np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]")
    assert known_labels(y)[1].tolist() == [0, -1, 1]


label = st.one_of(st.text("abé -1", max_size=3), st.none(), st.just(-1))


@given(st.lists(label, min_size=1, max_size=12))
def test_codes_lead_back_to_the_texts(y):
    if not any(isinstance(one, str) for one in y):
        y = [*y, "a"]
    classes, codes = known_labels(y)
    again = [classes[code] if code >= 0 else None for code in codes]
    assert again == [one if isinstance(one, str) else None for one in y]
    assert classes.tolist() == sorted(set(classes.tolist()))


@given(st.lists(st.one_of(st.none(), st.floats(allow_infinity=False)), max_size=12))
def test_numbers_come_back_with_nan_in_the_holes(y):
    found = known_numbers([*y, 1])
    np.testing.assert_array_equal(found, [*[NAN if one is None else one for one in y], 1])


def test_numbers_of_every_library():
    for make in partial(pd.Series, dtype="Int64"), pl.Series, pa.array:
        np.testing.assert_array_equal(known_numbers(make([1, None, 3])), [1, NAN, 3])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["1.5", 2.0], "'1.5' in row 0, which is not a number; use TransductiveClassifier"),
        (np.array(["a", "b"]), "not a number"),
        ([1.0, -np.inf], "-inf in row 1, which is infinite"),
        ([None, NAN], "no known value"),
        ([1j], "not a number"),
    ],
)
def test_what_cannot_be_numbers_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        known_numbers(y)
