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

from polycomplete._resources import blas_threads_for
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.rows import RowEnergy, candidates, learn, padded, settle
from polycomplete.rows.solve import BLOCK_BYTES, even_block

DAMPING = 0.1  # of the mean curvature: bounds how soft a direction of the atoms may be taken to be
#: Rows are judged at no finer β than this: below, only the place that happens to be nearest counts.
JUDGE = 1e-6
#: A row with so many times the usual energy is tried from more starts.
DOUBT = 10.0


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
        The median energy of a training row under the last of ``judges``.
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

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are ambiguous."""
        found, ambiguous = np.where(mask, X, 0.0), np.zeros(len(X), dtype=bool)
        rows = np.flatnonzero(~mask.all(axis=1))
        if not len(rows):
            return found, ambiguous
        tried, energy, loose = self._try(found[rows], mask[rows], k=3, steps=2)
        hard = np.flatnonzero(loose | (energy > DOUBT * self.typical))
        if len(hard):
            again = rows[hard]
            tried[hard], _, loose[hard] = self._try(found[again], mask[again], k=10, steps=4)
        firm = np.flatnonzero(~loose)
        if len(firm) and self.beta < JUDGE:
            tried[firm] = _refine(self.finest, tried[firm], mask[rows[firm]])
        found[rows], ambiguous[rows] = np.where(mask[rows], X[rows], tried), loose
        return found, ambiguous

    def _try(
        self, X: np.ndarray, mask: np.ndarray, k: int, steps: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Complete rows from k starts; return them, their energies and which are ambiguous."""
        tried = candidates(self.judges, X, mask, self.rows, k=k, steps=steps)
        completed, loose = tried.blend(self.typical, self.unit)
        return completed, tried.best()[1], loose

    @property
    def unit(self) -> float:
        """A typical distance of two rows."""
        return typical_distance(self.rows, np.ones_like(self.mask))

    @cached_property
    def judges(self) -> list[RowEnergy]:
        """The models a row walks down; the last one judges it."""
        last = max(self.beta, JUDGE)
        first = max(last, 1e-3)
        return [
            self._energy(beta) for beta in np.unique([first, np.sqrt(first * last), last])[::-1]
        ]

    @cached_property
    def finest(self) -> RowEnergy:
        """The model at the last β."""
        return self._energy(self.beta)

    def _energy(self, beta: float) -> RowEnergy:
        # One thread within a fit and after loading alike, so that the bits are the same.
        with blas_threads_for(len(self.atoms)):
            return learn(self.kernel, self.atoms, beta * self.scale, in_place=False)

    def judging(self, X: np.ndarray) -> Dictionary:
        """Return the model with the usual energy of these training rows."""
        return replace(self, typical=float(np.median(np.maximum(self.judges[-1].value(X), 0))))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("judges", "finest")}


def _refine(energy: RowEnergy, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Let each row settle under one energy, in padded blocks of one size (see rows.solve)."""
    size = even_block(8 * X.shape[1] * len(energy.landmarks), BLOCK_BYTES)
    refined = np.empty_like(X)
    for at, inside in padded(len(X), size):
        settled, _, _ = settle(energy, X[at], mask[at], np.full(size, 1e-3), steps=3)
        refined[at[:inside]] = settled[:inside]
    return refined
