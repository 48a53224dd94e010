"""The rank of the lifts, found by hiding observed entries.

Two kinds of data meet here. On smooth surfaces and on tables the error falls slowly with the rank,
and any rank near the best one will do. On unions of subspaces, and on exact polynomials, the misfit
collapses at one rank: below it nothing fits, and above it rows that are stuck find room to stay so.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from polycomplete import model_selection
from polycomplete.scaling import column_spread
from polycomplete.solvers.base import Stopped
from polycomplete.solvers.lifting.run import EXPLAINED, Run

#: The rank where there is too little to hide.
CAUTIOUS = 3
#: Leave the path where the hidden error has come this far above its lowest.
GIVE_UP = 1.25
#: The second start is given up after this many ranks at which it was so many times worse.
PATIENCE, WORSE = 2, 1.3
#: A fall of the misfit by the first factor from one rank of the path to the next is worth a search
#: between them; a single rank that lowers it by the second is that of the data.
FALL, COLLAPSE = 100.0, 1000.0


def ranks(last: int, finer: int) -> list[int]:
    """Return growing ranks from one to ``last``, in steps of a share ``1/finer`` of the rank.

    Parameters
    ----------
    last : int
        Where to end.
    finer : int
        The larger, the smaller the steps.

    Returns
    -------
    list of int

    Examples
    --------
    >>> ranks(12, finer=3)
    [1, 2, 3, 4, 5, 6, 8, 10, 12]
    """
    found = [1]
    while found[-1] < last:
        found.append(min(last, found[-1] + max(1, found[-1] // finer)))
    return found


def most(seen: np.ndarray) -> int:
    """Return the rank at which nothing is left unexplained, whatever the data.

    Parameters
    ----------
    seen : ndarray of bool, shape (n, M)
        True where an entry of the rows that are lifted was observed.

    Returns
    -------
    int

    Examples
    --------
    >>> most(np.ones((50, 4), dtype=bool))
    10
    """
    n, M = seen.shape
    return min(n, M * (M + 1) // 2)


def largest(seen: np.ndarray) -> int:
    """Return where the path of ranks ends.

    At half of the rows, so that each direction has two of them, and at as many products as three
    quarters of the rows have observed at most: with more dimensions than products anything fits.

    Parameters
    ----------
    seen : ndarray of bool, shape (n, M)
        True where an entry of the rows that are lifted was observed.

    Returns
    -------
    int

    Examples
    --------
    >>> largest(np.ones((50, 4), dtype=bool)), largest(np.ones((10, 4), dtype=bool))
    (9, 5)
    """
    count = seen.sum(axis=1)
    products = int(np.quantile(count * (count + 1) / 2, 0.75))
    return max(1, min(len(seen) // 2, products, most(seen) - 1))


class Search:
    """The search for the rank on one draw of hidden entries.

    Parameters
    ----------
    run : Run
        At the start, with the visible entries.
    X : ndarray of shape (n, m)
        The data, in which the hidden entries are known.
    visible, hidden : ndarrays of bool, shape (n, m)
        What the run sees, and where it is judged.
    max_iter : int
        Iterations at a rank.

    Examples
    --------
    >>> from polycomplete import datasets, masks
    >>> from polycomplete.solvers.base import Monitor
    >>> X = datasets.make_union_of_subspaces(120, 8, n_subspaces=2, dim=2, random_state=0)
    >>> visible, hidden = masks.hide(np.ones(X.shape, dtype=bool), 0.3, random_state=0)
    >>> Search(Run.begin(X, visible, 0.0, Monitor()), X, visible, hidden, 12).best()
    6
    """

    def __init__(
        self, run: Run, X: np.ndarray, visible: np.ndarray, hidden: np.ndarray, max_iter: int
    ):
        self.run, self.other, self.max_iter = run, run.anew(), max_iter
        self.X, self.visible, self.hidden = X, visible, hidden
        spread = column_spread(X, visible | hidden)[1]
        self.unit = np.where(spread > 0, spread, 1.0)
        self.errors: dict[float, float] = {}
        self.left: dict[int, float] = {}
        self.rows: dict[int, np.ndarray] = {}

    def best(self) -> int:
        """Return the rank; where time runs out, the best so far."""
        try:
            self._follow()
            sharp = self._between()
        except Stopped:
            sharp = None
        if sharp is not None or not self.errors:
            return sharp or CAUTIOUS
        enough = (1 + model_selection.SLACK) * min(self.errors.values())
        return int(min(rank for rank, error in self.errors.items() if error <= enough))

    def _follow(self) -> None:
        """Follow the path of ranks, with a second start at each as long as that is of use."""
        worse = 0
        for rank in ranks(largest(self.run.seen), 3):
            first, second = self._look(rank, worse < PATIENCE)
            worse += second > WORSE * first
            too_high = self.errors[rank] > GIVE_UP * min(self.errors.values())
            if too_high or self.left[rank] < EXPLAINED:
                return

    def _between(self) -> int | None:
        """Search where the misfit falls first; return the rank at which it collapses, if any."""
        for low, high in pairwise(sorted(self.left)):
            # At a rank too high the stuck rows may spoil the error.
            near = self.errors[high] < 2 * self.errors[low]
            if near and self.left[low] > FALL * self.left[high]:
                break
        else:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            self.run.Y = self.rows[low]
            self._look(middle, True)
            # One rank below that of the data the misfit is about the same as two below.
            if self.left[middle] > self.left[low] / 10:
                low = middle
            else:
                high = middle
        sharp = self.left[low] > COLLAPSE * self.left[high]
        return high if sharp and self.errors[high] < self.errors[low] / 2 else None

    def _look(self, rank: int, twice: bool) -> tuple[float, float]:
        """Complete at a rank, from the last one and anew; note misfit and hidden error."""
        self.run.climb(rank, self.max_iter)
        self.rows[rank] = self.run.Y
        errors, left = [self._error(self.run)], [self.run.value(rank)]
        if twice:
            self.other.Y = self.other.start
            self.other.descend(rank, 2 * self.max_iter)
            left.append(self.other.repair(rank, 2, 3 * self.max_iter))
            errors.append(self._error(self.other))
        self.errors[rank] = min(errors)
        self.left[rank] = max(min(left), EXPLAINED / 1000)
        return errors[0], errors[-1]

    def _error(self, run: Run) -> float:
        completed = run.completed(self.X, self.visible)
        return model_selection.held_out_error(self.X, completed, self.hidden, self.unit)
