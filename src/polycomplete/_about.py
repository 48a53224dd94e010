"""What is installed, and what the machine has: what a bug report should say."""

from __future__ import annotations

import platform
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from threadpoolctl import threadpool_info

from polycomplete._machine import cores, free_memory
from polycomplete._version import __version__

__all__ = ["show_versions"]

LIBRARIES = [
    "numpy", "scipy", "scikit-learn", "array-api-compat", "narwhals",
    "polars", "pandas", "pyarrow", "fastexcel", "xlsxwriter",
    "skops", "typer", "rich", "matplotlib", "jinja2", "dask", "torch",
]  # fmt: skip


def show_versions() -> None:
    """Print versions, BLAS, cores, memory and GPUs: what a bug report should say.

    Returns
    -------
    None

    Examples
    --------
    >>> import polycomplete
    >>> polycomplete.show_versions()
    polycomplete        ...
    """
    blas = {f"{part['internal_api']} {part['version']}" for part in threadpool_info()
            if part["user_api"] == "blas"}  # fmt: skip
    facts = {
        "polycomplete": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": str(cores()),
        "free memory (GB)": f"{free_memory() / 1e9:.1f}",
        "blas": ", ".join(sorted(blas)) or "none",
        "gpus": ", ".join(_gpus()) or "none",
    }
    facts |= {name: _version(name) for name in LIBRARIES}
    sys.stdout.write("".join(f"{name:20}{value}\n" for name, value in facts.items()))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "-"


def _gpus() -> list[str]:
    if find_spec("torch") is None:
        return []
    torch = import_module("torch")
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
