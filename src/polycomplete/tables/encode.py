"""A number for each cell becomes a matrix whose columns weigh the same, and back.

Numbers, dates, orders and truth values become one column of mean 0 and standard deviation 1, or
stay as they are for a method that scales them itself. Categories become a block with a column for
each level, divided by one number, so that the block as a whole varies as much as one such column.
Columns that do not vary are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polycomplete.scaling import column_spread, is_constant


@dataclass(frozen=True)
class Encoding:
    """The map between numbers of shape (n, k) and a matrix of shape (n, m), NaN where missing.

    Attributes
    ----------
    constants : ndarray of shape (k,)
        What every cell of a column is; NaN where they differ.
    usual : ndarray of shape (k,)
        The mean of a column, or its most frequent level.
    owners : ndarray of int, shape (m,)
        Which of the k columns a column of the matrix belongs to.
    levels : ndarray of int, shape (m,)
        Which of its levels it stands for; -1 for columns of numbers.
    centre, scale : ndarrays of shape (m,)
        The matrix is (number − centre) / scale.

    Examples
    --------
    >>> numbers = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
    >>> encoding = Encoding.fit(numbers, [0, 2], [1.0, 1.0])
    >>> encoding.encode(numbers).round(2)
    array([[-1. ,  1. , -1. ],
           [ 1. , -0.5,  0.5],
           [ nan, -0.5,  0.5]])
    >>> encoding.block(encoding.encode(numbers), 1).round(2)
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    constants: np.ndarray
    usual: np.ndarray
    owners: np.ndarray
    levels: np.ndarray
    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(
        cls,
        numbers: np.ndarray,
        sizes: Sequence[int],
        weights: Sequence[float],
        standardize: bool = True,
    ) -> Encoding:
        """Learn the map.

        Parameters
        ----------
        numbers : ndarray of shape (n, k)
            A number or the code of a level for each cell, NaN where missing.
        sizes : sequence of int
            How many levels each of the k columns has; 0 for numbers.
        weights : sequence of float
            How much each of them counts; 1 is usual.
        standardize : bool
            False leaves numbers as they are.

        Returns
        -------
        Encoding
        """
        constants, usual = np.full((2, numbers.shape[1]), np.nan)
        owners: list[int] = []
        levels: list[int] = []
        centre: list[float] = []
        scale: list[float] = []
        for j, (size, weight) in enumerate(zip(sizes, weights, strict=True)):
            seen = numbers[~np.isnan(numbers[:, j]), j]
            if is_constant(seen[:, None], np.ones((len(seen), 1), dtype=bool))[0]:
                constants[j] = usual[j] = seen[0]
                continue
            middle, spread = _one_hot_spread(seen, size) if size else _spread(seen)
            usual[j] = np.argmax(middle) if size else middle[0]
            if not (size or standardize):
                middle, spread = [0.0], 1.0
            owners += [j] * len(middle)
            levels += range(size) if size else [-1]
            centre += middle
            scale += [spread / weight] * len(middle)
        return cls(
            constants,
            usual,
            np.array(owners, dtype=np.intp),
            np.array(levels, dtype=np.intp),
            np.array(centre, dtype=np.float64),
            np.array(scale, dtype=np.float64),
        )

    def encode(self, numbers: np.ndarray) -> np.ndarray:
        """Return the matrix."""
        mine = numbers[:, self.owners]
        matrix = np.where(self.levels < 0, mine, mine == self.levels)
        return np.asarray((np.where(np.isnan(mine), np.nan, matrix) - self.centre) / self.scale)

    def columns_of(self, j: int) -> np.ndarray:
        """Return which columns of the matrix belong to column j; none where it is constant."""
        return np.flatnonzero(self.owners == j)

    def block(self, matrix: np.ndarray, j: int) -> np.ndarray:
        """Return what a matrix says of column j: numbers, or a score for each level."""
        columns = self.columns_of(j)
        return np.asarray(matrix[:, columns] * self.scale[columns] + self.centre[columns])


def _spread(seen: np.ndarray) -> tuple[list[float], float]:
    mean, std = column_spread(seen[:, None], np.ones((len(seen), 1), dtype=bool))
    return [float(mean[0])], float(std[0])


def _one_hot_spread(seen: np.ndarray, size: int) -> tuple[list[float], float]:
    """Return the shares of the levels, and the standard deviation of all indicators together."""
    shares = np.bincount(seen.astype(np.intp), minlength=size) / len(seen)
    return shares.tolist(), float(np.sqrt(1 - np.sum(shares**2)))
