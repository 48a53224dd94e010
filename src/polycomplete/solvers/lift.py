"""A polynomial kernel through its features: the same problem, linear in the number of rows.

As many generic landmarks as there are monomials span the feature space of a polynomial kernel. With
Φ the features of the rows (n × N) the Gram matrix is K = Φ Φᵀ, and the N × N matrix Φᵀ Φ has the
same eigenvalues but for zeros, which pay nothing. So value and gradient are those of the n × n
problem, at a cost of n N² instead of n³. It pays where there are fewer monomials than rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from polycomplete.kernels import Kernel, Polynomial
from polycomplete.linear import eigenpairs
from polycomplete.rows import RowEnergy, learn
from polycomplete.solvers.problem import ExactProblem, Spectrum

#: The features pay where there are this many times fewer of them than rows.
PAYS = 2.0
#: Landmarks for each feature: exactly as many would be badly conditioned.
OVER = 1.25


@dataclass(frozen=True)
class PolynomialFeatures:
    """Features whose scalar product is a polynomial kernel: ``φ(x) = Tᵀ k(L, x)``.

    Attributes
    ----------
    kernel : Polynomial
        Resolved.
    landmarks : ndarray of shape (r, m)
        Drawn at random, at a distance from the origin where all degrees count alike.
    turn : ndarray of shape (r, N)
        T, which makes the features orthonormal.
    """

    kernel: Polynomial
    landmarks: np.ndarray
    turn: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, n_columns: int) -> PolynomialFeatures:
        """Return the features of a kernel on rows of so many columns."""
        assert isinstance(kernel, Polynomial)
        size = count(kernel, n_columns)
        drawn = np.random.default_rng(0).standard_normal((int(OVER * size) + 1, n_columns))
        landmarks = drawn * np.sqrt((kernel.offset or n_columns) / n_columns)
        values, V = eigenpairs(kernel.gram(landmarks))
        return cls(kernel, landmarks, V[:, -size:] / np.sqrt(values[-size:]))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the features of each row, (n, N)."""
        return self.kernel.gram(X, self.landmarks) @ self.turn

    def push(self, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the derivative of the features along V, (n, N)."""
        return (self._slopes(X) * (V @ self.landmarks.T)) @ self.turn

    def pull(self, X: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return the gradient in X of ``Σ C ∘ φ(X)``: the transpose of :meth:`push`."""
        return ((C @ self.turn.T) * self._slopes(X)) @ self.landmarks

    def _slopes(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.kernel.slopes(X, self.landmarks, X)[0])

    def energy(self, factor: np.ndarray, own: np.ndarray | None = None) -> RowEnergy:
        """Return the row energy whose factor (and ``own``) act on the features."""
        own = None if own is None else own @ self.turn.T
        return RowEnergy(self.kernel, self.landmarks, self.turn @ factor, own)


def count(kernel: Polynomial, n_columns: int) -> int:
    """Return the number of monomials of a polynomial kernel."""
    return comb(n_columns + int(kernel.degree) - (kernel.offset == 0), int(kernel.degree))


def pays(kernel: Kernel, n_rows: int, n_columns: int) -> bool:
    """Return whether there are so few features that working on them is cheaper."""
    return isinstance(kernel, Polynomial) and PAYS * count(kernel, n_columns) < n_rows


@dataclass
class LiftProblem(ExactProblem):
    """The problem of :class:`ExactProblem`, by way of the features."""

    @cached_property
    def features(self) -> PolynomialFeatures:
        """The features."""
        return PolynomialFeatures.of(self.kernel, self.X.shape[1])

    def spectrum(self, z: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray, Spectrum]:
        """Return X, its features (n × N) and the eigenpairs of their moments."""
        X = self.unpack(z)
        F = self.features(X)
        return X, F, moments(F)

    def value_and_gradient(self, z: np.ndarray, gamma: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient in the free entries."""
        X, F, spectrum = self.spectrum(z, gamma)
        value, G = self._charge(spectrum, gamma)
        paid, pull = self.fidelity(X)
        return value + paid, (2 * self.features.pull(X, F @ G) + pull)[self.free]


def moments(F: np.ndarray) -> Spectrum:
    """Return the eigenpairs of ``Fᵀ F``, no more of them than F has rows."""
    values, vectors = eigenpairs(F.T @ F)
    return Spectrum(np.maximum(values[::-1], 0)[: len(F)], vectors[:, ::-1][:, : len(F)])


def row_energy(kernel: Kernel, X: np.ndarray, gamma: float, in_place: bool = True) -> RowEnergy:
    """Learn the row energy of a surface from complete rows, in the cheaper of its two forms.

    ``in_place`` asks for what takes each of these rows out of the model; new rows need it not.
    """
    if not pays(kernel, *X.shape):
        return learn(kernel, X, gamma, in_place)
    features = PolynomialFeatures.of(kernel, X.shape[1])
    F = features(X)
    spectrum = moments(F)
    values, R = spectrum.eigenvalues, spectrum.vectors
    kept = values > 1e-3 * gamma
    factor = R[:, kept] * np.sqrt(values[kept] / (values[kept] + gamma))
    own = None
    if in_place:
        solved = (F @ R / (values + gamma)) @ R.T
        # The diagonal of (K + γI)⁻¹; a row that only itself explains leaves nothing but rounding.
        left = np.maximum(1 - np.sum(F * solved, axis=1), 1e-15)
        own = solved / np.sqrt(left / gamma)[:, None]
    return features.energy(factor, own)
