"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

STANDARD_OUTPUT = "standard output"  # what messages call it


@contextmanager
def written_whole(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for writing that gets its name only when everything is in it.

    It is written under another name in the same folder, brought to the disk, and renamed. Whatever
    goes wrong before that, a full disk or an interrupt, leaves nothing behind, and leaves what was
    there before as it was. Pipes and devices are written to directly.

    Parameters
    ----------
    path : str or path
        The name it gets in the end.
    force : bool
        Replace a file of that name.

    Returns
    -------
    context manager
        It gives a binary file.

    Raises
    ------
    FileExistsError
        Where there is such a file, unless ``force``.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "a.txt"
    >>> with written_whole(path) as file:
    ...     _ = file.write(b"done")
    >>> path.read_bytes()
    b'done'
    >>> folder.cleanup()
    """
    path = Path(path)
    if _is_device(path):
        with naming_file(path), open(path, "wb") as file:
            yield file
        return
    refuse_taken(path, force)
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    begin = f".{target.name[:100]}."
    with naming_file(path):
        handle, name = tempfile.mkstemp(prefix=begin, suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, _mode(target))
            refuse_taken(path, force)  # it may have come meanwhile
            os.replace(name, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)
            raise


@contextmanager
def naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system name the file that the user knows."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)
        raise


def refuse_taken(path: Path, force: bool) -> None:
    """Raise where a file must not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or force it.")


def _is_device(path: Path) -> bool:
    """Return whether something is there that is written to and not replaced, such as a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those that a new file gets."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
