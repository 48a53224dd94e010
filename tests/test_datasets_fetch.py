"""Downloads from a server of our own: checked, whole or not at all, and what failures say."""

import gc
import hashlib
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pooch
import pytest

from polycomplete import datasets
from polycomplete.datasets import fetch

TABLE = b"u,v,w,class\n" + b"".join(b"%d,?,%d,%d\n" % (i % 4, i, i % 6 + 1) for i in range(3000))
DIGEST = hashlib.sha256(TABLE).hexdigest()
FILE = "dermatology/raw/dermatology.data"

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


class Handler(BaseHTTPRequestHandler):
    """Serves the table; the rest of it is lost where the address says so."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if "missing" in self.path:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(TABLE)))
        self.end_headers()
        self.wfile.write(TABLE[: 9000 if "cut" in self.path else None])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.url = [], f"http://127.0.0.1:{server.server_port}/dermatology.data"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
    gc.collect()  # the sockets of failed downloads, which pooch leaves to the garbage collector


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Give an empty cache, and no other folder and no proxy to go to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("POLYCOMPLETE_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "polycomplete"


@pytest.fixture
def publish(monkeypatch):
    """Give a function that says where the file of one dataset is to be had."""

    def set_remote(url, sha256=DIGEST):
        monkeypatch.setitem(fetch.registry(), FILE, fetch.Remote(sha256, url))

    return set_remote


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def files(cache):
    return {str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()}


@contextmanager
def refused(match):
    """Expect that nothing is loaded, for a reason and with remedies in one sentence."""
    with pytest.raises(FileNotFoundError, match=match) as caught:
        yield
    message = str(caught.value)
    assert message.endswith("as data_home or by POLYCOMPLETE_DATA.")
    assert ". " not in message
    assert "\n" not in message


def test_a_file_is_downloaded_once_and_then_read_from_the_cache(cache, server, publish):
    publish(server.url)
    bunch = datasets.load_dermatology()
    np.testing.assert_array_equal(bunch.data[:2], [[0, np.nan, 0], [1, np.nan, 1]])
    assert bunch.feature_names == ["u", "v", "w"]
    np.testing.assert_array_equal(datasets.load_dermatology().data, bunch.data)
    assert len(server.asked) == 1
    assert files(cache) == {FILE}
    assert (cache / FILE).read_bytes() == TABLE


def test_the_folder_of_the_environment_comes_before_a_download(
    cache, server, publish, monkeypatch, tmp_path
):
    publish(server.url)
    write(tmp_path / "data" / FILE, TABLE)
    monkeypatch.setenv("POLYCOMPLETE_DATA", str(tmp_path / "data"))
    assert datasets.load_dermatology().data.shape == (3000, 3)
    assert server.asked == []
    (tmp_path / "data" / FILE).unlink()
    assert datasets.load_dermatology().data.shape == (3000, 3)
    assert files(cache) == {FILE}


@pytest.mark.parametrize(
    ("suffix", "sha256", "reason"),
    [
        ("", "0" * 64, r"wrong checksum"),
        ("?missing", "0" * 64, r"HTTPError"),
        ("?cut", DIGEST, r"wrong checksum|\w+Error"),
    ],
)
def test_a_failed_download_leaves_no_trace(cache, server, publish, suffix, sha256, reason):
    publish(server.url + suffix, sha256)
    with refused(rf"dermatology.data could not be downloaded from http\S+ \(({reason})\); put it"):
        datasets.load_dermatology()
    assert files(cache) == set()


def test_no_connection_and_no_pooch_say_what_to_do(cache, publish, monkeypatch):
    publish("http://127.0.0.1:9/dermatology.data")
    with refused(rf"http://127\S+ \(ConnectionError\); put it into {cache}\S+ by hand"):
        datasets.load_dermatology()
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with refused(r"http\S+ \(downloading needs pooch; .* 'polycomplete\[data\]'\); put it into"):
        datasets.load_dermatology()


@pytest.mark.parametrize("content", [b"", TABLE[:9000], TABLE.replace(b"3", b"4", 1)])
def test_a_file_at_hand_that_is_not_the_published_one_is_refused(cache, publish, content):
    publish("http://127.0.0.1:9/dermatology.data")
    write(cache / FILE, content)
    message = r"dermatology.data is not the published file .*; delete it and get it again from http"
    with pytest.raises(ValueError, match=message):
        datasets.load_dermatology()


def test_a_named_folder_is_never_filled_by_a_download(cache, server, publish, tmp_path):
    publish(server.url)
    with pytest.raises(FileNotFoundError, match=rf"is not in .*elsewhere; put {FILE} there .from "):
        datasets.load_dermatology(data_home=tmp_path / "elsewhere")
    assert server.asked == []


def test_what_cannot_be_downloaded_is_said_to_be_absent(cache):
    with refused(r"tabular/toy.npz is not in .*polycomplete; give the folder"):
        datasets.load_tabular("toy")
    with refused(r"put cmu_mocap/raw/07_02.amc there \(from http://mocap\S+/07/07_02.amc\), or"):
        datasets.load_cmu_mocap("07", "02")
    with pytest.raises(ValueError, match=r"no sequence 'leg'.*hopkins155/raw/\*_truth.mat"):
        datasets.load_hopkins155("leg")


def test_sequences_that_can_be_downloaded_are_listed(cache):
    names = datasets.list_hopkins155()
    assert {"1R2RC", "arm", "kanatani1"} <= set(names)
    assert all(f"hopkins155/raw/{name}_truth.mat" in fetch.registry() for name in names)


def test_the_registry_is_one_of_pooch():
    registry = pooch.create(path="unused", base_url="", registry=None)
    registry.load_registry(Path(fetch.__file__).with_name("registry.txt"))
    assert registry.registry == {name: remote.sha256 for name, remote in fetch.registry().items()}
    assert registry.urls == {name: remote.url for name, remote in fetch.registry().items()}
    assert all(len(sha256) == 64 for sha256 in registry.registry.values())
    assert all(url.startswith("https://") for url in registry.urls.values())
