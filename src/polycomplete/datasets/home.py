"""Where data files are looked for, and where downloaded ones go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

__all__ = ["data_home"]

Folder = str | os.PathLike[str] | None
Arrays = dict[str, NDArray[Any]]


def data_home(data_home: Folder = None) -> Path:
    """Folder in which the loaders look for data first.

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
    chosen = data_home or os.environ.get("POLYCOMPLETE_DATA")
    return Path(chosen).expanduser() if chosen else cache_home()


def cache_home() -> Path:
    """Return the folder that downloads go to."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "polycomplete").expanduser()


def folders(home: Folder) -> list[Path]:
    """Return the folders to search: the named one alone, else POLYCOMPLETE_DATA and the cache."""
    return [data_home(home)] if home else list(dict.fromkeys([data_home(), cache_home()]))
