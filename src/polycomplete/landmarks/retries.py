"""Second chances for rows in the wrong place, judged by models that do not contain them.

A row in the wrong place is part of what was learned, and supports itself. So rows are split into
two folds; each fold's rows are judged by the surface of the other, and the suspicious ones start
again from neighbours on their observed entries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polycomplete.kernels import Array
from polycomplete.landmarks.engine import LandmarkProblem
from polycomplete.rows import Candidates, Holes, RowEnergy, near
from polycomplete.rows.holes import Run
from polycomplete.solvers.stages import stages

__all__: list[str] = []  # for the landmark engine alone

UNTRUSTED = 0.1  # share of a fold that nobody starts from or learns from
SUSPECTS = 0.3  # at most this share of a fold starts again
SUSPICIOUS = 5.0  # times the median energy
GAIN = 0.5  # a new place must at least halve the energy
STARTS = 6
FINEST = 1e-5  # smoothing of the judges: below, only the place that happens to be nearest counts
COARSEST = 0.2


def ladder(smoothing: float) -> list[float]:
    """Return the smoothings that a row walks down to find its place.

    Examples
    --------
    >>> ladder(1e-7)
    [0.2, 0.002, 2e-05, 1e-05]
    """
    last = max(smoothing, FINEST)
    return stages(max(COARSEST, last), last, factor=100.0)


def retry(
    problem: LandmarkProblem, X: Array, smoothing: float, count: int, rng: np.random.Generator
) -> tuple[Array, int]:
    """Start suspicious rows again; return the rows and how many moved.

    Parameters
    ----------
    problem : LandmarkProblem
        The rows' holes, and how to learn from them.
    X : array of shape (n, m)
        Completed rows.
    smoothing : float
        Of the last sweep.
    count : int
        Landmarks of a fold.
    rng : Generator
        Makes the folds.

    Returns
    -------
    X, moved : array of shape (n, m) and int
    """
    half = len(X) // 2
    if half < 2:
        return X, 0
    order = rng.permutation(len(X))
    folds = [np.sort(order[:half]), np.sort(order[half:])]
    gammas = [problem.gamma(s) for s in ladder(smoothing)]
    judges = [_judges(problem, X, fold, gammas[-1:], count, rng) for fold in folds]
    trusted = []
    for fold, judge in zip(folds, judges[::-1], strict=True):
        kept = np.argsort(judge[-1].value(X[fold]), kind="stable")
        trusted.append(np.sort(fold[kept[: max(1, int((1 - UNTRUSTED) * len(fold)))]]))
    judges = [_judges(problem, X, rows, gammas, count, rng) for rows in trusted]
    better, moved = X.copy(), 0
    for fold, pool, judge in zip(folds, trusted[::-1], judges[::-1], strict=True):
        rows, found = _restart(problem, X, fold, X[pool], judge)
        better[rows] = found
        moved += len(rows)
    return better, moved


def _judges(
    problem: LandmarkProblem,
    X: Array,
    rows: np.ndarray,
    gammas: list[float],
    count: int,
    rng: np.random.Generator,
) -> list[RowEnergy]:
    spectrum = problem.spectrum(X[rows], min(count, len(rows)), rng, rows)
    return [spectrum.energy(gamma) for gamma in gammas]


def _restart(
    problem: LandmarkProblem, X: Array, fold: np.ndarray, pool: Array, judges: list[RowEnergy]
) -> tuple[np.ndarray, Array]:
    """Return the rows of a fold that found a better place, and that place."""
    energy = np.maximum(judges[-1].value(X[fold]), 0)
    worst = np.argsort(-energy, kind="stable")[: max(1, int(SUSPECTS * len(fold)))]
    movable = ~problem.mask[fold[worst]].all(axis=1)
    worst = worst[movable & (energy[worst] > SUSPICIOUS * np.median(energy))]
    if not len(worst):
        return fold[:0], X[:0]
    rows = fold[worst]
    tried = try_starts(judges, X[rows], problem.mask[rows], pool, run=problem.engine.run)
    found, lowest = tried.best()
    good = lowest < GAIN * energy[worst]
    return rows[good], found[good]


def try_starts(
    energies: Sequence[RowEnergy],
    X: Array,
    mask: np.ndarray,
    pool: Array,
    k: int = STARTS,
    steps: int = 3,
    even: bool = False,
    run: Run = map,
) -> Candidates:
    """Complete each row from its nearest neighbours, walking down all energies, or the last alone.

    Coarse energies lead a row that starts far away; they may also lead one away that starts close.

    Parameters
    ----------
    energies : sequence of RowEnergy
        The same surface with decreasing smoothing.
    X, mask : arrays of shape (n, m)
        Rows, and what is observed of them.
    pool : array of shape (r, m)
        Complete rows to start from.
    k, steps : int
        Neighbours of a row; steps for each energy of the whole ladder.
    even : bool
        Make the bits of a row independent of its company.
    run : callable
        Maps over blocks.

    Returns
    -------
    Candidates
    """
    k = min(k, len(pool))
    starts = pool[near(X, mask, pool, k)].reshape(len(X) * k, X.shape[1])
    holes = Holes(np.repeat(mask, k, axis=0), even)
    begin = np.where(holes.mask, np.repeat(X, k, axis=0), starts)
    rows, found = [], []
    for part in (energies, energies[-1:]) if len(energies) > 1 else (energies,):
        Y, damping, E = begin, np.full(len(begin), 0.1, dtype=X.dtype), np.empty(0)
        for energy in part:
            Y, E, damping = holes.settle(energy, Y, damping, steps, run)
        if len(part) < len(energies):
            Y, E, damping = holes.settle(part[-1], Y, damping, steps, run)
        rows.append(Y.reshape(len(X), k, -1))
        found.append(E.reshape(len(X), k))
    return Candidates(np.concatenate(rows, axis=1), np.concatenate(found, axis=1))
