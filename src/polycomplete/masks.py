"""Patterns of missing entries: boolean masks, True where an entry is observed.

Rows are samples. Entries are missing completely at random (``uniform``, ``per_row``,
``per_column``), in rectangles (``block``), or depending on the data (``mar``, ``mnar``). ``apply``
writes NaN into an array, ``hide`` holds out observed entries, for example for tuning.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

__all__ = ["apply", "block", "hide", "mar", "mnar", "per_column", "per_row", "uniform"]

Mask = NDArray[np.bool_]
Shape = tuple[int, int]
Seed = int | np.random.Generator | None


def uniform(
    shape: Shape, rate: float, *, group: int = 1, cover: bool = True, random_state: Seed = None
) -> Mask:
    """Observe an exact share of the matrix, uniformly at random.

    Parameters
    ----------
    shape : tuple of int
        (n, m), rows and columns.
    rate : float
        Share of observed entries: exactly ``round(rate * n * m)`` are True.
    group : int, default=1
        Number of adjacent columns that are observed or missing together, such as 2 for the (x, y)
        of tracked points. The share is then that of groups.
    cover : bool, default=True
        Move an entry into each empty row or column from one with several, as far as possible.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> mask = uniform((4, 5), 0.5, random_state=0)
    >>> int(mask.sum()), bool(mask.any(axis=1).all())
    (10, True)
    """
    n, m = _as_shape(shape)
    if group < 1 or m % group:
        raise ValueError(f"group={group} must divide the {m} columns into whole groups.")
    rng = np.random.default_rng(random_state)
    mask = np.zeros((n, m // group), dtype=bool)
    count = round(_as_share(rate, "rate") * mask.size)
    mask.flat[rng.choice(mask.size, count, replace=False, shuffle=False)] = True
    if cover:
        # An entry moves along its own row (then column), so neither pass undoes the other.
        _fill_empty_rows(mask.T, rng)
        _fill_empty_rows(mask, rng)
    return np.repeat(mask, group, axis=1)


def per_row(shape: Shape, count: int, *, random_state: Seed = None) -> Mask:
    """Observe the same number of entries in every row.

    Parameters
    ----------
    shape : tuple of int
        (n, m), rows and columns.
    count : int
        Observed entries per row, from 0 to m.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> per_row((3, 5), 2, random_state=0).sum(axis=1)
    array([2, 2, 2])
    """
    n, m = _as_shape(shape)
    if count != int(count) or not 0 <= count <= m:
        raise ValueError(f"count={count} must be a whole number from 0 to the {m} columns.")
    observed = np.broadcast_to(np.arange(m) < count, (n, m))
    return np.random.default_rng(random_state).permuted(observed, axis=1)


def per_column(shape: Shape, rate: float, *, random_state: Seed = None) -> Mask:
    """Observe the same share of every column.

    Parameters
    ----------
    shape : tuple of int
        (n, m), rows and columns.
    rate : float
        Share of observed entries: exactly ``round(rate * n)`` in each column.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> per_column((10, 3), 0.4, random_state=0).sum(axis=0)
    array([4, 4, 4])
    """
    n, m = _as_shape(shape)
    mask = per_row((m, n), round(_as_share(rate, "rate") * n), random_state=random_state)
    return np.ascontiguousarray(mask.T)


def block(
    shape: Shape, missing_rate: float, block: Shape = (5, 2), *, random_state: Seed = None
) -> Mask:
    """Remove rectangular blocks, as if a few sensors failed for a while.

    Blocks may overlap, and whole rows or columns may be missing.

    Parameters
    ----------
    shape : tuple of int
        (n, m), rows and columns.
    missing_rate : float
        Share of missing entries: exactly ``round(missing_rate * n * m)``, by a smaller last block.
    block : tuple of int, default=(5, 2)
        Rows and columns of a block, at most those of the matrix.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> mask = block((6, 8), 0.25, block=(3, 4), random_state=0)
    >>> int((~mask).sum())
    12
    """
    n, m = _as_shape(shape)
    height, width = (min(b, s) for b, s in zip(_as_shape(block, "block"), (n, m), strict=True))
    rng = np.random.default_rng(random_state)
    mask = np.ones((n, m), dtype=bool)
    left = round(_as_share(missing_rate, "missing_rate") * n * m)
    # Each block covers a cell that is still observed, so every one makes progress.
    for cell in rng.permutation(n * m):
        if left == 0:
            break
        if mask.flat[cell]:
            top = min(max(cell // m - rng.integers(height), 0), n - height)
            start = min(max(cell % m - rng.integers(width), 0), m - width)
            hole = mask[top : top + height, start : start + width]
            fresh = np.flatnonzero(hole)[:left]
            hole.flat[fresh] = False
            left -= fresh.size
    return mask


def mar(
    X: ArrayLike,
    missing_rate: float,
    *,
    pivot: int = 0,
    strength: float = 2.0,
    random_state: Seed = None,
) -> Mask:
    """Missing at random: how many entries a row lacks depends on a complete pivot column.

    Parameters
    ----------
    X : array-like, shape (n, m)
        The data; NaN are missing in the mask as well, and do not count toward the rate.
    missing_rate : float
        Expected share of missing entries in the whole matrix, the pivot included.
    pivot : int, default=0
        The column that decides, and stays complete.
    strength : float, default=2.0
        Slope of the logistic curve per standard deviation; if negative, rows with small values in
        the pivot lack more entries.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> mask = mar(X, 0.3, random_state=0)
    >>> bool(mask[:, 0].all()), bool(X[~mask[:, 1], 0].mean() > X[mask[:, 1], 0].mean())
    (True, True)
    """
    X, known = _as_data(X)
    if not -X.shape[1] <= pivot < X.shape[1] or not known[:, pivot].all():
        raise ValueError(f"pivot={pivot} is not a complete column of X; choose one without NaN.")
    eligible = known.copy()
    eligible[:, pivot] = False
    most = eligible.sum() / max(known.sum(), 1)
    if _as_share(missing_rate, "missing_rate") > most:
        raise ValueError(
            f"missing_rate={missing_rate} is too high; with this pivot it is at most {most:.3g}."
        )
    # The pivot stays complete, so the other columns make up for it.
    rate = missing_rate / most if missing_rate else 0.0
    values = np.broadcast_to(X[:, [pivot]], X.shape)
    return known & ~_missing_by_value(values, eligible, rate, strength, random_state)


def mnar(
    X: ArrayLike, missing_rate: float, *, strength: float = 2.0, random_state: Seed = None
) -> Mask:
    """Missing not at random: the value of an entry decides how likely it is missing.

    Parameters
    ----------
    X : array-like, shape (n, m)
        The data; NaN are missing in the mask as well, and do not count toward the rate.
    missing_rate : float
        Expected share of missing entries, the same in every column.
    strength : float, default=2.0
        Slope of the logistic curve per standard deviation of the column: large values are missing
        more often, or small ones if the slope is negative.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n, m)

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> mask = mnar(X, 0.3, random_state=0)
    >>> bool(X[~mask].mean() > X[mask].mean())
    True
    """
    X, known = _as_data(X)
    rate = _as_share(missing_rate, "missing_rate")
    return known & ~_missing_by_value(X, known, rate, strength, random_state)


def apply(X: ArrayLike, mask: ArrayLike) -> NDArray[np.floating]:
    """Return a copy of X with NaN where the mask is False.

    Parameters
    ----------
    X : array-like, shape (n, m)
        The data.
    mask : array-like of bool, shape (n, m)
        True where an entry is observed.

    Returns
    -------
    ndarray of float, shape (n, m)
        Of dtype float32 if X is, else float64.

    Examples
    --------
    >>> apply([[1, 2], [3, 4]], [[True, False], [True, True]])
    array([[ 1., nan],
           [ 3.,  4.]])
    """
    X = np.asarray(X)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    holed: NDArray[np.floating] = X.astype(dtype)
    holed[~as_mask(mask, X.shape)] = np.nan
    return holed


def hide(mask: ArrayLike, share: float, *, random_state: Seed = None) -> tuple[Mask, Mask]:
    """Hold out a share of the observed entries, for example to tune a completer on them.

    One random entry of each row and column stays visible, so that none becomes empty; if that
    leaves too few entries, all others are hidden.

    Parameters
    ----------
    mask : array-like of bool, shape (n, m)
        True where an entry is observed.
    share : float
        Share of the observed entries to hide, rounded to a whole number of entries.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    visible, hidden : ndarray of bool, shape (n, m)
        The entries that stay, and those held out; together they are the mask.

    Examples
    --------
    >>> visible, hidden = hide(np.ones((4, 5), dtype=bool), 0.2, random_state=0)
    >>> int(visible.sum()), int(hidden.sum())
    (16, 4)
    """
    mask = as_mask(mask)
    rng = np.random.default_rng(random_state)
    spare = np.flatnonzero(mask & ~_one_per_row(mask, rng) & ~_one_per_row(mask.T, rng).T)
    count = min(round(_as_share(share, "share") * np.count_nonzero(mask)), spare.size)
    hidden = np.zeros(mask.shape, dtype=bool)
    hidden.flat[rng.choice(spare, count, replace=False, shuffle=False)] = True
    return mask & ~hidden, hidden


def _fill_empty_rows(mask: Mask, rng: np.random.Generator) -> None:
    """Move an entry into each empty row, in place, from the same column of a row with several."""
    empty = np.flatnonzero(~mask.any(axis=1))
    if empty.size:
        rows, columns = np.nonzero(mask & ~_one_per_row(mask, rng))
        taken = rng.choice(rows.size, min(empty.size, rows.size), replace=False)
        mask[rows[taken], columns[taken]] = False
        mask[rng.permutation(empty)[: taken.size], columns[taken]] = True


def _one_per_row(mask: Mask, rng: np.random.Generator) -> Mask:
    """Return a mask with one random entry of each row that has any."""
    ranks = np.where(mask, rng.random(mask.shape, dtype=np.float32), np.float32(-1))
    return mask & (np.arange(mask.shape[1]) == ranks.argmax(axis=1)[:, None])


def _missing_by_value(
    values: NDArray[np.float64], eligible: Mask, rate: float, strength: float, random_state: Seed
) -> Mask:
    """Draw missing entries with the logistic probability of their values, standardized."""
    probability = np.zeros(values.shape)
    for j, rows in enumerate(eligible.T):
        if rows.any():
            v = values[rows, j]
            probability[rows, j] = _calibrated(strength * (v - v.mean()) / (v.std() or 1.0), rate)
    return np.random.default_rng(random_state).random(values.shape) < probability


def _calibrated(score: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return the logistic function of the scores, shifted so that its mean is the rate."""
    if rate in (0.0, 1.0):
        return np.full(score.shape, rate)
    # At these ends every probability lies on one side of the rate; 1 is room for rounding.
    low, high = logit(rate) - score.max() - 1, logit(rate) - score.min() + 1
    return expit(score + brentq(lambda shift: expit(score + shift).mean() - rate, low, high))


def _as_shape(shape: Shape, name: str = "shape") -> Shape:
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"{name}={shape} must be two positive whole numbers, rows and columns.")
    return int(shape[0]), int(shape[1])


def _as_share(share: float, name: str) -> float:
    if not 0 <= share <= 1:
        raise ValueError(f"{name}={share} must lie between 0 and 1.")
    return float(share)


def _as_data(X: ArrayLike) -> tuple[NDArray[np.float64], Mask]:
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or np.isinf(X).any():
        raise ValueError("X must be a matrix of finite numbers (NaN where unknown).")
    return X, ~np.isnan(X)


def as_mask(mask: ArrayLike, shape: tuple[int, ...] | None = None) -> Mask:
    """Return a mask as an array; raise if it is not one, or not of this shape."""
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise ValueError(
            f"mask must be boolean, True where observed, not {mask.dtype}; use "
            "mask.astype(bool), or ~np.isnan(X) of incomplete data X."
        )
    if mask.ndim != 2 or (shape is not None and mask.shape != shape):
        wanted = "a matrix" if shape is None else f"the shape {shape} of X"
        raise ValueError(f"mask has shape {mask.shape}; it must have {wanted}.")
    return mask
