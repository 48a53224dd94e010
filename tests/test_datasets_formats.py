"""The original file formats: small files written by hand, damaged ones, and the published ones."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from polycomplete import datasets
from polycomplete.datasets import _ways
from polycomplete.datasets._content import Content
from polycomplete.datasets.formats import matlab, read_amc, uci

AMC = """#!OML:ASF made by hand
:FULLY-SPECIFIED
:DEGREES
1
root 1.5 2 -3e-1
lowerback 4
2
root 5 6 7
lowerback 8

3
root 9 10 11
lowerback 12
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_amc(tmp_path):
    arrays = read_amc(write(tmp_path / "56_01.amc", AMC))
    np.testing.assert_array_equal(arrays["X"], [[1.5, 5, 9], [2, 6, 10], [-0.3, 7, 11], [4, 8, 12]])
    assert arrays["dof_names"].tolist() == ["root.0", "root.1", "root.2", "lowerback.0"]


def test_amc_is_a_form_of_a_recording(tmp_path):
    write(tmp_path / "cmu_mocap/raw/07_02.amc", AMC)
    bunch = datasets.load_cmu_mocap("07", "02", step=2, data_home=tmp_path)
    np.testing.assert_array_equal(bunch.data, [[1.5, 2, -0.3, 4], [9, 10, 11, 12]])
    with pytest.raises(ValueError, match=r"subject='\.\./x'.*must be numbers"):
        datasets.load_cmu_mocap("../x", "02", data_home=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no frames"),
        (AMC.rsplit("\n", 2)[0], r"frame 3, which begins in line 11, has 3 channels, not the 4"),
        (AMC.replace("lowerback 8", "head 8"), "frame 2, which begins in line 7"),
        (AMC.replace("6 7", "6 seven"), "line 8 has a value that is no number"),
        (AMC.replace("\n1\n", "\n", 1), "line 4 stands before the number of a frame"),
        ("\u00e4", "no .amc text file"),
    ],
)
def test_damaged_amc(text, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        read_amc(write(tmp_path / "x.amc", text))
    assert "x.amc" in str(caught.value)


def test_dermatology_with_and_without_a_line_of_names(tmp_path):
    plain = write(tmp_path / "plain.data", "2,0,55,2\n3,1,?,1\n")
    mirrored = write(
        tmp_path / "names.data", "scaling,itching,Age,class\r\n2,0,55,2\r\n3,1,?,1\r\n"
    )
    for path in (plain, mirrored):
        arrays = uci.read_dermatology(path)
        np.testing.assert_array_equal(arrays["X"], [[2, 0, 55], [3, 1, np.nan]])
        assert arrays["y"].tolist() == [2, 1]


def test_tables_of_numbers(tmp_path):
    train = write(tmp_path / "sat.trn", "1 2 3 7\r\n4 5 6 1\r\n")
    test = write(tmp_path / "sat.tst", "7 8 9 2\n")
    arrays = uci.read_satimage(train, test)
    np.testing.assert_array_equal(arrays["X"], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert arrays["y"].tolist() == [7, 1, 2]
    assert arrays["is_test"].tolist() == [False, False, True]
    with pytest.raises(ValueError, match=r"sat.tst has 3 columns"):
        uci.read_satimage(train, write(test, "7 8 2\n"))
    with pytest.raises(ValueError, match=r"sat.trn cannot be read as table of numbers"):
        uci.read_satimage(write(train, "1 2 3 7\n4 5"), test)


def test_matlab_files(tmp_path):
    tracks = np.arange(3 * 4 * 5.0).reshape(3, 4, 5)
    file = tmp_path / "hopkins155/raw/toy_truth.mat"
    file.parent.mkdir(parents=True)
    savemat(file, {"x": tracks, "s": np.array([[1], [1], [2], [2]], "u1")})
    bunch = datasets.load_hopkins155("toy", data_home=tmp_path)
    np.testing.assert_array_equal(bunch.data[:, 0::2], tracks[0])
    assert bunch.target.tolist() == [0, 0, 1, 1]
    assert datasets.list_hopkins155(data_home=tmp_path) == ["toy"]
    savemat(file, {"x": tracks, "s": [1, 2]})
    with pytest.raises(ValueError, match="unusable shapes"):
        matlab.read_hopkins(file)
    savemat(file, {"X": np.ones((3, 3))})
    with pytest.raises(ValueError, match="62 channels"):
        matlab.read_mocap(file)


READERS = {
    "Data_Cortex_Nuclear.xls": uci.read_mice,
    "shuttle.trn.Z": lambda path: uci.read_shuttle(path, path),
    "x_truth.mat": matlab.read_hopkins,
    "mocap_56_01.mat": matlab.read_mocap,
    "dermatology.data": uci.read_dermatology,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("content", [b"", b"<html>404</html>", bytes(range(256))])
def test_other_content_is_refused(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} cannot be read as .*damaged, get it again"):
        READERS[name](path)


def test_content_is_checked_whatever_the_form():
    arrays = {"X": np.array([[1.0, np.nan], [2.0, 3.0]]), "y": np.array([1, 2])}
    good = Content((2, 2), (1, 1), 1, "")
    good.check(arrays, Path("f"))
    for bad, what in [
        (Content((3, 2)), r"shape is \(2, 2\), not \(3, 2\)"),
        (Content((2, 2), missing=0), "missing is 1, not 0"),
        (Content((2, 2), (2,), 1), "classes"),
        (Content((2, 2), (1, 1), 1, "0" * 16), "digest"),
    ]:
        with pytest.raises(ValueError, match=f"f is not the published file: its .*{what}"):
            bad.check(arrays, Path("f"))


@pytest.mark.data
@pytest.mark.parametrize("name", ["MICE", "DERMATOLOGY", "SHUTTLE", "SATIMAGE"])
def test_published_files_hold_what_the_prepared_ones_do(name, real_data):
    prepared, original = (
        way.arrays([real_data / file for file in way.files]) for way in getattr(_ways, name)
    )
    np.testing.assert_array_equal(original["X"], prepared["X"])
    np.testing.assert_array_equal(original["y"], prepared["y"])
    assert set(prepared) - {"class_str"} <= set(original)


@pytest.mark.data
def test_published_matlab_files_hold_what_the_prepared_ones_do(real_data):
    for trial in ("01", "06"):
        ways = _ways.mocap("56", trial)[:2]
        prepared, original = (way.arrays([real_data / way.files[0]]) for way in ways)
        np.testing.assert_array_equal(original["X"], prepared["X"])
        assert original["dof_names"].tolist() == prepared["dof_names"].tolist()
    prepared, original = (
        way.arrays([real_data / way.files[0]]).values()
        for way in (lambda found: (found[0], found[-1]))(_ways.hopkins("1R2RC", real_data))
    )
    for a, b in zip(prepared, original, strict=True):
        np.testing.assert_array_equal(a, b)
