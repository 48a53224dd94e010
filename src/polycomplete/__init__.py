"""Complete missing entries of data near curved surfaces of low dimension.

Names are imported when they are first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polycomplete._version import __version__ as __version__

if TYPE_CHECKING:
    from polycomplete import clustering as clustering
    from polycomplete import datasets as datasets
    from polycomplete import diagnostics as diagnostics
    from polycomplete import masks as masks
    from polycomplete import methods as methods
    from polycomplete import metrics as metrics
    from polycomplete import report as report
    from polycomplete import theory as theory
    from polycomplete._resources import show_versions as show_versions
    from polycomplete.clustering import SparseSubspaceClustering as SparseSubspaceClustering
    from polycomplete.clustering import SubspaceClusterer as SubspaceClusterer
    from polycomplete.kernels import RBF as RBF
    from polycomplete.kernels import Linear as Linear
    from polycomplete.kernels import Polynomial as Polynomial
    from polycomplete.landmarks import Landmark as Landmark
    from polycomplete.methods import KFMC as KFMC
    from polycomplete.methods import LADMC as LADMC
    from polycomplete.methods import LRMC as LRMC
    from polycomplete.methods import NLMC as NLMC
    from polycomplete.methods import PMC as PMC
    from polycomplete.methods import SRMC as SRMC
    from polycomplete.methods import VMC as VMC
    from polycomplete.methods.completer import Completer as Completer
    from polycomplete.out_of_core import complete_file as complete_file
    from polycomplete.penalties import Equal as Equal
    from polycomplete.penalties import Inverse as Inverse
    from polycomplete.penalties import Ramp as Ramp
    from polycomplete.penalties import Schatten as Schatten
    from polycomplete.penalties import Skip as Skip
    from polycomplete.persistence import load as load
    from polycomplete.persistence import save as save
    from polycomplete.solvers import AdamPlus as AdamPlus
    from polycomplete.solvers import AugmentedLagrangian as AugmentedLagrangian
    from polycomplete.solvers import Exact as Exact
    from polycomplete.solvers import SoftImpute as SoftImpute
    from polycomplete.tables import TableCompleter as TableCompleter
    from polycomplete.transduction import TransductiveClassifier as TransductiveClassifier
    from polycomplete.transduction import TransductiveRegressor as TransductiveRegressor

#: Modules and the names they export (modules under ""): a new name goes here and above.
_HOMES = {
    "": [
        "clustering",
        "datasets",
        "diagnostics",
        "masks",
        "methods",
        "metrics",
        "report",
        "theory",
    ],
    "_resources": ["show_versions"],
    "clustering": ["SparseSubspaceClustering", "SubspaceClusterer"],
    "methods.completer": ["Completer"],
    "kernels": ["RBF", "Linear", "Polynomial"],
    "landmarks": ["Landmark"],
    "methods": ["KFMC", "LADMC", "LRMC", "NLMC", "PMC", "SRMC", "VMC"],
    "out_of_core": ["complete_file"],
    "penalties": ["Equal", "Inverse", "Ramp", "Schatten", "Skip"],
    "persistence": ["load", "save"],
    "solvers": ["AdamPlus", "AugmentedLagrangian", "Exact", "SoftImpute"],
    "tables": ["TableCompleter"],
    "transduction": ["TransductiveClassifier", "TransductiveRegressor"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


if not TYPE_CHECKING:  # type checkers read the imports above, and so find misspelled names

    def __getattr__(name: str) -> Any:
        home = _HOME_OF.get(name)
        if name in _HOMES or home == "":
            return import_module(f"{__name__}.{name}")
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value  # found without this function the next time
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
