"""Second chances for rows in the wrong place, judged by models that do not contain them.

A row in the wrong place is part of what was learned, and supports itself. So rows are split into
two halves; each half is judged by what was learned from the other, and its suspicious rows start
again from neighbours on their observed entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polycomplete.rows.energy import RowEnergy
from polycomplete.rows.holes import Holes, Run
from polycomplete.rows.solve import Candidates, near

__all__ = ["retry", "try_starts"]

UNTRUSTED = 0.1  # share of a half, worst first, that nobody starts from or learns from
SUSPECTS = 0.3  # at most this share of a half starts again
SUSPICIOUS = 5.0  # ... if its energy is so many times the median
GAIN = 0.5  # a row moves only if its energy falls at least to this share
STARTS = 6

Learn = Callable[[np.ndarray], Sequence[RowEnergy]]


def retry(
    learn: Learn,
    X: np.ndarray,
    mask: np.ndarray,
    floor: float,
    rng: np.random.Generator,
    run: Run = map,
) -> tuple[np.ndarray, int]:
    """Start suspicious rows again; return the rows and how many moved.

    Parameters
    ----------
    learn : callable
        Takes the indices of some rows of X and returns what they show: row energies with
        decreasing smoothing. A row walks down these and is judged by the last.
    X, mask : ndarrays of shape (n, m)
        The current completion, and True where observed.
    floor : float
        γ of the last energy: differences below it mean nothing.
    rng : Generator
        Draws the halves.
    run : callable
        Maps over blocks: :func:`map`, or that of a pool of threads.

    Returns
    -------
    X : ndarray of shape (n, m)
        The completion with better places for some rows.
    moved : int
        How many.

    Examples
    --------
    >>> from polycomplete import RBF, datasets, masks, rows
    >>> X = datasets.make_polynomial_manifold(100, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> stuck, kernel = X.copy(), RBF().resolve(X, mask)
    >>> stuck[3, ~mask[3]] += 1.0
    >>> def learn(some):
    ...     return [rows.learn(kernel, stuck[some], gamma) for gamma in (1e-3, 1e-6)]
    >>> retry(learn, stuck, mask, 1e-6, np.random.default_rng(0))[1]
    1
    """
    half = len(X) // 2
    if not half:
        return X, 0
    order = rng.permutation(len(X))
    halves = np.sort(order[:half]), np.sort(order[half:])
    judges = [learn(rows)[-1] for rows in halves]
    trusted = [_trusted(X, rows, judge) for rows, judge in zip(halves, judges[::-1], strict=True)]
    better, moved = X.copy(), 0
    for rows, lenders in zip(halves, trusted[::-1], strict=True):
        who, found = _restart(learn(lenders), X, mask, rows, X[lenders], floor, run)
        better[who] = found
        moved += len(who)
    return better, moved


def _trusted(X: np.ndarray, rows: np.ndarray, judge: RowEnergy) -> np.ndarray:
    """Return the better ones of some rows."""
    order = np.argsort(judge.value(X[rows]), kind="stable")
    return np.sort(rows[order[: max(1, int((1 - UNTRUSTED) * len(rows)))]])


def _restart(
    judges: Sequence[RowEnergy],
    X: np.ndarray,
    mask: np.ndarray,
    rows: np.ndarray,
    pool: np.ndarray,
    floor: float,
    run: Run,
) -> tuple[np.ndarray, np.ndarray]:
    """Return those of these rows that found a better place, and that place."""
    energy = np.maximum(judges[-1].value(X[rows]), 0) + floor
    worst = np.argsort(-energy, kind="stable")[: max(1, int(SUSPECTS * len(rows)))]
    movable = ~mask[rows[worst]].all(axis=1)
    worst = worst[movable & (energy[worst] > SUSPICIOUS * np.median(energy))]
    who = rows[worst]
    if not len(who):
        return who, X[who]
    found, lowest = try_starts(judges, X[who], mask[who], pool, run=run).best()
    good = np.maximum(lowest, 0) + floor < GAIN * energy[worst]
    return who[good], found[good]


def try_starts(
    energies: Sequence[RowEnergy],
    X: np.ndarray,
    mask: np.ndarray,
    pool: np.ndarray,
    k: int = STARTS,
    steps: int = 3,
    even: bool = False,
    run: Run = map,
) -> Candidates:
    """Complete each row from its nearest neighbours, walking down all energies, or the last alone.

    Coarse energies lead a row that starts far away; they may also lead one away that starts close.
    :func:`polycomplete.rows.candidates` does this for rows that are landmarks themselves.

    Parameters
    ----------
    energies : sequence of RowEnergy
        The same surface with decreasing smoothing.
    X, mask : ndarrays of shape (n, m)
        Rows, and what is observed of them.
    pool : ndarray of shape (r, m)
        Complete rows to start from.
    k, steps : int
        Neighbours of a row; steps for each energy, twice as many for the last alone.
    even : bool
        Make the bits of a row independent of its company.
    run : callable
        Maps over blocks.

    Returns
    -------
    Candidates

    Examples
    --------
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.rows import learn
    >>> t = np.linspace(0, 1, 20)
    >>> arc = np.c_[t, t**2]
    >>> energies = [learn(RBF(width=2.0), arc, gamma) for gamma in (1e-4, 1e-8)]
    >>> found = try_starts(energies, np.array([[0.5, 0]]), np.array([[True, False]]), arc, k=3)
    >>> found.rows.shape, found.best()[0].round(3)
    ((1, 6, 2), array([[0.5 , 0.25]]))
    """
    k = min(k, len(pool))
    starts = pool[near(X, mask, pool, k)].reshape(len(X) * k, X.shape[1])
    holes = Holes(np.repeat(mask, k, axis=0), even)
    begin = np.where(holes.mask, np.repeat(X, k, axis=0), starts)
    walks = [energies] if len(energies) == 1 else [energies, [energies[-1]] * 2]
    rows, found = [], []
    for walk in walks:
        Y, damping, E = begin, np.full(len(begin), 0.1, dtype=X.dtype), np.empty(0)
        for energy in walk:
            Y, E, damping = holes.settle(energy, Y, damping, steps, run)
        rows.append(Y.reshape(len(X), k, X.shape[1]))
        found.append(E.reshape(len(X), k))
    return Candidates(np.concatenate(rows, axis=1), np.concatenate(found, axis=1))
