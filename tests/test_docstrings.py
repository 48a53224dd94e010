"""Every public name is documented, in the form of numpydoc, with types."""

import importlib
import inspect
import pkgutil

import pytest

import polycomplete

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


@pytest.mark.parametrize("name", MODULES)
def test_modules_say_what_they_are_for_and_what_they_offer(name):
    module = importlib.import_module(name)
    assert module.__doc__
    names = getattr(module, "__all__", [])
    assert names == sorted(set(names), key=isort_order)


def isort_order(name):
    """Order names as ruff's RUF022 does: CONSTANTS, Classes, functions."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_begin_with_one_sentence(name):
    doc = PUBLIC[name].__doc__
    assert doc, "no docstring of its own"
    first = inspect.cleandoc(doc).split("\n\n")[0]
    assert "\n" not in first
    assert first[0].isupper()
    assert first.endswith(".")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_document_arguments_and_result_with_an_example(name):
    function = FUNCTIONS[name]
    takes = ["Parameters"] if inspect.signature(function).parameters else []
    gives = "Yields" if inspect.isgeneratorfunction(function) else "Returns"
    wanted = [*takes, gives, "Examples"]
    assert [title for title in wanted if not has_section(function.__doc__, title)] == []
    assert ">>> " in function.__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_function_is_described(name):
    doc = inspect.cleandoc(FUNCTIONS[name].__doc__)
    section = doc.partition("\nParameters\n----------\n")[2].partition("\n\n")[0]
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line[0] != " "]
    listed = [part.strip(" *") for head in heads for part in head.split(",")]
    expected = list(inspect.signature(FUNCTIONS[name]).parameters)
    assert listed == expected


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_classes_show_a_doctest(name):
    doc = CLASSES[name].__doc__
    assert has_section(doc, "Examples")
    assert ">>> " in doc


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_are_documented(name):
    members = dict(own_methods(CLASSES[name]))
    members.pop("__init__", None)
    assert [method for method, member in members.items() if not member.__doc__] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_signatures_are_fully_annotated(name):
    thing = PUBLIC[name]
    members = dict(own_methods(thing)) if inspect.isclass(thing) else {name: thing}
    assert {method: unannotated(member) for method, member in members.items()} == {
        method: [] for method in members
    }
