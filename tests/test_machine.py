"""What the machine has to give."""

from pathlib import Path

import pytest
from joblib import cpu_count
from threadpoolctl import threadpool_info, threadpool_limits

from polycomplete import _devices
from polycomplete._devices import free_memory
from polycomplete._resources import SMALL, blas_threads_for, in_processes, is_worker


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_there_is_blas_to_limit():
    assert blas_threads()


def test_small_problems_run_on_one_thread_and_the_rest_comes_back():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with blas_threads_for(SMALL - 1):
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_the_threads_come_back_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(KeyError), blas_threads_for(2):
            raise KeyError
        assert blas_threads() == before


def test_large_problems_keep_their_threads():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with blas_threads_for(SMALL):
            assert blas_threads() == before


def test_limits_may_be_nested():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with blas_threads_for(5), blas_threads_for(10):
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_free_memory_is_positive_and_below_all_memory():
    total = next(
        int(line.split()[1]) * 1024
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemTotal")
    )
    assert 0 < free_memory() <= total


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Give a function that sets the files in which the system tells of its memory."""
    monkeypatch.setattr(_devices, "Path", lambda name: tmp_path / name.lstrip("/"))

    def tell(**files):
        for name, text in files.items():
            path = tmp_path / {"meminfo": "proc/meminfo"}.get(name, f"sys/fs/cgroup/memory.{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return tell


def test_free_memory_is_the_tighter_of_machine_and_container(system):
    system(meminfo="MemTotal: 900 kB\nMemAvailable:    100 kB\n", max="max\n", current="7\n")
    assert free_memory() == 102_400
    system(max="50000\n", current="40000\n", stat="active_file 9\ninactive_file 3000\n")
    assert free_memory() == 13_000


def test_free_memory_is_known_where_the_system_tells_little(system):
    assert free_memory() > 0


def _depth(case):
    return is_worker(), in_processes(lambda each: is_worker(), [(0,), (1,)], long=True)


def test_processes_are_not_started_by_processes():
    assert not is_worker()
    found = in_processes(_depth, [(0,), (1,)], long=True)
    several = cpu_count() > 1
    assert found == [(several, [several, several])] * 2


def test_what_is_short_is_done_here():
    assert in_processes(_depth, [(0,), (1,)], long=False)[0][0] is False


@pytest.mark.parametrize("long", [False, True])
def test_cases_come_back_in_their_order(long):
    assert in_processes(divmod, [(7, 2), (9, 4), (3, 3)], long) == [(3, 1), (2, 1), (1, 0)]
