"""The kinds of trials: each a dataset and what is measured on it, for any method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.methods import make
from experiments.trials import Family, Setting
from polycomplete import datasets, masks, metrics, theory
from polycomplete.clustering import SparseSubspaceClustering
from polycomplete.kernels import RBF

Array = NDArray[np.float64]


# Points on polynomial manifolds, some of their entries observed: how well are the others found.

#: The paper's m and d.
FEATURES, LATENT = 20, 2


def synthetic(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Draw k manifolds of n points each, observe a share, complete, compare."""
    n, k, rate = setting["n"], setting["k"], setting["rate"]
    draw, hide = np.random.default_rng([seed, n, k]), [seed, n, k, round(100 * rate)]
    X = datasets.make_polynomial_manifold(
        n * k, FEATURES, n_dims=LATENT, n_manifolds=k, random_state=draw
    )
    mask = masks.uniform(X.shape, rate, random_state=np.random.default_rng(hide))
    completed = make(method, seed).fit_transform(masks.apply(X, mask))
    return {"rse": metrics.rse(X, completed, mask)}


# Joint angles of a moving person, some of them lost in every frame: how well are they found.

RECORDINGS = ("01", "06")
#: What the paper's authors set for motion capture: a wider kernel, and s = m/2.
WIDE = {"kernel": RBF(multiple=5.0)}
MOTION_PUBLISHED: dict[str, dict[str, Any]] = {
    "pmc-s-paper": {**WIDE, "s": 31},
    "pmc-w-paper": WIDE,
    "nlmc-paper": WIDE,
}


def recording(name: str) -> Array:
    """Return a recording of subject 56, frames × angles."""
    return np.asarray(datasets.load_cmu_mocap("56", name).data)


def motion(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Remove the same share of every frame, complete, compare by absolute errors."""
    X = recording(setting["trial"])
    kept = X.shape[1] - round(X.shape[1] * setting["missing"])
    mask = masks.per_row(X.shape, kept, random_state=seed)
    completed = make(method, seed, MOTION_PUBLISHED).fit_transform(masks.apply(X, mask))
    return {"rae": metrics.rae(X, completed, mask)}


# Points tracked through a video, some entries lost: complete, then cluster by motion.

#: The paper's second sequence, "1RT2RTCR", is not in the collection: those with the nearest names.
SEQUENCES = ("1R2RC", "1RT2RTCRT_A", "1RT2RTCRT_B", "1RT2RCR", "1RT2RCRT")
#: Elhamifar and Vidal's algorithm as they published it, and the default of this library.
CLUSTERERS: dict[str, dict[str, Any]] = {
    "published": {"ridge": 0, "balance": False, "tol": 2e-4, "max_iter": 200},
    "default": {},
}


def trajectories(setting: Setting, method: str, seed: int) -> dict[str, float]:
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


# Complete data whose ranks are counted: no method completes anything.


def points_in_space(kind: str, seed: int) -> tuple[Array, NDArray[np.int64]]:
    """Return points of one kind in three dimensions and the part each belongs to."""
    if kind == "subspaces":
        points, part = datasets.make_union_of_subspaces(
            1200, 3, n_subspaces=2, dim=2, random_state=seed, return_labels=True
        )
        # On discs, evenly: a cloud that thins out does not look like a plane.
        radius = np.sqrt(np.random.default_rng(seed).random((len(points), 1)))
        return radius * points / np.linalg.norm(points, axis=1, keepdims=True), part
    shape = {
        "manifold": {"n_samples": 1500, "n_dims": 2, "degree": 2},
        "manifolds": {"n_samples": 600, "n_dims": 1, "n_manifolds": 3},
    }[kind]
    return datasets.make_polynomial_manifold(
        n_features=3, random_state=seed, return_labels=True, **shape
    )


def manifolds(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Count the ranks of the whole matrix and of its parts."""
    points, part = points_in_space(setting["kind"], seed)
    ranks = [np.linalg.matrix_rank(points[part == i]) for i in np.unique(part)]
    return {"rank": np.linalg.matrix_rank(points), "part": max(ranks)}


def ranks(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Return the ranks of X and of phi(X); `method` says which polynomials are drawn."""
    rng = np.random.default_rng([seed, *(int(v) for _, v in sorted(setting.items()))])
    d, alpha, m, n, k = (setting[key] for key in ("d", "alpha", "m", "n", "k"))
    if method == "generator":
        X = datasets.make_polynomial_manifold(
            n, m, n_dims=d, degree=alpha, n_manifolds=k, random_state=rng
        )
    else:
        X = np.vstack([_all_monomials(n // k, d, alpha, m, rng) for _ in range(k)])
    phi = theory.polynomial_features(setting["q"])(X / np.abs(X).max(axis=0))
    return {"rank": _rank(X), "rank_phi": _rank(phi)}


def _all_monomials(n: int, d: int, alpha: int, m: int, rng: np.random.Generator) -> Array:
    """Draw points under polynomials with all monomials up to a degree."""
    monomials = theory.polynomial_features(alpha)(rng.uniform(-1, 1, (n, d)))
    return np.asarray(monomials @ rng.standard_normal((monomials.shape[1], m)))


def _rank(A: Array) -> int:
    # Unit columns keep what high powers shrink apart from rounding.
    return int(np.linalg.matrix_rank(A / np.linalg.norm(A, axis=0)))


SYNTHETIC = Family("synthetic", 1, synthetic)
MOTION = Family("motion", 1, motion, lambda: [recording(name) for name in RECORDINGS])
TRAJECTORIES = Family(
    "trajectories", 1, trajectories, lambda: [datasets.load_hopkins155(s) for s in SEQUENCES]
)
MANIFOLDS = Family("manifolds", 1, manifolds)
RANKS = Family("ranks", 1, ranks)
