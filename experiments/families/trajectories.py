"""Points tracked through a video, some entries lost: complete, then cluster by motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.experiment import Family
from experiments.rows import make
from polycomplete import datasets, masks, metrics
from polycomplete.clustering import SparseSubspaceClustering

__all__ = ["SEQUENCES", "TRAJECTORIES"]

#: The paper's second sequence, "1RT2RTCR", is not in the collection: those with the nearest names.
SEQUENCES = ("1R2RC", "1RT2RTCRT_A", "1RT2RTCRT_B", "1RT2RCR", "1RT2RCRT")
#: Elhamifar and Vidal's algorithm as they published it, and the default of this library.
CLUSTERERS: dict[str, dict[str, Any]] = {
    "published": {"ridge": 0, "balance": False, "tol": 2e-4, "max_iter": 200},
    "default": {},
}


def prepare() -> None:
    """Get the sequences."""
    for name in SEQUENCES:
        datasets.load_hopkins155(name)


def trial(setting: Mapping[str, Any], method: str, seed: int) -> dict[str, float]:
    """Remove entries, complete, cluster in two ways; shares of points in the wrong cluster."""
    found = datasets.load_hopkins155(setting["sequence"], setting["frames"])
    X, motions = found.data, int(found.target.max()) + 1
    mask = masks.uniform(X.shape, 1 - setting["missing"], random_state=seed)
    completed = make(method, seed).fit_transform(masks.apply(X, mask))
    measured = {"rse": metrics.rse(X, completed, mask)}
    for kind, params in CLUSTERERS.items():
        ssc = SparseSubspaceClustering(motions, affine=True, random_state=0, **params)
        measured[kind] = metrics.clustering_error(found.target, ssc.fit(completed).labels_)
    return measured


TRAJECTORIES = Family("trajectories", 1, trial, prepare)
