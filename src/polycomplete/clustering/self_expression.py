"""Every point written by few other points: the coefficients of sparse subspace clustering.

Points of one subspace write each other more sparsely than points of another can; so the nonzero
coefficients show who belongs together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polycomplete.clustering.admm import Schedule, sparse_codes
from polycomplete.clustering.dictionaries import Own, Shared

Matrix = np.ndarray
# Rows coded together with dictionaries of their own: few enough for these to stay in the cache.
_BLOCK = 128


@dataclass(frozen=True)
class SelfExpression:
    """Coefficients of every point, and what they belong to.

    Attributes
    ----------
    values : ndarray of shape (n_points, n_atoms)
        Coefficients.
    atoms : ndarray of int, shape (n_points, n_atoms), or None
        The points that they belong to; None where these are all points in their order.
    outliers : ndarray of shape (n_points, n_features), or None
        What the outlier term took out of the points, where there is one.
    iterations : int
        Of the slowest part.
    converged : bool
        Whether all parts converged.

    Examples
    --------
    >>> SelfExpression(np.eye(2), None, None, 1, True).atoms is None
    True
    """

    values: Matrix
    atoms: np.ndarray | None
    outliers: Matrix | None
    iterations: int
    converged: bool


def by_all(
    X: Matrix,
    alpha: float,
    affine: bool,
    outlier_alpha: float | None,
    schedule: Schedule,
    ridge: float = 0.0,
) -> SelfExpression:
    """Code every point by all the others.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_features)
        The points.
    alpha : float
        λ of the squared error is alpha / min_i max_j |xᵢ·xⱼ|: above 1 no point is left at zero.
    affine : bool
        Coefficients sum to one.
    outlier_alpha : float or None
        Of the outlier term; None for none.
    schedule : Schedule
        Of ADMM.
    ridge : float
        κ, see :func:`~polycomplete.clustering.admm.sparse_codes`.

    Returns
    -------
    SelfExpression

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> found = by_all(X, 100.0, False, None, Schedule(100.0, tol=1e-6))
    >>> (found.values.round(2) != 0).astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])
    """
    n, m = X.shape
    weight = alpha / _smallest_largest(np.abs(X @ X.T))
    barred, atoms, counted = np.eye(n, dtype=bool), X, np.ones(n)
    scale = None if outlier_alpha is None else _outlier_weight(X, outlier_alpha)
    if scale is not None:
        # An outlier is a combination of unit vectors; dividing them by λₑ charges them λₑ each.
        atoms = np.vstack([X, np.eye(m) / scale])
        barred = np.hstack([barred, np.zeros((n, m), dtype=bool)])
        counted = np.concatenate([counted, np.zeros(m)])
    problem = Shared(*_narrow(X, atoms), weight, counted if affine else None)
    codes = sparse_codes(problem, barred.shape, schedule, barred, ridge * counted)
    values = codes.coefficients
    outliers = None if scale is None else values[:, n:] / scale
    return SelfExpression(values[:, :n], None, outliers, codes.iterations, codes.converged)


def by_nearest(
    X: Matrix, alpha: float, affine: bool, n_neighbors: int, schedule: Schedule, ridge: float = 0.0
) -> SelfExpression:
    """Code every point by its nearest others, in blocks: memory grows with the points only.

    Nearest means the smallest distance where subspaces are affine, the smallest angle where they go
    through the origin.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_features)
        The points.
    alpha : float
        λ of the squared error is alpha / min_i max_j |xᵢ·xⱼ|, as in :func:`by_all`.
    affine : bool
        Coefficients sum to one.
    n_neighbors : int
        Atoms of a point, below the number of points.
    schedule : Schedule
        Of ADMM.
    ridge : float
        κ, see :func:`~polycomplete.clustering.admm.sparse_codes`.

    Returns
    -------
    SelfExpression

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> found = by_nearest(X, 100.0, False, 1, Schedule(100.0))
    >>> found.atoms.ravel()
    array([1, 0, 3, 2])
    """
    atoms, largest = _nearest(X, affine, n_neighbors)
    weight = alpha / _smallest(largest)
    values, iterations, converged = np.zeros(atoms.shape), 0, True
    for rows in _blocks(len(X)):
        D = X[atoms[rows]]
        products = np.einsum("bkm,bm->bk", D, X[rows])
        problem = Own(D @ D.transpose(0, 2, 1), products, weight, affine)
        codes = sparse_codes(problem, products.shape, schedule, ridge=ridge)
        values[rows] = codes.coefficients
        iterations, converged = max(iterations, codes.iterations), converged and codes.converged
    return SelfExpression(values, atoms, None, iterations, converged)


def _nearest(X: Matrix, affine: bool, n_neighbors: int) -> tuple[np.ndarray, Matrix]:
    """Return the nearest points of each in ascending order, and the largest product of each."""
    norms = np.linalg.norm(X, axis=1)
    atoms, largest = np.empty((len(X), n_neighbors), dtype=np.intp), np.empty(len(X))
    for rows in _blocks(len(X)):
        products = X[rows] @ X.T
        own = np.arange(len(products)), np.arange(rows.start, rows.stop)
        closeness = (
            2 * products - norms**2 if affine else np.abs(products) / np.maximum(norms, 1e-300)
        )
        closeness[own], products[own] = -np.inf, 0
        largest[rows] = np.abs(products).max(axis=1)
        # In the order of the points: no result depends on how the search sorts.
        atoms[rows] = np.sort(np.argpartition(-closeness, n_neighbors - 1)[:, :n_neighbors], axis=1)
    return atoms, largest


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


def _narrow(X: Matrix, atoms: Matrix) -> tuple[Matrix, Matrix]:
    """Turn the space so that there are no more columns than atoms; products stay what they are."""
    if X.shape[1] <= len(atoms):
        return X, atoms
    basis = np.linalg.svd(atoms, full_matrices=False)[2].T
    return X @ basis, atoms @ basis


def _smallest_largest(products: Matrix) -> float:
    np.fill_diagonal(products, 0)
    return _smallest(products.max(axis=1))


def _smallest(largest: np.ndarray) -> float:
    """Return the smallest number that is not rounding; points at the origin tell nothing."""
    positive = largest[largest > 1e-12 * largest.max()]
    return float(positive.min()) if positive.size else 1.0


def _outlier_weight(X: Matrix, alpha: float) -> float:
    """Return λₑ = alpha / min_i max_{j≠i} |xⱼ|₁: that minimum is the second largest norm."""
    second = float(np.sort(np.abs(X).sum(axis=1))[-2])
    return alpha / (second if second > 0 else 1.0)
