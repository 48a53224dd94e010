"""Arrays from the ``.npz`` files of a data folder, which hold a dataset in one uniform form."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polycomplete.datasets.home import Arrays


@contextmanager
def archive(path: Path) -> Iterator[Any]:
    """Open an .npz file, with an error that names it if it is unusable."""
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as opened:
            yield opened
    except Exception as error:  # zip, zlib, struct and header errors alike mean a damaged file
        raise ValueError(f"{path} cannot be read as .npz; it is damaged, get it again.") from error


def read(path: Path, *keys: str) -> Arrays:
    """Return the named arrays of an .npz file."""
    with archive(path) as opened:
        arrays = {key: opened[key] for key in keys if key in opened.files}
    lacking = [key for key in keys if key not in arrays]
    if lacking:
        raise ValueError(f"{path} lacks {', '.join(lacking)}; get a complete version of the file.")
    return arrays
