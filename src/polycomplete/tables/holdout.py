"""What held-out cells say of each column of a table: how far off, and whether to rely on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycomplete.model_selection import HeldOut, calibration
from polycomplete.tables.calibrate import hidden_blocks
from polycomplete.tables.decode import SECONDS, Decoder

#: Held-out cells of a column that are enough to calibrate its deviations, and to judge it at all.
ENOUGH, FEWEST = 30, 10


def held_out_cells(decoder: Decoder, held: HeldOut, numbers: np.ndarray) -> HeldOut:
    """Return held-out entries of the matrix as cells: numbers as they were read, and codes.

    Parameters
    ----------
    decoder : Decoder
        The way back from the matrix.
    held : HeldOut
        Of the matrix.
    numbers : ndarray of shape (n, k)
        What was encoded, NaN where missing.

    Returns
    -------
    HeldOut
        ``columns`` are those of ``numbers``; deviations of classes are NaN.

    Examples
    --------
    >>> from polycomplete.tables.encode import Encoding
    >>> from polycomplete.tables.schema import Column
    >>> numbers = np.array([[1.0], [3.0]])
    >>> encoding, bounds = Encoding.fit(numbers, [0], [1.0]), np.array([[-np.inf, np.inf]])
    >>> decoder = Decoder([Column("x", "numeric", "Float64")], encoding, {}, bounds)
    >>> one = HeldOut(*(np.array([value]) for value in (1, 0, 1.0, 0.5, 0.1)))
    >>> held_out_cells(decoder, one, numbers).completed
    array([2.5])
    """
    parts = []
    for j, column in enumerate(decoder.columns):
        mine = decoder.encoding.columns_of(j)
        rows, block = hidden_blocks(held, mine)
        matrix = np.zeros((len(rows), len(decoder.encoding.owners)))
        matrix[:, mine] = block
        deviation = np.full(len(rows), np.nan)
        if len(rows) and not column.has_classes:
            own = hidden_blocks(held._replace(completed=held.deviation), mine)[1]
            deviation = own[:, 0] * decoder.encoding.scale[mine[0]]
        found = decoder.column(matrix, j)
        parts.append((rows, np.full(len(rows), j), numbers[rows, j], found, deviation))
    return HeldOut(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def deviation_factors(decoder: Decoder, held: HeldOut | None) -> np.ndarray:
    """Return what the deviations of each column of the matrix must be multiplied by.

    One factor fits the numbers of one column of the table, whose errors may be of quite another
    kind than those of the next; columns with few held-out cells share one.

    Parameters
    ----------
    decoder : Decoder
        The way back from the matrix.
    held : HeldOut or None
        Of the matrix.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> from polycomplete.tables.encode import Encoding
    >>> encoding = Encoding.fit(np.array([[1.0], [3.0]]), [0], [1.0])
    >>> deviation_factors(Decoder([], encoding, {}, np.empty((0, 2))), None)
    array([1.])
    """
    factors = np.ones(len(decoder.encoding.owners))
    lines = [decoder.encoding.columns_of(j) for j, column in enumerate(decoder.columns)
             if not column.has_classes]  # fmt: skip
    if held is None:
        return factors
    errors = held.completed - held.truth
    usable = np.isfinite(held.deviation)
    pooled = usable & np.isin(held.columns, np.concatenate([*lines, np.empty(0, dtype=int)]))
    common = calibration(errors[pooled], held.deviation[pooled])
    for mine in lines:
        own = usable & np.isin(held.columns, mine)
        enough = np.count_nonzero(own) >= ENOUGH
        factors[mine] = calibration(errors[own], held.deviation[own]) if enough else common
    return factors


def fallbacks(decoder: Decoder, cells: HeldOut) -> list[Any]:
    """Return the columns whose held-out cells came back worse than by their mean or mode.

    Worse is worse by more than one standard error: in squared errors of numbers, in how many labels
    are wrong.

    Parameters
    ----------
    decoder : Decoder
        The way back from the matrix.
    cells : HeldOut
        As from :func:`held_out_cells`.

    Returns
    -------
    list
        Of names.

    Examples
    --------
    >>> nothing = HeldOut(*(np.empty(0) for _ in range(5)))
    >>> fallbacks(Decoder([], None, {}, np.empty((0, 2))), nothing)
    []
    """
    found: list[Any] = []
    for j, column in enumerate(decoder.columns):
        if not np.isnan(decoder.encoding.constants[j]):
            continue
        mine = cells.columns == j
        truth, completed, usual = cells.truth[mine], cells.completed[mine], decoder.usual(j)
        if column.has_classes or column.kind == "ordered":
            loss = (completed != truth).astype(float) - (truth != usual)
        else:
            loss = (completed - truth) ** 2 - (truth - usual) ** 2
        if len(loss) >= FEWEST and loss.mean() > loss.std(ddof=1) / np.sqrt(len(loss)):
            found.append(column.name)
    return found


def fallback_deviations(decoder: Decoder, numbers: np.ndarray) -> dict[Any, float]:
    """Return how far cells are from their column's fallback, in the user's units.

    Parameters
    ----------
    decoder : Decoder
        The way back from the matrix, with the fallbacks.
    numbers : ndarray of shape (n, k)
        What was encoded, NaN where missing.

    Returns
    -------
    dict
        From names of columns without classes to standard deviations.

    Examples
    --------
    >>> fallback_deviations(Decoder([], None, {}, np.empty((0, 2))), np.empty((3, 0)))
    {}
    """
    return {
        column.name: float(np.sqrt(np.nanmean((numbers[:, j] - decoder.usual(j)) ** 2)))
        * SECONDS.get(column.unit, 1.0)
        for j, column in enumerate(decoder.columns)
        if column.name in decoder.fallbacks and not column.has_classes
    }
