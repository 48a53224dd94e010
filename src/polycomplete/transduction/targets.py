"""A target as columns beside the features: one for each class, or one for a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from polycomplete.scaling import column_spread, is_constant
from polycomplete.tables import Calibration

TINY = 1e-12  # no probability counts as smaller


class Target(Protocol):
    """What the target's columns mean."""

    @property
    def width(self) -> int:
        """How many columns the target has."""

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the columns of known values, with a total variance of one."""

    def decode(self, block: np.ndarray) -> np.ndarray:
        """Return what completed columns say: a score for each class, or a number."""

    def loss(self, decoded: np.ndarray, y: np.ndarray) -> float:
        """Return how wrong the rows are on the mean."""


@dataclass(frozen=True)
class Classes:
    """Indicator columns of classes, centred, together of variance one.

    Attributes
    ----------
    shares : ndarray of shape (c,)
        How frequent each class is among the known labels.

    Examples
    --------
    >>> target = Classes(np.array([0.5, 0.5]))
    >>> target.encode(np.array([0, 1])).round(2)
    array([[ 0.71, -0.71],
           [-0.71,  0.71]])
    >>> target.decode(target.encode(np.array([1])))
    array([[0., 1.]])
    """

    shares: np.ndarray

    @property
    def width(self) -> int:
        """How many classes there are."""
        return len(self.shares)

    @property
    def _unit(self) -> float:
        return float(np.sqrt(np.sum(self.shares * (1 - self.shares)))) or 1.0

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the columns of known classes, given as numbers 0 … c − 1."""
        return (np.eye(self.width)[y] - self.shares) / self._unit

    def decode(self, block: np.ndarray) -> np.ndarray:
        """Return a score for each class: 1 for a class that is certain."""
        return block * self._unit + self.shares

    def loss(self, decoded: np.ndarray, y: np.ndarray) -> float:
        """Return the log-loss of the probabilities that these scores can be calibrated to.

        It tells more than right or wrong, and a smooth surface whose scores are right but timid
        is not taken for a bad one.
        """
        probability = Calibration.fit(decoded, y, self.shares).apply(decoded)
        return float(-np.mean(np.log(np.maximum(probability[np.arange(len(y)), y], TINY))))


@dataclass(frozen=True)
class Number:
    """One column, standardised.

    Examples
    --------
    >>> target = Number(mean=10.0, spread=2.0)
    >>> target.decode(target.encode(np.array([11.0])))
    array([11.])
    """

    mean: float
    spread: float
    width: int = 1

    @classmethod
    def of(cls, y: np.ndarray) -> Self:
        """Take mean and spread from known values; what is constant up to rounding has spread 1."""
        column, seen = y[:, None], np.ones((len(y), 1), dtype=bool)
        (mean,), (spread,) = column_spread(column, seen)
        return cls(float(mean), 1.0 if is_constant(column, seen)[0] else float(spread))

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the column of known values."""
        return ((y - self.mean) / self.spread)[:, None]

    def decode(self, block: np.ndarray) -> np.ndarray:
        """Return numbers."""
        return block[:, 0] * self.spread + self.mean

    def loss(self, decoded: np.ndarray, y: np.ndarray) -> float:
        """Return the mean squared error, as a share of the variance."""
        return float(np.mean(((decoded - y) / self.spread) ** 2))
