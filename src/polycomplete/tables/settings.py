"""What the user says about columns, checked against the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np


def listed(names: Any) -> list[Any]:
    """Return names as a list; a single text is one name.

    Parameters
    ----------
    names : str or sequence
        What the user passed.

    Returns
    -------
    list

    Examples
    --------
    >>> listed("record"), listed(("a", "b"))
    (['record'], ['a', 'b'])
    """
    return [names] if isinstance(names, str) else list(names)


def check_names(known: Iterable[Any], **given: Any) -> None:
    """Raise where a setting names a column that the table does not have.

    Parameters
    ----------
    known : iterable
        The names of the columns.
    **given : names
        Settings: mappings from names, or sequences of names; anything else is not looked at.

    Returns
    -------
    None

    Examples
    --------
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
            shown = ", ".join(repr(name) for name in known[:10]) + (
                ", …" if len(known) > 10 else ""
            )
            raise ValueError(
                f"{setting} names column {odd[0]!r}, which the table does not have; its columns "
                f"are {shown}."
            )


def check_columns(known: list[Any], given: list[Any]) -> None:
    """Raise where a table does not have the columns of the one that was fitted.

    Parameters
    ----------
    known : list
        Names of the fitted table.
    given : list
        Names of the other one, in any order.

    Returns
    -------
    None

    Examples
    --------
    >>> check_columns(["a", "b"], ["b"])
    Traceback (most recent call last):
        ...
    ValueError: Column 'a' of the fitted table is not there (1 such in all); add it, with missing
    cells if nothing is known.
    """
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


def check_weights(weights: Mapping[Any, float]) -> None:
    """Raise where a weight is not a positive number.

    Parameters
    ----------
    weights : mapping
        From names to weights.

    Returns
    -------
    None

    Examples
    --------
    >>> check_weights({"a": 0})
    Traceback (most recent call last):
        ...
    ValueError: weights['a'] must be a positive number, got 0; leave a column alone by ids=['a'].
    """
    for name, weight in weights.items():
        if not (isinstance(weight, Real) and 0 < weight < np.inf):
            raise ValueError(
                f"weights[{name!r}] must be a positive number, got {weight!r}; leave a column "
                f"alone by ids=[{name!r}]."
            )


def check_choices(clip: Any, integers: Any, unseen: Any, max_categories: Any) -> None:
    """Raise where one of these settings is none that there is.

    Parameters
    ----------
    clip, integers, unseen, max_categories : object
        As :class:`~polycomplete.TableCompleter` takes them.

    Returns
    -------
    None

    Examples
    --------
    >>> check_choices(None, "rounded", "error", 50)
    Traceback (most recent call last):
        ...
    ValueError: integers must be "typed" or "whole", got 'rounded'.
    """
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
