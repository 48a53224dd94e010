"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO

STANDARD_OUTPUT = "standard output"  # what messages call it


@contextmanager
def written_whole(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a binary file for writing that gets its name only when it is complete.

    It is written under a temporary name in the same folder, flushed to the disk, and renamed. After
    any error or interrupt before that, nothing is left behind, and an existing file is unchanged.
    Pipes and devices are written to directly. An existing file is refused (FileExistsError) unless
    ``force``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.txt"
    ...     with written_whole(path) as file:
    ...         _ = file.write(b"done")
    ...     path.read_bytes()
    b'done'
    """
    path = Path(path)
    if _is_device(path):
        with naming_file(path), open(path, "wb") as file:
            yield file
        return
    refuse_taken(path, force)
    # A link stays a link: its target is replaced.
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name[:100]}.{token_hex(4)}.part")
    with naming_file(path):
        try:
            with open(part, "xb") as file:
                if target.exists():
                    shutil.copymode(target, part)
                yield file
                file.flush()
                os.fsync(file.fileno())
            refuse_taken(path, force)  # it may have appeared since
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make errors of the system name the file that the user knows."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)
        raise


def refuse_taken(path: Path, force: bool) -> None:
    """Raise if a file must not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    if path.exists() and not (force or _is_device(path)):
        raise FileExistsError(
            f"{path} exists already; choose another name or replace it with --force (in Python, "
            "force=True)."
        )


def _is_device(path: Path) -> bool:
    """Return whether a path is a pipe or device, which is written to and not replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()
