"""Fill in the missing entries of data that lie on curved low-dimensional surfaces.

Names are loaded when they are first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polycomplete._version import __version__ as __version__

if TYPE_CHECKING:
    from polycomplete import (
        clustering,
        datasets,
        diagnostics,
        masks,
        methods,
        metrics,
        report,
        theory,
    )
    from polycomplete._resources import show_versions
    from polycomplete.clustering import SparseSubspaceClustering, SubspaceClusterer
    from polycomplete.kernels import RBF, Linear, Polynomial
    from polycomplete.landmarks import Landmark
    from polycomplete.methods import KFMC, LADMC, LRMC, NLMC, PMC, SRMC, VMC
    from polycomplete.methods.completer import Completer
    from polycomplete.out_of_core import complete_file
    from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
    from polycomplete.persistence import load, save
    from polycomplete.solvers import AdamPlus, AugmentedLagrangian, Exact, SoftImpute
    from polycomplete.tables import TableCompleter
    from polycomplete.transduction import TransductiveClassifier, TransductiveRegressor

#: Where the names above live: a new name goes there, here and into ``__all__``.
_HOMES = {
    "_resources": ["show_versions"],
    "clustering": ["SparseSubspaceClustering", "SubspaceClusterer"],
    "methods.completer": ["Completer"],
    "datasets": [],
    "diagnostics": [],
    "kernels": ["RBF", "Linear", "Polynomial"],
    "landmarks": ["Landmark"],
    "masks": [],
    "methods": ["KFMC", "LADMC", "LRMC", "NLMC", "PMC", "SRMC", "VMC"],
    "metrics": [],
    "out_of_core": ["complete_file"],
    "penalties": ["Equal", "Inverse", "Ramp", "Schatten", "Skip"],
    "persistence": ["load", "save"],
    "report": [],
    "solvers": ["AdamPlus", "AugmentedLagrangian", "Exact", "SoftImpute"],
    "tables": ["TableCompleter"],
    "theory": [],
    "transduction": ["TransductiveClassifier", "TransductiveRegressor"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "KFMC",
    "LADMC",
    "LRMC",
    "NLMC",
    "PMC",
    "RBF",
    "SRMC",
    "VMC",
    "AdamPlus",
    "AugmentedLagrangian",
    "Completer",
    "Equal",
    "Exact",
    "Inverse",
    "Landmark",
    "Linear",
    "Polynomial",
    "Ramp",
    "Schatten",
    "Skip",
    "SoftImpute",
    "SparseSubspaceClustering",
    "SubspaceClusterer",
    "TableCompleter",
    "TransductiveClassifier",
    "TransductiveRegressor",
    "clustering",
    "complete_file",
    "datasets",
    "diagnostics",
    "load",
    "masks",
    "methods",
    "metrics",
    "report",
    "save",
    "show_versions",
    "theory",
]


if not TYPE_CHECKING:  # a type checker reads the imports above, and finds misspelt names

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = value  # the next time it is there at once
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
