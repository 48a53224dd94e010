"""From the forms of a dataset to its arrays: a folder, else the user's cache, else a download."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from polycomplete.datasets import _download
from polycomplete.datasets._content import Content
from polycomplete.datasets._sources import Source
from polycomplete.datasets.home import Arrays, Folder, cache_home, folders


@dataclass(frozen=True)
class Way:
    """One form of a dataset: its files in a data folder, their reader, what must be in them."""

    files: tuple[str, ...]
    read: Callable[..., Arrays]
    content: Content | None = None
    sources: tuple[tuple[Source, ...], ...] = ()

    def arrays(self, paths: Sequence[Path]) -> Arrays:
        """Read the files and check what is in them."""
        arrays = self.read(*paths)
        if self.content:
            self.content.check(arrays, paths[0])
        return arrays


def find(ways: Sequence[Way], home: Folder) -> Arrays:
    """Return the arrays in the first form that is there; without a named folder, else download."""
    for folder in folders(home):
        for way in ways:
            paths = [folder / file for file in way.files]
            if all(path.is_file() for path in paths):
                return way.arrays(paths)
    fetchable = [way for way in ways if way.sources]
    if home or not fetchable:
        let = ", or give none and let it be downloaded" if fetchable else ""
        searched = " or ".join(str(folder) for folder in folders(home))
        raise FileNotFoundError(
            f"{ways[0].files[0]} is not in {searched}; give the folder that holds it as data_home "
            f"or by POLYCOMPLETE_DATA{let}."
        )
    return _fetched(fetchable)


def _fetched(ways: Sequence[Way]) -> Arrays:
    reasons = []
    for way in ways:
        try:
            return _fetch(way)
        except (FileNotFoundError, ValueError) as error:
            reasons.append(str(error))
    raise FileNotFoundError(
        f"{'; '.join(reasons)}. Put the file into {cache_home() / ways[0].files[0]} by hand, or "
        "set POLYCOMPLETE_DATA to a folder that holds it."
    )


def _fetch(way: Way) -> Arrays:
    """Download the files beside the cache, read and check them, and only then move them in."""
    cache = cache_home()
    cache.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache, prefix="incoming-") as folder:
        fresh = [Path(folder, Path(file).name) for file in way.files]
        for path, sources in zip(fresh, way.sources, strict=True):
            _download.download(sources, path, cache / "partial")
        arrays = way.arrays(fresh)
        for path, file in zip(fresh, way.files, strict=True):
            (cache / file).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, cache / file)
    return arrays
