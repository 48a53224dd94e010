"""Getting a file from the first source that has it: whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polycomplete.datasets._sources import Source

#: A connection that breaks off is taken up again so many times before it counts as failed.
ATTEMPTS = 3
CHUNK = 4096  # bytes; what is less than this when a connection breaks is lost
SECONDS = (10, 60)  # to connect, and between two pieces


def download(sources: Iterable[Source], target: Path, partial: Path) -> None:
    """Write the file to `target`, which must not be in the cache yet but beside it.

    Pieces of a download that broke off stay in the folder `partial`, and the next call goes on
    where they end.
    """
    pooch = _pooch(target.name)
    reasons = []
    for source in sources:
        try:
            pooch.retrieve(
                source.url,
                known_hash=source.sha256,
                fname=target.name,
                path=target.parent,
                downloader=_Resuming(partial),
            )
        except (OSError, ValueError) as error:  # requests' errors are OSErrors, a wrong hash is not
            reasons.append(f"{source.url} ({_reason(error)})")
        else:
            return
    raise FileNotFoundError(f"{target.name} could not be downloaded from {'; '.join(reasons)}")


def _reason(error: Exception) -> str:
    """Return in few words why a download failed."""
    import requests

    if isinstance(error, ValueError):
        return "the checksum is wrong"
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code}"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection was cut"
    if isinstance(error, requests.RequestException):
        return "no connection"
    return str(error)


def _pooch(name: str) -> Any:
    try:
        import pooch
        import requests  # noqa: F401
    except ImportError as error:
        raise FileNotFoundError(
            f"{name} is not on this machine, and downloading it needs pooch: "
            "pip install 'polycomplete[data]'"
        ) from error
    return pooch


class _Resuming:
    """A downloader for pooch that goes on where a broken connection ended."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        from requests import RequestException

        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / hashlib.sha256(url.encode()).hexdigest()[:16]
        for attempt in range(ATTEMPTS):
            try:
                self._go_on(url, part)
                break
            except RequestException as error:
                if error.response is not None or attempt == ATTEMPTS - 1:
                    raise  # the server said no, or the line stays bad
        # The pieces go even if the checksum then turns out wrong: going on would not mend them.
        shutil.move(part, output_file)

    @staticmethod
    def _go_on(url: str, part: Path) -> None:
        import requests

        have = part.stat().st_size if part.exists() else 0
        # Without "identity" a server may compress, and then offsets mean something else.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=SECONDS) as reply:
            if have and reply.status_code == requests.codes.requested_range_not_satisfiable:
                part.unlink()  # there is no more to come: begin again
                return _Resuming._go_on(url, part)
            reply.raise_for_status()
            resumed = reply.status_code == requests.codes.partial_content
            with part.open("ab" if resumed else "wb") as file:
                for piece in reply.iter_content(CHUNK):
                    file.write(piece)
                length = file.tell() - (have if resumed else 0)
            # requests notices a cut by itself only with newer versions of urllib3.
            if length < int(reply.headers.get("Content-Length", 0)):
                raise requests.exceptions.ChunkedEncodingError(f"{url} was cut")
        return None
