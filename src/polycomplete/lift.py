"""The lift engine: a polynomial kernel through its monomials, linear in the number of rows.

With Φ the matrix of weighted monomials (n × N) the Gram matrix is K = Φ Φᵀ, and the N × N matrix
Φᵀ Φ has the same eigenvalues but for zeros, which pay nothing. So value and gradient are those of
the exact engine, at a cost of n N² instead of n³, and no matrix is n × n. It pays where there are
fewer monomials than rows: few columns, a low degree, many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from polycomplete._checks import check_numbers
from polycomplete._machine import free_memory
from polycomplete.exact import BLOCKS, Exact, ExactProblem, Spectrum
from polycomplete.kernels import Kernel, Polynomial
from polycomplete.linear import eigenpairs
from polycomplete.monomials import Monomials
from polycomplete.penalties import Schatten
from polycomplete.rows import Quadratic, RowEnergy, learn

__all__ = ["Lift", "LiftEnergy", "LiftProblem", "moments", "pick", "row_energy"]

# Arrays of n × N numbers alive at once: the monomials, a direction's derivative, its parts.
TALL = 8
# Arrays of N × N numbers: the moments, their eigenvectors with LAPACK's workspace.
SQUARE = 6
#: "auto" takes the lift where there are this many times fewer monomials than rows.
PAYS = 2.0
#: With fewer rows for that, it takes leading eigenpairs from this many rows on, which pays while
#: the smoothing is large.
PARTIAL = 600


class Lift(Exact):
    """Work on the monomials of a polynomial kernel; nothing is n × n.

    Parameters
    ----------
    max_memory : float, optional
        Bytes that may be taken; 60 % of what is free by default. A problem that needs more is
        refused before anything is allocated.

    Examples
    --------
    >>> Lift().memory_needed(100_000, 10) // 1e6  # MB
    732.0
    """

    eigen, device = "full", None

    def __init__(self, max_memory: float | None = None):
        self.max_memory = max_memory

    def memory_needed(self, n_rows: int, n_columns: int, degree: int = 2) -> int:
        """Return the bytes a solve takes at its peak."""
        size = comb(n_columns + degree, degree)
        per_row = TALL * size + self._per_row(n_columns)
        return int(BLOCKS + 8 * (n_rows * per_row + SQUARE * size**2))

    def check(self, n_rows: int, n_columns: int) -> None:
        """Raise where a parameter is wrong; the memory is checked with the kernel, by pose."""
        if self.max_memory is not None:
            check_numbers(self, "max_memory")

    def pose(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
    ) -> LiftProblem:
        """Return the problem of completing X, unless it does not fit the memory."""
        self.check(*X.shape)
        if not isinstance(kernel, Polynomial):
            raise TypeError(f"The lift engine needs a Polynomial kernel, got {kernel!r}.")
        need = self.memory_needed(len(X), X.shape[1], int(kernel.degree))
        budget = 0.6 * free_memory() if self.max_memory is None else float(self.max_memory)
        if need > budget:
            size = len(Monomials(X.shape[1], kernel.degree, kernel.offset))
            raise MemoryError(
                f"The lift engine needs {need / 1e9:.2f} GB for {len(X)} rows of {size} monomials, "
                f"more than the {budget / 1e9:.2f} GB it may take; fit on fewer rows and transform "
                f"the others, lower the degree, or raise Lift(max_memory=...)."
            )
        return LiftProblem(X, mask, kernel, penalty, self, noise)


@dataclass
class LiftProblem(ExactProblem):
    """The problem of :class:`~polycomplete.exact.ExactProblem`, by way of the monomials."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.kernel, Polynomial)
        self.monomials = Monomials(self.X.shape[1], self.kernel.degree, self.kernel.offset)

    def spectrum(self, z: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray, Spectrum]:
        """Return X, its features (N × n) and the eigenpairs of their moments."""
        X = self.unpack(z)
        F = self.monomials.features(X)
        return X, F, moments(F)

    def value_and_gradient(self, z: np.ndarray, gamma: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient in the free entries."""
        X, F, spectrum = self.spectrum(z, gamma)
        value, G = self._charge(spectrum, gamma)
        gradient = 2 * self.monomials.pull(X, G @ F)
        paid, pull = self.fidelity(X)
        return value + paid, (gradient + pull)[self.free]


def moments(F: np.ndarray) -> Spectrum:
    """Return the eigenpairs of ``F Fᵀ``, no more of them than F has columns.

    Parameters
    ----------
    F : ndarray of shape (N, n)
        The features of the rows.

    Returns
    -------
    Spectrum

    Examples
    --------
    >>> moments(np.array([[3.0], [4.0]])).eigenvalues
    array([25.])
    """
    values, vectors = eigenpairs(F @ F.T)
    return Spectrum(np.maximum(values[::-1], 0)[: F.shape[1]], vectors[:, ::-1][:, : F.shape[1]])


@dataclass(frozen=True)
class LiftEnergy(RowEnergy):
    """The energy of one row by way of the monomials: ``factor`` and ``own`` act on features.

    Examples
    --------
    >>> t = np.linspace(0, 1, 20)
    >>> energy = row_energy(Polynomial(2, 1.0), np.c_[t, t**2], gamma=1e-8)
    >>> type(energy).__name__
    'LiftEnergy'
    >>> on, off = energy.value(np.array([[0.5, 0.25], [0.5, 0.6]]))
    >>> bool(on < 1e-6 < 1e-3 < off)
    True
    """

    monomials: Monomials

    def value(self, X: np.ndarray, exclude: np.ndarray | None = None) -> np.ndarray:
        """Return the energy of each row, as :meth:`RowEnergy.value` does."""
        F = self.monomials.features(X)
        E = self.kernel.diagonal(X) - np.sum((F.T @ self.factor) ** 2, axis=1)
        if exclude is not None:
            assert self.own is not None
            E = E + np.einsum("kn,nk->n", F, self.own[exclude]) ** 2
        return E

    def expand(
        self, X: np.ndarray, holes: np.ndarray, exclude: np.ndarray | None = None
    ) -> Quadratic:
        """Return the energy to second order, as :meth:`RowEnergy.expand` does."""
        F, x = self.monomials.features(X), np.take_along_axis(X, holes, axis=1)
        P = F.T @ self.factor
        J = np.take_along_axis(self.monomials.jacobian(X, self.factor), holes[:, :, None], axis=1)
        E, JP = self.kernel.diagonal(X) - np.sum(P * P, axis=1), (J @ P[:, :, None])[:, :, 0]
        JJ = J @ J.transpose(0, 2, 1)
        if exclude is not None:
            assert self.own is not None
            c = np.einsum("kn,nk->n", F, self.own[exclude])
            pull = np.take_along_axis(self.monomials.pull(X, self.own[exclude].T), holes, axis=1)
            E, JP = E + c * c, JP - c[:, None] * pull
            JJ -= pull[:, :, None] * pull[:, None, :]
        return self._quadratic(X, x, E, JJ, JP)

    def prefers_products(self, holes: int, columns: int) -> bool:
        """Return False: few columns have few monomials."""
        return False


def row_energy(kernel: Kernel, X: np.ndarray, gamma: float, in_place: bool = True) -> RowEnergy:
    """Learn the row energy of a surface from complete rows, in the cheaper of its two forms.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : ndarray of shape (r, m)
        The rows.
    gamma : float
        The smoothing, in the units of the kernel.
    in_place : bool
        Also learn what takes each of these rows out of the model; not needed for new rows.

    Returns
    -------
    RowEnergy
        A :class:`LiftEnergy` where the rows are many enough for it to pay.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> one, two = (row_energy(Polynomial(2, 1.0), X[:k], 1e-3) for k in (8, 30))
    >>> type(one).__name__, type(two).__name__
    ('RowEnergy', 'LiftEnergy')
    """
    if not _pays(kernel, *X.shape):
        return learn(kernel, X, gamma, in_place)
    assert isinstance(kernel, Polynomial)
    monomials = Monomials(X.shape[1], kernel.degree, kernel.offset)
    F = monomials.features(X)
    spectrum = moments(F)
    values, R = spectrum.eigenvalues, spectrum.vectors
    kept = values > 1e-3 * gamma
    factor = R[:, kept] * np.sqrt(values[kept] / (values[kept] + gamma))
    own = None
    if in_place:
        solved = (R / (values + gamma)) @ (R.T @ F)
        # The diagonal of (K + γI)⁻¹; a row that only itself explains leaves nothing but rounding.
        left = np.maximum(1 - np.einsum("kn,kn->n", F, solved), 1e-15)
        own = (solved / np.sqrt(left / gamma)).T
    return LiftEnergy(kernel, X, factor, own, monomials)


def pick(engine: Exact | None, kernel: Kernel, n_rows: int, n_columns: int) -> Exact:
    """Return the engine, or where none is given the one that suits the kernel and the size.

    Parameters
    ----------
    engine : Exact, Lift or None
        None leaves the choice.
    kernel : Kernel
        Only a polynomial one can be lifted; its solver begins with a smoothing so large that few
        eigenpairs matter.
    n_rows, n_columns : int
        The size of the data.

    Returns
    -------
    Exact or Lift

    Examples
    --------
    >>> pick(None, Polynomial(2), 1000, 10), pick(None, Polynomial(3), 200, 20)
    (Lift(), Exact())
    """
    if engine is not None:
        return engine
    if _pays(kernel, n_rows, n_columns):
        return Lift()
    partial = isinstance(kernel, Polynomial) and n_rows >= PARTIAL
    return Exact(eigen="partial") if partial else Exact()


def _pays(kernel: Kernel, n_rows: int, n_columns: int) -> bool:
    if not isinstance(kernel, Polynomial):
        return False
    return PAYS * comb(n_columns + int(kernel.degree), int(kernel.degree)) < n_rows
