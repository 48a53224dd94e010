"""What the machine has to give: free memory and BLAS threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from threadpoolctl import ThreadpoolController

# Below this many rows the products of a step are too small to share between BLAS threads: on a
# busy machine sharing them was measured many times slower (benchmarks/threads.py).
SMALL = 600


def free_memory() -> int:
    """Return the bytes that can be taken without swapping, as far as the system tells."""
    limits = [_meminfo(), _cgroup()]
    known = [limit for limit in limits if limit is not None]
    if known:
        return min(known)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
    return int(found[0]) * 1024 if found else None


def _cgroup() -> int | None:
    """Return what is left of a container's own limit."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return None
    return None if limit == "max" else max(int(limit) - int(used), 0)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the loaded libraries takes milliseconds: once


@contextmanager
def blas_threads_for(n_rows: int) -> Iterator[None]:
    """Keep BLAS to one thread while a problem is small."""
    if n_rows >= SMALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield
