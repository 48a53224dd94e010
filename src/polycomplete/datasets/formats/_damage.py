"""One error for everything that a damaged file can do to its reader."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a reader raises into one sentence that names the file."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:  # readers of binary formats raise all kinds of errors on damage
        raise ValueError(
            f"{path} cannot be read as {kind}; it is damaged, get it again."
        ) from error
