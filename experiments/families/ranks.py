"""Random polynomial maps, complete data: do the ranks obey the paper's bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Family
from polycomplete import datasets, theory

__all__ = ["RANKS"]


def trial(setting: Mapping[str, Any], method: str, seed: int) -> dict[str, float]:
    """Return the ranks of X and of phi(X); `method` says which maps are drawn."""
    rng = np.random.default_rng([seed, *(int(v) for _, v in sorted(setting.items()))])
    d, alpha, m, k = (setting[key] for key in ("d", "alpha", "m", "k"))
    if method == "generator":
        X = datasets.make_polynomial_manifold(
            setting["n"], m, n_dims=d, degree=alpha, n_manifolds=k, random_state=rng
        )
    else:
        sizes = np.full(k, setting["n"] // k)
        X = np.vstack([_general(int(size), d, alpha, m, rng) for size in sizes])
    phi = theory.polynomial_features(setting["q"])(X / np.abs(X).max(axis=0))
    return {"rank": _rank(X), "rank_phi": _rank(phi)}


def _general(n: int, d: int, alpha: int, m: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw points under polynomials with all monomials up to a degree."""
    monomials = theory.polynomial_features(alpha)(rng.uniform(-1, 1, (n, d)))
    return np.asarray(monomials @ rng.standard_normal((monomials.shape[1], m)))


def _rank(A: NDArray[np.float64]) -> int:
    # Unit columns keep what high powers shrink apart from rounding.
    return int(np.linalg.matrix_rank(A / np.linalg.norm(A, axis=0)))


RANKS = Family("ranks", 1, trial)
