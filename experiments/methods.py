"""The rows of a comparison: the paper's methods with its settings, and this library's default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycomplete import methods

#: The eight methods of the paper, in its order; "-paper" where the registry has its settings.
PAPER = (
    *("lrmc-paper", "srmc", "ladmc", "vmc-2"),
    *("vmc-3", "nlmc-paper", "pmc-s-paper", "pmc-w-paper"),
)
#: The paper's own two.
PMC = PAPER[-2:]
#: What a user of this library gets without any setting.
OURS = "polycomplete"
ROWS = (*PAPER, OURS)


def label(method: str) -> str:
    """Return how a method is called in figures and tables."""
    known = methods.METHODS.get(method)
    return known.label.removesuffix(" (paper)") if known else method


def make(method: str, seed: int, published: Mapping[str, Any] | None = None) -> Any:
    """Return the estimator of a row, with what the authors set for it in an experiment, if so."""
    name = "pmc-w" if method == OURS else method
    seeded = {"random_state": seed} if "random_state" in methods.get(name).get_params() else {}
    return methods.get(name, **seeded, **(published or {}).get(method, {}))
