"""What rows are coded with: one dictionary for all of them, or a small one for each.

Both solve the smooth half of :func:`~polycomplete.clustering.admm.sparse_codes` in closed form,
with the constraint Σ c = 1 of affine subspaces met exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

Matrix = np.ndarray


@dataclass(frozen=True)
class Shared:
    """One dictionary for all rows; a step costs n_rows × n_atoms × n_features.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows to code.
    atoms : ndarray of shape (n_atoms, n_features)
        The dictionary.
    weight : float
        λ, what the squared error costs.
    counted : ndarray of shape (n_atoms,), optional
        Ones for the atoms whose coefficients must sum to one, zeros for the others; without it
        there is no such constraint.

    Examples
    --------
    >>> solve = Shared(np.array([[2.0]]), np.array([[1.0]]), weight=1.0).resolvent(1.0)
    >>> solve(np.zeros((1, 1)))
    array([[1.]])
    """

    X: Matrix
    atoms: Matrix
    weight: float
    counted: np.ndarray | None = None

    def resolvent(self, penalty: float) -> Callable[[Matrix], Matrix]:
        """Return the map from T to the z that minimises λ/2 |x − zD|² + penalty/2 |z − T|²."""
        D = self.atoms
        # z = T + (x − TD) λ (λ DᵀD + ρI)⁻¹ Dᵀ: the small inverse is as wide as the data.
        inner = self.weight * (D.T @ D) + penalty * np.eye(D.shape[1])
        gain = self.weight * linalg.solve(inner, D.T, assume_a="pos")
        if self.counted is None:
            return lambda T: T + (self.X - T @ D) @ gain
        direction = self.counted - (self.counted @ D) @ gain
        direction /= direction @ self.counted

        def solve(T: Matrix) -> Matrix:
            free = T + (self.X - T @ D) @ gain
            return free - np.outer(free @ self.counted - 1, direction)

        return solve


@dataclass(frozen=True)
class Own:
    """A small dictionary for every row; a step costs n_rows × n_atoms².

    Attributes
    ----------
    grams : ndarray of shape (n_rows, n_atoms, n_atoms)
        Scalar products of the atoms of every row.
    products : ndarray of shape (n_rows, n_atoms)
        Scalar products of a row with its atoms.
    weight : float
        λ, what the squared error costs.
    affine : bool
        Whether the coefficients of a row must sum to one.

    Examples
    --------
    >>> solve = Own(np.ones((1, 1, 1)), np.array([[2.0]]), weight=1.0, affine=False).resolvent(1.0)
    >>> solve(np.zeros((1, 1)))
    array([[1.]])
    """

    grams: Matrix
    products: Matrix
    weight: float
    affine: bool

    def resolvent(self, penalty: float) -> Callable[[Matrix], Matrix]:
        """Return the map from T to the z that minimises λ/2 |x − zD|² + penalty/2 |z − T|²."""
        ratio = self.weight / penalty
        inverse = np.linalg.inv(ratio * self.grams + np.eye(self.grams.shape[1]))
        direction = inverse.sum(axis=2)
        direction /= direction.sum(axis=1, keepdims=True)

        def solve(T: Matrix) -> Matrix:
            free = np.matmul(inverse, (T + ratio * self.products)[:, :, None])[:, :, 0]
            return free - (free.sum(axis=1, keepdims=True) - 1) * direction if self.affine else free

        return solve
