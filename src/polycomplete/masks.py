"""Patterns of missing entries: boolean masks, True where an entry is observed.

Rows are samples. ``uniform``, ``per_row`` and ``per_column`` lose entries completely at random,
``block`` loses rectangles, ``mar`` and ``mnar`` lose entries depending on the data. ``apply``
punches the holes into an array, ``hide`` sets observed entries aside, for example for tuning.
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
    """Observe an exact share of the whole matrix, chosen uniformly at random.

    Parameters
    ----------
    shape : tuple of int
        Numbers of rows and columns, (n, m).
    rate : float
        Share of observed entries: exactly ``round(rate * n * m)`` are True.
    group : int, default=1
        Number of neighboring columns that are observed or lost together: 2 for the (x, y) of a
        point that a tracker loses. The share is then that of groups.
    cover : bool, default=True
        Let each empty row or column take over an entry of a richer one, while there are any.
    random_state : int, Generator or None
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
    """Observe exactly `count` entries in every row.

    Parameters
    ----------
    shape : tuple of int
        Numbers of rows and columns, (n, m).
    count : int
        Observed entries of a row, between 0 and m.
    random_state : int, Generator or None
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
        Numbers of rows and columns, (n, m).
    rate : float
        Share of observed entries: exactly ``round(rate * n)`` in each column.
    random_state : int, Generator or None
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
    """Lose rectangular blocks, as when a few sensors fail for a while.

    Blocks may overlap, and whole rows or columns can go missing.

    Parameters
    ----------
    shape : tuple of int
        Numbers of rows and columns, (n, m).
    missing_rate : float
        Share of missing entries: exactly ``round(missing_rate * n * m)``; the last block is cut.
    block : tuple of int, default=(5, 2)
        Rows and columns of a block, cut to the size of the matrix.
    random_state : int, Generator or None
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
    # Each block is laid over a cell that is still observed, so every one makes progress.
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
    """Missing at random: the value in a complete pivot column decides how much a row loses.

    Parameters
    ----------
    X : array-like, shape (n, m)
        The data; its NaN are missing in the mask too and do not count toward the rate.
    missing_rate : float
        Expected share of missing entries of the whole matrix, complete pivot included.
    pivot : int, default=0
        The column that decides and stays complete.
    strength : float, default=2.0
        Slope of the logistic curve per standard deviation; with a negative one, rows with a small
        pivot value lose more.
    random_state : int, Generator or None
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
    losable = known.copy()
    losable[:, pivot] = False
    most = losable.sum() / max(known.sum(), 1)
    if _as_share(missing_rate, "missing_rate") > most:
        raise ValueError(
            f"missing_rate={missing_rate} is too high; with this pivot it is {most:.3g} at most."
        )
    # The pivot loses nothing, so the other columns carry its share too.
    rate = missing_rate / most if missing_rate else 0.0
    values = np.broadcast_to(X[:, [pivot]], X.shape)
    return known & ~_lost_by_value(values, losable, rate, strength, random_state)


def mnar(
    X: ArrayLike, missing_rate: float, *, strength: float = 2.0, random_state: Seed = None
) -> Mask:
    """Missing not at random: the value of an entry decides how likely that entry is lost.

    Parameters
    ----------
    X : array-like, shape (n, m)
        The data; its NaN are missing in the mask too and do not count toward the rate.
    missing_rate : float
        Expected share of missing entries, the same in every column.
    strength : float, default=2.0
        Slope of the logistic curve per standard deviation of the column: large values go missing
        more, with a negative slope small ones.
    random_state : int, Generator or None
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
    return known & ~_lost_by_value(X, known, rate, strength, random_state)


def apply(X: ArrayLike, mask: ArrayLike) -> NDArray[np.floating]:
    """Copy `X` with NaN where `mask` is False.

    Parameters
    ----------
    X : array-like, shape (n, m)
        The data.
    mask : array-like of bool, shape (n, m)
        True where an entry is observed.

    Returns
    -------
    ndarray of float, shape (n, m)
        float32 if `X` is, float64 otherwise.

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
    """Set a share of the observed entries aside, for example to tune a completer on them.

    One random entry of each row and column is never hidden, so none of them becomes empty; where
    this leaves too few entries, all the others are hidden.

    Parameters
    ----------
    mask : array-like of bool, shape (n, m)
        True where an entry is observed.
    share : float
        Share of the observed entries to hide, rounded to whole entries.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    visible, hidden : ndarray of bool, shape (n, m)
        What is still observed, and what was set aside; together they are `mask`.

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
    """Move one entry of a richer row, within its column, into each empty row; in place."""
    empty = np.flatnonzero(~mask.any(axis=1))
    if empty.size:
        rows, columns = np.nonzero(mask & ~_one_per_row(mask, rng))
        taken = rng.choice(rows.size, min(empty.size, rows.size), replace=False)
        mask[rows[taken], columns[taken]] = False
        mask[rng.permutation(empty)[: taken.size], columns[taken]] = True


def _one_per_row(mask: Mask, rng: np.random.Generator) -> Mask:
    """Keep one random entry of each row that has any."""
    ranks = np.where(mask, rng.random(mask.shape, dtype=np.float32), np.float32(-1))
    return mask & (np.arange(mask.shape[1]) == ranks.argmax(axis=1)[:, None])


def _lost_by_value(
    values: NDArray[np.float64], losable: Mask, rate: float, strength: float, random_state: Seed
) -> Mask:
    """Draw what is lost: a logistic curve of the standardized values, calibrated per column."""
    probability = np.zeros(values.shape)
    for j, rows in enumerate(losable.T):
        if rows.any():
            v = values[rows, j]
            probability[rows, j] = _calibrated(strength * (v - v.mean()) / (v.std() or 1.0), rate)
    return np.random.default_rng(random_state).random(values.shape) < probability


def _calibrated(score: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return logistic probabilities of the scores, shifted so that their mean is `rate`."""
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
    """Return a mask as an array; raise where it is none, or of another shape."""
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise ValueError(
            f"mask must be boolean, True where observed, not {mask.dtype}; use mask.astype(bool)."
        )
    if mask.ndim != 2 or (shape is not None and mask.shape != shape):
        wanted = "a matrix" if shape is None else f"the shape {shape} of X"
        raise ValueError(f"mask has shape {mask.shape}; it must have {wanted}.")
    return mask
