"""Measuring: seconds, peak memory, and the facts of the machine that go beside a result."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

import polycomplete

# The machine on which the authors' code was timed: seconds of a symmetric eigendecomposition of
# 1000 × 1000 (float64, one thread), by which seconds are carried over to this machine.
REFERENCE_EIGH = 0.16


@dataclass(frozen=True)
class Measured:
    """What a call returned and what it cost."""

    value: Any
    cpu: float
    wall: float
    peak_mb: float


def measure(call: Callable[[], Any], memory: bool = False) -> Measured:
    """Run a call; return its value, seconds and, where asked, the peak of what NumPy allocated.

    Watching the memory costs some time, so that it is left off where seconds count.
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
    """Return the CPU seconds of the reference eigendecomposition here, on one thread."""
    A = np.random.default_rng(0).standard_normal((n, n))
    A = A @ A.T
    with threadpool_limits(1):
        linalg.eigh(A, driver="evd")
        times = []
        for _ in range(3):
            begin = time.process_time()
            linalg.eigh(A, driver="evd")
            times.append(time.process_time() - begin)
    return min(times)


def gemm_gflops(n: int = 1500) -> float:
    """Return the matrix-product rate of one thread here."""
    A = np.random.default_rng(0).standard_normal((n, n))
    with threadpool_limits(1):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            A @ A
            times.append(time.perf_counter() - begin)
    return 2 * n**3 / min(times) / 1e9


def facts() -> dict[str, Any]:
    """Return what a reader must know of the machine to judge a number."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "sklearn": sklearn.__version__,
        "polycomplete": polycomplete.__version__,
        "blas": sorted({f"{i['internal_api']} {i['version']}" for i in threadpool_info()}),
        "commit": _commit(),
        "eigh_1000_seconds": round(eigh_seconds(), 3),
        "gemm_gflops_one_thread": round(gemm_gflops(), 1),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def store(out: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """Write results with the machine's facts beside them."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    path.write_text(json.dumps({"machine": facts(), "rows": rows}, indent=1, default=float) + "\n")
    print(f"results and machine facts in {path}")
