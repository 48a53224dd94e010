"""Calibration on held-out cells: of scores, of deviations, and of whole columns.

A completed one-hot block holds one number for each class. These need not be between 0 and 1 nor
sum to one; the nearest point of the simplex does. Whether its 0.9 means 90 % is learned from
held-out cells, whose class is known.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polycomplete import masks
from polycomplete.base import checked
from polycomplete.model_selection import SHARE, HeldOut, calibration

#: Lower bound of shares, which keeps logarithms finite.
EPS = np.finfo(float).eps
#: Doubt without any held-out cell.
DOUBT = 0.05
#: Scores are uninformative if they are closer to the shares of the classes than this part of the
#: distance to the most frequent class.
NEAR = 0.1
#: Standard deviations of the normal priors of log sharpness, logit doubt and tilt.
SPREAD = np.array([1.0, 2.0, 1.0])
#: Minimum number of held-out cells to compare a column with its mean; twice as many calibrate its
#: probabilities, three times as many its deviations.
FEWEST = 10


def project(block: np.ndarray) -> np.ndarray:
    """Return the nearest point of the probability simplex to each row.

    Parameters
    ----------
    block : ndarray of shape (n, c)
        Any finite numbers, one column for each class.

    Returns
    -------
    ndarray of shape (n, c)
        Rows are nonnegative and sum to one.

    Examples
    --------
    >>> project(np.array([[0.7, 0.1, 0.2], [1.4, 0.6, -3.0]]))
    array([[0.7, 0.1, 0.2],
           [0.9, 0.1, 0. ]])
    """
    block = np.asarray(block, dtype=np.float64)
    # The projection is invariant to offsets; without one, huge numbers keep their digits.
    block = block - block.max(axis=1, keepdims=True)
    falling = -np.sort(-block, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    ranks = np.arange(1, block.shape[1] + 1)
    # The number of entries that stay positive once the same offset is subtracted from all.
    kept = np.sum(falling * ranks > excess, axis=1)
    offset = excess[np.arange(len(block)), kept - 1] / kept
    return np.maximum(block - offset[:, None], 0)


@dataclass(frozen=True)
class Calibration:
    """A map from scores to probabilities, fitted on cells of known class.

    With p the projection of the scores onto the simplex, π the shares of the classes and
    p' = (1 − doubt) p + doubt π, probabilities are proportional to p'^sharpness / π^tilt. Sharpness
    1 without doubt and tilt leaves p unchanged. Sharpness above 1 reverses the shrinkage towards
    the mean of cautious methods, and tilt returns to rare classes what they lost by it. Sharpness
    s below 1 shrinks towards the shares by a factor π^(1 − s). Uninformative scores (p = π) give
    the shares whatever was fitted, and nearly uninformative ones give nearly the shares.

    Attributes
    ----------
    shares : ndarray of shape (c,)
        Relative frequency of each class.
    sharpness : float
        Exponent of the scores; 1 by default.
    doubt : float
        Weight of the shares that are mixed into the scores, between 0 and 1; 0.05 by default.
    tilt : float
        Exponent of the shares that the result is divided by; 0 by default.

    Examples
    --------
    >>> scores = np.array([[0.6, 0.4], [0.4, 0.6], [0.6, 0.4], [0.3, 0.7]] * 20)
    >>> calibration = Calibration.fit(scores, np.array([0, 1, 0, 1] * 20))
    >>> bool(calibration.apply(np.array([[0.6, 0.4]]))[0, 0] > 0.9)
    True
    >>> calibration.apply(calibration.shares[None])
    array([[0.5, 0.5]])
    """

    shares: np.ndarray
    sharpness: float = 1.0
    doubt: float = DOUBT
    tilt: float = 0.0

    @classmethod
    def fit(cls, scores: np.ndarray, labels: np.ndarray, shares: np.ndarray | None = None) -> Self:
        """Fit sharpness, doubt and tilt by the log-loss of known classes.

        Parameters
        ----------
        scores : ndarray of shape (k, c)
            Completed blocks of held-out cells; k may be 0.
        labels : ndarray of int, shape (k,)
            Their true classes, 0 … c − 1.
        shares : ndarray of shape (c,), optional
            Relative frequency of each class; by default of the labels, with one more of each.

        Returns
        -------
        Calibration
        """
        scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.intp)
        if shares is None:
            shares = np.bincount(labels, minlength=scores.shape[1]) + 1.0
        shares = np.maximum(shares, EPS) / np.sum(np.maximum(shares, EPS))
        start = np.array([0.0, logit(DOUBT), 0.0])
        if len(labels) == 0:
            return cls(shares)
        projected = project(scores)
        rows = np.arange(len(labels))

        def cost(point: np.ndarray) -> float:
            logits = _logits(projected, shares, np.exp(point[0]), expit(point[1]), point[2])
            surprise = -log_softmax(logits, axis=1)[rows, labels].sum()
            return float(surprise + 0.5 * np.sum(((point - start) / SPREAD) ** 2))

        bounds = [(-4, 4), (-12, 6), (-6, 6)]
        sharpness, doubt, tilt = minimize(cost, start, method="L-BFGS-B", bounds=bounds).x
        return cls(shares, float(np.exp(sharpness)), float(expit(doubt)), float(tilt))

    def apply(self, scores: np.ndarray) -> np.ndarray:
        """Return probabilities.

        Parameters
        ----------
        scores : ndarray of shape (n, c)
            A completed block.

        Returns
        -------
        ndarray of shape (n, c)
        """
        logits = _logits(project(scores), self.shares, self.sharpness, self.doubt, self.tilt)
        return np.asarray(softmax(logits, axis=1))


def _logits(
    p: np.ndarray, shares: np.ndarray, sharpness: float, doubt: float, tilt: float
) -> np.ndarray:
    doubted = np.maximum((1 - doubt) * p + doubt * shares, EPS)
    away = np.sum(np.abs(p - shares), axis=1, keepdims=True) / 2
    informative = np.minimum(away / (NEAR * max(1 - shares.max(), EPS)), 1)
    # From the shares for uninformative scores to the tilted power of p for informative ones.
    exponent = 1 - sharpness + informative * (max(sharpness - 1, 0) - tilt)
    return sharpness * np.log(doubted) + exponent * np.log(shares)


def calibrate(
    method: Any,
    matrix: np.ndarray,
    owners: np.ndarray,
    numbers: np.ndarray,
    codecs: Sequence[Any],
    seed: int,
) -> None:
    """Fit a calibration for each column of classes that varies.

    Cells that the fitted method held out to choose its settings are used if they suffice.
    Otherwise some cells are held out, and a copy of the method is fitted to the others. ``owners``
    has the column of the table of each column of the matrix, ``numbers`` the encoded table.
    """
    observed, held = ~np.isnan(numbers), getattr(method, "held_out_", None)
    varying = [j for j, codec in enumerate(codecs) if codec.has_classes and codec.center]
    cells = {j: held_blocks(held, np.flatnonzero(owners == j)) for j in varying}
    needed = np.minimum(2 * FEWEST, SHARE / 2 * observed.sum(axis=0))
    if any(len(rows) < needed[j] for j, (rows, _) in cells.items()):
        # Cells are drawn from all columns, so that no row loses all of its cells.
        hidden = masks.hide(observed, SHARE, random_state=seed)[1]
        hidden &= [codec.has_classes for codec in codecs]
        visible = np.where(hidden[:, owners], np.nan, matrix)
        completed = _refitted(method, visible) if hidden.any() else visible
        for j in set(varying) & set(np.flatnonzero(hidden.any(axis=0)).tolist()):
            cells[j] = np.flatnonzero(hidden[:, j]), completed[hidden[:, j]][:, owners == j]
    for j, (rows, block) in cells.items():
        codec, codes = codecs[j], numbers[:, j]
        shares = np.bincount(codes[observed[:, j]].astype(np.intp), minlength=len(codec.levels))
        codec.calibration = Calibration.fit(
            codec.scores(block), codes[rows].astype(np.intp), shares / shares.sum()
        )


def _refitted(method: Any, matrix: np.ndarray) -> np.ndarray:
    """Return a matrix completed by a copy of a fitted method, with the smoothing that it chose."""
    copy = clone(method)
    if "smoothing" in copy.get_params(deep=False) and hasattr(method, "smoothing_"):
        copy.set_params(smoothing=method.smoothing_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the first fit warned already
        return checked(copy, matrix, copy.fit_transform(matrix))


def held_blocks(held: HeldOut | None, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of which all given columns were held out, and their completions.

    >>> rows, columns, values = np.array([4, 7, 7]), np.array([0, 0, 1]), np.array([0.1, 0.2, 0.3])
    >>> held_blocks(HeldOut(rows, columns, values, values, values), np.array([0, 1]))
    (array([7]), array([[0.2, 0.3]]))
    """
    if held is None:
        return np.empty(0, dtype=np.intp), np.empty((0, len(columns)))
    parts = [held.columns == column for column in columns]
    found = [dict(zip(held.rows[part], held.completed[part], strict=True)) for part in parts]
    rows = sorted(set(found[0]).intersection(*found[1:])) if found else []
    values = [[part[row] for part in found] for row in rows]
    return np.array(rows, dtype=np.intp), np.reshape(values, (len(rows), len(columns)))


def held_out_cells(
    held: HeldOut, owners: np.ndarray, numbers: np.ndarray, codecs: Sequence[Any]
) -> HeldOut:
    """Return held-out entries of the matrix as held-out cells of the table: numbers and codes.

    Deviations of classes are NaN.
    """
    parts = []
    for j, codec in enumerate(codecs):
        mine = np.flatnonzero(owners == j)
        rows, block = held_blocks(held, mine)
        deviation = np.full(len(rows), np.nan)
        if len(rows) and not codec.has_classes:
            own = held_blocks(held._replace(completed=held.deviation), mine)[1]
            deviation = own[:, 0] * codec.scale
        column = np.full(len(rows), j)
        parts.append((rows, column, numbers[rows, j], codec.gather(block), deviation))
    return HeldOut(*map(np.concatenate, zip(*parts, strict=True)))


def deviation_factors(
    held: HeldOut | None, owners: np.ndarray, codecs: Sequence[Any]
) -> np.ndarray:
    """Return the factors that calibrate the deviations of each column of the matrix.

    Each column of numbers has its own factor; columns with few held-out cells share one.
    """
    factors = np.ones(len(owners))
    if held is None:
        return factors
    errors, usable = held.completed - held.truth, np.isfinite(held.deviation)
    numeric = np.array([not codec.has_classes for codec in codecs])[owners]
    pooled = usable & numeric[held.columns]
    common = calibration(errors[pooled], held.deviation[pooled])
    for column in np.flatnonzero(numeric):
        own = usable & (held.columns == column)
        enough = np.count_nonzero(own) >= 3 * FEWEST
        factors[column] = calibration(errors[own], held.deviation[own]) if enough else common
    return factors


def fall_back(codecs: Sequence[Any], cells: HeldOut) -> None:
    """Mark the columns that are better filled in with their mean or most frequent level.

    Their held-out cells have a larger squared error, or more wrong labels, by more than one
    standard error.
    """
    for j, codec in enumerate(codecs):
        mine = cells.columns == j
        truth, usual = cells.truth[mine], codec.fallback
        off, by_usual = cells.completed[mine] - truth, usual - truth
        loss = off**2 - by_usual**2 if codec.is_measured else (off != 0) * 1.0 - (by_usual != 0)
        if codec.center and len(loss) >= FEWEST:
            codec.falls_back = bool(loss.mean() > loss.std(ddof=1) / np.sqrt(len(loss)))
        if codec.falls_back:
            cells.completed[mine] = usual
