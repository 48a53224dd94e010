"""From coefficients to a graph: keep what matters, forget directions and scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def keep_largest(values: np.ndarray, share: float) -> np.ndarray:
    """Set all but the largest coefficients of each row to zero.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_atoms)
        Coefficients.
    share : float
        The largest are kept until their absolute values reach this share of the row's sum; 1 keeps
        all.

    Returns
    -------
    ndarray of shape (n_rows, n_atoms)

    Examples
    --------
    >>> keep_largest(np.array([[5.0, -4.0, 1.0]]), 0.7)
    array([[ 5., -4.,  0.]])
    """
    if share >= 1:
        return values.copy()
    size = np.abs(values)
    order = np.argsort(-size, axis=1, kind="stable")
    sizes = np.take_along_axis(size, order, axis=1)
    reached = np.cumsum(sizes, axis=1)
    needed = reached - sizes < share * reached[:, -1:]
    kept = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(kept, order, needed, axis=1)
    return np.where(kept, values, 0.0)


def coefficient_matrix(values: np.ndarray, atoms: np.ndarray | None) -> Any:
    """Return the coefficients as a matrix of points against points.

    Parameters
    ----------
    values : ndarray of shape (n_points, n_atoms)
        Coefficients.
    atoms : ndarray of int, shape (n_points, n_atoms), or None
        The points that they belong to; None where these are all points in their order.

    Returns
    -------
    ndarray or csr_matrix of shape (n_points, n_points)
        Sparse where there are ``atoms``.

    Examples
    --------
    >>> coefficient_matrix(np.array([[2.0], [0.5]]), np.array([[1], [0]])).toarray()
    array([[0. , 2. ],
           [0.5, 0. ]])
    """
    if atoms is None:
        return values
    used = values != 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return sparse.csr_matrix((values[used], atoms[used], starts), shape=(len(values),) * 2)


def symmetric_affinity(coefficients: Any) -> Any:
    """Return |C| + |C|ᵀ with every row of C divided by its largest entry first.

    Without the division a point that is written by far-away points, with small coefficients, would
    hang on the graph by threads.

    Parameters
    ----------
    coefficients : ndarray or sparse matrix of shape (n_points, n_points)
        Row i: how point i is written.

    Returns
    -------
    ndarray or csr_matrix of shape (n_points, n_points)

    Examples
    --------
    >>> symmetric_affinity(np.array([[0.0, -2.0], [0.5, 0.0]]))
    array([[0., 2.],
           [2., 0.]])
    """
    size = abs(coefficients)
    if sparse.issparse(size):
        largest = size.max(axis=1).toarray().ravel()
        scaled = sparse.diags_array(1 / np.where(largest > 0, largest, 1)) @ size
        return sparse.csr_matrix(scaled + scaled.T)
    largest = size.max(axis=1, keepdims=True)
    scaled = size / np.where(largest > 0, largest, 1)
    return scaled + scaled.T
