"""What a reader must know of the machine and the versions to judge a number."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

__all__ = ["machine_facts"]

LIBRARIES = ("polycomplete", "numpy", "scipy", "scikit-learn", "matplotlib")


def machine_facts() -> dict[str, Any]:
    """Return processor, cores, versions, BLAS and the commit of the code.

    Returns
    -------
    dict
        Ready to be stored beside results.

    Examples
    --------
    >>> sorted(machine_facts())
    ['blas', 'commit', 'cores', 'cpu', 'python', 'system', 'versions']
    """
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in LIBRARIES},
        "blas": sorted({f"{i['internal_api']} {i['version']}" for i in threadpool_info()}),
        "commit": _commit(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def _commit() -> str:
    """Return the commit of the code that runs, "unknown" outside a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    here = Path(__file__).parent
    try:
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
