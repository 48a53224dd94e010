"""Write the pages of the API reference, one for each part, from the ``__all__`` of its modules.

A public name that belongs to no part is an error: it would be missing from the reference.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

import polycomplete

#: page: title, introduction, modules
PARTS: dict[str, tuple[str, str, list[str]]] = {
    "completers": (
        "Completers",
        "Incomplete matrix in, complete matrix out. Start with :class:`~polycomplete.PMC`; "
        ":class:`~polycomplete.Completer` is its general form.",
        ["methods", "methods.completer"],
    ),
    "tables": (
        "Tables",
        "Tables with columns of all kinds: numbers, text, booleans, dates.",
        ["tables"],
    ),
    "transduction": (
        "Classification and regression",
        "Missing labels, completed together with missing features.",
        ["transduction"],
    ),
    "clustering": ("Clustering", "The subspace of each row.", ["clustering"]),
    "report": ("Report", "What was completed, and how far to trust it.", ["report"]),
    "files": (
        "Files and models",
        "Completing files larger than memory, and saving estimators.",
        ["out_of_core", "persistence"],
    ),
    "dask": ("Dask", "Completing rows on several processes or machines.", ["dask"]),
    "kernels": ("Kernels", "Similarity of rows.", ["kernels"]),
    "penalties": ("Penalties", "How a spectrum is penalized.", ["penalties"]),
    "solvers": (
        "Solvers",
        "Minimization by the Gram matrix of all rows, by landmarks, or by other algorithms.",
        ["solvers", "landmarks"],
    ),
    "masks": ("Masks", "Patterns of missing entries, and holding out entries.", ["masks"]),
    "metrics": ("Metrics", "Errors of completions, classifications and clusterings.", ["metrics"]),
    "diagnostics": (
        "Diagnostics",
        "Inspecting a fit; plots need matplotlib, and take and return axes.",
        ["diagnostics", "_resources"],
    ),
    "datasets": ("Datasets", "Synthetic surfaces, and the datasets of the paper.", ["datasets"]),
    "theory": ("Theory", "Ranks, parameter counts and bounds of the paper.", ["theory"]),
    "base": (
        "Base classes",
        "The shared part of completers, for your own.",
        ["base", "methods.base"],
    ),
}


def public(module: ModuleType) -> list[str]:
    """Return the classes, functions and values in the ``__all__`` of a module."""
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


def shortest(module: ModuleType, name: str) -> str:
    """Return the path by which users import a name."""
    top = name in polycomplete.__all__ and getattr(polycomplete, name) is getattr(module, name)
    return f"polycomplete.{name}" if top else f"{module.__name__}.{name}"


def names_of(modules: list[str]) -> list[str]:
    """Return the public names of modules, each once, with those of the package itself first."""
    found = [import_module(f"polycomplete.{module}") for module in modules]
    names = {shortest(module, name): getattr(module, name) for module in found
             for name in public(module)}  # fmt: skip
    order = {name: (name.count("."), not inspect.isclass(names[name])) for name in names}
    return sorted(names, key=order.__getitem__)


def directive(name: str) -> str:
    """Return the directive for one name."""
    home, _, last = name.rpartition(".")
    thing = getattr(import_module(home), last)
    if inspect.isclass(thing):
        return f".. autoclass:: {name}\n   :members:\n   :inherited-members:\n"
    if callable(thing):
        return f".. autofunction:: {name}\n"
    return f".. autodata:: {name}\n   :no-value:\n"


def page(title: str, about: str, modules: list[str]) -> str:
    """Return a page: a list of the names, then each in full."""
    names = names_of(modules)
    rows = "\n".join(f"   ~{name}" for name in names)
    head = (
        f"{title}\n{'=' * len(title)}\n\n{about}\n\n.. autosummary::\n   :nosignatures:\n\n{rows}\n"
    )
    return "\n".join([head, *map(directive, names)])


def index() -> str:
    """Return the page that links the others."""
    lines = "\n".join(f"   {name}" for name in PARTS)
    return (
        "API reference\n=============\n\n"
        "Every public name, with its parameters and a tested example.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{lines}\n"
    )


def write(folder: Path) -> None:
    """Write all pages that changed.

    Raises
    ------
    ValueError
        If a name of the package is on no page.
    """
    parts = {name: page(*part) for name, part in PARTS.items()} | {"index": index()}
    shown = {name for _, _, modules in PARTS.values() for name in names_of(modules)}
    missing = {f"polycomplete.{name}" for name in public(polycomplete)} - shown
    if missing:
        raise ValueError(f"docs/api_pages.py has no page for {', '.join(sorted(missing))}.")
    folder.mkdir(exist_ok=True)
    for name, text in parts.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
