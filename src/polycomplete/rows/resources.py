"""Where rows are worked on, and what that may take: threads, processes, a GPU, memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral

import numpy as np
from joblib import cpu_count

from polycomplete._resources import Device, any_card, blas_threads, find_device
from polycomplete.rows.holes import PLAIN, Packing, Run

GPU_ROWS = 2000  # minimum rows for the GPU
PROCESS_ROWS = 100_000  # minimum rows for processes, which take seconds to start
PROCESS_BYTES = 2e8  # minimum for a process: three quarters are for the libraries that it loads
THREADS = 4  # more of them wait for each other
FULL = 16_384  # rows that keep a GPU busy, and of a part of the data on the host


@dataclass(frozen=True)
class Resources:
    """Where rows are worked on, and what that may take.

    Attributes
    ----------
    n_jobs : int
        Cores; −1 for all of them, −2 for all but one.
    device : str or None
        A device by name; "auto" for a GPU where there is one and enough rows; None for the host.
    max_memory : float or None
        Bytes beyond the data; a quarter of the free memory by default.
    mapping : callable
        Maps over blocks of rows: by threads inside :meth:`pool`.
    """

    n_jobs: int = -1
    device: str | None = None
    max_memory: float | None = None
    mapping: Run = map

    def __post_init__(self) -> None:
        """Refuse what there is not."""
        if not isinstance(self.n_jobs, Integral) or not self.n_jobs:
            raise ValueError(f"n_jobs must be a whole number from 1, or -1, got {self.n_jobs!r}.")
        if self.device != "auto":
            find_device(self.device)

    def name_for(self, n_rows: int) -> str | None:
        """Return the name of the device for so many rows; None for the host."""
        if self.device == "auto":
            return any_card() if n_rows >= GPU_ROWS else None
        return self.device

    def device_for(self, n_rows: int, joint: bool = True) -> Device:
        """Return where so many rows are worked on: all at once, or one by one."""
        return find_device(None if joint and n_rows < GPU_ROWS else self.name_for(n_rows))

    def bytes_for_blocks(self, device: Device) -> float:
        """Return what the blocks that are worked on at a time may take."""
        most = device.free_memory() / 4 if self.max_memory is None else float(self.max_memory)
        return most / device.at_once

    def packing(self, device: Device, landmarks: int) -> Packing:
        """Return how rows are put into blocks on a device.

        On the host small enough for the cache; on a GPU large ones.
        """
        if device.is_host:
            return PLAIN
        # 100 bytes for each entry of a block and each landmark.
        entries = self.bytes_for_blocks(device) / (100 * landmarks)
        return Packing(entries=int(min(80 * FULL, entries)), smallest=FULL)

    @property
    def jobs(self) -> int:
        """How many cores to use."""
        return max(1, cpu_count() + 1 + self.n_jobs) if self.n_jobs < 0 else int(self.n_jobs)

    def workers(self, n_rows: int, device: Device) -> int:
        """Return how many processes complete so many rows: as the memory allows; 1 for this one."""
        if not device.is_host or n_rows < PROCESS_ROWS:
            return 1
        return max(1, min(self.jobs, int(self.bytes_for_blocks(device) / PROCESS_BYTES)))

    def parts(self, shape: tuple[int, ...], device: Device, workers: int = 1) -> list[slice]:
        """Return the rows that are worked on or travel at a time, as the memory allows."""
        n, m = shape
        room = self.bytes_for_blocks(device) / (1 if workers == 1 else 4 * workers)
        # 600 bytes for each entry, its starts and temporaries.
        size = max(64, min(FULL if device.is_host else 64 * FULL, int(room / (600 * m))))
        return [slice(begin, begin + size) for begin in range(0, n, size)]

    @contextmanager
    def pool(self) -> Iterator[Resources]:
        """Give the same with threads that map over blocks, with one BLAS thread each."""
        jobs = min(self.jobs, THREADS)
        with blas_threads(1):
            if jobs == 1:
                yield self
                return
            rules = partial(np.seterr, **np.geterr())  # threads have their own otherwise
            with ThreadPoolExecutor(jobs, initializer=rules) as executor:
                yield replace(self, mapping=executor.map)
