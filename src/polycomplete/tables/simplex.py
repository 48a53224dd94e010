"""From a completed block of indicator columns to probabilities.

A completed one-hot block holds one number for each class that need not lie between 0 and 1 nor
sum to one. The nearest point of the simplex does; whether its 0.9 means 90 % is learned from
cells whose class is known but was hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

#: No share is taken to be smaller: logarithms stay finite.
TINY = 1e-12
#: Doubt where nothing is known of how good the scores are.
DOUBT = 0.05
#: Scores nearer to the shares than this part of the way to the most frequent class say hardly
#: anything.
NEAR = 0.1
#: How far (in standard deviations of a normal) sharpness, doubt and tilt may leave their usual
#: values for nothing: the fit on a handful of cells stays near them.
SPREAD = np.array([1.0, 2.0, 1.0])


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
    >>> import numpy as np
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
    >>> import numpy as np
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
        shares = np.maximum(shares, TINY) / np.sum(np.maximum(shares, TINY))
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
    doubted = np.maximum((1 - doubt) * p + doubt * shares, TINY)
    away = np.sum(np.abs(p - shares), axis=1, keepdims=True) / 2
    told = np.minimum(away / (NEAR * max(1 - shares.max(), TINY)), 1)
    # Without anything told, shares; else the power of p, tilted.
    return sharpness * np.log(doubted) + (
        1 - sharpness + told * (max(sharpness - 1, 0) - tilt)
    ) * np.log(shares)
