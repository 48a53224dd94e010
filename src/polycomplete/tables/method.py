"""Any completer or imputer as the part that completes the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from polycomplete.completers import Completer
from polycomplete.methods import PMC


def prepared(method: Any, seed: int | None, verbose: int) -> Any:
    """Return a copy of a method that follows our seed.

    Parameters
    ----------
    method : estimator or None
        What the user chose; None is PMC.
    seed : int or None
        Given to a method that has none of its own.
    verbose : int
        Given to a method that can be, unless 0.

    Returns
    -------
    estimator

    Examples
    --------
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

    Parameters
    ----------
    method : estimator
        Any.

    Returns
    -------
    bool

    Examples
    --------
    >>> scales_itself(PMC()), scales_itself(PMC(scale=None))
    (True, False)
    """
    return isinstance(method, Completer) and method.scale is not None


def adapt(method: Any, owners: np.ndarray, scaled: bool) -> None:
    """Tell a method what the columns of its matrix are.

    Parameters
    ----------
    method : estimator
        It is changed.
    owners : ndarray of int, shape (m,)
        The column of the table that each belongs to.
    scaled : bool
        Whether they are scaled already: then the method leaves that alone.

    Returns
    -------
    None

    Examples
    --------
    >>> method = PMC()
    >>> adapt(method, np.array([0, 1]), scaled=True)
    >>> method
    PMC(scale=None)
    """
    if scaled and "scale" in method.get_params(deep=False):
        method.set_params(scale=None)
    if isinstance(method, Completer) and len(np.unique(owners)) < len(owners):
        method._column_groups = owners


def checked(method: Any, matrix: np.ndarray, completed: Any) -> np.ndarray:
    """Return what a method gave back as an array of the right shape without holes.

    Parameters
    ----------
    method : estimator
        Who gave it.
    matrix : ndarray of shape (n, m)
        What it was given.
    completed : array-like
        What it gave back.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> checked(PMC(), np.array([[np.nan]]), [[1]])
    array([[1.]])
    """
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
