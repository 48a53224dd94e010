"""Second chances for rows in the wrong place, judged by models that do not contain them.

A row in the wrong place is part of what was learned, and supports itself. So rows are split into
two halves; each half is judged by what was learned from the other, and its suspicious rows start
again from neighbours on their observed entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._arrays import Array, median
from polycomplete.rows.energy import RowEnergy
from polycomplete.rows.holes import PLAIN, Holes, Packing, Run
from polycomplete.rows.solve import Candidates, near

UNTRUSTED = 0.1  # share of a half, worst first, that nobody starts from or learns from
SUSPECTS = 0.3  # at most this share of a half starts again
SUSPICIOUS = 5.0  # ... if its energy is so many times the median
GAIN = 0.5  # a row moves only if its energy falls at least to this share
STARTS = 6

Learn = Callable[[Array], Sequence[RowEnergy]]


def retry(
    learn: Learn,
    X: Array,
    mask: Array,
    floor: float,
    rng: np.random.Generator,
    packing: Packing = PLAIN,
    run: Run = map,
) -> tuple[Array, int]:
    """Start suspicious rows again; return the rows and how many moved.

    Parameters
    ----------
    learn : callable
        Takes the indices of some rows of X and returns what they show: row energies with
        decreasing smoothing. A row walks down these and is judged by the last.
    X, mask : arrays of shape (n, m)
        The current completion, and True where observed.
    floor : float
        γ of the last energy: differences below it mean nothing.
    rng : Generator
        Draws the halves.
    packing : Packing
        How rows are put into blocks.
    run : callable
        Maps over blocks: :func:`map`, or that of a pool of threads.

    Returns
    -------
    X : array of shape (n, m)
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
    xp, n = array_namespace(X), X.shape[0]
    half = n // 2
    if not half:
        return X, 0
    order = rng.permutation(n)
    halves = [xp.asarray(np.sort(part), device=device(X)) for part in (order[:half], order[half:])]
    judges = [learn(rows)[-1] for rows in halves]
    trusted = [_trusted(X, rows, judge) for rows, judge in zip(halves, judges[::-1], strict=True)]
    better, moved = xp.asarray(X, copy=True), 0
    for rows, lenders in zip(halves, trusted[::-1], strict=True):
        pool = xp.take(X, lenders, axis=0)
        who, found = _restart(learn(lenders), X, mask, rows, pool, floor, packing, run)
        better[who, :] = found
        moved += who.shape[0]
    return better, moved


def _trusted(X: Array, rows: Array, judge: RowEnergy) -> Array:
    """Return the better ones of some rows."""
    xp = array_namespace(X)
    order = xp.argsort(judge.value(xp.take(X, rows, axis=0)), stable=True)
    return xp.sort(xp.take(rows, order[: max(1, int((1 - UNTRUSTED) * rows.shape[0]))]))


def _restart(
    judges: Sequence[RowEnergy],
    X: Array,
    mask: Array,
    rows: Array,
    pool: Array,
    floor: float,
    packing: Packing,
    run: Run,
) -> tuple[Array, Array]:
    """Return those of these rows that found a better place, and that place."""
    xp = array_namespace(X)
    energy = xp.clip(judges[-1].value(xp.take(X, rows, axis=0)), 0.0, None) + floor
    worst = xp.argsort(-energy, stable=True)[: max(1, int(SUSPECTS * rows.shape[0]))]
    movable = ~xp.all(xp.take(mask, xp.take(rows, worst), axis=0), axis=1)
    worst = worst[movable & (xp.take(energy, worst) > SUSPICIOUS * median(energy))]
    who = xp.take(rows, worst)
    if not who.shape[0]:
        return who, xp.take(X, who, axis=0)
    some, seen = xp.take(X, who, axis=0), xp.take(mask, who, axis=0)
    found, lowest = try_starts(judges, some, seen, pool, packing=packing, run=run).best()
    good = xp.clip(lowest, 0.0, None) + floor < GAIN * xp.take(energy, worst)
    return who[good], found[good]


def try_starts(
    energies: Sequence[RowEnergy],
    X: Array,
    mask: Array,
    pool: Array,
    k: int = STARTS,
    steps: int = 3,
    packing: Packing = PLAIN,
    run: Run = map,
) -> Candidates:
    """Complete each row from its nearest neighbours, walking down all energies, or the last alone.

    Coarse energies lead a row that starts far away; they may also lead one away that starts close.
    :func:`polycomplete.rows.candidates` does this for rows that are landmarks themselves.

    Parameters
    ----------
    energies : sequence of RowEnergy
        The same surface with decreasing smoothing.
    X, mask : arrays of shape (n, m)
        Rows, and what is observed of them.
    pool : array of shape (r, m)
        Complete rows to start from.
    k, steps : int
        Neighbours of a row; steps for each energy, twice as many for the last alone.
    packing : Packing
        How rows are put into blocks; an even one makes the bits of a row independent of its
        company.
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
    xp, (n, m) = array_namespace(X), X.shape
    k = min(k, pool.shape[0])
    together = packing.rows(m) if packing.even else max(1, min(n, packing.rows(m)))
    starts = xp.take(pool, xp.reshape(near(X, mask, pool, k, together), (-1,)), axis=0)
    holes = Holes(xp.repeat(mask, k, axis=0), packing)
    begin = xp.where(holes.mask, xp.repeat(X, k, axis=0), starts)
    walks = [energies] if len(energies) == 1 else [energies, [energies[-1]] * 2]
    rows, found = [], []
    for walk in walks:
        Y, E, damping = begin, begin[:, 0], begin[:, 0] * 0 + 0.1
        for energy in walk:
            Y, E, damping = holes.settle(energy, Y, damping, steps, run)
        rows.append(xp.reshape(Y, (n, k, m)))
        found.append(xp.reshape(E, (n, k)))
    return Candidates(xp.concat(rows, axis=1), xp.concat(found, axis=1))
