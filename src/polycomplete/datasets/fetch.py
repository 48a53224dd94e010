"""Data files: found in folders or downloaded by pooch, and read as named arrays.

``registry.txt``, like the registries of pooch, has a line for each file that can be downloaded: its
path in a data folder, its SHA-256 and its address. After this check, the content of these files is
known; ``names.json`` has the names that they lack: of classes, and of the channels of recordings.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from polycomplete._optional import need

Folder = str | os.PathLike[str] | None
Arrays = dict[str, NDArray[Any]]
_HERE = files("polycomplete.datasets")


class Remote(NamedTuple):
    """Checksum and address of a file."""

    sha256: str
    url: str


@cache
def registry() -> dict[str, Remote]:
    """Return the files that can be downloaded."""
    lines = _HERE.joinpath("registry.txt").read_text().splitlines()
    return {file: Remote(sha256, url) for file, sha256, url in map(str.split, lines)}


@cache
def names_of(dataset: str) -> NDArray[Any]:
    """Return the names of the classes or channels of a dataset."""
    return np.array(json.loads(_HERE.joinpath("names.json").read_text())[dataset])


def data_home(data_home: Folder = None) -> Path:
    """Return the folder in which the loaders look for data first.

    Parameters
    ----------
    data_home : path, optional
        The folder. By default the environment variable POLYCOMPLETE_DATA names it, or else it is
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
    chosen = data_home or os.environ.get("POLYCOMPLETE_DATA")
    return Path(chosen).expanduser() if chosen else _cache_home()


def _cache_home() -> Path:
    """Return the folder of downloads."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "polycomplete").expanduser()


def folders(home: Folder) -> list[Path]:
    """Return the folders to search: the named one alone, else POLYCOMPLETE_DATA and the cache."""
    return [data_home(home)] if home else list(dict.fromkeys([data_home(), _cache_home()]))


def find(home: Folder, *choices: tuple[str, ...], url: str = "") -> list[Path]:
    """Return the files of the first choice that exists; by default download the last choice."""
    for folder in folders(home):
        for names in choices:
            paths = [folder / name for name in names]
            if all(path.is_file() for path in paths):
                for name, path in zip(names, paths, strict=True):
                    _check(name, path)
                return paths
    if home or choices[-1][0] not in registry():
        raise absent(home, choices[0][0], *choices[-1], url=url)
    return [_download(name) for name in choices[-1]]


def absent(home: Folder, wanted: str, *names: str, url: str = "") -> FileNotFoundError:
    """Return an error that says where to put a file, or the published ones."""
    known = [registry()[name].url for name in names if name in registry()]
    source = " and ".join(known) or url
    return FileNotFoundError(
        f"{wanted} is not in {' or '.join(map(str, folders(home)))}; "
        + (f"put {' and '.join(names)} there (from {source}), or " if source else "")
        + "give the folder that holds it as data_home or by POLYCOMPLETE_DATA"
        + (", or give none and let it be downloaded." if known else ".")
    )


def _check(name: str, path: Path) -> None:
    """Raise if a file is not the published one."""
    remote = registry().get(name)
    if remote and hashlib.sha256(path.read_bytes()).hexdigest() != remote.sha256:
        raise ValueError(
            f"{path} is not the published file (wrong checksum); delete it and get it again from "
            f"{remote.url}."
        )


def _download(name: str) -> Path:
    """Download a file into the cache, checked, whole or not at all."""
    path, remote = _cache_home() / name, registry()[name]
    try:
        need("pooch", "data", "downloading").retrieve(
            remote.url, known_hash=remote.sha256, fname=path.name, path=path.parent
        )
    except (ImportError, OSError, ValueError) as error:
        known = {ImportError: str(error).rstrip("."), ValueError: "wrong checksum"}
        why = known.get(type(error), type(error).__name__)  # messages of requests are long
        raise FileNotFoundError(
            f"{path.name} could not be downloaded from {remote.url} ({why}); put it into "
            f"{path.parent} by hand, or give the folder that holds {name} as data_home or by "
            "POLYCOMPLETE_DATA."
        ) from error
    return path


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of a reader into one sentence that names the file."""
    try:
        yield
    except Exception as error:  # readers raise all kinds of errors on damaged files
        message = f"{path} cannot be read as {kind}; it is damaged, get it again."
        raise ValueError(message) from error


def npz_keys(path: Path) -> list[str]:
    """Return the names of the arrays in an .npz file."""
    with _readable(path, ".npz"), path.open("rb") as file, np.load(file) as opened:
        return list(opened.files)


def read_npz(path: Path, *keys: str) -> Arrays:
    """Return the named arrays of an .npz file."""
    with _readable(path, ".npz"), path.open("rb") as file, np.load(file) as opened:
        found = {key: opened[key] for key in keys if key in opened.files}
    if lacking := sorted({*keys} - {*found}):
        raise ValueError(f"{path} lacks {', '.join(lacking)}; get a complete version of the file.")
    return found


def read_amc(path: str | os.PathLike[str]) -> Arrays:
    """Return the joint angles X (channels × frames) of an ``.amc`` file, and their ``dof_names``.

    It has comments (#) and keywords (:), then for each frame a line with its number and a line for
    each bone with its angles.
    """
    text = Path(path).read_text(encoding="ascii", errors="replace")
    frames: list[list[tuple[str, float]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        bone, *angles = line.split() or ["#"]
        try:
            if not angles and bone[0] not in "#:":  # the number of the next frame
                frames.append([])
            elif bone[0] not in "#:":
                frames[-1] += [(f"{bone}.{i}", float(angle)) for i, angle in enumerate(angles)]
        except (IndexError, ValueError) as error:
            raise ValueError(
                f"{path}, line {number}: {line!r} is not a bone of a frame with its angles; the "
                "file is damaged, get it again."
            ) from error
    if not frames:
        raise ValueError(f"{path} holds no frames; get the file again.")
    names = [name for name, _ in frames[0]]
    for number, frame in enumerate(frames, start=1):
        if not frame or [name for name, _ in frame] != names:
            raise ValueError(
                f"{path}: frame {number} has {len(frame)} channels that are not the {len(names)} "
                "of the first frame; the file is truncated or damaged, get it again."
            )
    X = np.array([[angle for _, angle in frame] for frame in frames]).T
    return {"X": X, "dof_names": np.array(names)}


def read_mocap(path: Path) -> Arrays:
    """Return the matrix X of a recording (channels × frames), and the names of its channels."""
    found = loadmat(path, variable_names=["X"])["X"]
    return {"X": found, "dof_names": names_of("cmu_mocap")}


def read_hopkins(path: Path) -> Arrays:
    """Return the tracks (2 × points × frames) of a sequence and the motion of each point."""
    with _readable(path, "MATLAB file"):
        content = loadmat(path, variable_names=["x", "s"])
        return {"x": content["x"][:2], "s": content["s"].ravel()}  # the third coordinate is one


def read_mice(path: Path) -> Arrays:
    """Return proteins, class codes from 1 and mice of the Excel sheet."""
    sheet = need("xlrd", "data", f"Reading {path.name}").open_workbook(path).sheet_by_index(0)
    names, *rows = (sheet.row_values(i) for i in range(sheet.nrows))
    classes = names_of("mice_protein").tolist()
    return {
        "X": np.array([[np.nan if v == "" else v for v in row[1:-4]] for row in rows]),
        "y": np.array([classes.index(row[-1]) + 1 for row in rows]),
        "mouse_id": np.array([row[0] for row in rows]),
        "feature_names": np.array(names[1:-4]),
        "class_names": names_of("mice_protein"),
    }


def read_dermatology(path: Path) -> Arrays:
    """Return findings and class codes; question marks are missing ages."""
    names = path.read_text(encoding="ascii").splitlines()[0].split(",")
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    known = {"feature_names": np.array(names[:-1]), "class_names": names_of("dermatology")}
    return {"X": table[:, :-1], "y": table[:, -1], **known}


def read_shuttle(train: Path, test: Path) -> Arrays:
    """Return readings, state codes, and the mask of the customary test set."""
    text = need("unlzw3", "data", f"Reading {train.name}").unlzw(train.read_bytes()).decode("ascii")
    return {**_split(text, test.read_text(encoding="ascii")), "class_names": names_of("shuttle")}


def read_satimage(train: Path, test: Path) -> Arrays:
    """Return pixels, soil codes, and the mask of the customary test set."""
    return _split(train.read_text(encoding="ascii"), test.read_text(encoding="ascii"))


def _split(*texts: str) -> Arrays:
    train, test = (np.loadtxt(text.splitlines(), dtype=np.int64) for text in texts)
    table = np.vstack([train, test])
    is_test = np.repeat([False, True], [len(train), len(test)])
    return {"X": table[:, :-1], "y": table[:, -1], "is_test": is_test}
