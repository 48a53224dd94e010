"""Generators and loaders; the loaders on hand-made files, and on the real ones where present."""

from pathlib import Path

import numpy as np
import pytest

from polycomplete import datasets
from polycomplete.scaling import is_constant

CLASSIFICATION = {
    "mice_protein": (datasets.load_mice_protein, (1080, 77), 8, 1396),
    "dermatology": (datasets.load_dermatology, (366, 34), 6, 8),
    "shuttle": (datasets.load_shuttle, (58000, 9), 7, 0),
    "satimage": (datasets.load_satimage, (6435, 36), 6, 0),
}


@pytest.fixture
def home(tmp_path):
    """Folder with a small file of every kind."""

    def save(file, **arrays):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        np.savez_compressed(path, **arrays)

    X, y, split = np.array([[1, 2, 3], [4, 5, 6]]), np.array([1, 2]), np.array([False, True])
    names = {"class_names": ["a", "b"], "feature_names": ["u", "v", "w"]}
    save("mice_protein/mice_protein.npz", X=X, y=y, mouse_id=["m", "n"], **names)
    save("dermatology/dermatology.npz", X=np.where(X == 2, np.nan, X), y=y, **names)
    save("shuttle/shuttle.npz", X=X, y=y.astype("i1"), is_test=split, class_names=["a", "b"])
    save("satimage/satimage.npz", X=X.astype("u1"), y=np.array([1, 7], "u1"), is_test=split)
    points = np.arange(2 * 3 * 9.0).reshape(2, 3, 9)
    save(
        "hopkins155/hopkins155_all_float32.npz",
        arm__x=points.astype("f4") / 3,
        arm__s=np.array([3, 1, 3], "u1"),
        head__x=points,
        head__s=np.array([1, 1, 2], "u1"),
    )
    save("hopkins155/hopkins155_paper_seqs.npz", arm__x=points / 3, arm__s=[3, 1, 3])
    save("cmu_mocap/mocap_56_01.npz", X=np.arange(22.0).reshape(2, 11), dof_names=["r.0", "r.1"])
    save("tabular/toy.npz", X=X, y=np.array([["p"], ["q"]]))
    return tmp_path


def every_loader(home):
    return {
        "mice_protein/mice_protein.npz": lambda: datasets.load_mice_protein(data_home=home),
        "dermatology/dermatology.npz": lambda: datasets.load_dermatology(data_home=home),
        "shuttle/shuttle.npz": lambda: datasets.load_shuttle(data_home=home),
        "satimage/satimage.npz": lambda: datasets.load_satimage(data_home=home),
        "cmu_mocap/mocap_56_01.npz": lambda: datasets.load_cmu_mocap(data_home=home),
        "tabular/toy.npz": lambda: datasets.load_tabular("toy", data_home=home),
        "hopkins155/hopkins155_all_float32.npz": lambda: datasets.list_hopkins155(data_home=home),
    }


@pytest.mark.parametrize(("n_dims", "degree"), [(2, 4), (3, 2), (1, 1), (2, 5)])
def test_rank_of_a_manifold(n_dims, degree):
    X = datasets.make_polynomial_manifold(60, 20, n_dims=n_dims, degree=degree, random_state=0)
    assert X.shape == (60, 20)
    assert np.linalg.matrix_rank(X) == n_dims * degree


def test_manifold_is_its_formula():
    X = datasets.make_polynomial_manifold(7, 5, n_dims=2, random_state=3)
    rng = np.random.default_rng(3)
    A, B, C, D = (rng.standard_normal((5, 2)) for _ in range(4))
    Z = rng.uniform(-1, 1, (2, 7))
    for row, z in zip(X, Z.T, strict=True):
        np.testing.assert_allclose(row, A @ z + (B @ z**2 + C @ z**3 + D @ z**4) / 2, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "parts", "rank"),
    [
        (datasets.make_polynomial_manifold, "n_manifolds", 8),
        (datasets.make_union_of_subspaces, "n_subspaces", 2),
    ],
)
def test_parts_labels_noise_and_seed(make, parts, rank):
    X, labels = make(62, 20, **{parts: 4}, random_state=1, return_labels=True)
    np.testing.assert_array_equal(np.bincount(labels), [16, 16, 15, 15])
    assert all(np.linalg.matrix_rank(X[labels == k]) == rank for k in range(4))
    assert np.linalg.matrix_rank(X) == min(20, 4 * rank)
    clean = make(62, 20, **{parts: 4}, random_state=np.random.default_rng(1))
    np.testing.assert_array_equal(clean, X)
    noisy = make(62, 20, **{parts: 4}, random_state=1, noise=0.1)
    relative = np.linalg.norm(noisy - X) / np.linalg.norm(X)
    assert relative == pytest.approx(0.1, rel=0.1)
    with pytest.raises(ValueError, match="at least one of each"):
        make(3, 20, **{parts: 4})
    with pytest.raises(ValueError, match="noise=-1"):
        make(noise=-1)


def test_unusable_numbers_are_named():
    with pytest.raises(ValueError, match="degree=0"):
        datasets.make_polynomial_manifold(degree=0)
    with pytest.raises(ValueError, match="n_dims=0"):
        datasets.make_polynomial_manifold(n_dims=0)
    with pytest.raises(ValueError, match="dim=9 exceeds"):
        datasets.make_union_of_subspaces(n_features=8, dim=9)


def test_data_home_order(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYCOMPLETE_DATA", str(tmp_path))
    assert datasets.data_home() == tmp_path
    assert datasets.data_home("elsewhere") == Path("elsewhere")
    assert datasets.data_home("~/x") == Path.home() / "x"
    monkeypatch.setenv("POLYCOMPLETE_DATA", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert datasets.data_home() == Path.home() / ".cache" / "polycomplete"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert datasets.data_home() == tmp_path / "c" / "polycomplete"


def test_loaders_find_the_folder_by_environment(monkeypatch, home):
    monkeypatch.setenv("POLYCOMPLETE_DATA", str(home))
    assert datasets.load_tabular("toy").data.shape == (2, 3)
    assert datasets.list_hopkins155() == ["arm", "head"]


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classification_loaders(name, home):
    bunch = CLASSIFICATION[name][0](data_home=home)
    assert bunch.data.dtype == np.float64
    assert bunch.data.shape == (2, 3)
    assert np.isnan(bunch.data).sum() == (name == "dermatology")
    assert bunch.target.tolist() == ([0, 5] if name == "satimage" else [0, 1])
    assert isinstance(bunch.target_names[bunch.target.max()], str)
    assert bunch.feature_names in (None, ["u", "v", "w"])
    assert bunch.DESCR


def test_hopkins_columns_alternate_between_x_and_y(home):
    bunch = datasets.load_hopkins155("head", data_home=home)
    points = np.arange(2 * 3 * 9.0).reshape(2, 3, 9)
    np.testing.assert_array_equal(bunch.data[:, 0::2], points[0])
    np.testing.assert_array_equal(bunch.data[:, 1::2], points[1])
    assert bunch.target.tolist() == [0, 0, 1]


def test_hopkins_frames_are_spread_evenly(home):
    bunch = datasets.load_hopkins155("head", frames=3, data_home=home)
    assert bunch.frames.tolist() == [0, 3, 7]
    assert bunch.data.shape == (3, 6)
    assert datasets.load_hopkins155("head", frames=8, data_home=home).frames.tolist() == [*range(8)]
    for frames in (0, 9):
        with pytest.raises(ValueError, match=f"frames={frames}"):
            datasets.load_hopkins155("head", frames=frames, data_home=home)


def test_hopkins_prefers_full_precision(home):
    precise = datasets.load_hopkins155("arm", data_home=home)
    assert precise.target.tolist() == [1, 0, 1]
    (home / "hopkins155/hopkins155_paper_seqs.npz").unlink()
    rounded = datasets.load_hopkins155("arm", data_home=home)
    assert 0 < np.abs(precise.data - rounded.data).max() < 1e-5
    with pytest.raises(ValueError, match=r"no sequence 'leg'.*list_hopkins155"):
        datasets.load_hopkins155("leg", data_home=home)


def test_mocap_rows_are_frames(home):
    bunch = datasets.load_cmu_mocap(data_home=home)
    np.testing.assert_array_equal(bunch.data, [[0, 11], [4, 15], [8, 19]])
    assert bunch.feature_names == ["r.0", "r.1"]
    assert datasets.load_cmu_mocap(step=1, data_home=home).data.shape == (11, 2)
    with pytest.raises(ValueError, match="step=0"):
        datasets.load_cmu_mocap(step=0, data_home=home)


def test_tabular(home):
    assert datasets.list_tabular(data_home=home) == ["toy"]
    assert datasets.load_tabular("toy", data_home=home).target.tolist() == ["p", "q"]


def test_absent_files_say_what_to_do(tmp_path):
    for file, load in every_loader(tmp_path).items():
        with pytest.raises(FileNotFoundError, match=f"{file} is not in .*POLYCOMPLETE_DATA"):
            load()


def test_damaged_files_are_named(home):
    for file, load in every_loader(home).items():
        path = home / file
        whole = path.read_bytes()
        for broken in (b"", whole[: len(whole) // 2], b"not a zip", b"\x93NUMPY" + whole):
            path.write_bytes(broken)
            with pytest.raises(ValueError, match=f"{path.name} cannot be read"):
                load()
        path.write_bytes(whole)
        load()


def test_flipped_bytes_never_give_another_error(home):
    rng = np.random.default_rng(0)
    path = home / "tabular/toy.npz"
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    for _ in range(200):
        damaged = whole.copy()
        damaged[rng.integers(whole.size, size=3)] ^= rng.integers(1, 256, 3, dtype=np.uint8)
        path.write_bytes(damaged.tobytes())
        try:
            bunch = datasets.load_tabular("toy", data_home=home)
        except ValueError as error:
            assert "toy.npz" in str(error)  # noqa: PT017
        else:
            assert bunch.data.shape == (2, 3)


def test_pickled_objects_and_plain_arrays_are_refused(home):
    path = home / "tabular/toy.npz"
    np.savez(path, X=np.array([[{}]], dtype=object), y=[1])
    with pytest.raises(ValueError, match="cannot be read"):
        datasets.load_tabular("toy", data_home=home)
    with path.open("wb") as handle:
        np.save(handle, np.ones(3))
    with pytest.raises(ValueError, match="cannot be read"):
        datasets.load_tabular("toy", data_home=home)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": [[1.0]]}, "lacks y"),
        ({"X": [1.0], "y": [1]}, "must be a matrix"),
        ({"X": [["a"]], "y": [1]}, "must be a matrix of numbers"),
        ({"X": [[1.0], [2.0]], "y": [1]}, r"asks for \(2,\)"),
    ],
)
def test_unusable_tables_are_named(arrays, message, home):
    np.savez(home / "tabular/toy.npz", **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load_tabular("toy", data_home=home)
    assert "tabular/toy.npz" in str(caught.value)


def test_unusable_codes_names_and_tracks_are_named(home):
    table = {"X": [[1.0]], "y": [3], "class_names": ["a", "b"], "feature_names": ["u"]}
    np.savez(home / "dermatology/dermatology.npz", **table)
    with pytest.raises(ValueError, match="class codes outside 1 to 2"):
        datasets.load_dermatology(data_home=home)
    np.savez(home / "dermatology/dermatology.npz", **table | {"y": [1], "feature_names": []})
    with pytest.raises(ValueError, match="feature_names in dermatology"):
        datasets.load_dermatology(data_home=home)
    tracks = {"leg__x": np.ones((3, 2, 4)), "leg__s": [1, 2]}
    np.savez(home / "hopkins155/hopkins155_paper_seqs.npz", **tracks)
    with pytest.raises(ValueError, match="leg in hopkins155"):
        datasets.load_hopkins155("leg", data_home=home)


@pytest.mark.data
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_real_classification_data(name, real_data):
    load, shape, classes, missing = CLASSIFICATION[name]
    bunch = load(data_home=real_data)
    assert bunch.data.shape == shape
    assert np.isnan(bunch.data).sum() == missing
    np.testing.assert_array_equal(np.unique(bunch.target), np.arange(classes))
    assert len(bunch.target_names) == classes


@pytest.mark.data
def test_real_hopkins155(real_data):
    names = datasets.list_hopkins155(data_home=real_data)
    assert len(names) == 156
    for name in names:
        bunch = datasets.load_hopkins155(name, data_home=real_data)
        assert np.isfinite(bunch.data).all()
        assert 2 <= len(np.unique(bunch.target)) <= 5
    bunch = datasets.load_hopkins155("1R2RC", frames=6, data_home=real_data)
    assert bunch.data.shape == (459, 12)
    assert np.linalg.matrix_rank(bunch.data) == 12


@pytest.mark.data
@pytest.mark.parametrize(("trial", "rows"), [("01", 377), ("06", 1696)])
def test_real_mocap(trial, rows, real_data):
    bunch = datasets.load_cmu_mocap(trial=trial, data_home=real_data)
    assert bunch.data.shape == (rows, 62)
    assert (bunch.data.std(axis=0) < 1e-10).sum() == 6


@pytest.mark.data
def test_real_tables(real_data):
    names = datasets.list_tabular(data_home=real_data)
    assert {"concrete", "yeast", "winequality_red"} <= set(names)
    for name in names:
        bunch = datasets.load_tabular(name, data_home=real_data)
        assert len(bunch.data) == len(bunch.target)


@pytest.mark.data
def test_six_channels_of_motion_capture_are_constant_up_to_rounding(real_data):
    X = datasets.load_cmu_mocap(data_home=real_data).data
    assert is_constant(X, np.ones(X.shape, dtype=bool)).sum() == 6
