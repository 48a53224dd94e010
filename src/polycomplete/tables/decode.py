"""From a completed matrix back to a number for each cell, and to probabilities of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polycomplete.tables.calibrate import scores
from polycomplete.tables.encode import Encoding
from polycomplete.tables.schema import Column
from polycomplete.tables.simplex import Calibration

#: Seconds in the units in which libraries count time.
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "D": 86400.0}


class Probabilities(NamedTuple):
    """What the missing cells of a column may be.

    Attributes
    ----------
    rows : ndarray of int, shape (k,)
        Positions of the rows whose cell was missing.
    levels : list
        The classes.
    values : ndarray of shape (k, c)
        The probability of each class; rows sum to one.

    Examples
    --------
    >>> Probabilities(np.array([4]), ["no", "yes"], np.array([[0.25, 0.75]])).levels
    ['no', 'yes']
    """

    rows: np.ndarray
    levels: list[Any]
    values: np.ndarray


class Decoder(NamedTuple):
    """The way back from the matrix: all that it needs.

    Attributes
    ----------
    columns : sequence of Column
        Those that were encoded.
    encoding : Encoding
        The map between their numbers and the matrix.
    calibrations : mapping
        How scores become probabilities, by name.
    bounds : ndarray of shape (k, 2)
        The lowest and the highest number of each column.
    fallbacks : sequence
        Names of columns that are filled with their mean or mode, whatever the matrix says.

    Examples
    --------
    >>> encoding = Encoding.fit(np.array([[1.0], [3.0]]), [0], [1.0])
    >>> column, bounds = Column("x", "numeric", "Float64"), np.array([[-np.inf, 3.5]])
    >>> Decoder([column], encoding, {}, bounds).numbers(np.array([[0.5], [7.0]]))
    array([[2.5],
           [3.5]])
    """

    columns: Sequence[Column]
    encoding: Encoding
    calibrations: Mapping[Any, Calibration]
    bounds: np.ndarray
    fallbacks: Sequence[Any] = ()

    def numbers(self, matrix: np.ndarray) -> np.ndarray:
        """Return a number for each cell, as they were read."""
        found = [self.column(matrix, j) for j in range(len(self.columns))]
        return np.column_stack([np.empty((len(matrix), 0)), *found])

    def column(self, matrix: np.ndarray, j: int) -> np.ndarray:
        """Return a number for each cell of column j."""
        column, constant = self.columns[j], self.encoding.constants[j]
        if column.name in self.fallbacks:
            constant = self.usual(j)
        if not np.isnan(constant):
            return np.full(len(matrix), constant)
        if column.has_classes:
            return self.probabilities(matrix, j).argmax(axis=1)
        return self._bounded(self.encoding.block(matrix, j)[:, 0], j)

    def usual(self, j: int) -> float:
        """Return the mean of column j, or the code of its most frequent class."""
        column, usual = self.columns[j], self.encoding.usual[j : j + 1]
        if column.kind == "bool":
            usual = np.rint(usual)
        return float(usual[0] if column.has_classes else self._bounded(usual, j)[0])

    def _bounded(self, numbers: np.ndarray, j: int) -> np.ndarray:
        column = self.columns[j]
        if column.kind == "ordered":
            return np.clip(np.rint(numbers), 0, len(column.levels) - 1)
        return np.clip(numbers, *self.bounds[j])

    def probabilities(self, matrix: np.ndarray, j: int) -> np.ndarray:
        """Return the probability of each class of column j in each row."""
        column, constant = self.columns[j], self.encoding.constants[j]
        if not np.isnan(constant):
            return np.tile(np.eye(len(classes(column)))[int(constant)], (len(matrix), 1))
        calibration = self.calibrations[column.name]
        if column.name in self.fallbacks:
            return np.tile(calibration.shares, (len(matrix), 1))
        return calibration.apply(scores(self.encoding, matrix, j))

    def missing_classes(self, matrix: np.ndarray, there: np.ndarray) -> dict[Any, Probabilities]:
        """Return the probabilities of cells that are not there, by the name of their column."""
        found = {}
        for j, column in enumerate(self.columns):
            if column.has_classes:
                rows = np.flatnonzero(~there[:, j])
                values = self.probabilities(matrix[rows], j)
                found[column.name] = Probabilities(rows, classes(column), values)
        return found

    def deviations(self, matrix: np.ndarray) -> dict[Any, np.ndarray]:
        """Return standard deviations of cells in the user's units, from those of the matrix."""
        found = {}
        for j, column in enumerate(self.columns):
            if column.has_classes:
                continue
            mine = self.encoding.columns_of(j)
            unit = SECONDS.get(column.unit, 1.0)
            spread = matrix[:, mine[0]] * self.encoding.scale[mine[0]] if len(mine) else 0.0
            found[column.name] = np.broadcast_to(spread * unit, len(matrix)).copy()
        return found


def classes(column: Column) -> list[Any]:
    """Return what the classes of a column are called."""
    return [False, True] if column.kind == "bool" else list(column.levels)
