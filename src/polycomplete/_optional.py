"""Optional libraries: imported when needed, with instructions if they are not installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a library; if it is not installed, say how to install it."""
    try:
        return import_module(module)
    except ImportError:
        library = module.split(".")[0]
        raise ImportError(
            f"{purpose} needs {library}; install it by "
            f"python -m pip install 'polycomplete[{extra}]'."
        ) from None
