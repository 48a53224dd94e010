"""How modules depend on each other: floors without cycles, light to import, short, silent."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import polycomplete

ROOT = Path(polycomplete.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
OPTIONAL = ["pandas", "polars", "pyarrow", "matplotlib", "torch", "dask", "pooch"]
#: A program that hides the libraries named on its command line, then completes a matrix.
HIDDEN = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv:
            raise ImportError(name)

sys.meta_path.insert(0, Hide())
import polycomplete
print(polycomplete.PMC().fit_transform([[1.0, None], [2.0, 5.0]]).tolist())
"""
#: Six floors, from bottom to top; a part imports from its own floor, without cycles, and below.
LAYERS = [
    {
        "_devices",
        "_messages",
        "_optional",
        "_resources",
        "_version",
        "datasets",
        "frames",
        "io",
        "kernels",
        "masks",
        "metrics",
        "penalties",
        "persistence",
        "sampling",
        "scaling",
        "theory",
    },
    {"rows"},
    {"model_selection", "solvers", "landmarks"},
    {"surface", "base", "out_of_core", "methods"},
    {"clustering", "dask", "diagnostics", "report", "tables", "transduction"},
    {"__init__", "cli"},
]
#: Parts that should stay independent, and all that they may import from the package.
ASIDE = {
    "theory": set(),
    "metrics": {"masks", "scaling"},
    "masks": set(),
    "datasets": {"_optional"},
    "scaling": {"_devices"},
    "sampling": set(),
    "frames": {"_devices"},
    "model_selection": {"masks", "rows", "scaling"},
    "io": {"_optional"},
    "persistence": {"_optional", "_version", "io"},
}
#: Imports from above, inside functions: an estimator makes its report.
LATE = {"base": {"report"}}
#: Optional libraries that a part may import inside its functions (the command line: anywhere).
INSIDE = {"diagnostics": {"matplotlib"}, "cli": {"polars"}}


def dotted(path):
    """Return the name of a module of the package: "rows.solve", or "" for the package itself."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {dotted(path): path for path in FILES}


@cache
def parsed(path):
    return ast.parse(path.read_text())


def imported(path):
    """Return the modules of the package that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            known = [name for name in inside if name.removeprefix("polycomplete.") in MODULES]
            names = known or [node.module]
        else:
            continue
        found |= {name for name in names if name.split(".")[0] == "polycomplete"}
    late = LATE.get(part_of(dotted(path)), set())
    return {name.removeprefix("polycomplete").removeprefix(".") for name in found} - late


def part_of(module):
    return module.split(".")[0] or "__init__"


def layer_of(part):
    return next(i for i, layer in enumerate(LAYERS) if part in layer)


def test_every_part_has_its_place():
    assert {part_of(module) for module in MODULES} == set().union(*LAYERS)


def test_imports_point_downwards():
    wrong = []
    for module, path in MODULES.items():
        own = part_of(module)
        others = {part_of(name) for name in imported(path)} - {own}
        wrong += [(module, part) for part in others if layer_of(part) > layer_of(own)]
        wrong += [(module, part) for part in others - ASIDE.get(own, others)]
    assert wrong == []


def test_there_are_no_cycles():
    graph = {module: imported(path) - {module} for module, path in MODULES.items()}
    assert sum(map(len, graph.values())) > 20
    TopologicalSorter(graph).prepare()  # raises CycleError


def outside(path):
    """Return the libraries that a file imports, anywhere in it."""
    nodes = list(ast.walk(parsed(path)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in plain | {
        node.module for node in nodes if isinstance(node, ast.ImportFrom)}}  # fmt: skip


def test_no_file_imports_an_optional_library():
    late = {*OPTIONAL, "experiments", "benchmarks"}  # the latter two are not installed
    found = {module: outside(path) & late for module, path in MODULES.items()}
    assert {module: names for module, names in found.items()
            if not names <= INSIDE.get(part_of(module), set())} == {}  # fmt: skip


def test_the_package_works_without_any_optional_library():
    # scikit-learn imports pandas if it is installed, so it has to be hidden.
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN, *OPTIONAL], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[[1.0, 5.0], [2.0, 5.0]]", "")


def test_files_are_short():
    lengths = {module: len(path.read_text().splitlines()) for module, path in MODULES.items()}
    assert {module: length for module, length in lengths.items() if length > 500} == {}


def test_nothing_prints():
    found = []
    for module, path in MODULES.items():
        nodes = ast.walk(parsed(path))
        calls = (node.func for node in nodes if isinstance(node, ast.Call))
        found += [module for func in calls if isinstance(func, ast.Name) and func.id == "print"]
    assert found == []


def test_names_are_loaded_when_they_are_used():
    found = set()
    for node in ast.walk(parsed(ROOT / "__init__.py")):
        if isinstance(node, ast.ImportFrom) and node.module != "polycomplete._version":
            home = node.module.removeprefix("polycomplete").removeprefix(".")
            found |= {(home, alias.name) for alias in node.names} - {("typing", "Any")}
    homes = {(home, name) for name, home in polycomplete._HOME_OF.items()}
    assert {name for _, name in found} >= set(polycomplete.__all__)
    assert homes == {(home, name) for home, name in found if home in polycomplete._HOMES}
    assert set(polycomplete.__all__) <= set(dir(polycomplete))
    with pytest.raises(AttributeError, match="no attribute 'PCM'"):
        _ = polycomplete.PCM


def test_dask_uses_public_members_of_completers_only():
    tree = ast.walk(parsed(ROOT / "dask.py"))
    names = {node.attr for node in tree if isinstance(node, ast.Attribute)}
    assert {name for name in names if name[0] == "_"} == {
        "__dict__",
        "__name__",
        "_meta",  # Dask's: an empty block of a data frame
    }


#: A program that says what it finds wrong about imports.
LIGHT = """
import ctypes, sys

class Watched(ctypes.CDLL):
    def __getattr__(self, name):
        if name == "mallopt":
            print("the memory allocator was touched")
        return super().__getattr__(name)

ctypes.CDLL = Watched
import polycomplete
print(*{"numpy", "sklearn"} & set(sys.modules))
polycomplete.LRMC().fit([[1.0, 2.0], [2.0, 4.1]])
late = {"jinja2", "matplotlib", "polycomplete.report", "polycomplete.diagnostics"}
print(*late & set(sys.modules))
import polycomplete.methods, polycomplete.dask
"""


def test_importing_and_fitting_load_nothing_heavy_and_leave_the_allocator_alone():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
