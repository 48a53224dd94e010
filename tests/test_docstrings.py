"""Every public name is documented, in the form of numpydoc, with types."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import polycomplete
from polycomplete import methods

MODULES = ["polycomplete"] + [
    module.name
    for module in pkgutil.walk_packages(polycomplete.__path__, "polycomplete.")
    if "._" not in module.name
]


def public():
    """Return the classes and functions in the ``__all__`` of all modules, each once.

    Modules that the site documents, and packages, have one; others are internal.
    """
    found = {}
    for module in map(importlib.import_module, MODULES):
        for thing in (getattr(module, name) for name in getattr(module, "__all__", ())):
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{thing.__name__}"] = thing
    return found


PUBLIC = public()
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)}
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
TAKING = {name: cls for name, cls in CLASSES.items() if not issubclass(cls, Exception)}
ESTIMATORS = {
    name: cls for name, cls in CLASSES.items() if hasattr(cls, "fit") and hasattr(cls, "get_params")
}
EXPORTED = [name for name in CLASSES if name.rpartition(".")[2] in polycomplete.__all__]


def has_section(doc, title):
    return f"\n{title}\n{'-' * len(title)}\n" in inspect.cleandoc(doc) + "\n"


def own_methods(cls):
    """Return the public functions, properties and the constructor that a class itself defines."""
    for name, member in vars(cls).items():
        member = getattr(member, "__func__", getattr(member, "fget", member))
        written = getattr(member, "__module__", "") == cls.__module__
        if inspect.isfunction(member) and written and (name == "__init__" or name[0] != "_"):
            yield name, member


def unannotated(function):
    signature = inspect.signature(function)
    names = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    bare = [name for name in names if name not in ("self", "cls")]
    constructor = function.__name__ == "__init__"
    return bare + ["return"] * (signature.return_annotation is signature.empty and not constructor)


def isort_order(name):
    """Order names as ruff's RUF022 does: CONSTANTS, Classes, functions."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name


def described(doc, title):
    """Return the names that a section lists, in their order, with their types and defaults."""
    section = inspect.cleandoc(doc).partition(f"\n{title}\n{'-' * len(title)}\n")[2]
    lines = section.partition("\n\n")[0].splitlines()
    heads = [line.partition(" : ") for line in lines if line[0] != " "]
    return {name.strip(" *"): kind for names, _, kind in heads for name in names.split(",")}


def listed(doc, title):
    return list(described(doc, title))


def test_modules_say_what_they_are_for_and_what_they_offer():
    modules = {name: importlib.import_module(name) for name in MODULES}
    assert [name for name, module in modules.items() if not module.__doc__] == []
    offers = {name: getattr(module, "__all__", []) for name, module in modules.items()}
    computed = offers.pop("polycomplete")  # from the table of its lazy imports
    assert computed == sorted(set(computed))
    assert [name for name, names in offers.items()
            if names != sorted(set(names), key=isort_order)] == []  # fmt: skip


def test_docstrings_begin_with_one_sentence():
    assert [name for name, thing in PUBLIC.items() if not thing.__doc__] == []
    firsts = {name: inspect.cleandoc(thing.__doc__).split("\n\n")[0]
              for name, thing in PUBLIC.items()}  # fmt: skip
    assert [name for name, first in firsts.items()
            if "\n" in first or not first[0].isupper() or first[-1] != "."] == []  # fmt: skip


def test_functions_document_arguments_and_result_with_an_example():
    lacking = {}
    for name, function in FUNCTIONS.items():
        takes = list(inspect.signature(function).parameters)
        gives = "Yields" if inspect.isgeneratorfunction(function) else "Returns"
        wanted = [*["Parameters"] * bool(takes), gives, "Examples"]
        lacking[name] = [title for title in wanted if not has_section(function.__doc__, title)]
        lacking[name] += [">>>"] * (">>> " not in function.__doc__)
        lacking[name] += ["the parameters"] * (listed(function.__doc__, "Parameters") != takes)
    assert {name: parts for name, parts in lacking.items() if parts} == {}


def test_every_parameter_of_a_class_is_described():
    lacking = {}
    for name, cls in TAKING.items():
        takes = set(inspect.signature(cls).parameters) - {"args", "kwargs"}
        # The fields of a record are attributes.
        told = {*listed(cls.__doc__, "Parameters"), *listed(cls.__doc__, "Attributes")}
        lacking[name] = takes - told
    assert {name: names for name, names in lacking.items() if names} == {}


@pytest.mark.parametrize("cls", ESTIMATORS.values(), ids=ESTIMATORS)
def test_estimators_describe_what_a_fit_leaves(cls):
    assert listed(cls.__doc__, "Parameters") == list(inspect.signature(cls).parameters)
    told = listed(cls.__doc__, "Attributes")
    assert told
    assert [attribute for attribute in told if attribute[-1] != "_"] == []
    declared = {key for base in cls.__mro__ for key in vars(base).get("__annotations__", {})}
    assert {key for key in declared if key[-1] == "_" and key[0] != "_"} <= set(told)


def states(kind, default):
    """Return whether the text after the name of a parameter states its default."""
    text = kind.rpartition("default=")[2]
    if default is None and kind.endswith(", optional"):
        return True
    if isinstance(default, float):
        return np.array_equal(float(text), default, equal_nan=True)
    return text.replace('"', "'") == repr(default)


def test_classes_describe_types_and_defaults():
    lacking = {}
    for name, cls in TAKING.items():
        takes, told = inspect.signature(cls).parameters, described(cls.__doc__, "Parameters")
        defaults = {key: takes[key].default for key in told.keys() & takes.keys()}
        kinds = told | described(cls.__doc__, "Attributes")
        lacking[name] = [key for key, default in defaults.items()
                         if default is not inspect.Parameter.empty
                         and not states(told[key], default)]  # fmt: skip
        lacking[name] += [key for key, kind in kinds.items() if not kind]
    assert {name: names for name, names in lacking.items() if names} == {}


@pytest.mark.parametrize("name", methods.names("completer"))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_a_fit_leaves_is_described(name):
    completer = methods.get(name).set_params(random_state=0)
    if "smoothing" in completer.get_params():
        completer.set_params(smoothing=1e-2)
    t = np.linspace(-1, 1, 20)
    left = vars(completer.fit(np.where(t[:, None] > 0.8, np.nan, [1, 0, 2]) + np.c_[t, t**2, t**3]))
    told = listed(type(completer).__doc__, "Attributes")
    assert {key for key in left if key[-1] == "_" and key[0] != "_"} <= set(told)


def test_exported_classes_show_a_doctest():
    docs = {name: CLASSES[name].__doc__ for name in EXPORTED}
    assert [name for name, doc in docs.items()
            if not has_section(doc, "Examples") or ">>> " not in doc] == []  # fmt: skip


def test_public_methods_are_documented():
    assert [f"{name}.{method}" for name, cls in CLASSES.items()
            for method, member in own_methods(cls)
            if method != "__init__" and not member.__doc__] == []  # fmt: skip


def test_signatures_are_fully_annotated():
    members = {f"{name}.{method}": member for name, cls in CLASSES.items()
               for method, member in own_methods(cls)} | FUNCTIONS  # fmt: skip
    bare = {name: unannotated(member) for name, member in members.items()}
    assert {name: names for name, names in bare.items() if names} == {}
