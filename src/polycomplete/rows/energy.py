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

import numpy as np
from scipy import linalg

from polycomplete.kernels import Kernel

__all__ = ["RowEnergy", "learn"]


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
        *others* is ``k(x, x) − |Fᵀk|² + (own[j]·k)²``.
    gamma : float
        The smoothing, in the units of the kernel.
    """

    kernel: Kernel
    landmarks: np.ndarray
    factor: np.ndarray
    own: np.ndarray
    gamma: float

    def left_out(self) -> np.ndarray:
        """Return the energy of each landmark given the others."""
        return np.maximum(self.value(self.landmarks, np.arange(len(self.landmarks))), 0)

    def value(self, X: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """Return the energy of each row.

        ``who`` names the landmark each row of X takes the place of, which then does not count.
        """
        K = self.kernel.gram(X, self.landmarks)
        P = K @ self.factor
        E = self.kernel.diagonal(X) - np.sum(P * P, axis=1)
        if who is not None:
            E = E + np.sum(K * self.own[who], axis=1) ** 2
        return E

    def expand(
        self, X: np.ndarray, who: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return energy (n,), gradient (n, m) and Gauss–Newton matrix (n, m, m) of each row."""
        L, F = self.landmarks, self.factor
        n, m = X.shape
        K = self.kernel.gram(X, L)
        S, T = self.kernel.slopes(X, L, K)
        S, T = np.broadcast_to(S, K.shape), np.broadcast_to(T, K.shape)
        P = K @ F
        # J[i, a] = ∂(Fᵀk(L, xᵢ))/∂xᵢₐ, all rows and coordinates in one product.
        J = ((S[:, None, :] * L.T[None]).reshape(n * m, -1) @ F).reshape(n, m, -1)
        J -= X[:, :, None] * (T @ F)[:, None, :]
        a, b = self.kernel.metric(X)
        E = self.kernel.diagonal(X) - np.sum(P * P, axis=1)
        gradient = self.kernel.diagonal_slope(X)[:, None] * X - (J @ P[:, :, None])[:, :, 0]
        H = b[:, None, None] * X[:, :, None] * X[:, None, :] - J @ J.transpose(0, 2, 1)
        H[:, np.arange(m), np.arange(m)] += a[:, None]
        if who is not None:
            B = self.own[who]
            s = np.sum(K * B, axis=1)
            Js = (S * B) @ L - np.sum(T * B, axis=1)[:, None] * X
            E = E + s * s
            gradient += Js * s[:, None]
            H += Js[:, :, None] * Js[:, None, :]
        return E, 2 * gradient, 2 * H


def learn(kernel: Kernel, X: np.ndarray, gamma: float) -> RowEnergy:
    """Learn the row energy of a surface from complete rows.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : ndarray of shape (r, m)
        The rows.
    gamma : float
        The smoothing, in the units of the kernel: how much of a row may stay unexplained.

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
    K = kernel.gram(X)
    values, V = linalg.eigh(K, driver="evd", check_finite=False)
    values = np.maximum(values, 0)
    inverse = (V / (values + gamma)) @ V.T
    # Directions far below γ explain nothing; leaving them out makes all later products smaller.
    kept = values > 1e-3 * gamma
    factor = V[:, kept] / np.sqrt(values[kept] + gamma)
    own = inverse / np.sqrt(np.diag(inverse))[:, None]
    return RowEnergy(kernel, X, factor, own, gamma)
