"""Data files: looked for in folders, else downloaded by pooch; published files by their checksums.

``registry.txt`` has, as pooch's registries do, a line for each file that can be downloaded: its
place in a data folder, its SHA-256 and its address.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from polycomplete._optional import need

Folder = str | os.PathLike[str] | None


class Remote(NamedTuple):
    """What a file must be, and where it can be had."""

    sha256: str
    url: str


@cache
def registry() -> dict[str, Remote]:
    """Return the files that can be downloaded."""
    lines = files("polycomplete.datasets").joinpath("registry.txt").read_text().splitlines()
    return {file: Remote(sha256, url) for file, sha256, url in map(str.split, lines)}


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
    return Path(chosen).expanduser() if chosen else _cache_home()


def _cache_home() -> Path:
    """Return the folder that downloads go to."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "polycomplete").expanduser()


def folders(home: Folder) -> list[Path]:
    """Return the folders to search: the named one alone, else POLYCOMPLETE_DATA and the cache."""
    return [data_home(home)] if home else list(dict.fromkeys([data_home(), _cache_home()]))


def find(home: Folder, *choices: tuple[str, ...], url: str = "") -> list[Path]:
    """Return the files of the first choice at hand; without a named folder, download the last."""
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
    """Return an error that says where a file, or the published ones, can be put."""
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
    if remote := registry().get(name):
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != remote.sha256:
                raise ValueError(
                    f"{path} is not the published file (wrong checksum); delete it and get it "
                    f"again from {remote.url}."
                )


def _download(name: str) -> Path:
    """Download a file into the cache, where it appears whole and checked or not at all."""
    path, remote = _cache_home() / name, registry()[name]
    try:
        need("pooch", "data", "downloading").retrieve(
            remote.url, known_hash=remote.sha256, fname=path.name, path=path.parent
        )
    except (ImportError, OSError, ValueError) as error:
        raise FileNotFoundError(
            f"{path.name} could not be downloaded from {remote.url} ({_reason(error)}); put it "
            f"into {path.parent} by hand, or give the folder that holds {name} as data_home or by "
            "POLYCOMPLETE_DATA."
        ) from error
    return path


def _reason(error: Exception) -> str:
    """Return in few words why a download failed: errors of requests are OSErrors and long."""
    if isinstance(error, ImportError):
        return str(error).rstrip(".")
    return type(error).__name__ if isinstance(error, OSError) else "wrong checksum"
