"""The rows of a comparison: the paper's methods with its settings, and this library's default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycomplete import methods

__all__ = ["OURS", "PAPER", "PMC", "ROWS", "label", "make"]

#: The eight methods of the paper, in its order. Where the registry has the paper's settings, those.
PAPER = (
    "lrmc-paper",
    "srmc",
    "ladmc",
    "vmc-2",
    "vmc-3",
    "nlmc-paper",
    "pmc-s-paper",
    "pmc-w-paper",
)
#: The paper's own two.
PMC = ("pmc-s-paper", "pmc-w-paper")
#: What a user of this library gets without any setting.
OURS = "polycomplete"
ROWS = (*PAPER, OURS)


def label(method: str) -> str:
    """Return how a method is called in figures and tables.

    Parameters
    ----------
    method : str
        A row: a name of the registry of methods, or "polycomplete".

    Returns
    -------
    str

    Examples
    --------
    >>> label("pmc-w-paper"), label("polycomplete"), label("knn")
    ('PMC-W', 'polycomplete', 'KNN')
    """
    if method == OURS or method not in methods.METHODS:
        return method
    return methods.METHODS[method].label.removesuffix(" (paper)")


def make(method: str, seed: int, published: Mapping[str, Any] | None = None) -> Any:
    """Return the estimator of a row.

    Parameters
    ----------
    method : str
        A row: a name of the registry of methods, or "polycomplete".
    seed : int
        Of the estimator.
    published : mapping, optional
        Parameters that the paper's authors set for this experiment, by method.

    Returns
    -------
    estimator
        Not fitted yet.

    Examples
    --------
    >>> make("polycomplete", 3)
    PMC(random_state=3)
    """
    if method == OURS:
        method = "pmc-w"
    params = dict((published or {}).get(method, {}))
    if methods.METHODS.get(method.lower()) is None or takes_seed(method):
        params["random_state"] = seed
    return methods.get(method, **params)


def takes_seed(method: str) -> bool:
    """Return whether the estimator of a method has a seed."""
    return "random_state" in methods.get(method).get_params()
