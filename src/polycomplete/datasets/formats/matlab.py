"""MATLAB files: the trajectories of Hopkins 155, and motion capture as a matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.io import loadmat

from polycomplete.datasets.formats._damage import readable
from polycomplete.datasets.home import Arrays

__all__: list[str] = []

#: The channels of a recording of the CMU collection, in the order of its .amc files.
CHANNELS = {
    "root": 6, "lowerback": 3, "upperback": 3, "thorax": 3, "lowerneck": 3, "upperneck": 3,
    "head": 3, "rclavicle": 2, "rhumerus": 3, "rradius": 1, "rwrist": 1, "rhand": 2, "rfingers": 1,
    "rthumb": 2, "lclavicle": 2, "lhumerus": 3, "lradius": 1, "lwrist": 1, "lhand": 2,
    "lfingers": 1, "lthumb": 2, "rfemur": 3, "rtibia": 1, "rfoot": 2, "rtoes": 1, "lfemur": 3,
    "ltibia": 1, "lfoot": 2, "ltoes": 1,
}  # fmt: skip


def read_mocap(path: Path) -> Arrays:
    """Return the matrix X of a recording, and the names of its channels."""
    with readable(path, "MATLAB file"):
        X = loadmat(path, variable_names=["X"])["X"]
    names = [f"{bone}.{i}" for bone, count in CHANNELS.items() for i in range(count)]
    if X.ndim != 2 or len(X) != len(names):
        raise ValueError(f"X in {path} has shape {X.shape}, not {len(names)} channels × frames.")
    return {"X": X, "dof_names": np.array(names)}


def read_hopkins(path: Path) -> Arrays:
    """Return the tracks (2 × points × frames) of a sequence and the motion of each point."""
    with readable(path, "MATLAB file"):
        content = loadmat(path, variable_names=["x", "s"])
        x, s = content["x"], content["s"].ravel()
    if x.ndim != 3 or len(x) not in (2, 3) or s.shape != x.shape[1:2]:
        raise ValueError(f"{path} has unusable shapes: x {x.shape}, s {s.shape}.")
    return {"x": x[:2], "s": s}  # the third coordinate is the constant one
