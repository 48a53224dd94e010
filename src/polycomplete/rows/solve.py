"""Completing rows one by one under frozen row energies: neighbours, steps, several starts.

Every row is worked on by itself: what comes back for it does not depend on which other rows are in
the same call. To keep that true to the last bit, work goes through blocks of one fixed shape,
padded where rows run out (other shapes take other paths through BLAS).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._arrays import Array
from polycomplete._resources import TILE
from polycomplete.rows.energy import RowEnergy
from polycomplete.rows.holes import EVEN_ROWS

BLOCK_BYTES = 32e6  # of the largest array of a step: fits the cache of a few cores


@dataclass(frozen=True)
class Candidates:
    """Several completions of each row and their energies, (n, k, m) and (n, k)."""

    rows: Array
    energy: Array

    def best(self) -> tuple[Array, Array]:
        """Return the completion with the lowest energy of each row, and that energy."""
        xp, n = array_namespace(self.rows), self.rows.shape[0]
        at = xp.arange(n, device=device(self.rows)), xp.argmin(self.energy, axis=1)
        return self.rows[at], self.energy[at]

    def blend(self, typical: float, unit: float) -> tuple[Array, Array]:
        """Return one completion of each row, and whether the row is ambiguous.

        A row whose plausible completions agree keeps the best one. Where they lie more than a few
        per cent of ``unit`` apart the observed entries do not determine the row; then their mean
        has the smallest expected squared error. Plausible is an energy that is not far above the
        row's best, or above ``typical``, the usual energy of a row that is well determined.
        """
        xp = array_namespace(self.rows)
        best, lowest = self.best()
        scale = xp.clip(lowest, max(typical, 1e-300), None)[:, None]
        weight = xp.exp(-(self.energy - lowest[:, None]) / scale)
        weight = (weight / xp.sum(weight, axis=1)[:, None])[:, :, None]
        mean = xp.sum(weight * self.rows, axis=1)
        spread = xp.sum(weight * (self.rows - mean[:, None]) ** 2, axis=(1, 2)) ** 0.5
        ambiguous = spread > 0.05 * unit
        return xp.where(ambiguous[:, None], mean, best), ambiguous


def padded(n: int, size: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the indices of n rows, ``size`` at a time, the last padded with the first ones.

    Parameters
    ----------
    n, size : int
        How many rows, and how many of them at a time.

    Yields
    ------
    at, inside : ndarray of int, shape (size,), and int
        The rows, and how many of them are no padding.

    Examples
    --------
    >>> list(padded(3, 2))
    [(array([0, 1]), 2), (array([2, 0]), 1)]
    """
    for begin in range(0, n, size):
        yield np.arange(begin, begin + size) % n, min(size, n - begin)


def nearest(X: Array, mask: Array, pool: Array, k: int, own: Array | None = None) -> Array:
    """Return the k rows of ``pool`` nearest to each row of X on its observed entries, as indices.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, m)
        Rows, and True where observed.
    pool : ndarray of shape (r, m)
        Complete rows.
    k : int
        How many neighbours.
    own : ndarray of int, optional
        Where a row itself stands in the pool, not to be its own neighbour; -1 for nowhere.

    Returns
    -------
    ndarray of int, shape (n, k)

    Examples
    --------
    >>> pool = np.array([[0.0, 9.0], [5.0, 9.0], [1.0, 9.0]])
    >>> nearest(np.array([[0.9, 0.0]]), np.array([[True, False]]), pool, k=2)
    array([[2, 0]])
    """
    xp = array_namespace(X)
    seen = xp.astype(mask, X.dtype)
    known = xp.where(mask, X, 0)
    distance = xp.sum(known**2, axis=1)[:, None] - 2 * known @ pool.T + seen @ (pool**2).T
    if own is not None:
        inside = xp.nonzero(own >= 0)[0]
        distance[inside, own[inside]] = xp.inf
    if k == 1:
        return xp.argmin(distance, axis=1)[:, None]
    return xp.argsort(distance, axis=1, stable=True)[:, :k]


def near(X: Array, mask: Array, pool: Array, k: int, size: int = EVEN_ROWS) -> Array:
    """Return what :func:`nearest` does, through blocks of one shape and so in bounded memory.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, m)
        Rows, and True where observed.
    pool : ndarray of shape (r, m)
        Complete rows.
    k : int
        How many neighbours.
    size : int
        Rows at a time.

    Returns
    -------
    array of int, shape (n, k)

    Examples
    --------
    >>> pool = np.array([[0.0, 9.0], [5.0, 9.0], [1.0, 9.0]])
    >>> near(np.array([[0.9, 0.0]]), np.array([[True, False]]), pool, k=2)
    array([[2, 0]])
    """
    xp, n = array_namespace(X), X.shape[0]
    found = xp.empty((n, k), dtype=xp.int64, device=device(X))
    for indices, inside in padded(n, size):
        at = xp.asarray(indices, device=device(X))
        some = nearest(xp.take(X, at, axis=0), xp.take(mask, at, axis=0), pool, k)
        found[at[:inside], :] = some[:inside, :]
    return found


def evenly(energy: RowEnergy, X: np.ndarray) -> np.ndarray:
    """Return the energy of each row, to the last bit the same in any company.

    Parameters
    ----------
    energy : RowEnergy
        The surface.
    X : ndarray of shape (n, m)
        Complete rows.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.rows import learn
    >>> t = np.linspace(0, 1, 20)
    >>> energy = learn(RBF(width=2.0), np.c_[t, t**2], gamma=1e-8)
    >>> on, off = evenly(energy, np.array([[0.5, 0.25], [0.5, 0.9]]))
    >>> bool(on < 1e-6 < 1e-3 < off)
    True
    """
    E = np.empty(len(X), dtype=X.dtype)
    for at, inside in padded(len(X), EVEN_ROWS):
        E[at[:inside]] = energy.value(X[at])[:inside]
    return E


def settle(
    energy: RowEnergy,
    X: np.ndarray,
    mask: np.ndarray,
    damping: np.ndarray,
    who: np.ndarray | None = None,
    steps: int = 4,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take Levenberg–Marquardt steps on the missing entries of each row by itself.

    A step is taken where the energy does not rise; the damping of a row falls after a success and
    rises after a failure.

    Parameters
    ----------
    energy : RowEnergy
        The surface.
    X, mask : ndarrays of shape (n, m)
        Rows, complete, and True where an entry was observed and stays.
    damping : ndarray of shape (n,)
        In units of the kernel's metric.
    who : ndarray of int, optional
        The landmark each row takes the place of.
    steps : int
        How many.

    Returns
    -------
    X, E, damping : ndarrays
        Rows, energies and dampings after the steps.

    Examples
    --------
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.rows import learn
    >>> t = np.linspace(0, 1, 20)
    >>> energy = learn(RBF(width=2.0), np.c_[t, t**2], gamma=1e-8)
    >>> X, E, _ = settle(energy, np.array([[0.5, 0.9]]), np.array([[True, False]]), np.array([0.1]))
    >>> X.round(3)
    array([[0.5 , 0.25]])
    """
    for _ in range(steps):
        here = energy.expand(X, who)
        trial = X + here.step(mask, damping)
        E_trial = energy.value(trial, who)
        good = np.asarray(
            E_trial <= here.energy
        )  # False for NaN, so that a wild step is never taken
        X = np.where(good[:, None], trial, X)
        E = np.asarray(np.where(good, E_trial, here.energy))
        damping = np.where(good, np.maximum(damping * 0.2, 1e-9), np.minimum(damping * 10, 1e3))
    return X, E, damping


def candidates(
    energies: Sequence[RowEnergy],
    X: np.ndarray,
    mask: np.ndarray,
    pool: np.ndarray,
    *,
    who: np.ndarray | None = None,
    lender: np.ndarray | None = None,
    k: int = 6,
    steps: int = 4,
) -> Candidates:
    """Complete each row from the entries of its k nearest neighbours in ``pool``.

    Parameters
    ----------
    energies : sequence of RowEnergy
        The same surface with decreasing smoothing; each takes ``steps`` steps.
    X, mask : ndarrays of shape (n, m)
        Rows and what is observed of them.
    pool : ndarray of shape (r, m)
        Complete rows to start from.
    who : ndarray of int, optional
        The landmark each row takes the place of.
    lender : ndarray of int, optional
        Where each row itself stands in the pool (-1: nowhere), so that it does not start from
        itself.
    k, steps : int
        Starts per row, steps per model.

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
    >>> found = candidates(energies, np.array([[0.5, 0]]), np.array([[True, False]]), arc, k=3)
    >>> found.rows.shape, found.best()[0].round(3)
    ((1, 3, 2), array([[0.5 , 0.25]]))
    """
    k = max(1, min(k, len(pool) - (lender is not None)))
    block = _block_rows(energies, X.shape[1], k)
    rows = np.empty((len(X), k, X.shape[1]), dtype=X.dtype)
    energy = np.empty((len(X), k), dtype=X.dtype)
    for at, inside in padded(len(X), block):
        own = None if lender is None else lender[at]
        starts = pool[nearest(X[at], mask[at], pool, k, own)]
        seen = np.repeat(mask[at], k, axis=0)
        Y = np.where(seen, np.repeat(X[at], k, axis=0), starts.reshape(block * k, -1))
        owner = None if who is None else np.repeat(who[at], k)
        damping = np.full(len(Y), 0.1, dtype=X.dtype)
        for model in energies:
            Y, E, damping = settle(model, Y, seen, damping, owner, steps)
        rows[at[:inside]] = Y.reshape(block, k, -1)[:inside]
        energy[at[:inside]] = E.reshape(block, k)[:inside]
    return Candidates(rows, energy)


def _block_rows(energies: Sequence[RowEnergy], m: int, k: int) -> int:
    """Return how many rows go together: a function of the model alone, never of the input."""
    largest = max(max(e.factor.shape[1], len(e.landmarks)) for e in energies)
    return even_block(8 * k * m * largest, BLOCK_BYTES)


def even_block(row_bytes: float, budget: float) -> int:
    """Return how many rows of so many bytes go together: whole tiles, or one by one."""
    return min(2, int(budget / (TILE * row_bytes))) * TILE or 1
