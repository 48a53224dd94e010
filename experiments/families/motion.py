"""Joint angles of a moving person, some of them lost in every frame: how well are they found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.experiment import Family
from experiments.rows import make
from polycomplete import datasets, masks, metrics
from polycomplete.kernels import RBF
from polycomplete.penalties import Schatten, Skip

__all__ = ["MOTION", "TRIALS"]

SUBJECT, TRIALS = "56", ("01", "06")
#: What the paper's authors set for motion capture: a wider kernel, and s = m/2.
WIDE = {"kernel": RBF(multiple=5.0)}
PUBLISHED: dict[str, dict[str, Any]] = {
    "pmc-s-paper": {**WIDE, "penalty": Schatten(0.5, Skip(31))},
    "pmc-w-paper": WIDE,
    "nlmc-paper": WIDE,
}


def prepare() -> None:
    """Get the recordings."""
    for trial in TRIALS:
        datasets.load_cmu_mocap(SUBJECT, trial)


def trial(setting: Mapping[str, Any], method: str, seed: int) -> dict[str, float]:
    """Remove the same share of every frame, complete, compare by absolute errors."""
    X = datasets.load_cmu_mocap(SUBJECT, setting["trial"]).data
    kept = X.shape[1] - round(X.shape[1] * setting["missing"])
    mask = masks.per_row(X.shape, kept, random_state=seed)
    completed = make(method, seed, PUBLISHED).fit_transform(masks.apply(X, mask))
    return {"rae": metrics.rae(X, completed, mask)}


MOTION = Family("motion", 1, trial, prepare)
