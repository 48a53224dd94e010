"""Complete matrices of known low-dimensional structure, with samples as rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]
Rng = np.random.Generator
Seed = int | Rng | None


def make_polynomial_manifold(
    n_samples: int = 200,
    n_features: int = 20,
    *,
    n_dims: int = 2,
    degree: int = 4,
    n_manifolds: int = 1,
    noise: float = 0.0,
    random_state: Seed = None,
    return_labels: bool = False,
) -> Any:
    """Draw samples from one or several random polynomial surfaces.

    A sample is A z + (B z² + C z³ + D z⁴) / 2 with entry-wise powers, a standard normal coefficient
    matrix for each power, and z uniform on (-1, 1). The matrix of one surface has rank
    ``n_dims * degree``, although the surface has only `n_dims` dimensions.

    Parameters
    ----------
    n_samples : int
        Rows in total, shared among the manifolds as evenly as possible and in their order.
    n_features : int
        Columns.
    n_dims : int
        Dimension of each manifold.
    degree : int
        Highest power, at least 1; the linear term has weight 1, all higher ones ½.
    n_manifolds : int
        Number of manifolds, each with its own coefficients.
    noise : float
        Standard deviation of added Gaussian noise relative to the root mean square of the data.
    random_state : int, Generator or None
        Seed.
    return_labels : bool
        Also return which manifold a row is from.

    Returns
    -------
    X : ndarray, shape (n_samples, n_features)
        The samples.
    labels : ndarray of int, shape (n_samples,)
        Number of the manifold, from 0; only with `return_labels`.

    Notes
    -----
    This is the generator of the synthetic experiments of Fan, Zhang and Udell, *Polynomial Matrix
    Completion for Missing Data Imputation and Transductive Learning* (AAAI 2020). Their printed
    formula repeats C in the fourth-order term; their code has four independent matrices.

    Examples
    --------
    >>> X = make_polynomial_manifold(100, 20, random_state=0)
    >>> X.shape, int(np.linalg.matrix_rank(X))
    ((100, 20), 8)
    """
    _check_positive(n_features=n_features, n_dims=n_dims, degree=degree)

    def surface(count: int, rng: Rng) -> Matrix:
        coefficients = rng.standard_normal((degree, n_features, n_dims))
        coefficients[1:] *= 0.5
        Z = rng.uniform(-1, 1, (n_dims, count))
        return sum((c @ Z**k for k, c in enumerate(coefficients, 1)), np.zeros(())).T

    X, labels = _stack(surface, n_samples, n_manifolds, noise, random_state)
    return (X, labels) if return_labels else X


def make_union_of_subspaces(
    n_samples: int = 200,
    n_features: int = 20,
    *,
    n_subspaces: int = 3,
    dim: int = 2,
    noise: float = 0.0,
    random_state: Seed = None,
    return_labels: bool = False,
) -> Any:
    """Draw samples from several random linear subspaces.

    Each subspace has a random orthonormal basis; the coordinates in it are standard normal.

    Parameters
    ----------
    n_samples : int
        Rows in total, shared among the subspaces as evenly as possible and in their order.
    n_features : int
        Columns.
    n_subspaces : int
        Number of subspaces.
    dim : int
        Dimension of each, at most `n_features`.
    noise : float
        Standard deviation of added Gaussian noise relative to the root mean square of the data.
    random_state : int, Generator or None
        Seed.
    return_labels : bool
        Also return which subspace a row is from.

    Returns
    -------
    X : ndarray, shape (n_samples, n_features)
        The samples.
    labels : ndarray of int, shape (n_samples,)
        Number of the subspace, from 0; only with `return_labels`.

    Examples
    --------
    >>> X, labels = make_union_of_subspaces(90, 20, dim=2, random_state=0, return_labels=True)
    >>> int(np.linalg.matrix_rank(X[labels == 0])), int(np.linalg.matrix_rank(X))
    (2, 6)
    """
    _check_positive(n_features=n_features, dim=dim)
    if dim > n_features:
        raise ValueError(f"dim={dim} exceeds n_features={n_features}; lower dim.")

    def subspace(count: int, rng: Rng) -> Matrix:
        basis = np.linalg.qr(rng.standard_normal((n_features, dim))).Q
        return rng.standard_normal((count, dim)) @ basis.T

    X, labels = _stack(subspace, n_samples, n_subspaces, noise, random_state)
    return (X, labels) if return_labels else X


def _stack(
    draw: Callable[[int, Rng], Matrix], n_samples: int, n_parts: int, noise: float, seed: Seed
) -> tuple[Matrix, Labels]:
    """Draw each part in turn, put them below one another and add the noise."""
    if not 1 <= n_parts <= n_samples:
        raise ValueError(
            f"{n_samples} samples cannot be drawn from {n_parts} parts; take at least one of each."
        )
    if not noise >= 0:
        raise ValueError(f"noise={noise} must not be negative.")
    rng = np.random.default_rng(seed)
    labels = np.sort(np.arange(n_samples, dtype=np.int64) % n_parts)
    X = np.vstack([draw(int(size), rng) for size in np.bincount(labels)])
    if noise:
        X += noise * np.sqrt(np.mean(X**2)) * rng.standard_normal(X.shape)
    return X, labels


def _check_positive(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name}={number} must be at least 1.")
