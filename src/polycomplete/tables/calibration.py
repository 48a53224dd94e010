"""What cells that were hidden tell: how far to trust scores, deviations, and whole columns.

A completed one-hot block holds one number for each class that need not lie between 0 and 1 nor
sum to one. The nearest point of the simplex does; whether its 0.9 means 90 % is learned from
cells whose class is known but was hidden.
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

#: No share is taken to be smaller: logarithms stay finite.
EPS = np.finfo(float).eps
#: Doubt where nothing is known of how good the scores are.
DOUBT = 0.05
#: Scores nearer to the shares than this part of the way to the most frequent class say hardly
#: anything.
NEAR = 0.1
#: How far (in standard deviations of a normal) sharpness, doubt and tilt may leave their usual
#: values for nothing: the fit on a handful of cells stays near them.
SPREAD = np.array([1.0, 2.0, 1.0])
#: Held-out cells of a column that tell whether it is better filled with its mean; twice as many
#: calibrate its probabilities, three times as many its deviations.
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
    # The projection does not depend on a common offset; without it huge numbers keep their digits.
    block = block - block.max(axis=1, keepdims=True)
    falling = -np.sort(-block, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    ranks = np.arange(1, block.shape[1] + 1)
    # How many of the largest stay positive once all of them give up the same amount.
    kept = np.sum(falling * ranks > excess, axis=1)
    offset = excess[np.arange(len(block)), kept - 1] / kept
    return np.maximum(block - offset[:, None], 0)


@dataclass(frozen=True)
class Calibration:
    """A map from scores to probabilities, learned on cells whose class is known.

    With p the projection of the scores onto the simplex, π the shares of the classes and
    p' = (1 − doubt) p + doubt π, probabilities are proportional to p'^sharpness / π^tilt. Sharpness
    1 without doubt and tilt leaves p as it is. Scores that a cautious method drew towards the mean
    are made sharper again; tilt gives back to rare classes what they lost on the way, if anything.
    A sharpness s below 1 draws towards the shares instead: π^(1 − s) is a factor then. Scores that
    say nothing (p = π) give the shares whatever was fitted, and those that hardly say anything,
    nearly.

    Attributes
    ----------
    shares : ndarray of shape (c,)
        How frequent each class is.
    sharpness, doubt, tilt : float
        What was fitted.

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
        """Learn sharpness, doubt and tilt by the log-loss of the known classes.

        Parameters
        ----------
        scores : ndarray of shape (k, c)
            What was completed for cells that had been hidden; k may be 0.
        labels : ndarray of int, shape (k,)
            Their true classes, 0 … c − 1.
        shares : ndarray of shape (c,), optional
            How frequent each class is; by default as among the labels, each counted once more.

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
    told = np.minimum(away / (NEAR * max(1 - shares.max(), EPS)), 1)
    # Without anything told, shares; else the power of p, tilted.
    return sharpness * np.log(doubted) + (
        1 - sharpness + told * (max(sharpness - 1, 0) - tilt)
    ) * np.log(shares)


def calibrate(
    method: Any,
    matrix: np.ndarray,
    owners: np.ndarray,
    numbers: np.ndarray,
    codecs: Sequence[Any],
    seed: int,
) -> None:
    """Learn a calibration for each column with classes that vary.

    What the fitted method held out to choose its settings is taken where it is enough. Otherwise
    some cells are hidden, and a copy of the method is fitted to the rest of the matrix. ``owners``
    says which of the columns a column of the matrix belongs to, ``numbers`` is what was spread.
    """
    seen, held = ~np.isnan(numbers), getattr(method, "held_out_", None)
    varying = [j for j, codec in enumerate(codecs) if codec.has_classes and codec.center]
    cells = {j: held_blocks(held, np.flatnonzero(owners == j)) for j in varying}
    needed = np.minimum(2 * FEWEST, SHARE / 2 * seen.sum(axis=0))
    if any(len(rows) < needed[j] for j, (rows, _) in cells.items()):
        # Rows keep something to go by: cells are drawn from all columns.
        hidden = masks.hide(seen, SHARE, random_state=seed)[1]
        hidden &= [codec.has_classes for codec in codecs]
        shown = np.where(hidden[:, owners], np.nan, matrix)
        completed = _refitted(method, shown) if hidden.any() else shown
        for j in set(varying) & set(np.flatnonzero(hidden.any(axis=0)).tolist()):
            cells[j] = np.flatnonzero(hidden[:, j]), completed[hidden[:, j]][:, owners == j]
    for j, (rows, block) in cells.items():
        codec, codes = codecs[j], numbers[:, j]
        shares = np.bincount(codes[seen[:, j]].astype(np.intp), minlength=len(codec.levels))
        codec.calibration = Calibration.fit(
            codec.scores(block), codes[rows].astype(np.intp), shares / shares.sum()
        )


def _refitted(method: Any, matrix: np.ndarray) -> np.ndarray:
    """Return a matrix completed by a copy of a fitted method, with the smoothing it has chosen."""
    copy = clone(method)
    if "smoothing" in copy.get_params(deep=False) and hasattr(method, "smoothing_"):
        copy.set_params(smoothing=method.smoothing_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the first fit has said so
        return checked(copy, matrix, copy.fit_transform(matrix))


def held_blocks(held: HeldOut | None, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of which all of some columns were held out, and what came back for them.

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
    """Return held-out entries of the matrix as cells: numbers and codes, by column of the table.

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
        parts.append(
            (rows, np.full(len(rows), j), numbers[rows, j], codec.gather(block), deviation)
        )
    return HeldOut(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def deviation_factors(
    held: HeldOut | None, owners: np.ndarray, codecs: Sequence[Any]
) -> np.ndarray:
    """Return what the deviations of each column of the matrix must be multiplied by.

    One factor fits the numbers of one column of the table, whose errors may be of quite another
    kind than those of the next; columns with few held-out cells share one.
    """
    factors = np.ones(len(owners))
    if held is None:
        return factors
    errors, usable = held.completed - held.truth, np.isfinite(held.deviation)
    lines = np.array([not codec.has_classes for codec in codecs])[owners]
    pooled = usable & lines[held.columns]
    common = calibration(errors[pooled], held.deviation[pooled])
    for column in np.flatnonzero(lines):
        own = usable & (held.columns == column)
        enough = np.count_nonzero(own) >= 3 * FEWEST
        factors[column] = calibration(errors[own], held.deviation[own]) if enough else common
    return factors


def fall_back(codecs: Sequence[Any], cells: HeldOut) -> None:
    """Mark the columns whose held-out cells came back worse than by their mean or mode.

    Worse is worse by more than one standard error: in squared errors of numbers, in how many labels
    are wrong.
    """
    for j, codec in enumerate(codecs):
        mine = cells.columns == j
        truth, usual = cells.truth[mine], codec.fallback
        off, by_usual = cells.completed[mine] - truth, usual - truth
        loss = off**2 - by_usual**2 if codec.is_line else (off != 0) * 1.0 - (by_usual != 0)
        if codec.center and len(loss) >= FEWEST:
            codec.falls_back = bool(loss.mean() > loss.std(ddof=1) / np.sqrt(len(loss)))
        if codec.falls_back:
            cells.completed[mine] = usual
