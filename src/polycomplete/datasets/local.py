"""Loaders for the datasets of the experiments, read from ``.npz`` files in a local folder.

Nothing is downloaded: :func:`data_home` says where the files are looked for. All loaders return a
scikit-learn ``Bunch`` whose ``data`` has samples as rows, float64, NaN where entries are missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

__all__ = [
    "data_home",
    "list_hopkins155",
    "list_tabular",
    "load_cmu_mocap",
    "load_dermatology",
    "load_hopkins155",
    "load_mice_protein",
    "load_satimage",
    "load_shuttle",
    "load_tabular",
]

Folder = str | os.PathLike[str] | None
Arrays = dict[str, NDArray[Any]]

# All sequences rounded to float32; a few of them in full precision, which are preferred.
_HOPKINS = ("hopkins155/hopkins155_all_float32.npz", "hopkins155/hopkins155_paper_seqs.npz")
_SOILS = ["red", "cotton crop", "grey", "damp grey", "vegetation stubble", "very damp grey"]


def data_home(data_home: Folder = None) -> Path:
    """Folder in which the loaders look for data.

    Parameters
    ----------
    data_home : path, optional
        The folder itself; else the environment variable POLYCOMPLETE_DATA is taken, else the folder
        ``polycomplete`` in the user's cache (XDG_CACHE_HOME or ``~/.cache``).

    Returns
    -------
    Path
        The folder, which need not exist.

    Examples
    --------
    >>> data_home("measurements").name
    'measurements'
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "polycomplete")
    return Path(data_home or os.environ.get("POLYCOMPLETE_DATA") or cache).expanduser()


def load_mice_protein(*, data_home: Folder = None) -> Bunch:
    """Protein levels in the brains of mice of eight classes (1080 × 77, 1.7 % missing).

    Parameters
    ----------
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    Bunch
        data, target, target_names, feature_names, mouse_id (72 mice, 15 rows each), DESCR.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     Path(home, "mice_protein").mkdir()
    ...     np.savez(f"{home}/mice_protein/mice_protein.npz", X=[[0.5], [np.nan]], y=[2, 1],
    ...              feature_names=["BDNF_N"], class_names=["control", "trisomic"],
    ...              mouse_id=["a", "b"])
    ...     load_mice_protein(data_home=home).target
    array([1, 0])
    """
    file = "mice_protein/mice_protein.npz"
    z = _read(file, data_home, "X", "y", "feature_names", "class_names", "mouse_id")
    return _table(file, z, z["class_names"].tolist(), "Mice protein expression, UCI.", "mouse_id")


def load_dermatology(*, data_home: Folder = None) -> Bunch:
    """Clinical findings on patients with one of six skin diseases (366 × 34, eight ages missing).

    Parameters
    ----------
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    Bunch
        data, target, target_names, feature_names, DESCR.

    Examples
    --------
    >>> load_dermatology(data_home="elsewhere")  # with the data: 366 × 34
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    file = "dermatology/dermatology.npz"
    z = _read(file, data_home, "X", "y", "feature_names", "class_names")
    return _table(file, z, z["class_names"].tolist(), "Dermatology, UCI.")


def load_shuttle(*, data_home: Folder = None) -> Bunch:
    """Sensor readings of a space shuttle in seven states (58000 × 9, complete, very unbalanced).

    Parameters
    ----------
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    Bunch
        data, target, target_names, feature_names (None), is_test (the customary split), DESCR.

    Examples
    --------
    >>> load_shuttle(data_home="elsewhere")  # with the data: 58000 × 9
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    file = "shuttle/shuttle.npz"
    z = _read(file, data_home, "X", "y", "class_names", "is_test")
    return _table(file, z, z["class_names"].tolist(), "Statlog shuttle, UCI.", "is_test")


def load_satimage(*, data_home: Folder = None) -> Bunch:
    """Satellite picture patches of six kinds of soil (6435 × 36, complete).

    Parameters
    ----------
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    Bunch
        data, target, target_names, feature_names (None), is_test (the customary split), DESCR.

    Examples
    --------
    >>> load_satimage(data_home="elsewhere")  # with the data: 6435 × 36
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    file = "satimage/satimage.npz"
    z = _read(file, data_home, "X", "y", "is_test")
    # Code 6 (mixed soils) does not occur in the data, so 7 is the sixth class.
    z["y"] = np.where(z["y"] == 7, 6, z["y"])
    return _table(file, z, _SOILS, "Statlog Landsat satellite, UCI.", "is_test")


def list_hopkins155(*, data_home: Folder = None) -> list[str]:
    """Names of the motion sequences that :func:`load_hopkins155` can load.

    The full collection has 155 sequences with two or three motions and one with five. A name that
    ends in ``_g12`` holds only motions 1 and 2 of its parent.

    Parameters
    ----------
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    list of str

    Examples
    --------
    >>> list_hopkins155(data_home="elsewhere")
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    return sorted(_hopkins_files(data_home))


def load_hopkins155(name: str, frames: int | None = None, *, data_home: Folder = None) -> Bunch:
    """Points tracked through a video in which several things move (a row per point, complete).

    Parameters
    ----------
    name : str
        A name from :func:`list_hopkins155`, for example "1R2RC".
    frames : int, optional
        Keep this many frames, evenly spread from the first to the last but one; all by default.
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    Bunch
        data (columns x, y of the first frame, x, y of the second, ...), target (motion of a point,
        from 0), frames (those kept, from 0), DESCR.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     Path(home, "hopkins155").mkdir()
    ...     np.savez(f"{home}/hopkins155/hopkins155_all_float32.npz",
    ...              arm__x=np.zeros((2, 7, 9)), arm__s=[1, 1, 1, 2, 2, 2, 2])
    ...     load_hopkins155("arm", frames=3, data_home=home).data.shape
    (7, 6)
    """
    files = _hopkins_files(data_home)
    if name not in files:
        raise ValueError(f"There is no sequence {name!r}; list_hopkins155() names those there are.")
    x, motion = _read(files[name], data_home, f"{name}__x", f"{name}__s").values()
    if x.ndim != 3 or len(x) != 2 or motion.shape != x.shape[1:2]:
        raise ValueError(f"{name} in {files[name]} has unusable shapes {x.shape}, {motion.shape}.")
    kept = _spread_frames(x.shape[2], frames)
    data = x[:, :, kept].transpose(1, 2, 0).reshape(x.shape[1], -1).astype(np.float64)
    target = np.unique(motion, return_inverse=True)[1]
    return Bunch(data=data, target=target, frames=kept, DESCR=f"Hopkins 155, sequence {name}.")


def load_cmu_mocap(
    subject: str = "56", trial: str = "01", step: int = 4, *, data_home: Folder = None
) -> Bunch:
    """Joint angles of a moving person (a row per frame, 62 columns, complete).

    The scales of the columns differ widely, and six of them are constant up to rounding.

    Parameters
    ----------
    subject, trial : str
        Numbers of the recording as two digits; 56_01 and 56_06 are those of the experiments.
    step : int
        Keep every `step`-th frame.
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    Bunch
        data, feature_names, DESCR.

    Examples
    --------
    >>> load_cmu_mocap(data_home="elsewhere")  # with the data: 377 × 62
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    file = f"cmu_mocap/mocap_{subject}_{trial}.npz"
    if step < 1:
        raise ValueError(f"step={step} must be at least 1.")
    z = _read(file, data_home, "X", "dof_names")
    data = np.ascontiguousarray(_as_matrix(file, z["X"])[:, ::step].T)
    names = _of_length(file, z, "dof_names", data.shape[1])
    return Bunch(data=data, feature_names=names.tolist(), DESCR=f"CMU mocap {subject}_{trial}.")


def list_tabular(*, data_home: Folder = None) -> list[str]:
    """Names of the tables that :func:`load_tabular` can load.

    Parameters
    ----------
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    list of str
        Empty if there are none.

    Examples
    --------
    >>> list_tabular(data_home="no such folder")
    []
    """
    return sorted(path.stem for path in _path(data_home, "tabular").glob("*.npz"))


def load_tabular(name: str, *, data_home: Folder = None) -> Bunch:
    """Load one of the ordinary tables.

    Parameters
    ----------
    name : str
        A name from :func:`list_tabular`.
    data_home : path, optional
        See :func:`data_home`.

    Returns
    -------
    Bunch
        data, target (numbers or strings, as in the file), DESCR.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     Path(home, "tabular").mkdir()
    ...     np.savez(f"{home}/tabular/toy.npz", X=[[1, 2], [3, 4]], y=["a", "b"])
    ...     load_tabular("toy", data_home=home).data
    array([[1., 2.],
           [3., 4.]])
    """
    file = f"tabular/{name}.npz"
    z = _read(file, data_home, "X", "y")
    data = _as_matrix(file, z["X"])
    z["y"] = z["y"].ravel()
    return Bunch(data=data, target=_of_length(file, z, "y", len(data)), DESCR=f"Table {name}.")


def _path(home: Folder, file: str = "") -> Path:
    # In the loaders the parameter `data_home` hides the function of that name.
    return data_home(home) / file


@contextmanager
def _archive(file: str, home: Folder) -> Iterator[Any]:
    """Open an .npz file of the data folder, with an error that names the file if it is unusable."""
    path = _path(home, file)
    if not path.is_file():
        raise FileNotFoundError(
            f"{file} is not in {_path(home)}; set POLYCOMPLETE_DATA to the folder that holds it."
        )
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as archive:
            yield archive
    except Exception as error:  # zip, zlib, struct and header errors alike mean a damaged file
        raise ValueError(f"{path} cannot be read as .npz; it is damaged, get it again.") from error


def _read(file: str, home: Folder, *keys: str) -> Arrays:
    with _archive(file, home) as archive:
        arrays = {key: archive[key] for key in keys if key in archive.files}
    lacking = [key for key in keys if key not in arrays]
    if lacking:
        raise ValueError(f"{file} lacks {', '.join(lacking)}; get a complete version of the file.")
    return arrays


def _table(file: str, z: Arrays, names: Sequence[str], descr: str, *extra: str) -> Bunch:
    """Table with class codes 1, 2, ...; the target counts from 0, so that it indexes the names."""
    data = _as_matrix(file, z["X"])
    target = _of_length(file, z, "y", len(data)).astype(np.int64) - 1
    if target.size and not 0 <= target.min() <= target.max() < len(names):
        raise ValueError(f"{file} has class codes outside 1 to {len(names)}; get the file again.")
    features = None
    if "feature_names" in z:
        features = _of_length(file, z, "feature_names", data.shape[1]).tolist()
    more = {key: _of_length(file, z, key, len(data)) for key in extra}
    return Bunch(
        data=data,
        target=target,
        target_names=[str(name) for name in names],
        feature_names=features,
        DESCR=descr,
        **more,
    )


def _as_matrix(file: str, X: NDArray[Any]) -> NDArray[np.float64]:
    if X.ndim != 2 or X.dtype.kind not in "fiu":
        raise ValueError(f"X in {file} must be a matrix of numbers, not {X.dtype} {X.shape}.")
    return X.astype(np.float64)


def _of_length(file: str, z: Arrays, key: str, length: int) -> NDArray[Any]:
    if z[key].shape != (length,):
        raise ValueError(f"{key} in {file} has shape {z[key].shape}, but X asks for ({length},).")
    return z[key]


def _hopkins_files(home: Folder) -> dict[str, str]:
    """Which file each sequence is read from."""
    present = [file for file in _HOPKINS if _path(home, file).is_file()]
    files: dict[str, str] = {}
    for file in present or _HOPKINS[:1]:
        with _archive(file, home) as archive:
            files |= {key[:-3]: file for key in archive.files if key.endswith("__x")}
    return files


def _spread_frames(available: int, frames: int | None) -> NDArray[np.int64]:
    if frames is None:
        return np.arange(available)
    if not 1 <= frames < available:
        raise ValueError(f"frames={frames} must lie between 1 and {available - 1}, or be None.")
    return np.floor(np.linspace(1, available - 1, frames)).astype(np.int64) - 1
