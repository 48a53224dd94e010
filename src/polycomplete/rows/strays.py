"""Rows that ran away: completed far outside of what was observed of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from array_api_compat import array_namespace

from polycomplete._arrays import Array

#: Of the observed range of a column: farther outside, a completed entry is not to be believed.
MARGIN = 0.5


@dataclass(frozen=True)
class Span:
    """The observed range of each column.

    Attributes
    ----------
    low, high : arrays of shape (m,)
        The smallest and the largest observed entry.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [1.4], [1.6]])
    >>> span = Span.of(X, np.array([[True], [True], [False], [False]]))
    >>> span.outside(X)[:, 0], span.drawn_in(X)[:, 0]
    (array([False, False, False,  True]), array([0. , 1. , 1.4, 1.5]))
    """

    low: Array
    high: Array

    @classmethod
    def of(cls, X: Array, mask: Array) -> Span:
        """Return the range of the observed entries; every column has one."""
        xp = array_namespace(X)
        low = xp.min(xp.where(mask, X, xp.inf), axis=0)
        return cls(low, xp.max(xp.where(mask, X, -xp.inf), axis=0))

    @property
    def width(self) -> Array:
        """The length of the ranges."""
        return self.high - self.low

    def outside(self, X: Array) -> Array:
        """Return which entries are farther outside than the margin."""
        far = MARGIN * self.width
        return (self.low - far > X) | (self.high + far < X)

    def drawn_in(self, X: Array) -> Array:
        """Return entries at the edge of the margin where they are farther outside."""
        xp, far = array_namespace(X), MARGIN * self.width
        return xp.clip(X, self.low - far, self.high + far)

    def strays(self, X: Array, mask: Array) -> Array:
        """Return which rows have a missing entry there."""
        return array_namespace(X).any(self.outside(X) & ~mask, axis=1)


def bring_back(
    span: Span,
    rows: Array,
    mask: Array,
    doubtful: Callable[[Array], Array],
    again: Iterable[Callable[[Array], Array]],
) -> tuple[Array, Array]:
    """Complete rows that ran away once more, and draw in what does so again; writes into rows.

    A row outside that lies on the surface of the others is not to be doubted, and stays.

    Parameters
    ----------
    span : Span
        Of the columns.
    rows, mask : arrays of shape (n, m)
        Completed rows, and True where observed.
    doubtful : callable
        Says which of some complete rows lie far from the surface.
    again : iterable of callables
        Ways to complete rows, by their indices, from fine to coarse; each takes what the one before
        left outside.

    Returns
    -------
    outside, wild : arrays of bool, shape (n,)
        Rows that are outside for good reason, and rows that ran away and found no place.

    Examples
    --------
    >>> import numpy as np
    >>> rows, mask = np.array([[0.0], [1.0], [9.0], [-9.0]]), np.arange(4)[:, None] < 2
    >>> span = Span.of(rows, mask)
    >>> outside, wild = bring_back(span, rows, mask, lambda rows: rows[:, 0] < 0, [])
    >>> outside, wild, rows[:, 0]
    (array([False, False,  True, False]), array([False, False, False,  True]),
     array([ 0. ,  1. ,  9. , -0.5]))
    """
    xp = array_namespace(rows)
    outside, wild = span.strays(rows, mask), mask[:, 0] & False
    some = xp.nonzero(outside)[0]
    if not some.shape[0]:
        return outside, wild
    ran = some[doubtful(xp.take(rows, some, axis=0))]
    outside[ran] = False
    who = ran
    for complete in again:
        if not who.shape[0]:
            break
        found = complete(who)
        rows[who, :] = found
        who = who[span.strays(found, xp.take(mask, who, axis=0))]
    here, seen = xp.take(rows, ran, axis=0), xp.take(mask, ran, axis=0)
    rows[ran, :] = xp.where(seen, here, span.drawn_in(here))
    wild[ran] = doubtful(xp.take(rows, ran, axis=0))
    return outside, wild
