"""The original file formats: small files written by hand, damaged ones, and the published ones."""

import numpy as np
import pytest
from scipy.io import savemat

from polycomplete import datasets
from polycomplete.datasets.fetch import read_amc, read_satimage

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
        (AMC.rsplit("\n", 2)[0], r"frame 3 has 3 channels that are not the 4 of the first"),
        (AMC.replace("\n2\n", "\n"), "frame 2 has 4 channels that are not the 8"),
        (AMC.replace(" 12", ""), "frame 3 has 3 channels"),
        (AMC.replace("lowerback 8", "head 8"), "frame 2 has 4 channels that are not"),
        (AMC.replace("6 7", "6 seven"), "line 8: 'root 5 6 seven' is not a bone"),
        (AMC.replace("\n1\n", "\n", 1), "line 4: 'root 1.5 2 -3e-1' is not a bone of a frame"),
        ("\u00e4", "frame 1 has 0 channels"),
        ("<html>moved to</html>", "line 1: '<html>moved to</html>' is not"),
    ],
)
def test_damaged_amc(text, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        read_amc(write(tmp_path / "x.amc", text))
    assert "x.amc" in str(caught.value)


def test_tables_in_two_files(tmp_path):
    train = write(tmp_path / "sat.trn", "1 2 3 7\r\n4 5 6 1\r\n")
    test = write(tmp_path / "sat.tst", "7 8 9 2\n5 5 5 3\n")
    arrays = read_satimage(train, test)
    np.testing.assert_array_equal(arrays["X"], [[1, 2, 3], [4, 5, 6], [7, 8, 9], [5, 5, 5]])
    assert arrays["y"].tolist() == [7, 1, 2, 3]
    assert arrays["is_test"].tolist() == [False, False, True, True]


def test_tracks_in_a_matlab_file(tmp_path):
    tracks = np.arange(3 * 4 * 5.0).reshape(3, 4, 5)
    file = tmp_path / "hopkins155/raw/toy_truth.mat"
    file.parent.mkdir(parents=True)
    savemat(file, {"x": tracks, "s": np.array([[1], [1], [2], [2]], "u1")})
    bunch = datasets.load_hopkins155("toy", data_home=tmp_path)
    np.testing.assert_array_equal(bunch.data[:, 0::2], tracks[0])
    assert bunch.target.tolist() == [0, 0, 1, 1]
    assert datasets.list_hopkins155(data_home=tmp_path) == ["toy"]
    savemat(file, {"x": tracks, "s": [1, 2]})
    with pytest.raises(ValueError, match="toy in hopkins155 has unusable shapes"):
        datasets.load_hopkins155("toy", data_home=tmp_path)
    for content in (b"", b"<html>404</html>", bytes(range(256))):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"toy_truth.mat cannot be read as .*get it again"):
            datasets.load_hopkins155("toy", data_home=tmp_path)


LOADERS = {
    "mice_protein": datasets.load_mice_protein,
    "dermatology": datasets.load_dermatology,
    "shuttle": datasets.load_shuttle,
    "satimage": datasets.load_satimage,
    "cmu_mocap": datasets.load_cmu_mocap,
    "hopkins155": lambda data_home: datasets.load_hopkins155("1R2RC", data_home=data_home),
}


@pytest.mark.data
@pytest.mark.parametrize("name", LOADERS)
def test_published_files_hold_what_the_prepared_ones_do(name, real_data, tmp_path):
    (tmp_path / name).mkdir()
    (tmp_path / name / "raw").symlink_to(real_data / name / "raw")
    prepared, original = LOADERS[name](data_home=real_data), LOADERS[name](data_home=tmp_path)
    assert prepared.keys() == original.keys()
    for key in prepared:
        np.testing.assert_array_equal(original[key], prepared[key])
