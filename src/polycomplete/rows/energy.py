"""The energy of one row: how far it lies from the surface that the other rows span.

For the log penalty (p = 0, equal weights) the objective splits exactly. With A = (K + γI)⁻¹ over
the other rows,

    log det(K + γI) = log det(K_others + γI) + log(E(x) + γ),     E(x) = k(x, x) − kᵀ A k,

where k = k(others, x): given the others, a row pays the logarithm of its *unexplained part* E,
which is the posterior variance of a Gaussian process. E needs that row alone, so that rows can be
completed one by one, tried from several starts, and given to users as new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._arrays import Array
from polycomplete.kernels import Kernel
from polycomplete.linear import eigenpairs


@dataclass(frozen=True)
class RowEnergy:
    """A frozen model of the surface through some complete rows.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    landmarks : ndarray of shape (r, m)
        The complete rows.
    factor : ndarray of shape (r, q)
        F with A = F Fᵀ.
    own : ndarray of shape (r, r)
        Row j holds the direction that takes row j out of the model: the energy of row j given the
        *others* is ``k(x, x) − |Fᵀk|² + (own[j]·k)²``. None where that is not needed.
    """

    kernel: Kernel
    landmarks: Array
    factor: Array
    own: Array | None

    @cached_property
    def inverse(self) -> Array:
        """A = F Fᵀ itself, (r, r)."""
        return self.factor @ self.factor.T

    @cached_property
    def least(self) -> float:
        """The smallest metric that counts: a polynomial kernel has none at the origin.

        It is that of the model: what comes back for a row must not depend on other new ones.
        """
        xp = array_namespace(self.landmarks)
        return max(1e-9 * float(xp.max(self.kernel.metric(self.landmarks)[0])), 1e-300)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept in files and sent to processes: all but what follows from it."""
        derived = ("inverse", "least")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def left_out(self, X: np.ndarray) -> np.ndarray:
        """Return the energy of each of the rows that it was learned from, given the others."""
        return np.maximum(self.value(X, np.arange(len(X))), 0)

    def value(self, X: Array, who: np.ndarray | None = None) -> Array:
        """Return the energy of each row.

        ``who`` names the landmark each row of X takes the place of, which then does not count.
        """
        K = self.kernel.gram(X, self.landmarks)
        P = K @ self.factor
        E = self.kernel.diagonal(X) - array_namespace(X).linalg.vecdot(P, P)
        if who is not None:
            assert self.own is not None
            E = E + np.sum(K * self.own[who], axis=1) ** 2
        return E

    def expand(self, X: np.ndarray, who: np.ndarray | None = None) -> Expansion:
        """Return the energy of each row with its first and (Gauss–Newton) second derivatives."""
        L, F = self.landmarks, self.factor
        n, m = X.shape
        K = self.kernel.gram(X, L)
        S, T = self.kernel.slopes(X, L, K)
        origin = L.mean(axis=0) if S is T else 0.0  # then only differences of rows count
        S, T = np.broadcast_to(S, K.shape), np.broadcast_to(T, K.shape)
        P = K @ F
        L, Y = L - origin, X - origin
        # J[i, a] = ∂(Fᵀk(L, xᵢ))/∂xᵢₐ, all rows and coordinates in one product.
        J = ((S[:, None, :] * L.T[None]).reshape(n * m, -1) @ F).reshape(n, m, -1)
        J -= Y[:, :, None] * (T @ F)[:, None, :]
        E = self.kernel.diagonal(X) - array_namespace(X).linalg.vecdot(P, P)
        gradient = self.kernel.diagonal_slope(X)[:, None] * X - (J @ P[:, :, None])[:, :, 0]
        a, b = self.kernel.metric(X)
        added = [np.sqrt(b)[:, None] * X] if np.any(b) else []
        if who is not None:
            assert self.own is not None
            B = self.own[who]
            s = np.sum(K * B, axis=1)
            Js = (S * B) @ L - np.sum(T * B, axis=1)[:, None] * Y
            E = E + s * s
            gradient += Js * s[:, None]
            added.append(Js)
        U = np.stack(added, axis=2) if added else J[:, :, :0]
        return Expansion(E, 2 * gradient, np.maximum(a, self.least), J, U)


@dataclass(frozen=True)
class Quadratic:
    """The energy of rows to second order: ``H = 2 (a I − explained)`` for each row.

    Attributes
    ----------
    energy, gradient : arrays of shape (n,) and (n, m)
        Value and gradient.
    a : array of shape (n,)
        The metric of the kernel, not below the smallest that counts.
    explained : array of shape (n, m, m)
        What the landmarks explain of it.
    """

    energy: Array
    gradient: Array
    a: Array
    explained: Array

    def hessian(self, mask: Array, damping: float | Array) -> Array:
        """Return the Gauss–Newton matrix of the missing entries; a one for each observed entry.

        ``damping`` is added in units of the kernel's metric.
        """
        xp = array_namespace(self.a)
        free = xp.astype(~mask, self.a.dtype)
        H = self.explained * (-2 * free)[:, :, None]
        H *= free[:, None, :]
        own = xp.where(mask, 1.0, (2 * self.a * (1 + damping))[:, None])
        at = xp.arange(mask.shape[1], device=device(H))
        H[:, at, at] += own
        return H

    def step(self, mask: Array, damping: Array) -> Array:
        """Return the damped Newton step of the missing entries; zero for observed ones."""
        xp = array_namespace(self.a)
        slope = xp.where(mask, 0.0, -self.gradient)
        return xp.linalg.solve(self.hessian(mask, damping), slope[:, :, None])[:, :, 0]


@dataclass(frozen=True)
class Expansion:
    """The same with factors: ``H = 2 (a I − J Jᵀ + U Uᵀ)`` for each row.

    Attributes
    ----------
    energy, gradient : ndarrays of shape (n,) and (n, m)
        Value and gradient.
    a : ndarray of shape (n,)
        The metric of the kernel, not below the smallest that counts.
    J, U : ndarrays of shape (n, m, q) and (n, m, few)
        What the landmarks explain, and what is added back.
    """

    energy: np.ndarray
    gradient: np.ndarray
    a: np.ndarray
    J: np.ndarray
    U: np.ndarray

    @cached_property
    def multiplied(self) -> Quadratic:
        """The same with the factors multiplied."""
        explained = self.J @ self.J.transpose(0, 2, 1)
        if self.U.shape[2]:
            explained -= self.U @ self.U.transpose(0, 2, 1)
        return Quadratic(self.energy, self.gradient, self.a, explained)

    def hessian(self, mask: np.ndarray, damping: float | np.ndarray) -> np.ndarray:
        """Return the Gauss–Newton matrix of the missing entries, as :class:`Quadratic` does."""
        return self.multiplied.hessian(mask, damping)

    def step(self, mask: np.ndarray, damping: np.ndarray) -> np.ndarray:
        """Return the damped Newton step of the missing entries; zero for observed ones."""
        if mask.shape[1] <= self.J.shape[2] + self.U.shape[2]:
            return self.multiplied.step(mask, damping)
        # Woodbury's identity: matrices of q × q instead of m × m.
        g = np.where(mask, 0.0, self.gradient)[:, :, None]
        W = np.where(mask[:, :, None], 0.0, np.concatenate([self.J, self.U], axis=2))
        sign = np.where(np.arange(W.shape[2]) < self.J.shape[2], -1.0, 1.0)
        c = (self.a * (1 + damping))[:, None, None]
        turned = W.transpose(0, 2, 1)
        inner = np.linalg.solve(turned @ W / c + np.diag(sign), turned @ g)
        return -((g - W @ inner / c) / (2 * c))[:, :, 0]


def learn(kernel: Kernel, X: np.ndarray, gamma: float, in_place: bool = True) -> RowEnergy:
    """Learn the row energy of a surface from complete rows.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : ndarray of shape (r, m)
        The rows.
    gamma : float
        The smoothing, in the units of the kernel: how much of a row may stay unexplained.
    in_place : bool
        Also learn what takes each of these rows out of the model; not needed for new rows.

    Returns
    -------
    RowEnergy

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete.kernels import RBF
    >>> t = np.linspace(0, 1, 20)
    >>> arc = np.c_[t, t**2]
    >>> energy = learn(RBF(width=2.0), arc, gamma=1e-8)
    >>> on, off = energy.value(np.array([[0.5, 0.25], [0.5, 0.6]]))
    >>> bool(on < 1e-6 < 1e-3 < off)
    True
    """
    values, V = eigenpairs(kernel.gram(X))
    values = np.maximum(values, 0)
    # Directions far below γ explain nothing; leaving them out makes all later products smaller.
    kept = values > 1e-3 * gamma
    factor = V[:, kept] / np.sqrt(values[kept] + gamma)
    if not in_place:
        return RowEnergy(kernel, X, factor, None)
    inverse = (V / (values + gamma)) @ V.T
    return RowEnergy(kernel, X, factor, inverse / np.sqrt(np.diag(inverse))[:, None])
