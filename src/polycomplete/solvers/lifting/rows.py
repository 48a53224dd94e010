"""Completing one row, given the space in which its lift is to lie.

The misfit of a row is a polynomial of degree four in its missing entries and may have several
minima, so that rows are completed from several starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete._machine import TILE
from polycomplete.solvers.lifting.products import Lifter, misfit

#: Bytes of the largest array of rows that are worked on together.
BLOCK_BYTES = 256e6
#: How much the linear starts doubt the observed products, from hardly to much.
DOUBT = (1e-8, 1e-4, 1e-2)
#: Starts from other rows, for rows that the linear starts do not settle.
NEIGHBOURS = 16
#: Misfits of typical rows below this are not told apart.
NOTHING = 1e-12
#: A direction with less curvature than this (4 without any space) is soft.
SOFT = 4e-3


def curvature(
    Y: np.ndarray, B: np.ndarray, seen: np.ndarray, damping: float | np.ndarray
) -> np.ndarray:
    """Return the Gauss–Newton matrix of the missing entries; a one for each observed entry.

    Parameters
    ----------
    Y, B : ndarrays of shape (n, M) and (n, R, M)
        Rows and what :func:`misfit` gave for them.
    seen : ndarray of bool, shape (n, M)
        True where observed.
    damping : float or ndarray of shape (n,)
        Relative to the curvature of a row of which the space explains nothing.

    Returns
    -------
    ndarray of shape (n, M, M)

    Examples
    --------
    >>> line = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> Y, seen = np.array([[1.0, 1.0]]), np.array([[True, False]])
    >>> curvature(Y, misfit(line, Y)[2], seen, 0.0)[0]
    array([[1., 0.],
           [0., 4.]])
    """
    q = np.maximum(np.sum(Y**2, axis=1), 1e-6)  # nothing is curved around a row of zeros
    y, B = np.where(seen, 0, Y), np.where(seen[:, None], 0, B)
    H = 4 * y[:, :, None] * y[:, None] - 8 * (B.transpose(0, 2, 1) @ B)
    at = np.arange(Y.shape[1])
    H[:, at, at] += np.where(seen, 1.0, (4 * q * (1 + damping))[:, None])
    return np.asarray(H)


def settle(
    basis: np.ndarray, Y: np.ndarray, seen: np.ndarray, steps: int = 15
) -> tuple[np.ndarray, np.ndarray]:
    """Take Levenberg–Marquardt steps on the missing entries of each row by itself.

    Parameters
    ----------
    basis : ndarray of shape (R, M, M)
        The space of the lifts.
    Y, seen : ndarrays of shape (n, M)
        Complete rows, and True where an entry was observed and stays.
    steps : int
        How many.

    Returns
    -------
    Y, E : ndarrays of shape (n, M) and (n,)
        Rows and misfits after the steps; no misfit has risen.

    Examples
    --------
    >>> line = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> settle(line, np.array([[1.0, 0.3]]), np.array([[True, False]]))[0].round(6)
    array([[1., 1.]])
    """
    E, gradient, B = misfit(basis, Y)
    damping = np.full(len(Y), 0.1)
    for _ in range(steps):
        H, g = curvature(Y, B, seen, damping), np.where(seen, 0, gradient)
        tried = Y - np.where(seen, 0, np.linalg.solve(H, g[:, :, None])[:, :, 0])
        found = misfit(basis, tried)
        good = found[0] <= E  # False for NaN, so that a wild step is never taken
        Y, E = np.where(good[:, None], tried, Y), np.where(good, found[0], E)
        gradient = np.where(good[:, None], found[1], gradient)
        B = np.where(good[:, None, None], found[2], B)
        damping = np.where(good, np.maximum(damping * 0.2, 1e-9), np.minimum(damping * 10, 1e3))
    return Y, E


def linear_starts(
    basis: np.ndarray, shares: np.ndarray, Y: np.ndarray, seen: np.ndarray
) -> np.ndarray:
    """Return completions that need no start of their own, one for each degree of doubt.

    In the lift the problem is linear: the coefficients are a ridge regression of the products that
    are observed. The lifted row is then a symmetric matrix; its observed entries are put back, and
    its leading eigenvector is the row up to the sign, which the largest observed entry decides.

    Parameters
    ----------
    basis, shares : ndarrays of shape (R, M, M) and (R,)
        The space of the lifts, and how much of the lifts lies along each of its directions.
    Y, seen : ndarrays of shape (n, M)
        Rows with zeros where nothing was observed.

    Returns
    -------
    ndarray of shape (n, degrees, M)

    Examples
    --------
    >>> line = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> Y, seen = np.array([[-1.0, 0.0]]), np.array([[True, False]])
    >>> linear_starts(line, np.ones(1), Y, seen)[0, 0].round(2)
    array([-1., -1.])
    """
    n, M = Y.shape
    both = (seen[:, :, None] & seen[:, None]).reshape(n, M * M)
    products = (Y[:, :, None] * Y[:, None]).reshape(n, M * M)
    flat = basis.reshape(len(basis), M * M)
    normal = np.where(both[:, None], flat, 0) @ flat.T
    aim = products[:, None] @ flat.T
    ridge = np.diag(np.max(shares) / np.maximum(shares, 1e-12 * np.max(shares)))
    at = np.arange(n), np.argmax(np.abs(Y), axis=1)
    found = np.empty((n, len(DOUBT), M))
    for i, doubt in enumerate(DOUBT):
        z = np.linalg.solve(normal + doubt * ridge, aim.transpose(0, 2, 1))
        lifted = np.where(both, products, (z.transpose(0, 2, 1) @ flat)[:, 0])
        values, vectors = np.linalg.eigh(lifted.reshape(n, M, M))
        lead = vectors[:, :, -1] * np.sqrt(np.maximum(values[:, -1:], 0))
        sign = np.where(lead[at] * Y[at] < 0, -1.0, 1.0)
        found[:, i] = np.where(seen, Y, lead * sign[:, None])
    return found


def _neighbours(pool: np.ndarray, Y: np.ndarray, seen: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return completions by multiples of those rows of the pool that come nearest.

    ``own`` tells where a row itself stands in the pool (-1: nowhere).
    """
    along, square = Y @ pool.T, seen @ (pool**2).T
    explained = along**2 / np.maximum(square, 1e-12)
    inside = np.flatnonzero(own >= 0)
    explained[inside, own[inside]] = -1.0
    near = np.argsort(-explained, axis=1, kind="stable")[:, :NEIGHBOURS]
    factor = np.take_along_axis(along / np.maximum(square, 1e-12), near, axis=1)
    return np.where(seen[:, None], Y[:, None], factor[:, :, None] * pool[near])


@dataclass(frozen=True)
class Candidates:
    """Several completions of each row and their energies, (n, k, m) and (n, k)."""

    rows: np.ndarray
    energy: np.ndarray

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the completion with the lowest energy of each row, and that energy."""
        n = len(self.rows)
        at = np.arange(n), np.argmin(self.energy, axis=1)
        return self.rows[at], self.energy[at]

    def blend(self, typical: float, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """Return one completion of each row, and whether the row is ambiguous.

        A row whose plausible completions agree keeps the best one. Where they lie more than a few
        per cent of ``unit`` apart the observed entries do not determine the row; then their mean
        has the smallest expected squared error. Plausible is an energy that is not far above the
        row's best, or above ``typical``, the usual energy of a row that is well determined.
        """
        best, lowest = self.best()
        scale = np.clip(lowest, max(typical, 1e-300), None)[:, None]
        weight = np.exp(-(self.energy - lowest[:, None]) / scale)
        weight = (weight / np.sum(weight, axis=1)[:, None])[:, :, None]
        mean = np.sum(weight * self.rows, axis=1)
        spread = np.sum(weight * (self.rows - mean[:, None]) ** 2, axis=(1, 2)) ** 0.5
        ambiguous = spread > 0.05 * unit
        return np.where(ambiguous[:, None], mean, best), ambiguous


def even_block(row_bytes: float, budget: float) -> int:
    """Return how many rows of so many bytes go together: whole tiles, or one by one."""
    return min(2, int(budget / (TILE * row_bytes))) * TILE or 1


@dataclass(frozen=True)
class LiftedModel:
    """The space in which the lifts of rows lie: what completes further rows.

    Attributes
    ----------
    lifter : Lifter
        How rows are brought to the form that is lifted.
    basis : ndarray of shape (R, M, M)
        The space, M being the number of columns and of the constant.
    shares : ndarray of shape (R,)
        How much of the training rows' lifts lies along each direction.
    pool : ndarray of shape (n, M)
        The training rows, in the form that is lifted.
    typical : float
        The median misfit of a training row.

    Examples
    --------
    >>> basis, pool = np.array([[[0.5, 0.5], [0.5, 0.5]]]), np.array([[1.0, 1.0]])
    >>> line = LiftedModel(Lifter(1.0, 0.0), basis, np.ones(1), pool, typical=0.0)
    >>> line.complete(np.array([[-2.0, 0.0]]), np.array([[True, False]]))[0].round(6)
    array([[-2., -2.]])
    """

    lifter: Lifter
    basis: np.ndarray
    shares: np.ndarray
    pool: np.ndarray
    typical: float

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are not determined."""
        Y, seen, length = self.lifter.prepare(X, mask)
        rows = np.flatnonzero(~mask.all(axis=1))
        loose = np.zeros(len(X), dtype=bool)
        Y[rows], loose[rows] = self.decide(Y[rows], seen[rows])
        return self.lifter.restore(Y, length, X, mask), loose

    def decide(
        self,
        Y: np.ndarray,
        seen: np.ndarray,
        first: np.ndarray | None = None,
        own: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Complete prepared rows; return them and which are not determined.

        A row is not determined where its plausible completions differ (it gets their mean), or
        where it may move by a quarter of its length at hardly any cost.
        """
        found = self.candidates(Y, seen, first, own)
        typical = max(self.typical, NOTHING)
        # Of two that fit alike the shorter one is the likelier, though both are possible.
        long = typical * np.sum(found.rows**2, axis=2)
        rows, _ = Candidates(found.rows, found.energy + 2 * long).blend(typical, 1.0)
        found = Candidates(found.rows, found.energy + long / 25)
        several, best = found.blend(typical, 1.0)[1], found.best()[0]
        softest = np.empty(len(Y))
        for part in self._blocks(len(Y)):
            H = curvature(best[part], misfit(self.basis, best[part])[2], seen[part], 0.0)
            softest[part] = np.linalg.eigvalsh(H)[:, 0]
        soft = (softest < SOFT) & (softest / 2 * 0.25**2 < typical)
        return np.where(seen, Y, rows), several | soft

    def candidates(
        self,
        Y: np.ndarray,
        seen: np.ndarray,
        first: np.ndarray | None = None,
        own: np.ndarray | None = None,
        steps: int = 15,
    ) -> Candidates:
        """Complete prepared rows, zero where missing, from several starts.

        The starts are ``first`` (or the zeros), the linear ones and, where those may fail, the
        nearest training rows; ``own`` tells which of these a row itself is (-1: none).
        """
        n, k = len(Y), 1 + len(DOUBT)
        first = Y if first is None else first
        own = np.full(n, -1) if own is None else own
        extra = min(NEIGHBOURS, len(self.pool))
        rows = np.repeat(Y[:, None], k + extra, axis=1)
        E = np.full((n, k + extra), np.inf)
        for part in self._blocks(n):
            linear = linear_starts(self.basis, self.shares, Y[part], seen[part])
            starts = np.concatenate([first[part][:, None], linear], axis=1)
            rows[part, :k], E[part, :k] = self._settle(starts, seen[part], steps)
        high = E.min(axis=1) > 10 * max(self.typical, NOTHING)
        hard = np.flatnonzero(high | self.scarce(seen))
        for block in self._blocks(len(hard)):
            part = hard[block]
            starts = _neighbours(self.pool, Y[part], seen[part], own[part])
            rows[part, k:], E[part, k:] = self._settle(starts, seen[part], steps)
        return Candidates(rows, E)

    def scarce(self, seen: np.ndarray) -> np.ndarray:
        """Return which rows have too few observed products to settle all directions."""
        count = seen.sum(axis=1)
        return np.asarray(count * (count + 1) < 3 * len(self.basis))

    def _settle(
        self, starts: np.ndarray, seen: np.ndarray, steps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        n, k, M = starts.shape
        rows, E = settle(self.basis, starts.reshape(n * k, M), np.repeat(seen, k, axis=0), steps)
        return rows.reshape(n, k, M), E.reshape(n, k)

    def _blocks(self, n: int) -> list[np.ndarray]:
        """Return the numbers of n rows in blocks, the last one padded with rows done before.

        All blocks have one size, which depends on the model alone: other shapes take other paths
        through BLAS, and what comes back for a row must not depend on its company.
        """
        size, M, _ = self.basis.shape
        starts = max(NEIGHBOURS, 1 + len(DOUBT))
        largest = max(starts * M * max(M, size), size * M * M)
        block = even_block(8 * largest, BLOCK_BYTES)
        return [np.arange(begin, begin + block) % n for begin in range(0, n, block)]
