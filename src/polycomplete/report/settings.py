"""How a completion was made, and how to make it again."""

from __future__ import annotations

import platform
import shlex
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator, clone

from polycomplete._version import __version__
from polycomplete.methods import registry
from polycomplete.report.words import clean

__all__ = ["chosen", "parameters", "reproduce", "versions"]

LIBRARIES = ("polycomplete", "numpy", "scipy", "scikit-learn", "narwhals")
#: What a fit may have chosen by itself.
CHOSEN = ("engine_", "scale_", "smoothing_", "n_iter_")
LETTERS = 300


def parameters(completer: Any) -> dict[str, dict[str, Any]]:
    """Return the parameters of an estimator: what each is, and whether that is the default.

    Parameters
    ----------
    completer : estimator
        Fitted or not.

    Returns
    -------
    dict
        From name to value (as Python writes it) and default (bool).

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> parameters(LRMC(scale=None))["scale"]
    {'value': 'None', 'default': False}
    """
    defaults = signature(type(completer).__init__).parameters
    return {
        name: {
            "value": clean(repr(value), LETTERS),
            "default": name in defaults and repr(value) == repr(defaults[name].default),
        }
        for name, value in completer.get_params(deep=False).items()
    }


def chosen(completer: Any) -> dict[str, str]:
    """Return what a fit chose by itself, as Python writes it.

    Parameters
    ----------
    completer : estimator
        Fitted.

    Returns
    -------
    dict

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> list(chosen(LRMC().fit([[1.0, 2.0], [2.0, 4.0]])))
    ['n_iter_']
    """
    found = {name: getattr(completer, name) for name in CHOSEN if hasattr(completer, name)}
    shown = {name: f"{value:.3g}" if isinstance(value, float) else repr(value)
             for name, value in found.items()}  # fmt: skip
    return {name: clean(text, LETTERS) for name, text in shown.items()}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers depend on.

    Returns
    -------
    dict

    Examples
    --------
    >>> sorted(versions())[:2]
    ['narwhals', 'numpy']
    """
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder, without being installed
            found[name] = __version__ if name == "polycomplete" else "unknown"
    return found


def reproduce(completer: Any, command: str | None = None) -> dict[str, str | None]:
    """Return the lines that make the completion again.

    Parameters
    ----------
    completer : estimator
        What made it.
    command : str, optional
        The command that did; found from the method's name where this is not given.

    Returns
    -------
    dict
        python, and command (None where there is none that does the same).

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> print(reproduce(LRMC(random_state=0))["python"])
    from polycomplete import LRMC
    <BLANKLINE>
    completer = LRMC(random_state=0)
    completed = completer.fit_transform(table)
    >>> reproduce(LRMC(random_state=0))["command"]
    'polycomplete complete table.csv -o completed.csv --method lrmc --seed 0'
    """
    made = completer.__repr__(N_CHAR_MAX=10**6)
    parts = [completer, *completer.get_params(deep=True).values()]
    kinds = {type(part) for part in parts if isinstance(part, BaseEstimator)}
    imports = sorted({f"from {_home(kind)} import {kind.__name__}" for kind in kinds
                      if f"{kind.__name__}(" in made})  # fmt: skip
    lines = [*imports, "", f"completer = {made}", "completed = completer.fit_transform(table)"]
    return {"python": "\n".join(lines), "command": command or _command(completer)}


def _home(kind: type) -> str:
    """Return where a class is imported from."""
    parts = kind.__module__.split(".")
    if kind.__name__ in getattr(import_module(parts[0]), "__all__", ()):
        return parts[0]
    public = [part for part in parts if not part.startswith("_")]
    return ".".join(public) if public == parts[: len(public)] else kind.__module__


def _command(completer: Any) -> str | None:
    seed = completer.get_params(deep=False).get("random_state")
    if not (seed is None or isinstance(seed, int)):
        return None
    for name, method in registry.METHODS.items():
        if _same(method(), completer):
            parts = ["complete", "table.csv", "-o", "completed.csv", "--method", name]
            return shlex.join(
                ["polycomplete", *parts, *([] if seed is None else ["--seed", str(seed)])]
            )
    return None


def _same(one: Any, other: Any) -> bool:
    """Return whether two estimators differ in nothing but their seeds."""
    if type(one) is not type(other):
        return False
    seeds = "random_state" in other.get_params(deep=False)
    one, other = (clone(each) for each in (one, other))
    if seeds:
        for each in (one, other):
            each.set_params(random_state=None)
    return repr(one) == repr(other)
