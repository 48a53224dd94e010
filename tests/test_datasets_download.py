"""Downloads from a server of our own: checksums, cut connections, resuming, a clean cache."""

import hashlib
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from polycomplete import datasets
from polycomplete.datasets import _download, _ways
from polycomplete.datasets._content import Content
from polycomplete.datasets._find import Way
from polycomplete.datasets._sources import FILES, SEQUENCES, Source, amc_sources, hopkins_sources
from polycomplete.datasets.formats import uci

TABLE = b"".join(b"%d,%d,%d,%d\n" % (i % 4, i % 3, i % 50, i % 6 + 1) for i in range(3000))
CONTENT = Content((3000, 3))
FILE = "dermatology/raw/dermatology.data"


class Handler(BaseHTTPRequestHandler):
    """Serves `server.content`, from an offset on request, and cuts off after `server.cut` bytes."""

    def do_GET(self):
        server = self.server
        server.asked.append(self.headers.get("Range"))
        if "missing" in self.path:
            self.send_error(404)
            return
        begin = 0
        if server.ranges and self.headers.get("Range"):
            begin = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        if begin >= len(server.content):
            self.send_error(416)
            return
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(server.content) - begin))
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else None
        self.wfile.write(server.content[begin : None if cut is None else begin + cut])

    def log_message(self, *args):
        pass


@contextmanager
def serving(content=TABLE, cuts=(), ranges=True):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.content, server.cuts, server.ranges, server.asked = content, list(cuts), ranges, []
    server.url = f"http://127.0.0.1:{server.server_port}/dermatology.data"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Give an empty cache, and no other folder and no proxy to go to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("POLYCOMPLETE_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "polycomplete"


@pytest.fixture
def sources(monkeypatch):
    """Give a function that names the sources of one dataset."""

    def name(*sources, content=CONTENT):
        way = Way((FILE,), uci.read_dermatology, content, (sources,))
        monkeypatch.setattr(_ways, "DERMATOLOGY", (way,))

    return name


def pinned(server):
    return Source(server.url, hashlib.sha256(TABLE).hexdigest())


def files(cache):
    return {str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()}


def test_a_file_is_downloaded_once_and_then_read_from_the_cache(cache, sources):
    with serving() as server:
        sources(pinned(server))
        bunch = datasets.load_dermatology()
        assert bunch.data.shape == (3000, 3)
        np.testing.assert_array_equal(datasets.load_dermatology().data, bunch.data)
        assert len(server.asked) == 1
    assert files(cache) == {FILE}
    assert (cache / FILE).read_bytes() == TABLE


def test_the_named_folder_comes_before_the_cache(cache, sources, monkeypatch, tmp_path):
    with serving() as server:
        sources(pinned(server), content=None)
        folder = tmp_path / "data"
        (folder / FILE).parent.mkdir(parents=True)
        (folder / FILE).write_bytes(b"1,1,1,1\n")
        monkeypatch.setenv("POLYCOMPLETE_DATA", str(folder))
        assert datasets.load_dermatology().data.shape == (1, 3)
        (folder / FILE).unlink()
        assert datasets.load_dermatology().data.shape == (3000, 3)  # downloaded into the cache
        assert files(cache) == {FILE}
        assert len(server.asked) == 1


def test_a_wrong_checksum_leaves_no_trace(cache, sources):
    with serving() as server:
        sources(Source(server.url, "0" * 64))
        with pytest.raises(FileNotFoundError, match=r"the checksum is wrong.*by hand, or set POLY"):
            datasets.load_dermatology()
    assert files(cache) == set()


def test_the_next_source_is_tried(cache, sources):
    with serving() as server:
        sources(Source(server.url + "missing"), Source(server.url, "0" * 64), pinned(server))
        assert datasets.load_dermatology().data.shape == (3000, 3)


def test_a_server_without_the_file_is_quoted(cache, sources):
    with serving() as server:
        sources(Source(server.url + "missing"))
        with pytest.raises(FileNotFoundError, match="the server answers 404"):
            datasets.load_dermatology()
    assert files(cache) == set()


def test_without_a_checksum_the_content_decides(cache, sources):
    with serving(b"<html>moved</html>") as server:
        sources(Source(server.url))
        with pytest.raises(FileNotFoundError, match=r"dermatology.data cannot be read"):
            datasets.load_dermatology()
        assert files(cache) == set()
        server.content = TABLE[: TABLE.index(b"\n", 5000) + 1]  # truncated between two lines
        with pytest.raises(FileNotFoundError, match=r"not the published file: its shape"):
            datasets.load_dermatology()
        assert files(cache) == set()
        server.content = TABLE
        assert datasets.load_dermatology().data.shape == (3000, 3)


def test_a_cut_connection_is_taken_up_again_at_once(cache, sources):
    with serving(cuts=[4096, 8192]) as server:
        sources(pinned(server))
        assert datasets.load_dermatology().data.shape == (3000, 3)
        assert server.asked == [None, "bytes=4096-", "bytes=12288-"]
    assert files(cache) == {FILE}


def test_a_bad_line_gives_an_error_and_the_next_call_goes_on(cache, sources):
    with serving(cuts=[4096] * _download.ATTEMPTS) as server:
        sources(pinned(server))
        with pytest.raises(FileNotFoundError, match=r"could not be downloaded from http.*was cut"):
            datasets.load_dermatology()
        assert not (cache / FILE).exists()
        assert {Path(name).parent.name for name in files(cache)} == {"partial"}
        assert datasets.load_dermatology().data.shape == (3000, 3)
        assert server.asked[-1] == f"bytes={4096 * _download.ATTEMPTS}-"
    assert files(cache) == {FILE}


def test_a_server_that_cannot_resume_begins_again(cache, sources):
    with serving(cuts=[5000], ranges=False) as server:
        sources(pinned(server))
        assert datasets.load_dermatology().data.shape == (3000, 3)
    assert (cache / FILE).read_bytes() == TABLE


def test_pieces_longer_than_the_file_are_thrown_away(cache, sources):
    with serving() as server:
        sources(pinned(server))
        part = cache / "partial" / hashlib.sha256(server.url.encode()).hexdigest()[:16]
        part.parent.mkdir(parents=True)
        part.write_bytes(TABLE + b"more")
        assert datasets.load_dermatology().data.shape == (3000, 3)


def test_pieces_of_another_file_are_found_out_by_the_checksum(cache, sources):
    with serving() as server:
        sources(pinned(server))
        part = cache / "partial" / hashlib.sha256(server.url.encode()).hexdigest()[:16]
        part.parent.mkdir(parents=True)
        part.write_bytes(b"something else")
        with pytest.raises(FileNotFoundError, match="the checksum is wrong"):
            datasets.load_dermatology()
        assert datasets.load_dermatology().data.shape == (3000, 3)  # begins again


def test_no_connection_and_no_pooch_say_what_to_do(cache, sources, monkeypatch):
    sources(Source("http://127.0.0.1:9/dermatology.data"))
    with pytest.raises(
        FileNotFoundError,
        match=r"downloaded from http\S+ \(no connection\)\. Put .*POLYCOMPLETE_DATA",
    ):
        datasets.load_dermatology()
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"pip install 'polycomplete\[data\]'"):
        datasets.load_dermatology()


def test_a_named_folder_is_never_filled_by_a_download(cache, sources, tmp_path):
    with serving() as server:
        sources(pinned(server))
        with pytest.raises(FileNotFoundError, match=r"is not in .*elsewhere"):
            datasets.load_dermatology(data_home=tmp_path / "elsewhere")
        assert server.asked == []


def test_what_cannot_be_downloaded_is_said_to_be_absent(cache):
    with pytest.raises(FileNotFoundError, match=r"tabular/toy.npz is not in .*POLYCOMPLETE_DATA\."):
        datasets.load_tabular("toy")


def test_sequences_that_can_be_downloaded_are_listed(cache):
    assert datasets.list_hopkins155() == sorted(SEQUENCES)


def test_addresses_are_complete():
    every = [source for sources in FILES.values() for source in sources]
    every += [*hopkins_sources("arm"), *amc_sources("56", "01")]
    assert all(source.url.startswith("http") and " " not in source.url for source in every)
    assert all(source.sha256 is None or len(source.sha256) == 64 for source in every)
    for file in FILES:
        assert FILES[file][0].sha256, f"{file} has no pinned source"
