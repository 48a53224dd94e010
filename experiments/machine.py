"""The facts of the machine that go beside every result, and how seconds and memory are measured."""

from __future__ import annotations

import os
import platform
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

LIBRARIES = ("polycomplete", "numpy", "scipy", "scikit-learn", "matplotlib")
#: Seconds of `eigh_seconds` on the machine on which the authors' code was timed: by these their
#: seconds are carried over to this machine.
REFERENCE_EIGH = 0.16


def facts() -> dict[str, Any]:
    """Return what a reader must know of the machine and the versions to judge a number."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in LIBRARIES},
        "blas": sorted({f"{i['internal_api']} {i['version']}" for i in threadpool_info()}),
        "commit": _commit(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """Return the commit of the code that runs, "unknown" outside a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    here = Path(__file__).parent
    try:
        return subprocess.run(command, cwd=here, capture_output=True, text=True).stdout.strip()
    except OSError:
        return "unknown"


class Measured(NamedTuple):
    """What a call returned and what it cost."""

    value: Any
    cpu: float
    wall: float
    peak_mb: float


def measure(call: Callable[[], Any], memory: bool = False) -> Measured:
    """Run a call; return its value, seconds and, if asked, the peak of what NumPy allocated.

    Watching the memory costs some time, so it is left off where seconds count.
    """
    if memory:
        tracemalloc.start()
    cpu, wall = time.process_time(), time.perf_counter()
    value = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = tracemalloc.get_traced_memory()[1] if memory else 0
    tracemalloc.stop()
    return Measured(value, cpu, wall, peak / 1e6)


def eigh_seconds(n: int = 1000) -> float:
    """Return the CPU seconds of a symmetric eigendecomposition (float64, one thread)."""
    A = np.random.default_rng(0).standard_normal((n, n))
    A = A @ A.T
    with threadpool_limits(1):
        return min(measure(lambda: linalg.eigh(A, driver="evd")).cpu for _ in range(4))


def gemm_gflops(n: int = 1500) -> float:
    """Return the matrix-product rate of one thread."""
    A = np.random.default_rng(0).standard_normal((n, n))
    with threadpool_limits(1):
        return 2e-9 * n**3 / min(measure(lambda: A @ A).wall for _ in range(3))


def speed() -> dict[str, float]:
    """Return how fast one thread is."""
    return {
        "eigh_1000_seconds": round(eigh_seconds(), 3),
        "gemm_gflops_one_thread": round(gemm_gflops(), 1),
    }
