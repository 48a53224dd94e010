"""Cases that random input found, each once."""

import json
import zipfile

import numpy as np
import polars as pl
import pytest

from polycomplete import LRMC, load
from polycomplete.cli.checking import _dimension
from polycomplete.cli.holdout import score
from polycomplete.files import Reading, read_table
from polycomplete.persistence import ModelFileError


def test_errors_of_numbers_near_the_largest_are_numbers():
    truth = pl.DataFrame({"a": [1e300, 2e300, 3e300]})
    found = pl.DataFrame({"a": [1e300, 2.5e300, 3e300]})
    hidden = np.array([[False], [True], [False]])
    assert score(truth, found, hidden)[0] == pytest.approx(0.5 / np.std([1, 2, 3]))


def test_the_dimension_of_numbers_near_the_largest_is_a_number():
    t = 1e300 * np.random.default_rng(0).random(60)
    assert _dimension(pl.DataFrame({"a": t, "b": 2 * t})) == pytest.approx(1, abs=0.3)


def test_a_label_with_damaged_versions_is_no_model(tmp_path):
    LRMC().fit([[1.0, 2.0], [2.0, 4.0]]).save(tmp_path / "a.skops")
    with (
        zipfile.ZipFile(tmp_path / "a.skops") as given,
        zipfile.ZipFile(tmp_path / "b.skops", "w") as made,
    ):
        for name in given.namelist():
            content = given.read(name)
            if name == "polycomplete.json":
                content = json.dumps(json.loads(content) | {"libraries": 7}).encode()
            made.writestr(name, content)
    with pytest.raises(ModelFileError, match="not a model of polycomplete"):
        load(tmp_path / "b.skops")


def test_what_stands_before_decimals_does_not_stand_between_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("length,cm;c\n1,5;2\n2,5;3\n")
    assert read_table(str(path), Reading(decimal=",")).frame.rows() == [(1.5, 2), (2.5, 3)]
