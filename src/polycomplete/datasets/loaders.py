"""Loaders of the datasets of the experiments.

Files, prepared as ``.npz`` or as published, are looked for in the folder that POLYCOMPLETE_DATA
names, then in the user's cache, and then downloaded (by pooch,
``pip install 'polycomplete[data]'``) and checked by their SHA-256; if `data_home` is given, only
that folder is used. All loaders return a scikit-learn ``Bunch`` whose ``data`` has samples as rows,
in float64, NaN where missing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from polycomplete.datasets import fetch
from polycomplete.datasets.fetch import Arrays, Folder, absent, find, folders, registry

Reader = Callable[..., Arrays]
#: A few sequences in full precision, which are preferred, and all of them in float32.
_HOPKINS = ("hopkins155/hopkins155_paper_seqs.npz", "hopkins155/hopkins155_all_float32.npz")
_TRACKS = "hopkins155/raw/*_truth.mat"


def load_mice_protein(*, data_home: Folder = None) -> Bunch:
    """Load protein levels in the brains of mice of eight classes (1080 × 77, 1.7 % missing).

    Parameters
    ----------
    data_home : path, optional
        The data folder, see :func:`data_home`.

    Returns
    -------
    Bunch
        data, target, target_names, feature_names, mouse_id (72 mice, 15 rows each), DESCR.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     Path(home, "mice_protein").mkdir()
    ...     np.savez(f"{home}/mice_protein/mice_protein.npz", X=[[0.5], [np.nan]], y=[2, 1],
    ...              feature_names=["BDNF_N"], class_names=["control", "trisomic"],
    ...              mouse_id=["a", "b"])
    ...     load_mice_protein(data_home=home).target
    array([1, 0])
    """
    keys, descr = "feature_names class_names mouse_id", "Mice protein expression, UCI."
    return _uci(data_home, "mice_protein", descr, keys, fetch.read_mice)


def load_dermatology(*, data_home: Folder = None) -> Bunch:
    """Load clinical findings on six skin diseases (366 patients × 34, eight ages missing).

    Parameters
    ----------
    data_home : path, optional
        The data folder, see :func:`data_home`.

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
    keys, descr = "feature_names class_names", "Dermatology, UCI."
    return _uci(data_home, "dermatology", descr, keys, fetch.read_dermatology)


def load_shuttle(*, data_home: Folder = None) -> Bunch:
    """Load sensor readings of a space shuttle in seven states (58000 × 9, complete, unbalanced).

    Parameters
    ----------
    data_home : path, optional
        The data folder, see :func:`data_home`.

    Returns
    -------
    Bunch
        data, target, target_names, feature_names (None), is_test (the usual split), DESCR.

    Examples
    --------
    >>> load_shuttle(data_home="elsewhere")  # with the data: 58000 × 9
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    keys, descr = "class_names is_test", "Statlog shuttle, UCI."
    return _uci(data_home, "shuttle", descr, keys, fetch.read_shuttle)


def load_satimage(*, data_home: Folder = None) -> Bunch:
    """Load satellite image patches of six kinds of soil (6435 × 36, complete).

    Parameters
    ----------
    data_home : path, optional
        The data folder, see :func:`data_home`.

    Returns
    -------
    Bunch
        data, target, target_names, feature_names (None), is_test (the usual split), DESCR.

    Examples
    --------
    >>> load_satimage(data_home="elsewhere")  # with the data: 6435 × 36
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    descr = "Statlog Landsat satellite, UCI."
    return _uci(data_home, "satimage", descr, "is_test", fetch.read_satimage)


def list_hopkins155(*, data_home: Folder = None) -> list[str]:
    """Return the names of the motion sequences that :func:`load_hopkins155` can load.

    The full collection has 155 sequences with two or three motions and one with five. A name that
    ends in ``_g12`` holds only motions 1 and 2 of its parent. Without any sequence on disk, the
    names are those that can be downloaded; put ``_truth.mat`` files of others into the folder
    ``hopkins155/raw`` of your data.

    Parameters
    ----------
    data_home : path, optional
        The data folder, see :func:`data_home`.

    Returns
    -------
    list of str

    Examples
    --------
    >>> list_hopkins155(data_home="elsewhere")
    Traceback (most recent call last):
    FileNotFoundError: ...POLYCOMPLETE_DATA...
    """
    originals = [path for folder in folders(data_home) for path in folder.glob(_TRACKS)]
    names = set(_collected(data_home))
    if not names and not originals:
        if data_home:
            raise absent(data_home, _HOPKINS[1])
        originals = [Path(file) for file in registry() if file.endswith("_truth.mat")]
    return sorted(names.union(path.name.removesuffix("_truth.mat") for path in originals))


def load_hopkins155(name: str, frames: int | None = None, *, data_home: Folder = None) -> Bunch:
    """Load points tracked through a video of several motions (a row per point, complete).

    Parameters
    ----------
    name : str
        A name from :func:`list_hopkins155`, for example "1R2RC".
    frames : int, optional
        Number of frames to keep, evenly spaced from the first to the last but one; all by default.
    data_home : path, optional
        The data folder, see :func:`data_home`.

    Returns
    -------
    Bunch
        data (columns x, y of the first frame, x, y of the second, ...), target (motion of a point,
        from 0), frames (those kept, from 0), DESCR.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     Path(home, "hopkins155").mkdir()
    ...     np.savez(f"{home}/hopkins155/hopkins155_all_float32.npz",
    ...              arm__x=np.zeros((2, 7, 9)), arm__s=[1, 1, 1, 2, 2, 2, 2])
    ...     load_hopkins155("arm", frames=3, data_home=home).data.shape
    (7, 6)
    """
    prepared, original = _collected(data_home).get(name, []), _TRACKS.replace("*", name)
    if original not in registry() and name not in list_hopkins155(data_home=data_home):
        raise ValueError(
            f"There is no sequence {name!r}; list_hopkins155() names those available, and others "
            f"are read from {folders(data_home)[0] / _TRACKS} (from https://github.com/"
            "ChristosXeno/Evaluation-of-Geometric-Motion-Segmentation-Methods)."
        )
    keys = f"{name}__x {name}__s"
    x, motion = _arrays(data_home, prepared, keys, fetch.read_hopkins, original).values()
    if x.ndim != 3 or len(x) != 2 or motion.shape != x.shape[1:2]:
        raise ValueError(f"{name} in hopkins155 has unusable shapes {x.shape}, {motion.shape}.")
    kept = _spread_frames(x.shape[2], frames)
    data = x[:, :, kept].transpose(1, 2, 0).reshape(x.shape[1], -1).astype(np.float64)
    target = np.unique(motion, return_inverse=True)[1]
    return Bunch(data=data, target=target, frames=kept, DESCR=f"Hopkins 155, sequence {name}.")


def load_cmu_mocap(
    subject: str = "56", trial: str = "01", step: int = 4, *, data_home: Folder = None
) -> Bunch:
    """Load joint angles of a moving person (a row per frame, 62 columns, complete).

    The scales of the columns differ widely, and six of them are constant up to rounding.

    Parameters
    ----------
    subject, trial : str
        Numbers of the recording, two digits each; 56_01 and 56_06, those of the experiments, can be
        downloaded. Put other ``.amc`` files into the folder ``cmu_mocap/raw`` of your data.
    step : int
        Keep every `step`-th frame.
    data_home : path, optional
        The data folder, see :func:`data_home`.

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
    if step < 1:
        raise ValueError(f"step={step} must be at least 1.")
    file = f"mocap_{subject}_{trial}"
    if not re.fullmatch(r"mocap_\d+_\d+", file):
        raise ValueError(f"subject={subject!r} and trial={trial!r} must be numbers, as '56', '01'.")
    read, original, url = fetch.read_mocap, f"cmu_mocap/raw/{file}.mat", ""
    if original not in registry():
        read, original = fetch.read_amc, f"cmu_mocap/raw/{subject}_{trial}.amc"
        url = f"http://mocap.cs.cmu.edu/subjects/{subject}/{subject}_{trial}.amc"
    z = _arrays(data_home, [f"cmu_mocap/{file}.npz"], "X dof_names", read, original, url=url)
    data = np.ascontiguousarray(_as_matrix(file, z["X"])[:, ::step].T)
    names = _of_length(file, z, "dof_names", data.shape[1])
    return Bunch(data=data, feature_names=names.tolist(), DESCR=f"CMU mocap {subject}_{trial}.")


def list_tabular(*, data_home: Folder = None) -> list[str]:
    """Return the names of the tables that :func:`load_tabular` can load.

    Parameters
    ----------
    data_home : path, optional
        The data folder, see :func:`data_home`.

    Returns
    -------
    list of str
        Empty if there are none.

    Examples
    --------
    >>> list_tabular(data_home="no such folder")
    []
    """
    return sorted(path.stem for home in folders(data_home) for path in home.glob("tabular/*.npz"))


def load_tabular(name: str, *, data_home: Folder = None) -> Bunch:
    """Load a table.

    Parameters
    ----------
    name : str
        A name from :func:`list_tabular`.
    data_home : path, optional
        The data folder, see :func:`data_home`.

    Returns
    -------
    Bunch
        data, target (numbers or strings, as in the file), DESCR.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     Path(home, "tabular").mkdir()
    ...     np.savez(f"{home}/tabular/toy.npz", X=[[1, 2], [3, 4]], y=["a", "b"])
    ...     load_tabular("toy", data_home=home).data
    array([[1., 2.],
           [3., 4.]])
    """
    file = f"tabular/{name}.npz"
    z = fetch.read_npz(find(data_home, (file,))[0], "X", "y")
    data = _as_matrix(file, z["X"])
    z["y"] = z["y"].ravel()
    return Bunch(data=data, target=_of_length(file, z, "y", len(data)), DESCR=f"Table {name}.")


def _uci(home: Folder, name: str, descr: str, keys: str, read: Reader) -> Bunch:
    """Load a table with class codes 1, 2, ...; the target counts from 0, to index the names."""
    raw = [file for file in registry() if file.startswith(f"{name}/raw/")]
    z = _arrays(home, [f"{name}/{name}.npz"], f"X y {keys}", read, *raw)
    if name == "satimage":  # code 6 (mixed soils) does not occur, and 7 is the sixth class
        z |= {"y": np.where(z["y"] == 7, 6, z["y"]), "class_names": fetch.names_of(name)}
    data, names = _as_matrix(name, z.pop("X")), z.pop("class_names").tolist()
    features = _of_length(name, z, "feature_names", data.shape[1]) if "feature_names" in z else None
    target = _of_length(name, z, "y", len(data)).astype(np.int64) - 1
    if target.size and not 0 <= target.min() <= target.max() < len(names):
        raise ValueError(f"{name} has class codes outside 1 to {len(names)}; get the file again.")
    extra = {"mouse_id", "is_test"} & z.keys()
    return Bunch(
        data=data,
        target=target,
        target_names=list(map(str, names)),
        feature_names=None if features is None else features.tolist(),
        DESCR=descr,
        **{key: _of_length(name, z, key, len(data)) for key in extra},
    )


def _arrays(
    home: Folder, prepared: list[str], keys: str, read: Reader, *originals: str, url: str = ""
) -> Arrays:
    """Return the named arrays of a prepared file, else read the originals."""
    paths = find(home, *[(file,) for file in prepared], originals, url=url)
    return fetch.read_npz(paths[0], *keys.split()) if paths[0].suffix == ".npz" else read(*paths)


def _collected(home: Folder) -> dict[str, list[str]]:
    """Return the prepared files that hold each sequence of Hopkins 155."""
    found = defaultdict(list)
    for file, folder in product(_HOPKINS, folders(home)):
        if (folder / file).is_file():
            for key in fetch.npz_keys(folder / file):
                found[key.rpartition("__")[0]].append(file)
    return found


def _as_matrix(file: str, X: NDArray[Any]) -> NDArray[np.float64]:
    if X.ndim != 2 or X.dtype.kind not in "fiu":
        raise ValueError(f"X in {file} must be a matrix of numbers, not {X.dtype} {X.shape}.")
    return X.astype(np.float64)


def _of_length(file: str, z: Arrays, key: str, length: int) -> NDArray[Any]:
    if z[key].shape != (length,):
        raise ValueError(f"{key} in {file} has shape {z[key].shape}, but X asks for ({length},).")
    return z[key]


def _spread_frames(available: int, frames: int | None) -> NDArray[np.int64]:
    if frames is None:
        return np.arange(available)
    if not 1 <= frames < available:
        raise ValueError(f"frames={frames} must lie between 1 and {available - 1}, or be None.")
    return np.floor(np.linspace(1, available - 1, frames)).astype(np.int64) - 1
