"""A linear model of rows: directions, and how freely each may be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete._devices import eigenpairs

#: Numbers in the blocks in which new rows are worked on.
BLOCK = 4_000_000
#: Directions count towards the rank until they hold this share of the squares.
ENERGY = 0.999


def shrink(X: np.ndarray, by: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower every singular value of X by a number, not below zero.

    Works on the smaller Gram matrix, which is several times faster than a singular value
    decomposition for tall or wide matrices; singular values below 1e-8 of the largest are not
    accurate, and those that pass the threshold are larger wherever it is.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The matrix.
    by : float
        The threshold.

    Returns
    -------
    shrunk, values, directions
        The matrix of shape (n, m), its r positive singular values and right singular vectors as
        columns of an (m, r) matrix.

    Examples
    --------
    >>> import numpy as np
    >>> shrink(np.diag([3.0, 1.0]), 1.0)[0].tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    tall = X.shape[0] >= X.shape[1]
    squares, V = eigenpairs(X.T @ X if tall else X @ X.T)
    values = np.sqrt(np.maximum(squares[::-1], 0))
    kept = values > max(by, 1e-12 * float(values[0]))
    V, factor = V[:, ::-1][:, kept], 1 - by / values[kept]
    if tall:
        return (X @ (V * factor)) @ V.T, values[kept] - by, V
    return (V * factor) @ (V.T @ X), values[kept] - by, X.T @ (V / values[kept])


@dataclass(frozen=True)
class LinearModel:
    """Rows are combinations ``x = V a`` of few directions, and a pays ``ridge · Σ aᵢ² / sᵢ``.

    That charge is the nuclear norm seen from one row: with the other rows given, a row of the
    solution is the ridge regression of its observed entries on the directions. Completing a
    training row this way gives back the row of the fit.

    Attributes
    ----------
    directions : ndarray of shape (m, r)
        V, orthonormal.
    values : ndarray of shape (r,)
        The singular values s, descending.
    ridge : float
        How much an entry may be missed: the threshold of soft-impute, nearly zero where observed
        entries are met exactly.

    Examples
    --------
    >>> import numpy as np
    >>> line = LinearModel(np.array([[0.6], [0.8]]), np.array([10.0]), ridge=1e-9)
    >>> row = np.array([[3.0, 0.0]])
    >>> line.complete(row, np.array([[True, False]]))[0].round(6).tolist()
    [[3.0, 4.0]]
    """

    directions: np.ndarray
    values: np.ndarray
    ridge: float

    @property
    def rank(self) -> int:
        """How many directions hold nearly all of the squares."""
        shares = np.cumsum(self.values**2) / max(float(np.sum(self.values**2)), 1e-300)
        return int(np.sum(shares < ENERGY)) + 1

    def determined(self, mask: np.ndarray) -> np.ndarray:
        """Return which rows have at least as many observed entries as the model has rank."""
        return np.asarray(mask.sum(axis=1) >= min(self.rank, mask.shape[1]))

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which are not determined."""
        completed = np.where(mask, X, 0.0)
        if len(self.values):
            size = max(1, BLOCK // self.directions.size)
            for begin in range(0, len(X), size):
                part = slice(begin, begin + size)
                completed[part] = self._predict(completed[part], mask[part])
        return np.where(mask, X, completed), ~self.determined(mask)

    def _predict(self, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Ridge regression of each row's observed entries on the directions.

        Products of stacks of matrices are made one matrix at a time, so that a row's answer does
        not depend on which rows share its block.
        """
        weighted = self.directions * np.sqrt(self.values)
        seen = np.where(mask[:, :, None], weighted, 0.0)
        normal = seen.transpose(0, 2, 1) @ seen
        at = np.arange(len(self.values))
        normal[:, at, at] += max(self.ridge, 1e-12 * float(self.values[0]))
        right = seen.transpose(0, 2, 1) @ X[:, :, None]
        return (weighted @ np.linalg.solve(normal, right))[:, :, 0]
