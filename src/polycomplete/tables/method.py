"""What a table is completed by: any completer or imputer, and the user's settings, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from polycomplete.base import BaseCompleter
from polycomplete.completers import Completer
from polycomplete.methods import PMC


def prepared(method: Any, seed: int | None, verbose: int) -> Any:
    """Return a copy of a method (None is PMC) that follows our seed, unless it has one itself.

    >>> prepared(None, 3, 0)
    PMC(random_state=3)
    """
    method = PMC() if method is None else clone(method)
    params = method.get_params(deep=False)
    if seed is not None and params.get("random_state", seed) is None:
        method.set_params(random_state=seed)
    if verbose and "verbose" in params:
        method.set_params(verbose=verbose)
    return method


def scales_itself(method: Any) -> bool:
    """Return whether a method chooses the scale of its columns.

    >>> scales_itself(PMC()), scales_itself(PMC(scale=None))
    (True, False)
    """
    return isinstance(method, Completer) and method.scale is not None


def adapt(method: Any, owners: np.ndarray, scaled: bool) -> None:
    """Tell a method which columns of its matrix belong together, and whether they are scaled.

    Then it leaves that alone.
    """
    if scaled and "scale" in method.get_params(deep=False):
        method.set_params(scale=None)
    if isinstance(method, BaseCompleter) and len(np.unique(owners)) < len(owners):
        method._column_groups = owners


def checked(method: Any, matrix: np.ndarray, completed: Any) -> np.ndarray:
    """Return what a method gave back for a matrix as an array of its shape without holes."""
    completed = np.asarray(completed, dtype=np.float64)
    name = type(method).__name__
    if completed.shape != matrix.shape:
        raise ValueError(
            f"{name} returned {completed.shape[1]} columns for {matrix.shape[1]}; switch off what "
            "adds or drops columns (add_indicator)."
        )
    if not np.isfinite(completed).all():
        raise ValueError(f"{name} left cells missing or made them infinite; choose another method.")
    return completed


def listed(names: Any) -> list[Any]:
    """Return names as a list; a single text is one name."""
    return [names] if isinstance(names, str) else list(names)


def check_names(known: Iterable[Any], **given: Any) -> None:
    """Raise where a setting (names, or a mapping from them) names a column that is not there.

    >>> check_names(["a"], ids=["b"])
    Traceback (most recent call last):
        ...
    ValueError: ids names column 'b', which the table does not have; its columns are 'a'.
    """
    known = list(known)
    for setting, names in given.items():
        if not isinstance(names, Mapping | list | tuple):
            continue
        odd = [name for name in names if name not in known]
        if odd:
            shown = ", ".join(map(repr, known[:10])) + (", …" if len(known) > 10 else "")
            raise ValueError(
                f"{setting} names column {odd[0]!r}, which the table does not have; its columns "
                f"are {shown}."
            )


def check_columns(known: list[Any], given: list[Any]) -> None:
    """Raise where a table does not have the columns of the one that was fitted."""
    lacking = [name for name in known if name not in given]
    if lacking:
        raise ValueError(
            f"Column {lacking[0]!r} of the fitted table is not there ({len(lacking)} such in all); "
            "add it, with missing cells if nothing is known."
        )
    odd = [name for name in given if name not in known]
    if odd:
        raise ValueError(
            f"Column {odd[0]!r} was not in the fitted table ({len(odd)} such in all); drop it."
        )


def check_choices(
    clip: Any, integers: Any, unseen: Any, max_categories: Any, weights: Mapping[Any, Any]
) -> None:
    """Raise where a setting of a :class:`~polycomplete.TableCompleter` is none that there is."""
    if not (clip is None or isinstance(clip, Mapping) or clip == "observed"):
        raise ValueError(
            f'clip must be None, "observed" or a dict from names to bounds, got {clip!r}.'
        )
    if integers not in ("typed", "whole"):
        raise ValueError(f'integers must be "typed" or "whole", got {integers!r}.')
    if unseen not in ("error", "missing"):
        raise ValueError(f'unseen must be "error" or "missing", got {unseen!r}.')
    if not isinstance(max_categories, Integral) or max_categories < 1:
        raise ValueError(f"max_categories must be a positive integer, got {max_categories!r}.")
    for name, weight in weights.items():
        if not (isinstance(weight, Real) and 0 < float(weight) < np.inf):
            raise ValueError(
                f"weights[{name!r}] must be a positive number, got {weight!r}; leave a column "
                f"alone by ids=[{name!r}]."
            )
