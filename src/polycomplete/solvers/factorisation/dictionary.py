"""Dictionaries of a kernel factorisation: the objective, its derivatives, and first atoms.

A few atoms D (rows of the same space) explain every row in feature space, φ(x) ≈ φ(D)ᵀ z. With the
best codes z put in,

    f(X, D) = ½ Σⱼ [k(xⱼ, xⱼ) − k(D, xⱼ)ᵀ (k(D, D) + βI)⁻¹ k(D, xⱼ)] + α/2 Σᵢ k(dᵢ, dᵢ),

half the sum of the row energies of :mod:`polycomplete.rows` with the atoms as landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from polycomplete._machine import blas_threads_for
from polycomplete.kernels import Kernel
from polycomplete.rows import Posterior, RowEnergy, learn, spreads

DAMPING = 0.1  # of the mean curvature: bounds how soft a direction of the atoms may be taken to be
#: Rows are judged at no finer β than this: below, only the place that happens to be nearest counts.
JUDGE = 1e-6


def evaluate(
    kernel: Kernel, X: np.ndarray, atoms: np.ndarray, beta: float, alpha: float = 0.0
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the objective of a factorisation and its gradients in the rows and in the atoms.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : ndarray of shape (n, m)
        Complete rows.
    atoms : ndarray of shape (r, m)
        The dictionary.
    beta, alpha : float
        The weights of the codes and of the atoms, in the units of the kernel.

    Returns
    -------
    value, rows, atoms : float and ndarrays of shape (n, m) and (r, m)

    Examples
    --------
    >>> from polycomplete.kernels import Linear
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> value, rows, atoms = evaluate(Linear(), X, np.array([[1.0, 0.0]]), beta=1.0)
    >>> round(value, 9)  # half of what is left of 2² and of 1²
    1.5
    >>> bool(np.allclose(rows, [[1.0, 0.0], [0.0, 1.0]]))
    True
    """
    inside, K = kernel.gram(atoms), kernel.gram(X, atoms)
    Z = _codes(inside, K, beta)
    left = kernel.diagonal(X) - np.sum(K * Z, axis=1)
    value = 0.5 * float(left.sum() + alpha * kernel.diagonal(atoms).sum())
    rows = kernel.diagonal_slope(X)[:, None] * X - _pull(kernel, X, atoms, K, Z)
    moves = 0.5 * kernel.vjp(atoms, inside, Z.T @ Z) - _pull(kernel, atoms, X, K.T, Z.T)
    return value, rows, moves + alpha * kernel.diagonal_slope(atoms)[:, None] * atoms


def _codes(inside: np.ndarray, K: np.ndarray, beta: float) -> np.ndarray:
    """Return the best code of each row, (K_DD + βI)⁻¹ k(D, x)."""
    factor = linalg.cho_factor(inside + beta * np.eye(len(inside)), lower=True, check_finite=False)
    return linalg.cho_solve(factor, K.T, check_finite=False).T


def _pull(kernel: Kernel, X: np.ndarray, Y: np.ndarray, K: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return the gradient in X of ``Σ G ∘ k(X, Y)``."""
    s, t = kernel.slopes(X, Y, K)
    if s is t:  # only differences of rows count: keep their digits
        centre = Y.mean(axis=0)
        X, Y = X - centre, Y - centre
        pull = G * s
        return pull @ Y - pull.sum(axis=1)[:, None] * X
    return (G * s) @ Y - np.sum(G * t, axis=1)[:, None] * X


@dataclass(frozen=True)
class AtomPreconditioner:
    """The change of variables ``C = Lᵀ D`` with one triangular matrix for all columns of atoms."""

    factor: np.ndarray

    def forward(self, atoms: np.ndarray) -> np.ndarray:
        """Return the new variables for atoms."""
        return self.factor.T @ atoms

    def back(self, changed: np.ndarray) -> np.ndarray:
        """Return the atoms for new variables."""
        return linalg.solve_triangular(self.factor, changed, trans=1, lower=True)

    def gradient(self, slope: np.ndarray) -> np.ndarray:
        """Return the gradient in the new variables for one in the atoms."""
        return linalg.solve_triangular(self.factor, slope, lower=True)


def precondition_atoms(
    kernel: Kernel, X: np.ndarray, atoms: np.ndarray, beta: float
) -> AtomPreconditioner:
    """Return variables in which all atoms are about equally stiff.

    Moving an atom changes a row by as much as the row's code uses that atom. With frozen codes
    the Gauss–Newton matrix of the atoms is ``ZᵀZ ∘ s(D, D)``, the same for every column where the
    atoms lie close to each other compared with the kernel's width: the relaxed Newton matrix of
    Fan & Udell.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : ndarray of shape (n, m)
        Complete rows.
    atoms : ndarray of shape (r, m)
        The dictionary.
    beta : float
        The weight of the codes, in the units of the kernel.

    Returns
    -------
    AtomPreconditioner

    Examples
    --------
    >>> from polycomplete.kernels import RBF
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> change = precondition_atoms(RBF(width=2.0), X, X[:4], 1e-3)
    >>> bool(np.allclose(change.back(change.forward(X[:4])), X[:4]))
    True
    """
    inside = kernel.gram(atoms)
    Z = _codes(inside, kernel.gram(X, atoms), beta)
    H = (Z.T @ Z) * np.broadcast_to(kernel.slopes(atoms, atoms, inside)[0], inside.shape)
    size = max(float(np.mean(np.diag(H))), 1e-300)
    H = H + DAMPING * size * np.eye(len(atoms))
    return AtomPreconditioner(linalg.cholesky(H, lower=True, check_finite=False))


@dataclass(frozen=True)
class Dictionary:
    """Learned atoms, with what is needed to complete further rows and to learn on.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    atoms : ndarray of shape (r, m)
        The dictionary.
    beta, scale : float
        The weight of the codes, relative to ``scale``, the mean of k(x, x).
    rows, mask : ndarrays of shape (p, m)
        Some completed training rows, and what was observed of them.
    typical : float
        The median energy of a training row.
    seen, learned : int
        How many rows were seen so far, and how many there were when the atoms were last learned
        from the beginning.
    seed : int
        For the next step of learning.
    """

    kernel: Kernel
    atoms: np.ndarray
    beta: float
    scale: float
    rows: np.ndarray
    mask: np.ndarray
    typical: float
    seen: int
    learned: int
    seed: int

    def complete(
        self, X: np.ndarray, mask: np.ndarray, joint: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are not determined."""
        found = self.posterior.complete(X, mask, joint=joint)
        return np.where(mask, X, found.rows), ~found.determined

    @cached_property
    def posterior(self) -> Posterior:
        """How rows are completed."""
        energy = self._energy(max(self.beta, JUDGE))
        usual = max(self.typical, self.beta * self.scale, np.finfo(float).tiny)
        return Posterior(energy, self.rows, spreads(self.rows), usual)

    def _energy(self, beta: float) -> RowEnergy:
        # One thread within a fit and after loading alike, so that the bits are the same.
        with blas_threads_for(len(self.atoms)):
            return learn(self.kernel, self.atoms, beta * self.scale, in_place=False)

    def judging(self, X: np.ndarray) -> Dictionary:
        """Return the model with the usual energy of these training rows."""
        energy = self._energy(max(self.beta, JUDGE))
        return replace(self, typical=float(np.median(np.maximum(energy.value(X), 0))))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "posterior"}
