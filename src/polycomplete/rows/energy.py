"""The energy of a row: its squared distance from the surface that the other rows span.

For the log penalty (p = 0, equal weights) the objective splits exactly. With A = (K + γI)⁻¹ over
the other rows,

    log det(K + γI) = log det(K_others + γI) + log(E(x) + γ),     E(x) = k(x, x) − kᵀ A k,

where k = k(others, x): given the others, a row adds the logarithm of its *unexplained part* E,
which is the posterior variance of a Gaussian process. E depends on that row only, so that each row
can be completed independently and from several starts, and new rows can be completed, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from polycomplete._devices import ROUNDING, Array, eigenpairs
from polycomplete._resources import TILE
from polycomplete.kernels import Kernel

CACHED = 7.5e5  # bytes of derivatives that are processed at a time
ITERATIONS = 5  # of conjugate gradients, which give a descent direction even if stopped early
#: Matrix–vector products in a matrix-free step: those of its iterations, gradient and energies.
PRODUCTS = ITERATIONS + 3
#: Rows with more holes than this get no matrix of their own.
WIDE = 128


@dataclass(frozen=True)
class RowEnergy:
    """A frozen model of the surface through some complete rows.

    Attributes
    ----------
    kernel : Kernel
        The resolved kernel.
    landmarks : ndarray of shape (r, m)
        The complete rows.
    factor : ndarray of shape (r, q)
        F with A = F Fᵀ.
    own : ndarray of shape (r, r) or None
        Row j removes row j from the model: the energy of row j given the *others* is
        ``k(x, x) − |Fᵀk|² + (own[j]·k)²``. None if that is not needed.
    """

    kernel: Kernel
    landmarks: Array
    factor: Array
    own: Array | None

    @cached_property
    def inverse(self) -> Array:
        """A = F Fᵀ, (r, r)."""
        return self.factor @ self.factor.T

    @cached_property
    def least(self) -> float:
        """Lower bound of the metric, which can vanish at the origin for polynomial kernels.

        It depends on the model only: the completion of a row must not depend on other new rows.
        """
        xp = array_namespace(self.landmarks)
        return max(1e-9 * float(xp.max(self.kernel.metric(self.landmarks)[0])), 1e-300)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without derived arrays, for files and other processes."""
        derived = ("inverse", "least")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def left_out(self, X: np.ndarray) -> np.ndarray:
        """Return the leave-one-out energy of each row that the model was learned from."""
        return np.maximum(self.value(X, np.arange(len(X))), 0)

    def value(self, X: Array, exclude: Array | None = None) -> Array:
        """Return the energy of each row.

        ``exclude`` is the index of the landmark to leave out for each row: the row itself.
        """
        K = self.kernel.gram(X, self.landmarks)
        P = K @ self.factor
        E = self.kernel.diagonal(X) - array_namespace(X).linalg.vecdot(P, P)
        return E if exclude is None else E + self._excluded(K, exclude) ** 2

    def _excluded(self, K: Array, exclude: Array) -> Array:
        """Return the signed part of each row that its own landmark explains."""
        xp = array_namespace(K)
        return xp.linalg.vecdot(K, xp.take(self.own, exclude, axis=0))

    def expand(self, X: Array, holes: Array, exclude: Array | None = None) -> Quadratic:
        """Expand the energy of each row to second order (Gauss–Newton) in columns ``holes``."""
        xp, kernel, L = array_namespace(X), self.kernel, self.landmarks
        K = kernel.gram(X, L)
        s, t = kernel.slopes(X, L, K)
        if s is not t:
            s, t = K * 0 + s, K * 0 + t
        P, x = K @ self.factor, xp.take_along_axis(X, holes, axis=1)
        JJ, JP = self._explain(x, holes, s, t, P)
        E = kernel.diagonal(X) - xp.linalg.vecdot(P, P)
        if exclude is not None:
            w, c = xp.take(self.own, exclude, axis=0), self._excluded(K, exclude)
            pull = xp.take_along_axis((s * w) @ L, holes, axis=1)
            pull -= xp.linalg.vecdot(t, w)[:, None] * x
            E, JP = E + c**2, JP - c[:, None] * pull
            JJ -= pull[:, :, None] * pull[:, None, :]
        return self._quadratic(X, x, E, JJ, JP)

    def _quadratic(self, X: Array, x: Array, E: Array, JJ: Array, JP: Array) -> Quadratic:
        """Add the terms of k(x, x) to the part that the landmarks explain."""
        xp = array_namespace(X)
        a, b = self.kernel.metric(X)
        if bool(xp.any(b > 0)):
            JJ = JJ - b[:, None, None] * x[:, :, None] * x[:, None, :]
        gradient = 2 * (self.kernel.diagonal_slope(X)[:, None] * x - JP)
        return Quadratic(E, gradient, xp.clip(a, self.least, None), JJ)

    def _explain(self, x: Array, holes: Array, s: Array, t: Array, P: Array) -> tuple[Array, Array]:
        """Return JJᵀ and JP of each row, J the derivatives of ``P = Fᵀk(L, x)`` in its holes.

        Rows are processed in slices of equal size, so that their derivatives stay in the cache.
        """
        xp, F, by_column = array_namespace(x), self.factor, self.landmarks.T
        (g, k), (r, q) = x.shape, F.shape
        JJ = xp.empty((g, k, k), dtype=x.dtype, device=device(x))
        JP = xp.empty((g, k), dtype=x.dtype, device=device(x))
        for some in slices(g, k, r) if is_numpy_array(x) else [slice(0, g)]:
            columns = xp.reshape(holes[some, :], (-1,))
            pull = xp.reshape(xp.take(by_column, columns, axis=0), (-1, k, r))
            if s is t:  # depends on differences of rows only: avoid cancellation
                pull -= x[some, :, None]
                pull *= s[some, None, :]
            else:
                pull *= s[some, None, :]
                pull -= x[some, :, None] * t[some, None, :]
            J = xp.reshape(xp.reshape(pull, (-1, r)) @ F, (pull.shape[0], k, q))
            # A copy, because NumPy's special routine for J Jᵀ is slow for small J.
            JJ[some, :, :] = J @ xp.matrix_transpose(xp.asarray(J, copy=True))
            JP[some, :] = (J @ P[some, :, None])[:, :, 0]
        return JJ, JP

    def product(self, X: Array, free: Array, exclude: Array | None = None) -> Curvature:
        """Return the matrix-free expansion of each row in all columns where ``free`` is 1."""
        xp, kernel, L, F = array_namespace(X), self.kernel, self.landmarks, self.factor
        K = kernel.gram(X, L)
        s, t = kernel.slopes(X, L, K)
        origin = xp.mean(L, axis=0) if s is t else xp.zeros_like(L[0, :])
        P, L, Y = K @ F, L - origin, X - origin
        Q = P * kernel.decay if kernel.decay else (K * 0 + t) @ F
        a, b = kernel.metric(X)
        a = xp.clip(a, self.least, None)
        pulled, length = Q @ F.T, xp.sum(Q * Q, axis=1)
        short = 2 * F.shape[1] > F.shape[0]
        own, E = X * 0, kernel.diagonal(X) - xp.linalg.vecdot(P, P)
        gradient = kernel.diagonal_slope(X)[:, None] * X
        gradient -= (s * (P @ F.T)) @ L - xp.sum(P * Q, axis=1)[:, None] * Y
        if exclude is not None:
            w, c = xp.take(self.own, exclude, axis=0), self._excluded(K, exclude)
            own = (s * w) @ L - xp.linalg.vecdot(K * 0 + t, w)[:, None] * Y
            E, gradient = E + c**2, gradient + c[:, None] * own

        def product(V: Array) -> Array:
            """Return Hv/2 of each row, with Jᵀv = Fᵀ(s Lv) − (y·v) q."""
            W, along = s * (V @ L.T), xp.sum(V * Y, axis=1)
            back = W @ self.inverse if short else (W @ F) @ F.T
            back = back - along[:, None] * pulled
            along = xp.sum(W * pulled, axis=1) - along * length
            out = a[:, None] * V - (s * back) @ L + along[:, None] * Y
            out = out + (b * xp.sum(V * X, axis=1))[:, None] * X
            return free * (out + xp.sum(V * own, axis=1)[:, None] * own)

        return Curvature(E, 2 * free * gradient, a, product)

    def prefers_products(self, holes: int, columns: int) -> bool:
        """Return whether products take clearly fewer operations than one matrix per row.

        This ignores that products with F Fᵀ may be cheaper: at a tie, exact steps are better.
        """
        r, q = self.factor.shape
        matrices = 2 * r * q * holes + 2 * q * holes**2 + holes**3
        return PRODUCTS * 4 * (r * columns + r * q) < matrices


def slices(g: int, k: int, landmarks: int) -> Iterator[slice]:
    """Yield slices of g rows with k holes whose derivatives stay in the cache.

    All have the same length, because the bits of a product depend on its shape; some rows are
    repeated. They also depend on the position, unless a slice has whole tiles of holes or one row.
    """
    size = -(-g // max(1, round(8 * g * k * landmarks / CACHED)))
    if g % TILE == 0:
        whole = TILE // gcd(TILE, k)
        size = size // whole * whole or (whole if k < TILE else 1)
    for begin in range(0, g, size):
        yield slice(min(begin, g - size), min(begin, g - size) + size)


@dataclass(frozen=True)
class Quadratic:
    """Second-order expansion of the energy of rows: ``H = 2 (a I − explained)`` for each row.

    Attributes
    ----------
    energy, gradient : arrays of shape (g,) and (g, k)
        Value and gradient.
    a : array of shape (g,)
        The metric of the kernel, bounded below.
    explained : array of shape (g, k, k)
        The part of it that the landmarks explain.
    """

    energy: Array
    gradient: Array
    a: Array
    explained: Array

    def hessian(self, padding: Array, damping: float | Array) -> Array:
        """Return the Gauss–Newton matrix, with ones on the diagonal for padding.

        ``damping`` is in units of the kernel's metric.
        """
        xp = array_namespace(self.a)
        free = xp.astype(~padding, self.a.dtype)
        H = self.explained * (-2 * free)[:, :, None]
        H *= free[:, None, :]
        at = xp.arange(padding.shape[1], device=device(H))
        H[:, at, at] += xp.where(padding, 1.0, (2 * self.a * (1 + damping))[:, None])
        return H


class Curvature(NamedTuple):
    """Second-order expansion in all columns, with the product ``v ↦ Hv/2`` instead of a matrix."""

    energy: Array
    gradient: Array
    a: Array
    product: Callable[[Array], Array]


def learn(
    kernel: Kernel, X: np.ndarray, gamma: float, in_place: bool = True, least: float = 1e-3
) -> RowEnergy:
    """Learn the row energy of a surface from complete rows.

    Directions with eigenvalues below ``least`` γ explain little and are dropped, which makes later
    products cheaper. ``in_place`` adds what is needed to leave each of these rows out.
    """
    values, V = eigenpairs(kernel.gram(X))
    values = np.maximum(values, 0)
    kept = values > least * gamma
    factor = V[:, kept] / np.sqrt(values[kept] + gamma)
    if not in_place:
        return RowEnergy(kernel, X, factor, None)
    inverse = (V / (values + gamma)) @ V.T
    return RowEnergy(kernel, X, factor, inverse / np.sqrt(np.diag(inverse))[:, None])


AT_ONCE = 3000  # up to this many rows, the whole Gram matrix is faster than single columns


def pivots(kernel: Kernel, X: Array, count: int) -> np.ndarray:
    """Return the indices of rows that explain the others well, by pivoted Cholesky decomposition.

    The first is the row nearest to the mean, each further one the row that the previous ones
    explain least. These are good initial landmarks and atoms, and include the edge of the data.
    """
    xp = array_namespace(X)
    left = xp.asarray(kernel.diagonal(X), copy=True)
    # Residual of a row that others explain completely.
    rounding = ROUNDING * float(xp.max(left))
    count = min(count, X.shape[0])
    columns = xp.zeros((X.shape[0], count), dtype=X.dtype, device=device(X))
    chosen = [int(xp.argmin(xp.sum((X - xp.mean(X, axis=0)) ** 2, axis=1)))]
    K = kernel.gram(X) if X.shape[0] <= AT_ONCE else None
    for k in range(count):
        at = chosen[-1]
        column = kernel.gram(X, X[at : at + 1, :])[:, 0] if K is None else K[:, at]
        column = column - columns[:, :k] @ columns[at, :k]
        columns[:, k] = column / max(float(left[at]), rounding, 1e-300) ** 0.5
        left = left - columns[:, k] ** 2
        following = int(xp.argmax(left))
        if float(left[following]) <= rounding:
            break
        chosen.append(following)
    return np.array(chosen[:count])
