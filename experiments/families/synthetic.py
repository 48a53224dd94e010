"""Points on polynomial manifolds, some of their entries observed: how well are the others found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.experiment import Family
from experiments.rows import make
from polycomplete import datasets, masks, metrics

__all__ = ["FEATURES", "LATENT", "SYNTHETIC"]

#: The paper's m and d.
FEATURES, LATENT = 20, 2


def trial(setting: Mapping[str, Any], method: str, seed: int) -> dict[str, float]:
    """Draw k manifolds of n points each, observe a share, complete, compare."""
    n, k, rate = setting["n"], setting["k"], setting["rate"]
    X = datasets.make_polynomial_manifold(
        n * k, FEATURES, n_dims=LATENT, n_manifolds=k, random_state=_rng(seed, n, k)
    )
    mask = masks.uniform(X.shape, rate, random_state=_rng(seed, n, k, round(100 * rate)))
    completed = make(method, seed).fit_transform(masks.apply(X, mask))
    return {"rse": metrics.rse(X, completed, mask)}


def _rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(list(seed))


SYNTHETIC = Family("synthetic", 1, trial)
