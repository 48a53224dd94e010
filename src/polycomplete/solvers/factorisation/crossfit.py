"""Second chances for rows under a dictionary, judged by the other half of the rows.

A row that settled in the wrong place may be among the atoms, or have pulled them to itself; such
atoms support its mistake. So atoms are selected in each half of the rows and judge the other half.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polycomplete.kernels import Kernel
from polycomplete.rows import Candidates, Holes, RowEnergy, learn, nearest, pivots

__all__ = ["retry_rows", "try_starts"]

SUSPECTS = 0.25  # share of rows, worst first, that may be tried again
SUSPICIOUS = 4.0  # ... if their energy is so many times the median
UNTRUSTED = 0.2  # share of rows, worst first, that lend no start
GAIN = 0.5  # a row moves only if its energy falls at least to this share


def retry_rows(
    kernel: Kernel,
    X: np.ndarray,
    mask: np.ndarray,
    betas: Sequence[float],
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Start the worst rows again from their neighbours; return the rows and how many moved.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X, mask : ndarrays of shape (n, m)
        The current completion, and True where observed.
    betas : sequence of float
        Decreasing weights of the codes, in the units of the kernel: a row walks down these models
        and is judged by the last.
    count : int
        How many atoms at most are selected in each half.
    rng : Generator
        Draws the halves.

    Returns
    -------
    X : ndarray of shape (n, m)
        The completion with better starts for some rows.
    moved : int
        How many.

    Examples
    --------
    >>> from polycomplete import RBF, datasets, masks
    >>> X = datasets.make_polynomial_manifold(100, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> stuck = X.copy()
    >>> stuck[3, ~mask[3]] += 1.0
    >>> kernel, rng = RBF().resolve(X, mask), np.random.default_rng(0)
    >>> retry_rows(kernel, stuck, mask, [1e-3, 1e-6], 40, rng)[1]
    1
    """
    half = len(X) // 2
    if not half:
        return X, 0
    order, gamma = rng.permutation(len(X)), betas[-1]
    folds = order[:half], order[half:]
    models = [_models(kernel, X[fold], betas, count) for fold in folds]
    energies = [
        np.maximum(judges[-1].value(X[fold]), 0)
        for judges, fold in zip(models[::-1], folds, strict=True)
    ]
    better, moved = X.copy(), 0
    for own, other, judges in ((0, 1, models[1]), (1, 0, models[0])):
        movable = np.any(~mask[folds[own]], axis=1)
        suspects = _suspects(energies[own] + gamma, movable)
        worst = folds[own][suspects]
        kept = np.argsort(-energies[other], kind="stable")[int(UNTRUSTED * len(folds[other])) :]
        pool = X[folds[other][np.sort(kept)]]
        found, energy = try_starts(judges, X[worst], mask[worst], pool).best()
        good = energy + gamma < GAIN * (energies[own][suspects] + gamma)
        better[worst[good]] = found[good]
        moved += int(good.sum())
    return better, moved


def _models(kernel: Kernel, X: np.ndarray, betas: Sequence[float], count: int) -> list[RowEnergy]:
    atoms = X[pivots(kernel, X, count)]
    return [learn(kernel, atoms, beta, in_place=False) for beta in betas]


def _suspects(energy: np.ndarray, movable: np.ndarray) -> np.ndarray:
    """Return the places of the worst rows, worst first."""
    worst = np.argsort(-energy, kind="stable")[: max(1, int(SUSPECTS * len(energy)))]
    return worst[movable[worst] & (energy[worst] > SUSPICIOUS * np.median(energy))]


def try_starts(
    energies: Sequence[RowEnergy],
    X: np.ndarray,
    mask: np.ndarray,
    pool: np.ndarray,
    k: int = 4,
    steps: int = 3,
) -> Candidates:
    """Complete each row from the entries of its k nearest neighbours in ``pool``.

    The same as :func:`polycomplete.rows.candidates`, but quicker: it works on the holes alone and
    pads nothing, so that the last bits of a row depend on the rows that come with it.

    Parameters
    ----------
    energies : sequence of RowEnergy
        The same surface with decreasing smoothing; each takes ``steps`` steps.
    X, mask : ndarrays of shape (n, m)
        Rows and what is observed of them.
    pool : ndarray of shape (r, m)
        Complete rows to start from.
    k, steps : int
        Starts per row, steps per model.

    Returns
    -------
    Candidates

    Examples
    --------
    >>> from polycomplete.kernels import RBF
    >>> t = np.linspace(0, 1, 20)
    >>> arc = np.c_[t, t**2]
    >>> energies = [learn(RBF(width=2.0), arc, gamma) for gamma in (1e-4, 1e-8)]
    >>> found = try_starts(energies, np.array([[0.5, 0]]), np.array([[True, False]]), arc, k=3)
    >>> found.rows.shape, found.best()[0].round(3)
    ((1, 3, 2), array([[0.5 , 0.25]]))
    """
    k = min(k, len(pool))
    starts = pool[nearest(X, mask, pool, k)].reshape(len(X) * k, X.shape[1])
    holes = Holes(np.repeat(mask, k, axis=0))
    rows = np.where(holes.mask, np.repeat(X, k, axis=0), starts)
    damping, E = np.full(len(rows), 0.1), np.empty(len(rows))
    for energy in energies:
        rows, E, damping = holes.settle(energy, rows, damping, steps)
    return Candidates(rows.reshape(len(X), k, X.shape[1]), E.reshape(len(X), k))
