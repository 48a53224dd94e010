"""The forms in which each dataset may lie in a folder: prepared as .npz, or as first published."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from polycomplete.datasets import _prepared
from polycomplete.datasets._content import Content
from polycomplete.datasets._find import Way
from polycomplete.datasets._sources import FILES, SEQUENCES, amc_sources, hopkins_sources
from polycomplete.datasets.formats import matlab, uci
from polycomplete.datasets.formats.amc import read_amc
from polycomplete.datasets.home import Arrays, Folder, folders

#: All sequences rounded to float32; a few of them in full precision, which are preferred.
_HOPKINS = ("hopkins155/hopkins155_paper_seqs.npz", "hopkins155/hopkins155_all_float32.npz")
_FRAMES = {"56_01": 1506, "56_06": 6784}


def _npz(file: str, *keys: str) -> Way:
    return Way((file,), lambda path: _prepared.read(path, *keys))


def _original(*files: str, read: Callable[..., Arrays], content: Content | None = None) -> Way:
    return Way(files, read, content, tuple(FILES[file] for file in files))


MICE = (
    _npz("mice_protein/mice_protein.npz", "X", "y", "feature_names", "class_names", "mouse_id"),
    _original(
        "mice_protein/raw/Data_Cortex_Nuclear.xls",
        read=uci.read_mice,
        content=Content(
            (1080, 77), (150, 150, 135, 135, 135, 135, 105, 135), 1396, "e31c618518654e3b"
        ),
    ),
)
DERMATOLOGY = (
    _npz("dermatology/dermatology.npz", "X", "y", "feature_names", "class_names"),
    _original(
        "dermatology/raw/dermatology.data",
        read=uci.read_dermatology,
        content=Content((366, 34), (112, 61, 72, 49, 52, 20), 8, "3ca5098b9a827eb9"),
    ),
)
SHUTTLE = (
    _npz("shuttle/shuttle.npz", "X", "y", "class_names", "is_test"),
    _original(
        "shuttle/raw/shuttle.trn.Z",
        "shuttle/raw/shuttle.tst",
        read=uci.read_shuttle,
        content=Content((58000, 9), (45586, 50, 171, 8903, 3267, 10, 13), 0, "9ea0fb88a526f9a8"),
    ),
)
SATIMAGE = (
    _npz("satimage/satimage.npz", "X", "y", "is_test"),
    _original(
        "satimage/raw/sat.trn",
        "satimage/raw/sat.tst",
        read=uci.read_satimage,
        content=Content((6435, 36), (1533, 703, 1358, 626, 707, 1508), 0, "37fdf4233423cab2"),
    ),
)


def table(name: str) -> tuple[Way, ...]:
    """Return the form of an ordinary table."""
    return (_npz(f"tabular/{name}.npz", "X", "y"),)


def mocap(subject: str, trial: str) -> tuple[Way, ...]:
    """Return the forms of a recording."""
    name = f"{subject}_{trial}"
    if not re.fullmatch(r"\d+_\d+", name):
        raise ValueError(f"subject={subject!r} and trial={trial!r} must be numbers, as '56', '01'.")
    frames = _FRAMES.get(name)
    content = Content((62, frames)) if frames else None
    prepared = _npz(f"cmu_mocap/mocap_{name}.npz", "X", "dof_names")
    mat = f"cmu_mocap/raw/mocap_{name}.mat"
    matrix = Way((mat,), matlab.read_mocap, content, (FILES[mat],) if mat in FILES else ())
    text = Way((f"cmu_mocap/raw/{name}.amc",), read_amc, content, (amc_sources(subject, trial),))
    return prepared, matrix, text


def hopkins(name: str, home: Folder) -> tuple[Way, ...]:
    """Return the forms of a sequence, those first that hold it."""
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError(f"There is no sequence {name!r}; list_hopkins155() names those there are.")
    collected = [
        Way((file,), lambda path: _prepared.read(path, f"{name}__x", f"{name}__s"))
        for file in _HOPKINS
        if any(name in _names(folder / file) for folder in folders(home))
    ]
    file = f"hopkins155/raw/{name}_truth.mat"
    original = Way((file,), matlab.read_hopkins, None, (hopkins_sources(name),))
    whole = any((folder / _HOPKINS[1]).is_file() for folder in folders(home))
    if (home or whole) and name not in sequences(home):  # a download would not find it either
        raise ValueError(f"There is no sequence {name!r}; list_hopkins155() names those there are.")
    return (*collected, original)


def sequences(home: Folder) -> list[str]:
    """Return the names of the sequences at hand, else of those with a known checksum."""
    found: set[str] = set()
    for folder in folders(home):
        originals = folder.glob("hopkins155/raw/*_truth.mat")
        found |= {path.name.removesuffix("_truth.mat") for path in originals}
        for file in _HOPKINS:
            found |= _names(folder / file)
    if not found and home:
        raise FileNotFoundError(
            f"{_HOPKINS[1]} is not in {folders(home)[0]}; give the folder that holds it as "
            "data_home or by POLYCOMPLETE_DATA."
        )
    return sorted(found or SEQUENCES)


def _names(path: Path) -> set[str]:
    """Return the sequences in a file of many, none if it is not there."""
    if not path.is_file():
        return set()
    with _prepared.archive(path) as opened:
        return {key.removesuffix("__x") for key in opened.files if key.endswith("__x")}
