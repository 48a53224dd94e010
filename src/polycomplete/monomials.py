"""The monomials of a polynomial kernel: its features, their derivatives and the way back."""

from __future__ import annotations

from functools import cache, cached_property
from math import comb, factorial

import numpy as np
from scipy import sparse


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
    >>> from polycomplete.kernels import Polynomial
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
            pairs = zip(self._ends(k), Z, strict=True)
            powers.append(np.concatenate([powers[-1][:end] * z for end, z in pairs]))
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
