"""The rows of a comparison: every method of the paper as published, and as this library has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import experiments.published  # noqa: F401  (adds rivals' published algorithms to the registry)
from polycomplete import methods

#: What a user of this library gets without any setting: PMC-W.
OURS = "polycomplete"
#: The eight methods of the paper, in its order; the last two are its own. As published is what the
#: authors of the PMC paper ran, and as printed where nothing else is known of it.
FORMS: Mapping[str, tuple[str, ...]] = {
    "published": (
        *("lrmc-authors", "srmc-authors", "ladmc-paper", "vmc-2-paper", "vmc-3-authors"),
        *("nlmc-authors", "pmc-s-authors", "pmc-w-authors"),
    ),
    "recommended": ("lrmc", "srmc", "ladmc", "vmc-2", "vmc-3", "nlmc", "pmc-s", OURS),
}
PUBLISHED, RECOMMENDED = FORMS["published"], FORMS["recommended"]
#: The words of the paper alone, where its authors ran something else.
PRINTED = (
    *("lrmc-paper", "srmc-paper", "vmc-3-paper", "nlmc-paper", "pmc-s-paper"),
    *("pmc-w-paper", "pmc-w2-paper"),
)
#: PMC with a polynomial kernel, which the paper offers and does not show.
POLYNOMIAL = ("pmc-poly-paper", "pmc-poly")
ROWS = (*PUBLISHED, POLYNOMIAL[0], *RECOMMENDED, POLYNOMIAL[1])


def base(method: str) -> str:
    """Return the method of a form: "pmc-w" of "pmc-w-authors"."""
    return "pmc-w" if method == OURS else method.removesuffix("-paper").removesuffix("-authors")


def short(method: str) -> str:
    """Return how a method is called where its form is known."""
    known = methods.METHODS.get(base(method))
    return known.label if known else label(method)


def label(method: str) -> str:
    """Return how a method is called in tables."""
    if method == OURS:
        return "PMC-W, the default"
    known = methods.METHODS.get(method)
    return known.label if known else method


def make(method: str, seed: int, published: Mapping[str, Any] | None = None) -> Any:
    """Return the estimator of a row, with what the authors set for it in an experiment, if so."""
    name = "pmc-w" if method == OURS else method
    seeded = {"random_state": seed} if "random_state" in methods.get(name).get_params() else {}
    return methods.get(name, **seeded, **(published or {}).get(method, {}))
