"""Steps on the missing entries alone: rows gathered in blocks with about as many holes each.

:func:`polycomplete.rows.settle` works on whole rows and gives the same bits whatever the company of
a row. A solver that moves all rows again and again has no use for that; here a row with k holes
costs k/m of the derivatives and (k/m)² of the matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polycomplete.exact import WIDEST
from polycomplete.rows import Expansion, RowEnergy

__all__ = ["Block", "HolePreconditioner", "Holes"]

BLOCK_ENTRIES = 8192  # rows × columns of a block: its derivatives fit the cache of a few cores
SMALLEST = 32  # rows of a block: fewer cost more in calls than they save in padding
DAMPING = 1e-3  # of the row's own metric: bounds how soft a direction may be taken to be


@dataclass(frozen=True)
class Block:
    """Rows and the columns of their holes; rows with fewer holes name observed entries as well.

    Attributes
    ----------
    rows, columns : ndarrays of int, shape (g,) and (g, k)
        Where the holes are.
    padding : ndarray of bool, shape (g, k)
        Which of these are none.
    """

    rows: np.ndarray
    columns: np.ndarray
    padding: np.ndarray

    def gather(self, A: np.ndarray) -> np.ndarray:
        """Return the entries of A in the holes and the padding."""
        return np.take_along_axis(A[self.rows], self.columns, axis=1)

    def scatter(self, values: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return the rows of A with values in the holes."""
        rows = A[self.rows]
        old = np.take_along_axis(rows, self.columns, axis=1)
        np.put_along_axis(rows, self.columns, np.where(self.padding, old, values), axis=1)
        return rows

    def expand(self, energy: RowEnergy, X: np.ndarray) -> Expansion:
        """Return what :meth:`polycomplete.rows.RowEnergy.expand` does, in the holes only."""
        kernel, L, F = energy.kernel, energy.landmarks, energy.factor
        rows, (g, k) = X[self.rows], self.columns.shape
        K = kernel.gram(rows, L)
        s, t = kernel.slopes(rows, L, K)
        origin = L.mean(axis=0) if s is t else np.zeros(L.shape[1])  # as there: keep digits
        s, t = np.broadcast_to(s, K.shape), np.broadcast_to(t, K.shape)
        P, x = K @ F, self.gather(X)
        pull = (L - origin).T[self.columns]
        pull *= s[:, None, :]
        J = (pull.reshape(g * k, -1) @ F).reshape(g, k, -1)
        J -= (x - origin[self.columns])[:, :, None] * (t @ F)[:, None, :]
        gradient = kernel.diagonal_slope(rows)[:, None] * x - (J @ P[:, :, None])[:, :, 0]
        a, b = kernel.metric(rows)
        U = (np.sqrt(b)[:, None] * x)[:, :, None] if np.any(b) else J[:, :, :0]
        return Expansion(kernel.diagonal(rows) - np.sum(P * P, axis=1), 2 * gradient, a, J, U)


@dataclass(frozen=True)
class Holes:
    """The missing entries of rows.

    Attributes
    ----------
    mask : ndarray of bool, shape (n, m)
        True where observed.

    Examples
    --------
    >>> holes = Holes(np.array([[True, False], [True, True], [False, False]]))
    >>> holes.pack(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))  # padded to two each
    array([2., 0., 5., 6.])
    """

    mask: np.ndarray

    @cached_property
    def blocks(self) -> list[Block]:
        """The rows with holes, those with about as many together."""
        m = self.mask.shape[1]
        count = m - self.mask.sum(axis=1)
        order = np.argsort(count, kind="stable")
        order = order[count[order] > 0]
        # Holes first, in their order; behind them the observed entries, as padding.
        columns = np.argsort(self.mask, axis=1, kind="stable")
        padding = np.take_along_axis(self.mask, columns, axis=1)
        size = max(1, min(BLOCK_ENTRIES // m, max(SMALLEST, len(order) // 8)))
        groups = (order[begin : begin + size] for begin in range(0, len(order), size))
        return [
            Block(rows, columns[rows, : count[rows[-1]]], padding[rows, : count[rows[-1]]])
            for rows in groups
        ]

    def settle(
        self, energy: RowEnergy, X: np.ndarray, damping: np.ndarray, steps: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take Levenberg–Marquardt steps as :func:`polycomplete.rows.settle` does.

        Returns rows, energies (zero for a row without holes) and dampings.
        """
        X, damping, E = X.copy(), damping.copy(), np.zeros(len(X))
        for block in self.blocks:
            who = block.rows
            for _ in range(steps):
                here = block.expand(energy, X)
                step = here.step(block.padding, damping[who])
                trial = block.scatter(block.gather(X) + step, X)
                then = energy.value(trial)
                good = then <= here.energy  # False for NaN, so that a wild step is never taken
                X[who] = np.where(good[:, None], trial, X[who])
                E[who] = np.where(good, then, here.energy)
                damping[who] = np.clip(damping[who] * np.where(good, 0.2, 10.0), 1e-9, 1e3)
        return X, E, damping

    def pack(self, A: np.ndarray) -> np.ndarray:
        """Return the entries of A in the holes as a vector, zeros for padding in between."""
        places, real = self._places
        z = np.zeros(len(real))
        z[real] = A.ravel()[places]
        return z

    def unpack(self, z: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return A with the entries of a vector in its holes."""
        places, real = self._places
        flat = A.flatten()
        flat[places] = z[real]
        return flat.reshape(A.shape)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the entries of a vector stand in the flat matrix, and which are no padding."""
        m, none = self.mask.shape[1], [np.empty(0, dtype=int)]
        flat = [(block.rows[:, None] * m + block.columns).ravel() for block in self.blocks]
        real = np.concatenate([~block.padding.ravel() for block in self.blocks] + [none[0] > 0])
        return np.concatenate(flat + none)[real], real

    def parts(self, z: np.ndarray) -> Iterator[tuple[Block, np.ndarray]]:
        """Yield each block with its part of a vector, (g, k)."""
        begin = 0
        for block in self.blocks:
            end = begin + block.columns.size
            yield block, z[begin:end].reshape(block.columns.shape)
            begin = end

    def precondition(self, energy: RowEnergy, X: np.ndarray) -> HolePreconditioner:
        """Return variables in which all directions of a row are about equally stiff.

        Wide data would need too much memory for that; there all entries of a row are scaled alike.
        """
        C = []
        for block in self.blocks:
            here = block.expand(energy, X)
            if self.mask.shape[1] > WIDEST:
                C.append(np.sqrt(2 * np.maximum(here.a, 1e-300))[:, None, None])
            else:
                C.append(np.linalg.cholesky(here.hessian(block.padding, DAMPING)))
        return HolePreconditioner(self, C, [np.linalg.inv(part) for part in C])


@dataclass(frozen=True)
class HolePreconditioner:
    """The change of variables ``y = Cᵀ z`` with one small triangular C for each row.

    ``C`` and ``inverse`` hold the matrices of each block, (g, k, k), or numbers, (g, 1, 1).
    """

    holes: Holes
    C: list[np.ndarray]
    inverse: list[np.ndarray]

    def forward(self, z: np.ndarray) -> np.ndarray:
        """Return y for z."""
        return self._apply([part.transpose(0, 2, 1) for part in self.C], z)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return z for y."""
        return self._apply([part.transpose(0, 2, 1) for part in self.inverse], y)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient in y for one in z."""
        return self._apply(self.inverse, g)

    def _apply(self, matrices: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        done = np.empty_like(vector)
        pairs = zip(self.holes.parts(vector), self.holes.parts(done), matrices, strict=True)
        for (_, part), (_, into), M in pairs:
            into[:] = M[:, :, 0] * part if M.shape[1] == 1 else (M @ part[:, :, None])[:, :, 0]
        return done
