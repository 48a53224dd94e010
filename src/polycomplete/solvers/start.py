"""Where a solver begins: what the missing entries hold before the first step."""

from __future__ import annotations

import numpy as np


def _zero(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.zeros_like(X)


def _mean(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.broadcast_to(_means(X, mask, axis=0), X.shape)


def _row_column(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return (_means(X, mask, axis=0) + _means(X, mask, axis=1)) / 2


def _means(X: np.ndarray, mask: np.ndarray, axis: int) -> np.ndarray:
    count = np.maximum(mask.sum(axis=axis, keepdims=True), 1).astype(X.dtype)
    return np.where(mask, X, 0).sum(axis=axis, keepdims=True) / count


#: "zero" as in the paper; "mean" of the column; "row-column", the mean of the row's and the
#: column's mean, as in the paper's authors' code.
STARTS = {"zero": _zero, "mean": _mean, "row-column": _row_column}


def fill(X: np.ndarray, mask: np.ndarray, start: str) -> np.ndarray:
    """Return X with its missing entries at the start.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, m)
        The data, and True where observed.
    start : {"zero", "mean", "row-column"}
        The rule.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [3.0, np.nan]])
    >>> fill(X, ~np.isnan(X), "row-column")
    array([[1., 5.],
           [3., 4.]])
    """
    if start not in STARTS:
        raise ValueError(f"start must be one of {sorted(STARTS)}, got {start!r}.")
    return np.where(mask, X, STARTS[start](X, mask))
