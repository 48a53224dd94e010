"""What the machine has to give: free memory and BLAS threads."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

# Below this many rows the products of a step are too small to share between BLAS threads: on two
# cores that never paid, and on a busy machine it was many times slower (make bench-threads).
SMALL = 1200
#: Rows that the widest of OpenBLAS's kernels takes at once. In a product of a multiple of them, by
#: one thread, all rows take the same path: the bits of a row do not depend on its place.
TILE = 24
MANY_ENTRIES = 10_000_000  # of a matrix, from which on threads pay for one pass over it
PART_ENTRIES = 2**20  # of it that are worked on at a time

Part = TypeVar("Part")
Done = TypeVar("Done")


def free_memory() -> int:
    """Return the bytes that can be taken without swapping, as far as the system tells."""
    known = [limit for limit in (_meminfo(), _cgroup()) if limit is not None]
    if known:
        return min(known)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30  # a system that does not tell: assume a small machine


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
    return int(found[0]) * 1024 if found else None


def _cgroup() -> int | None:
    """Return what is left of a container's own limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    # Files that were read stay in memory only as long as nobody needs it.
    used -= int(stat.get("inactive_file", 0))
    return None if limit == "max" else max(int(limit) - used, 0)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the loaded libraries takes milliseconds: once


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def is_worker() -> bool:
    """Return whether others work beside this one: a process or a task of joblib's among several."""
    return multiprocessing.parent_process() is not None or get_active_backend()[0].nesting_level > 0


def in_processes(
    work: Callable[..., Done], cases: Sequence[tuple[Any, ...]], long: bool
) -> list[Done]:
    """Call with each case's arguments: by processes if that takes long and this is none."""
    jobs = min(cores(), len(cases))
    if jobs < 2 or not long or is_worker():
        return [work(*case) for case in cases]
    return list(Parallel(n_jobs=jobs)(delayed(work)(*case) for case in cases))


def in_threads(work: Callable[[Part], Done], parts: Iterable[Part], entries: int) -> Iterator[Done]:
    """Map over parts, by threads where all of them together are so large that this pays."""
    if entries < MANY_ENTRIES or cores() == 1:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(cores()) as executor:
        yield from executor.map(work, parts)


def row_parts(n_rows: int, n_columns: int) -> list[slice]:
    """Cut rows into parts that are worked on at a time."""
    size = max(1, PART_ENTRIES // max(n_columns, 1))
    return [slice(begin, begin + size) for begin in range(0, n_rows, size)]


def chosen(
    mask: np.ndarray, one: np.ndarray, other: np.ndarray, into: np.ndarray | None = None
) -> np.ndarray:
    """Return float64 numbers, of the first array where the mask is True, else of the second."""
    result = np.empty(mask.shape) if into is None else into
    other = np.broadcast_to(other, mask.shape)

    def work(part: slice) -> None:
        result[part] = np.where(mask[part], one[part], other[part])

    for _ in in_threads(work, row_parts(*mask.shape), mask.size):
        pass
    return result


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Keep BLAS to so many threads."""
    with _controller().limit(limits=count, user_api="blas"):
        yield


@contextmanager
def blas_threads_for(n_rows: int) -> Iterator[None]:
    """Keep BLAS to one thread while a problem is small."""
    if n_rows >= SMALL:
        yield
        return
    with blas_threads(1):
        yield
