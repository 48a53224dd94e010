"""The lift engine: a polynomial kernel through its monomials, linear in the number of rows.

With Φ the matrix of weighted monomials (n × N) the Gram matrix is K = Φ Φᵀ, and the N × N matrix
Φᵀ Φ has the same eigenvalues but for zeros, which pay nothing. So value and gradient are those of
the exact engine, at a cost of n N² instead of n³, and no matrix is n × n. It pays where there are
fewer monomials than rows: few columns, a low degree, many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from math import comb, factorial

import numpy as np
from scipy import linalg, sparse

from polycomplete.exact import BLOCKS, Exact, ExactProblem, Spectrum
from polycomplete.kernels import Kernel, Polynomial
from polycomplete.penalties import Schatten
from polycomplete.rows import Expansion, RowEnergy, learn

__all__ = ["Lift", "LiftEnergy", "LiftProblem", "Monomials", "pick", "row_energy"]

# Arrays of n × N numbers alive at once: the monomials, a direction's derivative, its parts.
TALL = 6
# Arrays of N × N numbers: the moments, their eigenvectors with LAPACK's workspace.
SQUARE = 6
#: "auto" takes the lift where there are this many times fewer monomials than rows.
PAYS = 2.0


class Monomials:
    """All monomials of a polynomial kernel, weighted so that their scalar product is the kernel.

    ``(x·y + b)^d`` is a sum over the monomials of degree d in √b and the columns. They are kept in
    an order in which those ending in variable l are the first few of degree d − 1 times that
    variable, so that everything here works on slices.

    Parameters
    ----------
    n_columns, degree : int
        How many columns, and d.
    offset : float
        b.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> F = Monomials(2, degree=2, offset=1.0).features(X)
    >>> F.shape, (F.T @ F).round(12), Polynomial(2, 1.0).gram(X)
    ((6, 2), array([[ 36.,   4.],
           [  4., 121.]]), array([[ 36.,   4.],
           [  4., 121.]]))
    """

    def __init__(self, n_columns: int, degree: int, offset: float):
        self.degree, self.offset = int(degree), float(offset)
        self.first = int(offset > 0)  # variable 0 is √b
        self.n_variables = n_columns + self.first

    def __len__(self) -> int:
        return comb(self.n_variables + self.degree - 1, self.degree)

    def features(self, X: np.ndarray) -> np.ndarray:
        """Return the weighted monomials of each row, as columns: shape (N, n)."""
        Z = self._variables(X)
        P = np.ones((1, len(X)), dtype=X.dtype)
        for k in range(1, self.degree + 1):
            P = np.concatenate([P[:end] * z for end, z in zip(self._ends(k), Z, strict=True)])
        return P * self._weights[:, None]

    def push(self, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the derivative of the features along V, shape (N, n)."""
        Z, dZ = self._variables(X), self._variables(V)
        dZ[: self.first] = 0
        P, dP = Z, dZ
        for k in range(2, self.degree + 1):
            parts = list(zip(self._ends(k), Z, dZ, strict=True))
            dP = np.concatenate([dP[:end] * z + P[:end] * dz for end, z, dz in parts])
            if k < self.degree:
                P = np.concatenate([P[:end] * z for end, z, _ in parts])
        return dP * self._weights[:, None]

    def pull(self, X: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return the gradient in X of ``Σ C ∘ features(X)``: the transpose of :meth:`push`."""
        Z = self._variables(X)
        powers = [Z]
        for k in range(2, self.degree):
            P = powers[-1]
            powers.append(np.concatenate([P[:e] * z for e, z in zip(self._ends(k), Z, strict=True)]))
        gradient = np.zeros_like(Z)
        C = C * self._weights[:, None]
        for k in range(self.degree, 1, -1):
            P, begin = powers[k - 2], 0
            rest = np.zeros_like(P)
            for variable, end in enumerate(self._ends(k)):
                part = C[begin : begin + end]
                gradient[variable] += np.einsum("kn,kn->n", part, P[:end])
                rest[:end] += part * Z[variable]
                begin += end
            C = rest
        return (gradient + C)[self.first :].T

    def jacobian(self, X: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return the derivatives of ``features(X)ᵀ A`` in each row's entries, shape (n, m, q).

        Each is a polynomial of degree d − 1, so that all of them are one product.
        """
        lower = Monomials(self.n_variables - self.first, self.degree - 1, self.offset)
        P = lower.features(X) / lower._weights[:, None] if self.degree > 1 else np.ones((1, len(X)))
        slopes = _derivatives(self.n_variables, self.degree, self.first)
        coefficients = slopes @ (self._weights[:, None] * A)
        wide = coefficients.reshape(-1, len(P), A.shape[1]).transpose(1, 0, 2).reshape(len(P), -1)
        return (P.T @ wide).reshape(len(X), -1, A.shape[1])

    def _variables(self, X: np.ndarray) -> np.ndarray:
        root = np.full((self.first, len(X)), self.offset**0.5, dtype=X.dtype)
        return np.concatenate([root, X.T])

    def _ends(self, k: int) -> list[int]:
        """Return how many monomials of degree k − 1 each variable, as the last, is appended to."""
        return [comb(last + k - 1, k - 1) for last in range(self.n_variables)]

    @cached_property
    def _weights(self) -> np.ndarray:
        E = _exponents(self.n_variables, self.degree)
        ways = np.array([factorial(k) for k in range(self.degree + 1)], dtype=float)
        return np.sqrt(factorial(self.degree) / np.prod(ways[E], axis=1))


@cache
def _exponents(n_variables: int, degree: int) -> np.ndarray:
    """Return the exponents of all monomials of a degree in the order of :class:`Monomials`."""
    E = np.zeros((1, n_variables), dtype=np.int8)
    unit = np.eye(n_variables, dtype=np.int8)
    for k in range(1, degree + 1):
        E = np.concatenate([E[: comb(v + k - 1, k - 1)] + unit[v] for v in range(n_variables)])
    return E


@cache
def _derivatives(n_variables: int, degree: int, first: int) -> sparse.csr_array:
    """Return the sparse matrix from a polynomial's coefficients to those of its derivatives."""
    E, lower = _exponents(n_variables, degree), _exponents(n_variables, degree - 1)
    place = {exponents.tobytes(): i for i, exponents in enumerate(lower)}
    rows, columns, values = [], [], []
    for variable in range(first, n_variables):
        has = np.flatnonzero(E[:, variable])
        reduced = E[has] - np.eye(n_variables, dtype=np.int8)[variable]
        rows += [(variable - first) * len(lower) + place[e.tobytes()] for e in reduced]
        columns += has.tolist()
        values += E[has, variable].tolist()
    shape = ((n_variables - first) * len(lower), len(E))
    return sparse.csr_array((np.asarray(values, dtype=float), (rows, columns)), shape=shape)


class Lift(Exact):
    """Work on the monomials of a polynomial kernel; nothing is n × n.

    Parameters
    ----------
    max_memory : float, optional
        Bytes that may be taken; 60 % of what is free by default. A problem that needs more is
        refused before anything is allocated.

    Examples
    --------
    >>> Lift().memory_needed(100_000, 10) / 1e9  # GB
    0.67
    """

    eigen, rank = "full", None

    def __init__(self, max_memory: float | None = None):
        self.max_memory = max_memory

    def memory_needed(self, n_rows: int, n_columns: int, degree: int = 2) -> int:
        """Return the bytes a solve takes at its peak."""
        size = comb(n_columns + degree, degree)
        per_row = TALL * size + self._per_row(n_columns)
        return int(BLOCKS + 8 * (n_rows * per_row + SQUARE * size**2))

    def pose(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
    ) -> LiftProblem:
        """Return the problem of completing X with this engine; all parts must be resolved."""
        return LiftProblem(X, mask, kernel, penalty, self, noise)


@dataclass
class LiftProblem(ExactProblem):
    """The problem of :class:`~polycomplete.exact.ExactProblem`, by way of the monomials."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Polynomial):
            raise TypeError(f"The lift engine needs a Polynomial kernel, got {self.kernel!r}.")
        kernel = self.kernel
        self.monomials = Monomials(self.X.shape[1], kernel.degree, float(kernel.offset))

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
    """Return the eigenpairs of ``F Fᵀ``, as many as there are rows at most."""
    values, vectors = linalg.eigh(F @ F.T, driver="evd", check_finite=False)
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

    def value(self, X: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """Return the energy of each row, as :meth:`RowEnergy.value` does."""
        F = self.monomials.features(X)
        E = self.kernel.diagonal(X) - np.sum((F.T @ self.factor) ** 2, axis=1)
        if who is not None:
            E = E + np.einsum("kn,nk->n", F, self.own[who]) ** 2
        return E

    def expand(self, X: np.ndarray, who: np.ndarray | None = None) -> Expansion:
        """Return the energy of each row with its first and (Gauss–Newton) second derivatives."""
        F = self.monomials.features(X)
        P = F.T @ self.factor
        J = self.monomials.jacobian(X, self.factor)
        E = self.kernel.diagonal(X) - np.sum(P * P, axis=1)
        gradient = self.kernel.diagonal_slope(X)[:, None] * X - (J @ P[:, :, None])[:, :, 0]
        a, b = self.kernel.metric(X)
        added = [np.sqrt(b)[:, None] * X] if np.any(b) else []
        if who is not None:
            s = np.einsum("kn,nk->n", F, self.own[who])
            Js = self.monomials.pull(X, self.own[who].T)
            E, gradient = E + s * s, gradient + Js * s[:, None]
            added.append(Js)
        return Expansion(E, 2 * gradient, a, J, np.stack(added, axis=2) if added else J[:, :, :0])


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
    own = np.empty((0, len(F)))
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
        Only a polynomial one can be lifted.
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
    return Lift() if _pays(kernel, n_rows, n_columns) else Exact()


def _pays(kernel: Kernel, n_rows: int, n_columns: int) -> bool:
    if not isinstance(kernel, Polynomial):
        return False
    return PAYS * comb(n_columns + int(kernel.degree), int(kernel.degree)) < n_rows
