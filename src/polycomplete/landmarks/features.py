"""Whitened landmark features of rows, and their covariance: sums over rows, nothing else.

With landmarks L and ``k(L, L) = V e Vᵀ`` the features of a row are ``φ(x) = e^(−½) Vᵀ k(L, x)``;
``k(x, x) − |φ(x)|²`` is what the landmarks cannot express of it. The covariance ``C = Σ aⱼ φⱼφⱼᵀ``
is additive: blocks of rows, workers and files add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce

from array_api_compat import array_namespace

from polycomplete._arrays import Array
from polycomplete.kernels import Kernel
from polycomplete.rows import Run

BLOCK = 2048  # rows whose features are added up at a time
CUT = 1e-12  # directions of the landmarks below this share of the largest are rounding


@dataclass(frozen=True)
class Features:
    """The map from rows to whitened features.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    landmarks : array of shape (r, m)
        Complete rows.
    turn : array of shape (r, q)
        T of ``φ(x) = Tᵀ k(L, x)``.
    """

    kernel: Kernel
    landmarks: Array
    turn: Array

    def of(self, X: Array) -> Array:
        """Return the features of each row, (n, q)."""
        return self.kernel.gram(X, self.landmarks) @ self.turn


def whiten(kernel: Kernel, landmarks: Array) -> Features:
    """Return the features that landmarks define.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    landmarks : array of shape (r, m)
        Complete rows.

    Returns
    -------
    Features

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete.kernels import RBF
    >>> L = np.array([[0.0], [1.0]])
    >>> phi = whiten(RBF(width=1.0), L).of(L)
    >>> bool(np.allclose(phi @ phi.T, RBF(width=1.0).gram(L)))
    True
    """
    xp = array_namespace(landmarks)
    values, V = xp.linalg.eigh(kernel.gram(landmarks))
    kept = int(xp.sum(xp.astype(values > CUT * float(values[-1]), xp.int64)))
    values, V = values[-kept:], V[:, -kept:]
    return Features(kernel, landmarks, V / xp.sqrt(values))


@dataclass(frozen=True)
class Moments:
    """What a model needs to know of rows; sums of these are sums over rows.

    Attributes
    ----------
    total : float
        The sum of the weights.
    covariance : array of shape (q, q)
        ``Σ aⱼ φⱼφⱼᵀ``.
    outside : float
        ``Σ aⱼ (k(xⱼ, xⱼ) − |φⱼ|²)``.
    """

    total: float
    covariance: Array
    outside: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.total + other.total,
            self.covariance + other.covariance,
            self.outside + other.outside,
        )


def moments(
    features: Features, X: Array, weights: Array, run: Run = map, split: bool = True
) -> Moments:
    """Return the moments of rows.

    Parameters
    ----------
    features : Features
        The map.
    X : array of shape (n, m)
        Complete rows.
    weights : array of shape (n,)
        How much each row counts.
    run : callable
        Maps a function over blocks: :func:`map`, or that of a pool of threads.
    split : bool
        Work on blocks of a few thousand rows, or on all of them at once.

    Returns
    -------
    Moments

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> found = moments(whiten(Linear(), X[1:]), X, np.ones(3))
    >>> found.covariance  # 0² + 1² + 3² along the second axis; 1² is elsewhere
    array([[10.]])
    >>> round(found.outside, 9)
    1.0
    """
    size = BLOCK if split else len(X)
    parts = [(X[at : at + size, :], weights[at : at + size]) for at in range(0, len(X), size)]
    return reduce(Moments.__add__, run(partial(_moments, features), parts))


def _moments(features: Features, part: tuple[Array, Array]) -> Moments:
    X, weights = part
    xp = array_namespace(X)
    phi = features.of(X)
    left = xp.clip(features.kernel.diagonal(X) - xp.sum(phi * phi, axis=1), 0.0, None)
    return Moments(
        float(xp.sum(weights)), (phi * weights[:, None]).T @ phi, float(xp.sum(weights * left))
    )
