"""Resources of a computation: cores, BLAS threads, processes, memory; installed versions."""

from __future__ import annotations

import multiprocessing
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, cpu_count, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController, threadpool_info

from polycomplete._devices import Device, any_gpu, find_device, free_memory, gpu_count
from polycomplete._version import __version__

__all__ = ["show_versions"]

# With fewer rows, matrix products are too small to share between BLAS threads: on two cores that
# never paid, and on a busy machine it was many times slower (make bench-threads).
SMALL = 1200
#: Rows that the widest of OpenBLAS's kernels handles at once. In a product of a multiple of them,
#: by one thread, all rows are treated alike: the bits of a row do not depend on its position.
TILE = 24
GPU_ROWS = 2000  # minimum rows for the GPU
PROCESS_ROWS = 100_000  # minimum rows for processes, which take seconds to start
PROCESS_BYTES = 2e8  # memory of a process, three quarters of it for libraries
THREADS = 4  # more threads would wait for each other
FULL = 16_384  # rows that keep a GPU busy; rows of a part of the data on the host
LIBRARIES = """numpy scipy scikit-learn array-api-compat narwhals polars pandas pyarrow fastexcel
    xlsxwriter skops typer rich matplotlib jinja2 dask torch"""

Done = TypeVar("Done")
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # map, or a pool's


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # finding the loaded libraries takes milliseconds


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Limit BLAS to a number of threads."""
    return _controller().limit(limits=count, user_api="blas")


def blas_threads_for(n_rows: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for small problems."""
    return blas_threads(1) if n_rows < SMALL else nullcontext()


def is_worker() -> bool:
    """Return whether this is one of several processes, or of several tasks of joblib."""
    return multiprocessing.parent_process() is not None or get_active_backend()[0].nesting_level > 0


def in_processes(
    work: Callable[..., Done], cases: Sequence[tuple[Any, ...]], long: bool
) -> list[Done]:
    """Call a function for each case, in processes if that takes long and this is not one."""
    jobs = min(cpu_count(), len(cases))
    if jobs < 2 or not long or is_worker():
        return [work(*case) for case in cases]
    return list(Parallel(n_jobs=jobs)(delayed(work)(*case) for case in cases))


@dataclass(frozen=True)
class Resources:
    """The cores, device and memory to complete rows.

    ``n_jobs`` is a number of cores, −1 for all, −2 for all but one. ``device`` is a name, "auto" (a
    GPU if there is one, and enough rows), or None (the host). ``max_memory`` counts bytes beyond
    the data, None a quarter of the free memory. ``mapping`` maps over blocks of rows, by threads
    inside :meth:`pool`.
    """

    n_jobs: int = -1
    device: str | None = None
    max_memory: float | None = None
    mapping: Run = map

    def __post_init__(self) -> None:
        """Raise if there is no such number of cores or device."""
        if not isinstance(self.n_jobs, Integral) or not self.n_jobs:
            raise ValueError(f"n_jobs must be a positive integer, or -1, got {self.n_jobs!r}.")
        if self.device != "auto":
            find_device(self.device)

    def name_for(self, n_rows: int) -> str | None:
        """Return the name of the device for a number of rows; None for the host."""
        if self.device == "auto":
            return any_gpu() if n_rows >= GPU_ROWS else None
        return self.device

    def device_for(self, n_rows: int, joint: bool = True) -> Device:
        """Return the device for a number of rows, jointly or one by one."""
        return find_device(None if joint and n_rows < GPU_ROWS else self.name_for(n_rows))

    def bytes_for_blocks(self, device: Device) -> float:
        """Return the memory for the blocks that are computed at the same time."""
        most = device.free_memory() / 4 if self.max_memory is None else float(self.max_memory)
        return most / device.at_once

    @property
    def jobs(self) -> int:
        """Number of cores to use."""
        return max(1, cpu_count() + 1 + self.n_jobs) if self.n_jobs < 0 else int(self.n_jobs)

    def workers(self, n_rows: int, device: Device) -> int:
        """Return the number of processes for a number of rows, as memory allows."""
        if not device.is_host or n_rows < PROCESS_ROWS:
            return 1
        return max(1, min(self.jobs, int(self.bytes_for_blocks(device) / PROCESS_BYTES)))

    def parts(self, shape: tuple[int, ...], device: Device, workers: int = 1) -> list[slice]:
        """Return the parts of the rows that are computed or copied at a time, as memory allows."""
        n, m = shape
        room = self.bytes_for_blocks(device) / (1 if workers == 1 else 4 * workers)
        # 600 bytes per entry: its starts and temporaries.
        size = max(64, min(FULL if device.is_host else 64 * FULL, int(room / (600 * m))))
        return [slice(begin, begin + size) for begin in range(0, n, size)]

    @contextmanager
    def pool(self) -> Iterator[Resources]:
        """Return the same with threads that map over blocks, with one BLAS thread each."""
        jobs = min(self.jobs, THREADS)
        with blas_threads(1):
            if jobs == 1:
                yield self
                return
            rules = partial(np.seterr, **np.geterr())  # which threads do not inherit
            with ThreadPoolExecutor(jobs, initializer=rules) as executor:
                yield replace(self, mapping=executor.map)


def show_versions() -> None:
    """Print versions, BLAS, cores, memory and GPUs, for bug reports.

    Returns
    -------
    None

    Examples
    --------
    >>> import polycomplete
    >>> polycomplete.show_versions()
    polycomplete        ...
    """
    blas = [part for part in threadpool_info() if part["user_api"] == "blas"]
    gpus = [import_module("torch").cuda.get_device_name(i) for i in range(gpu_count())]
    facts = {
        "polycomplete": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": cpu_count(),
        "free memory (GB)": f"{free_memory() / 1e9:.1f}",
        "blas": ", ".join(sorted({f"{one['internal_api']} {one['version']}" for one in blas})),
        "gpus": ", ".join(gpus) or "none",
    }
    for name in LIBRARIES.split():
        with suppress(PackageNotFoundError):
            facts[name] = version(name)
    sys.stdout.write("".join(f"{name:20}{value}\n" for name, value in facts.items()))
