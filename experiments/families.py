"""The kinds of trials: each a dataset and what is measured on it, for any method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.methods import make
from experiments.trials import Family, Setting
from polycomplete import datasets, masks, metrics, theory
from polycomplete.clustering import SparseSubspaceClustering
from polycomplete.kernels import RBF, Polynomial
from polycomplete.penalties import Equal, Inverse

Array = NDArray[np.float64]


# Points on polynomial manifolds, some of their entries observed: how well are the others found.

#: The paper's m and d.
FEATURES, LATENT = 20, 2
#: How entries are removed: the same number from every sample, as the paper's authors do, or
#: uniformly from the whole matrix, in the words of the paper.
MASKS = ("per sample", "uniform")


def draw_mask(kind: str, shape: tuple[int, int], rate: float, seed: Any) -> NDArray[np.bool_]:
    """Draw which entries are observed, of the two kinds; no column is left without any."""
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return masks.uniform(shape, rate, random_state=rng)
    kept = shape[1] - math.ceil(round(shape[1] * (1 - rate), 9))
    mask = masks.per_row(shape, kept, random_state=rng)
    while not mask.any(axis=0).all():
        mask = masks.per_row(shape, kept, random_state=rng)
    return mask


def synthetic(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Draw k manifolds of n points each, observe a share, complete, compare."""
    n, k, rate = setting["n"], setting["k"], setting["rate"]
    draw, hide = np.random.default_rng([seed, n, k]), [seed, n, k, round(100 * rate)]
    X = datasets.make_polynomial_manifold(
        n * k, FEATURES, n_dims=LATENT, n_manifolds=k, random_state=draw
    )
    mask = draw_mask(setting["mask"], X.shape, rate, hide)
    completed = make(method, seed).fit_transform(masks.apply(X, mask))
    return {"rse": metrics.rse(X, completed, mask)}


# How much must be observed: the same for other dimensions, degrees and numbers of manifolds.

#: Columns and rows in all.
NARROW, POINTS = 12, 120


def transition(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Observe some entries of every row, complete, compare."""
    d, alpha, k, observed = (setting[key] for key in ("d", "alpha", "k", "observed"))
    X = datasets.make_polynomial_manifold(
        POINTS, NARROW, n_dims=d, degree=alpha, n_manifolds=k,
        random_state=np.random.default_rng([seed, d, alpha, k]),
    )  # fmt: skip
    mask = masks.per_row(X.shape, observed, random_state=seed)
    completed = make(method, seed).fit_transform(masks.apply(X, mask))
    return {"rse": metrics.rse(X, completed, mask)}


# What one setting of the paper's algorithm is worth, the others as printed.

_PMC_W: tuple[str, dict[str, Any]] = ("pmc-w2-paper", {})
#: By parameter and value: the form that is varied, and what is set on it.
VARIED: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "s": {str(s): ("pmc-s-paper", {"s": s}) for s in (0, 2, 4, 8, 12, 20)},
    "weights": {
        "equal (R₁)": ("pmc-w2-paper", {"weights": Equal()}),
        "w₂": _PMC_W,
        **{f"w₁, ε = {e:g}": ("pmc-w-paper", {"weights": Inverse(e)}) for e in (0.1, 1e-2, 1e-3)},
        **{
            f"1/(λᵖ + {e:g}), anew": (
                "pmc-w-paper", {"weights": Inverse(e, power=2, frozen=False)}
            )
            for e in (0.1, 1e-3)
        },
    },
    "width": {
        **{f"{c:g} × RMS distance": ("pmc-w2-paper", {"kernel": RBF(multiple=c)})
           for c in (0.5, 1, 2, 3, 5, 10)},
        "3 × zero-filled distance": ("pmc-w2-paper", {"kernel": RBF(unit="zero-filled")}),
    },
    "kernel": {f"polynomial, degree {a}": ("pmc-w2-paper", {"kernel": Polynomial(a, 1.0)})
               for a in (2, 3)},
    "p": {f"{p:g}": ("pmc-w2-paper", {"p": p}) for p in (1.0, 0.5, 0.1)},
    "γ": {f"{g:g}": ("pmc-w2-paper", {"smoothing": g}) for g in (1e-2, 1e-4, 1e-6, 1e-8)},
    "iterations": {str(t): ("pmc-w2-paper", {"solver__max_iter": t}) for t in (100, 500, 2000)},
    "start": {kind: ("pmc-w2-paper", {"solver__init": kind})
              for kind in ("zero", "mean", "row-column")},
    "first step": {f"{step:g}": ("pmc-w2-paper", {"solver__step": step})
                   for step in (1e-5, 1e-4, 1e-3, 1e-2)},
    "moments": {"corrected": _PMC_W, "not": ("pmc-w2-paper", {"solver__correct_bias": False})},
    "mask": dict.fromkeys(MASKS, _PMC_W),
}  # fmt: skip


def sensitivity(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """Complete one manifold by the paper's algorithm with one setting changed."""
    n, parameter, value = setting["n"], setting["parameter"], setting["value"]
    X = datasets.make_polynomial_manifold(
        n, FEATURES, n_dims=LATENT, random_state=np.random.default_rng([seed, n, 1])
    )
    kind = value if parameter == "mask" else MASKS[0]
    mask = draw_mask(kind, X.shape, setting["rate"], [seed, n, 1, 50])
    form, params = VARIED[parameter][value]
    completer = make(form, seed).set_params(**params)
    return {"rse": metrics.rse(X, completer.fit_transform(masks.apply(X, mask)), mask)}


# Joint angles of a moving person, some of them lost in every frame: how well are they found.

RECORDINGS = ("01", "06")
#: What the paper's authors set for motion capture: a wider kernel, s = m/2, and for the rivals
#: another offset and λ. The paper does not give LADMC's rank.
WIDE = {"kernel": RBF(multiple=5.0, unit="zero-filled")}
MOTION_PUBLISHED: dict[str, dict[str, Any]] = {
    "pmc-s-authors": {**WIDE, "s": 31},
    "pmc-w-authors": WIDE,
    "nlmc-authors": WIDE,
    "vmc-3-authors": {"offset": 1.0},
    "srmc-authors": {"penalty": 1000.0},
    "ladmc-paper": {"rank": 100},
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
#: The products of the coordinates of a rigid motion span at most ten dimensions; here are three.
TRAJECTORIES_PUBLISHED: dict[str, dict[str, Any]] = {"ladmc-paper": {"rank": 30}}
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
    completer = make(method, seed, TRAJECTORIES_PUBLISHED)
    completed = completer.fit_transform(masks.apply(X, mask))
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


SYNTHETIC = Family("synthetic", 2, synthetic)
TRANSITION = Family("transition", 1, transition)
SENSITIVITY = Family("sensitivity", 1, sensitivity)
MOTION = Family("motion", 2, motion, lambda: [recording(name) for name in RECORDINGS])
TRAJECTORIES = Family(
    "trajectories", 2, trajectories, lambda: [datasets.load_hopkins155(s) for s in SEQUENCES]
)
MANIFOLDS = Family("manifolds", 1, manifolds)
RANKS = Family("ranks", 1, ranks)
