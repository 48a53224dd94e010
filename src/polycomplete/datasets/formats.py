"""Readers of prepared and of originally published files, each from paths to named arrays.

Files of the registry are read without further checks: their checksums say what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from polycomplete._optional import need

Arrays = dict[str, NDArray[Any]]

_MICE = ["c-CS-m", "c-SC-m", "c-CS-s", "c-SC-s", "t-CS-m", "t-SC-m", "t-CS-s", "t-SC-s"]
_SKIN = ["psoriasis", "seboreic dermatitis", "lichen planus", "pityriasis rosea",
         "cronic dermatitis", "pityriasis rubra pilaris"]  # fmt: skip
_STATES = ["Rad Flow", "Fpv Close", "Fpv Open", "High", "Bypass", "Bpv Close", "Bpv Open"]
#: The channels of a recording of the CMU collection, in the order of its .amc files.
_CHANNELS = {
    "root": 6, "lowerback": 3, "upperback": 3, "thorax": 3, "lowerneck": 3, "upperneck": 3,
    "head": 3, "rclavicle": 2, "rhumerus": 3, "rradius": 1, "rwrist": 1, "rhand": 2, "rfingers": 1,
    "rthumb": 2, "lclavicle": 2, "lhumerus": 3, "lradius": 1, "lwrist": 1, "lhand": 2,
    "lfingers": 1, "lthumb": 2, "rfemur": 3, "rtibia": 1, "rfoot": 2, "rtoes": 1, "lfemur": 3,
    "ltibia": 1, "lfoot": 2, "ltoes": 1,
}  # fmt: skip


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a reader raises into one sentence that names the file."""
    try:
        yield
    except Exception as error:  # readers of binary formats raise all kinds of errors on damage
        raise ValueError(
            f"{path} cannot be read as {kind}; it is damaged, get it again."
        ) from error


def npz_keys(path: Path) -> list[str]:
    """Return the names of the arrays in an .npz file, none if there is no file."""
    if not path.is_file():
        return []
    with _readable(path, ".npz"), path.open("rb") as file, np.load(file) as opened:
        return list(opened.files)


def read_npz(path: Path, *keys: str) -> Arrays:
    """Return the named arrays of an .npz file."""
    with _readable(path, ".npz"), path.open("rb") as file, np.load(file) as opened:
        arrays = {key: opened[key] for key in keys if key in opened.files}
    if lacking := [key for key in keys if key not in arrays]:
        raise ValueError(f"{path} lacks {', '.join(lacking)}; get a complete version of the file.")
    return arrays


def read_amc(path: str | os.PathLike[str]) -> Arrays:
    r"""Read the joint angles of an ``.amc`` file (Acclaim motion capture).

    Parameters
    ----------
    path : path
        The file: comments (#) and keywords (:), then frame after frame its number alone on a line
        and a line per bone with its angles.

    Returns
    -------
    dict of ndarray
        ``X`` (channels × frames) and ``dof_names`` ("root.0", "root.1", ...).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.amc")
    ...     _ = path.write_text(":DEGREES\n1\nroot 1 2\nhead 3\n2\nroot 4 5\nhead 6\n")
    ...     arrays = read_amc(path)
    >>> arrays["X"]
    array([[1., 4.],
           [2., 5.],
           [3., 6.]])
    >>> arrays["dof_names"].tolist()
    ['root.0', 'root.1', 'head.0']
    """
    text = Path(path).read_text(encoding="ascii", errors="replace")
    names: list[list[str]] = []
    values: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        bone, *angles = line.split() or ["#"]
        if bone[0] in "#:":
            continue
        if not angles:  # the number of the next frame
            names.append([])
            values.append([])
            continue
        try:
            names[-1] += [f"{bone}.{i}" for i in range(len(angles))]
            values[-1] += map(float, angles)
        except (IndexError, ValueError) as error:
            raise ValueError(
                f"{path}, line {number}: {line!r} is not a bone of a frame with its angles; the "
                "file is damaged, get it again."
            ) from error
    for frame, found in enumerate(names, start=1):
        if not found or found != names[0]:
            raise ValueError(
                f"{path}: frame {frame} has {len(found)} channels that are not the "
                f"{len(names[0])} of the first frame; the file is cut off or damaged, get it again."
            )
    if not names:
        raise ValueError(f"{path} holds no frames; get the file again.")
    return {"X": np.array(values).T, "dof_names": np.array(names[0])}


def read_mocap(path: Path) -> Arrays:
    """Return the matrix X of a recording (channels × frames), and the names of its channels."""
    names = [f"{bone}.{i}" for bone, count in _CHANNELS.items() for i in range(count)]
    return {"X": loadmat(path, variable_names=["X"])["X"], "dof_names": np.array(names)}


def read_hopkins(path: Path) -> Arrays:
    """Return the tracks (2 × points × frames) of a sequence and the motion of each point."""
    with _readable(path, "MATLAB file"):
        content = loadmat(path, variable_names=["x", "s"])
        return {"x": content["x"][:2], "s": content["s"].ravel()}  # the third coordinate is one


def read_mice(path: Path) -> Arrays:
    """Return proteins, class codes from 1 and mice of the Excel sheet."""
    sheet = need("xlrd", "data", f"Reading {path.name}").open_workbook(path).sheet_by_index(0)
    names, *rows = (sheet.row_values(i) for i in range(sheet.nrows))
    return {
        "X": np.array([[np.nan if v == "" else v for v in row[1:-4]] for row in rows]),
        "y": np.array([_MICE.index(row[-1]) + 1 for row in rows]),
        "mouse_id": np.array([row[0] for row in rows]),
        "feature_names": np.array(names[1:-4]),
        "class_names": np.array(_MICE),
    }


def read_dermatology(path: Path) -> Arrays:
    """Return findings and class codes; an unknown age is a question mark."""
    names = path.read_text(encoding="ascii").splitlines()[0].split(",")
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    return {"X": table[:, :-1], "y": table[:, -1],
            "feature_names": np.array(names[:-1]), "class_names": np.array(_SKIN)}  # fmt: skip


def read_shuttle(train: Path, test: Path) -> Arrays:
    """Return readings, state codes and which rows are the customary test set."""
    text = need("unlzw3", "data", f"Reading {train.name}").unlzw(train.read_bytes()).decode("ascii")
    return {**_split(text, test.read_text(encoding="ascii")), "class_names": np.array(_STATES)}


def read_satimage(train: Path, test: Path) -> Arrays:
    """Return pixels, soil codes and which rows are the customary test set."""
    return _split(train.read_text(encoding="ascii"), test.read_text(encoding="ascii"))


def _split(*texts: str) -> Arrays:
    train, test = (np.loadtxt(text.splitlines(), dtype=np.int64) for text in texts)
    table = np.vstack([train, test])
    is_test = np.repeat([False, True], [len(train), len(test)])
    return {"X": table[:, :-1], "y": table[:, -1], "is_test": is_test}
