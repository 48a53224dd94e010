"""Acclaim motion capture: a text file with one line per bone of every frame."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from polycomplete.datasets.home import Arrays

__all__ = ["read_amc"]


def read_amc(path: str | os.PathLike[str]) -> Arrays:
    r"""Read the joint angles of an ``.amc`` file.

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
    path = Path(path)
    try:
        text = path.read_text(encoding="ascii")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no .amc text file; get it again.") from error
    frames: list[list[float]] = []
    names: list[str] = []
    for number, (line, bones) in enumerate(_frames(path, text), start=1):
        labels = [f"{bone}.{i}" for bone, values in bones for i in range(len(values))]
        names = names or labels
        if labels != names:
            raise ValueError(
                f"{path}: frame {number}, which begins in line {line}, has {len(labels)} channels, "
                f"not the {len(names)} of the first frame; the file is cut off or damaged."
            )
        frames.append([value for _, values in bones for value in values])
    if not names:
        raise ValueError(f"{path} holds no frames; get the file again.")
    return {"X": np.array(frames).T, "dof_names": np.array(names)}


def _frames(path: Path, text: str) -> Iterator[tuple[int, list[tuple[str, list[float]]]]]:
    """Yield the line in which each frame begins, and its bones with their values."""
    start, bones = 0, list[tuple[str, list[float]]]()
    for line, words in enumerate(map(str.split, text.splitlines()), start=1):
        if not words or words[0][0] in "#:":
            continue
        if len(words) == 1:
            if start:
                yield start, bones
            start, bones = line, []
        elif start:
            bones.append((words[0], _angles(path, line, words[1:])))
        else:
            raise ValueError(f"{path}: line {line} stands before the number of a frame.")
    if start:
        yield start, bones


def _angles(path: Path, line: int, words: list[str]) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError as error:
        raise ValueError(f"{path}: line {line} has a value that is no number.") from error
