"""``polycomplete info``: what is installed, and what the machine has."""

from __future__ import annotations

from typing import Any

from polycomplete.cli.app import command
from polycomplete.cli.talk import Talk

__all__: list[str] = []

LIBRARIES = [
    "numpy", "scipy", "scikit-learn", "array-api-compat", "narwhals",
    "polars", "pandas", "pyarrow", "fastexcel", "xlsxwriter",
    "skops", "typer", "rich", "matplotlib", "jinja2", "dask", "torch",
]  # fmt: skip


@command("polycomplete info", "polycomplete info --json")
def info(talk: Talk) -> None:
    """Show versions, BLAS, cores, memory and GPUs: what a bug report should say."""
    facts = _facts()
    lines = [f"{name:20}{_shown(value)}" for name, value in facts.items() if name != "libraries"]
    lines += [f"  {name:18}{version or '-'}" for name, version in facts["libraries"].items()]
    talk.result(facts, "\n".join(lines))


def _facts() -> dict[str, Any]:
    import platform

    from threadpoolctl import threadpool_info

    from polycomplete._machine import cores, free_memory
    from polycomplete._version import __version__

    blas = [
        f"{i['internal_api']} {i['version']}" for i in threadpool_info() if "blas" in i["user_api"]
    ]
    return {
        "polycomplete": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": cores(),
        "free memory (GB)": round(free_memory() / 1e9, 1),
        "blas": sorted(set(blas)),
        "gpus": _gpus(),
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(library: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _gpus() -> list[str]:
    from importlib import import_module
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return []
    torch = import_module("torch")
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)
