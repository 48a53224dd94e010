"""Any completer or imputer as the part that completes the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from polycomplete.methods import PMC

__all__ = ["checked", "prepared"]


def prepared(method: Any, seed: int | None, verbose: int) -> Any:
    """Return a copy of a method that leaves scaling alone and follows our seed.

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
    PMC(random_state=3, scale=None)
    """
    method = PMC() if method is None else clone(method)
    params = method.get_params(deep=False)
    if "scale" in params:
        method.set_params(scale=None)
    if seed is not None and params.get("random_state", seed) is None:
        method.set_params(random_state=seed)
    if verbose and "verbose" in params:
        method.set_params(verbose=verbose)
    return method


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
