"""Rows as sparse combinations of atoms: the reweighted least-squares step, and the model of a fit.

A row x has coefficients d on atoms A that minimise

    Σⱼ h(dⱼ) + 1/(2γ) |x − d A|²,     h(d) = √(d² + κ²) − κ,

over its observed entries: a lasso whose ℓ1 norm has a small knee κ. A step minimises the quadratic
that touches h from above at the current coefficients, Σ d²/(2w) + … with w = √(d² + κ²). It never
raises the objective, and its linear systems have no more unknowns than the row has observed
entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete._machine import TILE, blas_threads_for
from polycomplete.solvers.base import stages

#: Below this share of the length of a typical row a coefficient counts by its square.
KNEE = 1e-2
#: The first smoothing. At 1 hardly any row has a representation.
FIRST = 0.5
BLOCK_BYTES = 32e6  # of the systems that are solved together
MOST_STEPS, AT_REST = 100, 1e-3  # of a new row: steps, and the coefficient's move that ends them


def smooth_abs(D: np.ndarray) -> np.ndarray:
    """Return √(d² + κ²): the weights of the next step.

    Parameters
    ----------
    D : ndarray
        Coefficients.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> smooth_abs(np.array([-1.0, 0.0])).round(2)
    array([1.  , 0.01])
    """
    return np.sqrt(D * D + KNEE * KNEE)


def append_constant(
    X: np.ndarray, mask: np.ndarray, constant: float
) -> tuple[np.ndarray, np.ndarray]:
    """Append a constant coordinate, always observed; none where it would be 0.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, m)
        Rows, and True where observed.
    constant : float
        The coordinate.

    Returns
    -------
    X, mask : ndarrays of shape (n, m) or (n, m + 1)

    Examples
    --------
    >>> import numpy as np
    >>> append_constant(np.zeros((1, 1)), np.array([[False]]), 0.5)
    (array([[0. , 0.5]]), array([[False,  True]]))
    """
    if constant == 0:
        return X, mask
    return np.c_[X, np.full(len(X), constant)], np.c_[mask, np.ones(len(X), dtype=bool)]


class Atoms:
    """A dictionary, and the step of coefficients on it.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
        The atoms.

    Examples
    --------
    >>> import numpy as np
    >>> atoms = Atoms(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> x, seen = np.array([[2.0, 7.0]]), np.array([[True, False]])
    >>> atoms.step(np.ones((1, 2)), x, seen, gamma=1e-3).round(2)
    array([[2., 0.]])
    """

    def __init__(self, rows: np.ndarray):
        self.rows = rows
        m = rows.shape[1]
        self.wide, self.block = m > len(rows), 1
        if not self.wide:
            #: How many rows go together: tiles, or the last rows take another path through BLAS.
            self.block = TILE * min(4, int(BLOCK_BYTES / (8 * m * m * TILE))) or 1
            i, j = np.triu_indices(m)
            self.products = rows[:, i] * rows[:, j]
            self.place = np.empty((m, m), dtype=int)  # where the product of two columns stands
            self.place[i, j] = self.place[j, i] = np.arange(len(i))

    def step(self, W: np.ndarray, X: np.ndarray, mask: np.ndarray, gamma: float) -> np.ndarray:
        """Minimise Σ d²/(2w) + 1/(2γ) |x − d A|² over the observed entries of each row of X.

        W has the weights of all coefficients; one of zero keeps its coefficient at zero.
        """
        if self.wide:
            return self._step_wide(W, X, mask, gamma)
        blocks = [slice(begin, begin + self.block) for begin in range(0, len(X), self.block)]
        return np.concatenate([self._step_tall(W[b], X[b], mask[b], gamma) for b in blocks])

    def _step_tall(
        self, W: np.ndarray, X: np.ndarray, mask: np.ndarray, gamma: float
    ) -> np.ndarray:
        """Solve systems in the observed entries; those of all rows come from one product."""
        H = (W @ self.products)[:, self.place]
        H *= mask[:, :, None] & mask[:, None, :]
        at = np.arange(X.shape[1])
        H[:, at, at] += np.where(mask, gamma, 1.0)
        return W * (np.linalg.solve(H, np.where(mask, X, 0)[:, :, None])[:, :, 0] @ self.rows.T)

    def _step_wide(
        self, W: np.ndarray, X: np.ndarray, mask: np.ndarray, gamma: float
    ) -> np.ndarray:
        """Solve systems in the coefficients, which are fewer than the columns."""
        D = np.empty_like(W)
        for d, root, x, seen in zip(D, np.sqrt(W), X, mask, strict=True):
            S = root[:, None] * self.rows[:, seen]
            d[:] = root * np.linalg.solve(S @ S.T + gamma * np.eye(len(S)), S @ x[seen])
        return D


@dataclass(frozen=True)
class RowDictionary:
    """Completed training rows as atoms for further rows.

    Attributes
    ----------
    atoms : ndarray of shape (n, m) or (n, m + 1)
        The rows, scaled, with the constant coordinate last where there is one.
    unit : float
        What data are divided by: the length of a typical row.
    constant : float
        The constant coordinate in that unit; 0 where there is none.
    smoothing : float
        γ in that unit.

    Examples
    --------
    >>> import numpy as np
    >>> line = RowDictionary(np.array([[0.6, 0.8]]), unit=1.0, constant=0.0, smoothing=1e-6)
    >>> line.complete(np.array([[3.0, 0.0]]), np.array([[True, False]]))[0].round(3)
    array([[3., 4.]])
    """

    atoms: np.ndarray
    unit: float
    constant: float
    smoothing: float

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself from a sparse representation of its observed entries.

        The representation minimises the objective of the row, with the γ of the fit; the missing
        entries are what it predicts. A training row finds itself among the atoms and comes back
        as fitted, up to the smoothing.

        Parameters
        ----------
        X, mask : ndarrays of shape (r, m)
            Rows, and True where observed.

        Returns
        -------
        completed : ndarray of shape (r, m)
        undetermined : ndarray of bool, shape (r,)
            All False: the objective of a row has one minimum.
        """
        atoms, completed = Atoms(self.atoms), X.copy()
        for begin in range(0, len(X), atoms.block):
            # The last block is padded: what a row gets must not depend on how many there are.
            at = np.arange(begin, begin + atoms.block) % len(X)
            given = np.where(mask[at], X[at], 0) / self.unit
            rows = at[: len(X) - begin]
            with blas_threads_for(len(at)):  # nor on how threads share the rows
                D = self._represent(atoms, *append_constant(given, mask[at], self.constant))
                found = self.unit * (D @ self.atoms)[: len(rows), : X.shape[1]]
            completed[rows] = np.where(mask[rows], X[rows], found)
        return completed, np.zeros(len(X), dtype=bool)

    def _represent(self, atoms: Atoms, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Take steps until the coefficients rest, those of each row by themselves."""
        D = np.full((len(X), len(self.atoms)), 1 / len(self.atoms))
        for gamma in stages(FIRST, self.smoothing):
            moving = np.ones(len(X), dtype=bool)
            for _ in range(5 if gamma > self.smoothing else MOST_STEPS):
                new = atoms.step(smooth_abs(D), X, mask, gamma)
                moved = np.max(np.abs(new - D), axis=1)
                D = np.where(moving[:, None], new, D)
                moving &= moved > AT_REST
                if not moving.any():
                    break
        return D
