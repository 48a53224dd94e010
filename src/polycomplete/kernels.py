"""Kernels, and how a gradient in the Gram matrix becomes one in the rows.

Every kernel here is a function of ``x·y``, ``|x|²`` and ``|y|²``, so that its derivative in the
first argument has the form ``∂k(x, y)/∂x = s(x, y) y − t(x, y) x``. A kernel defines ``k``, ``s``
and ``t``; the chain rules of the whole Gram matrix and of a single row follow from these.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from numbers import Integral
from typing import Self

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator

from polycomplete._devices import Array
from polycomplete._messages import check_numbers

__all__ = ["RBF", "Kernel", "Linear", "Polynomial", "typical_distance", "zero_filled_distance"]

#: Relative step of central differences.
STEP = float(np.finfo(np.float64).eps) ** (1 / 3)


def typical_distance(X: Array, mask: Array) -> float:
    """Return the root mean squared distance between two rows, from the observed entries alone.

    It is ``sqrt(2 Σ_a var(a))``, where ``var(a)`` is the variance of the observed entries of column
    a, and the unit of ``RBF(width="auto")``.

    Parameters
    ----------
    X, mask : array of shape (n, m)
        The data, any finite number where missing; True where observed.

    Returns
    -------
    float
        The distance, or 1.0 if the observed entries do not vary.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [2.0, 9.0]])
    >>> typical_distance(X, np.array([[True, True], [True, False]]))
    1.4142135623730951
    """
    variances = _means(X - _means(X, mask), mask, power=2)
    return float(array_namespace(X).sum(variances) * 2) ** 0.5 or 1.0


def zero_filled_distance(X: Array, mask: Array) -> float:
    """Return the mean distance of two rows with zeros for missing entries.

    This is the unit of the width in the code of the paper's authors: the mean over all n² pairs,
    those of a row with itself included. It depends on where the origin lies and on how much is
    missing; :func:`typical_distance` does not.

    Parameters
    ----------
    X, mask : array of shape (n, m)
        The data, any finite number where missing; True where observed.

    Returns
    -------
    float
        The distance, or 1.0 if all rows are the same.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [2.0, 9.0]])
    >>> zero_filled_distance(X, np.array([[True, True], [True, False]]))
    1.0
    """
    xp = array_namespace(X)
    seen = X * xp.astype(mask, X.dtype)
    a = xp.sum(seen * seen, axis=1)
    squares = xp.clip(a[:, None] + a - 2 * seen @ seen.T, 0.0, None)
    return float(xp.mean(squares**0.5)) or 1.0


#: Units of ``RBF(width="auto")``.
UNITS = {"observed": typical_distance, "zero-filled": zero_filled_distance}


def _means(X: Array, mask: Array, power: int = 1) -> Array:
    """Return the mean of a power of the observed entries of each column."""
    xp = array_namespace(X)
    seen = xp.astype(mask, X.dtype)
    return xp.sum((X * seen) ** power, axis=0) / xp.clip(xp.sum(seen, axis=0), 1.0, None)


class Kernel(BaseEstimator):
    """A positive semidefinite similarity of two rows.

    Examples
    --------
    >>> import numpy as np
    >>> Linear()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])
    """

    #: c if both slopes are ``c k(x, y)``; None for other kernels.
    decay: float | None = None

    def resolve(self, X: Array, mask: Array) -> Kernel:
        """Return the kernel with every "auto" replaced by a number from the observed entries."""
        return self

    def stretched(self, factor: float) -> Kernel:
        """Return the kernel with its width multiplied, or itself if it has no width."""
        return self

    def n_features(self, n_columns: int) -> int | None:
        """Return the dimension of the feature space of rows of this length; None if infinite."""
        return None

    def gram(self, X: Array, Y: Array | None = None) -> Array:
        """Return ``k(x, y)`` for each row of X and each row of Y (of X itself by default)."""
        raise NotImplementedError

    def slopes(self, X: Array, Y: Array, K: Array) -> tuple[Array | float, Array | float]:
        """Return ``s`` and ``t`` of ``∂k(x, y)/∂x = s y − t x``; ``K`` is ``gram(X, Y)``."""
        raise NotImplementedError

    def diagonal(self, X: Array) -> Array:
        """Return ``k(x, x)`` for each row."""
        raise NotImplementedError

    def diagonal_slope(self, X: Array) -> Array:
        """Return ``c`` of ``∂k(x, x)/∂x = 2 c x`` for each row."""
        raise NotImplementedError

    def metric(self, X: Array) -> tuple[Array, Array]:
        """Return ``a``, ``b`` of ``∂²k(x, y)/∂x∂y = a I + b x xᵀ`` at y = x, for each row.

        This gives the squared length in feature space of a small step in x: the part of the
        Gauss–Newton matrix of a row that does not depend on the other rows.
        """
        raise NotImplementedError

    def cross(self, X: Array, K: Array, M: Array) -> Callable[[Array], Array]:
        """Return the map from V to ``Σₖ Mⱼₖ ∂²k(xⱼ, xₖ)/∂xⱼ∂xₖ vₖ`` for each row j.

        Newton steps need it. K is ``gram(X)`` and M is symmetric. By default, it is computed from
        central differences of the slopes.
        """
        xp = array_namespace(X)

        def product(V: Array) -> Array:
            lengths = [(1e-300 + float(xp.sum(A * A))) ** 0.5 for A in (X, V)]
            size = STEP * lengths[0] / lengths[1]
            ends = [self.pull(X, Y, self.gram(X, Y), M) for Y in (X + size * V, X - size * V)]
            return (ends[0] - ends[1]) / (2 * size)

        return product

    def vjp(self, X: Array, K: Array, G: Array) -> Array:
        """Return the gradient in X of ``Σ G ∘ K(X)`` for a symmetric G; ``K`` is ``gram(X)``."""
        return 2 * self.pull(X, X, K, G)

    def pull(self, X: Array, Y: Array, K: Array, W: Array) -> Array:
        """Return ``Σₖ Wⱼₖ ∂k(xⱼ, yₖ)/∂xⱼ`` for each row j."""
        xp = array_namespace(X)
        s, t = self.slopes(X, Y, K)
        if s is t:  # depends on differences of rows only: avoid cancellation
            center = xp.mean(X, axis=0)
            X, Y = X - center, Y - center
        return (W * s) @ Y - xp.sum(W * t, axis=1)[:, None] * X

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return :meth:`gram`."""
        return self.gram(X, Y)


class RBF(Kernel):
    """Gaussian kernel ``exp(−|x − y|² / 2σ²)``: a weighted sum of polynomials of every degree.

    Parameters
    ----------
    width : "auto" or float, default="auto"
        σ. "auto" is ``multiple`` times a typical distance of two rows of the scaled data.
    multiple : float, default=3.0
        Used for "auto" only. Wide kernels suit few samples and smooth surfaces.
    unit : {"observed", "zero-filled"}, default="observed"
        Used for "auto" only: :func:`typical_distance`, from the variances of observed entries, or
        :func:`zero_filled_distance`, as in the code of the paper's authors. The paper gives none.

    Examples
    --------
    >>> import numpy as np
    >>> float(RBF(width=1.0).gram(np.array([[0.0]]), np.array([[1.0]]))[0, 0])
    0.6065306597126334
    """

    def __init__(self, width: float | str = "auto", multiple: float = 3.0, unit: str = "observed"):
        self.width = width
        self.multiple = multiple
        self.unit = unit

    def resolve(self, X: Array, mask: Array) -> RBF:
        """Return the kernel with a number for its width."""
        if self.width == "auto":
            check_numbers(self, "multiple")
            if self.unit not in UNITS:
                raise ValueError(f"RBF(unit=...) must be one of {[*UNITS]}, got {self.unit!r}.")
            return RBF(width=self.multiple * UNITS[self.unit](X, mask))
        check_numbers(self, "width")
        return self

    def stretched(self, factor: float) -> RBF:
        """Return the kernel with its width multiplied."""
        return RBF(width=factor * self._sigma())

    def _sigma(self) -> float:
        if self.width == "auto":
            raise ValueError('RBF(width="auto") has no width before fit or resolve(X, mask).')
        check_numbers(self, "width")
        return float(self.width)

    def gram(self, X: Array, Y: Array | None = None) -> Array:
        """Return the matrix of similarities."""
        xp = array_namespace(X)
        # Distances do not depend on the origin; rounding is smallest near the data.
        center = xp.mean(X if Y is None else Y, axis=0)
        A = (X - center) / self._sigma()
        B = A if Y is None else (Y - center) / self._sigma()
        a, b = 0.5 * xp.sum(A * A, axis=1)[:, None], 0.5 * xp.sum(B * B, axis=1)[:, None]
        if Y is None:
            # In one product: then the matrix is exactly symmetric.
            D = A @ B.T - (a + b.T)
            D *= 1 - xp.eye(D.shape[0], dtype=D.dtype, device=device(D))
        else:  # the same product adds the squared lengths
            D = (
                xp.concat([A, a, xp.ones_like(a)], axis=1)
                @ xp.concat([B, -xp.ones_like(b), -b], axis=1).T
            )
        return xp.exp(xp.clip(D, None, 0.0))

    @property
    def decay(self) -> float:  # type: ignore[override]
        """1/σ²."""
        return self._sigma() ** -2

    def slopes(self, X: Array, Y: Array, K: Array) -> tuple[Array, Array]:
        """Return ``K/σ²`` twice."""
        s = K / self._sigma() ** 2
        return s, s

    def diagonal(self, X: Array) -> Array:
        """Return ones."""
        return array_namespace(X).ones(X.shape[0], dtype=X.dtype, device=device(X))

    def diagonal_slope(self, X: Array) -> Array:
        """Return zeros."""
        return array_namespace(X).zeros(X.shape[0], dtype=X.dtype, device=device(X))

    def metric(self, X: Array) -> tuple[Array, Array]:
        """Return 1/σ² and 0."""
        return self.diagonal(X) / self._sigma() ** 2, self.diagonal_slope(X)

    def cross(self, X: Array, K: Array, M: Array) -> Callable[[Array], Array]:
        """Return the map by ``K/σ² (I − (x − y)(x − y)ᵀ/σ²)``."""
        xp, width = array_namespace(X), float(self._sigma())
        X, weighed = X - xp.mean(X, axis=0), M * K
        first, second = weighed / width**2, weighed / width**4

        def product(V: Array) -> Array:
            # (xₖ − xⱼ)·vₖ for each pair
            T = second * (xp.sum(X * V, axis=1) - X @ V.T)
            return first @ V - (T @ X - xp.sum(T, axis=1)[:, None] * X)

        return product


class Polynomial(Kernel):
    """Polynomial kernel ``(x·y + b)^a``; its features are all monomials up to degree a.

    Parameters
    ----------
    degree : int
        The degree a.
    offset : float, default=1.0
        b ≥ 0; larger values give lower degrees more weight.
    relative : bool, default=False
        Measure b relative to the mean squared length of a row, so that it does not depend on the
        units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> float(Polynomial(2, 1).gram(np.array([[1.0, 2.0]]))[0, 0])
    36.0
    """

    def __init__(self, degree: int, offset: float = 1.0, relative: bool = False):
        self.degree = degree
        self.offset = offset
        self.relative = relative

    def resolve(self, X: Array, mask: Array) -> Self:
        """Check the parameters."""
        if not isinstance(self.degree, Integral) or int(self.degree) < 1:
            raise ValueError(
                f"Polynomial(degree=...) must be a positive integer, got {self.degree!r}."
            )
        check_numbers(self, "offset", zero=True)
        if not self.relative:
            return self
        length = float(array_namespace(X).sum(_means(X, mask, power=2)))
        return type(self)(self.degree, float(self.offset) * length)

    def n_features(self, n_columns: int) -> int:
        """Return the number of monomials."""
        return comb(n_columns + int(self.degree) - (self.offset == 0), int(self.degree))

    def _power(self, u: Array, derivative: int) -> Array:
        """Return the derivative of ``(u + b)^a`` of the given order."""
        factor = float(np.prod([self.degree - i for i in range(derivative)]))
        if derivative > self.degree:
            return u * 0
        return factor * (u + float(self.offset)) ** int(self.degree - derivative)

    def gram(self, X: Array, Y: Array | None = None) -> Array:
        """Return the matrix of similarities."""
        return self._power(X @ (X if Y is None else Y).T, 0)

    def slopes(self, X: Array, Y: Array, K: Array) -> tuple[Array, float]:
        """Return ``a (x·y + b)^(a−1)`` and 0."""
        return self._power(X @ Y.T, 1), 0.0

    def diagonal(self, X: Array) -> Array:
        """Return ``(|x|² + b)^a``."""
        return self._power(_squared_norm(X), 0)

    def diagonal_slope(self, X: Array) -> Array:
        """Return ``a (|x|² + b)^(a−1)``."""
        return self._power(_squared_norm(X), 1)

    def metric(self, X: Array) -> tuple[Array, Array]:
        """Return the first and the second derivative at ``|x|²``."""
        u = _squared_norm(X)
        return self._power(u, 1), self._power(u, 2)

    def cross(self, X: Array, K: Array, M: Array) -> Callable[[Array], Array]:
        """Return the map by the first and the second derivative at ``x·y``."""
        U = X @ X.T
        first, second = M * self._power(U, 1), M * self._power(U, 2)
        return lambda V: first @ V + (second * (X @ V.T)) @ X


def _squared_norm(X: Array) -> Array:
    return array_namespace(X).sum(X * X, axis=1)


class Linear(Polynomial):
    """Linear kernel ``x·y``, with which penalties act on the singular values of X itself.

    Examples
    --------
    >>> import numpy as np
    >>> float(Linear().gram(np.array([[1.0, 2.0]]))[0, 0])
    5.0
    """

    def __init__(self) -> None:
        super().__init__(degree=1, offset=0.0)
