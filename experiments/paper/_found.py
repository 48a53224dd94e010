"""Every experiment by name, in the order of the paper."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from experiments.experiment import Experiment

_HERE = "experiments.paper"


def _place(experiment: Experiment) -> tuple[int, str]:
    """Figures by number, then tables, then what has no number."""
    kinds = ("Figure", "Table")
    kind = experiment.printed_as.split()[0]
    return (kinds.index(kind) if kind in kinds else len(kinds)), experiment.printed_as


def _find() -> dict[str, Experiment]:
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    modules = [import_module(f"{_HERE}.{name}") for name in names if not name.startswith("_")]
    found = sorted((module.EXPERIMENT for module in modules), key=_place)
    return {experiment.name: experiment for experiment in found}


EXPERIMENTS: Mapping[str, Experiment] = _find()
