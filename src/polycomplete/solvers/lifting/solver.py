"""LADMC: low rank of the products of two entries, by rank-R projection of the lift.

The iterative algorithm of Ongie et al. (2021) projects the lifted matrix to rank R, puts the
observed products back, takes the rank-one pre-image of each row and puts its observed entries back.
All of that descends on one function of the missing entries, the part of the lifts that the best
space of R dimensions leaves unexplained. Here that function itself is minimised:

1. The rank grows from one to R, and at each rank quasi-Newton steps in row-preconditioned
   variables move the missing entries.
2. Rows that stayed far from the space of the others are started again, from a linear regression
   in the lift and from their neighbours; what lowers the misfit is kept.
3. A second run begins at rank R straight away. On flat spectra, as those of unions of subspaces,
   low ranks lead astray; on decaying ones they lead the way. The run with less misfit is kept.
4. Rows that the data do not determine get the mean of their plausible completions.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from polycomplete import model_selection
from polycomplete._devices import free_memory
from polycomplete._messages import check_numbers
from polycomplete.solvers.base import Callback, Monitor, Result, Stopped, logger
from polycomplete.solvers.lifting.run import (
    CAUTIOUS,
    EXPLAINED,
    Run,
    Search,
    largest,
    most,
    ranks,
)
from polycomplete.solvers.lifting.space import LiftedModel

#: For the memory: M × M numbers for each row (the preconditioner, the space and copies of both),
#: Gram matrices alive at once, and bytes of what is held for blocks of rows.
ROW_ARRAYS, GRAMS, BLOCKS = 6, 8, 2e8


class Lifting(BaseEstimator):
    """Minimise the part of the lifted rows that R dimensions leave unexplained.

    Parameters
    ----------
    rank : "auto" or int, default="auto"
        The number R of dimensions. "auto" follows the path of growing ranks with some observed
        entries hidden and takes the smallest rank whose error on these is within 1 % of the
        lowest. Where the misfit collapses between two ranks of the path the ranks between are
        searched too, and a rank that lowers it a thousandfold is taken as that of the data.
    offset : float, default=1.0
        Squared length of a constant coordinate that each row gets, relative to that of a typical
        row. It adds linear terms to the products and settles the sign. 0 for none: for subspaces
        through the origin, whose lifts then have fewer dimensions.
    max_iter : int, default=12
        L-BFGS iterations at a rank, between two renewals of the preconditioner.
    rounds : int, default=20
        How often the last rank may be repeated until it converges, with three times as many
        iterations.
    tol : float, default=1e-3
        Converged when the missing entries move less than this in a round, as a root mean square in
        units of a typical entry.
    rescues : int, default=4
        Rounds of restarts for rows that settled in the wrong place.
    max_memory : float, optional
        Bytes that may be taken; 60 % of what is free by default. A problem that needs more is
        refused before anything is allocated.
    time_limit : float, optional
        Seconds after which the run ends with what it has; at most half of them go into the choice
        of the rank.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration, the rank in
        place of the smoothing; the run ends when it returns True.

    Examples
    --------
    >>> from polycomplete import datasets, masks, metrics
    >>> X = datasets.make_union_of_subspaces(120, 8, n_subspaces=2, dim=1, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> model, result = Lifting(rank=2, offset=0).solve(X, mask)
    >>> metrics.rse(X, result.X, mask) < 0.01
    True
    """

    def __init__(
        self,
        rank: int | str = "auto",
        offset: float = 1.0,
        max_iter: int = 12,
        rounds: int = 20,
        tol: float = 1e-3,
        rescues: int = 4,
        max_memory: float | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.rank = rank
        self.offset = offset
        self.max_iter = max_iter
        self.rounds = rounds
        self.tol = tol
        self.rescues = rescues
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.callback = callback

    def solve(self, X: np.ndarray, mask: np.ndarray, seed: int = 0) -> tuple[LiftedModel, Result]:
        """Return the space of the lifts and the result; ``seed`` chooses what "auto" hides."""
        self.check(*X.shape)
        monitor, stop = Monitor(self.time_limit, self.callback), "max_iter"
        run = Run.begin(X, mask, self.offset, monitor)
        rank = self.choose(X, mask, seed) if isinstance(self.rank, str) else int(self.rank)
        rank = min(rank, most(run.seen))
        loose = None
        try:
            for step in ranks(rank, 8):
                run.descend(step, self.max_iter)
            self._second_run(run, rank)
            stop = self._converge(run, rank)
            loose = run.blend(rank)
        except Stopped as ended:
            stop = ended.reason
            rank = int(monitor.smoothings[-1])
        return run.model(rank), monitor.result(run.completed(X, mask), stop, None, loose)

    def path(self, X: np.ndarray, mask: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the rank and the completed matrix for growing ranks, each from the last."""
        self.check(*X.shape)
        run = Run.begin(X, mask, self.offset, Monitor())
        for rank in ranks(largest(run.seen), 3):
            run.climb(rank, self.max_iter)
            yield float(rank), run.completed(X, mask)
            if run.value(rank) < EXPLAINED:
                return

    def choose(self, X: np.ndarray, mask: np.ndarray, seed: int = 0) -> int:
        """Return the rank, by hiding observed entries."""
        draws = model_selection.holdouts(mask, seed)
        limit = None if self.time_limit is None else self.time_limit / (2 * max(len(draws), 1))
        found = []
        for visible, hidden in draws:
            run = Run.begin(X, visible, self.offset, Monitor(limit))
            found.append(Search(run, X, visible, hidden, self.max_iter).best())
        rank = sorted(found)[(len(found) - 1) // 2] if found else CAUTIOUS  # the lower median
        logger.info("chose rank %d by hiding", rank)
        return rank

    def _second_run(self, run: Run, rank: int) -> None:
        """Begin once more at the full rank; keep the better of the two."""
        left = run.repair(rank, self.rescues, 3 * self.max_iter)
        if left < EXPLAINED or run.seen.all():
            return
        other = run.anew()
        other.descend(rank, 3 * self.max_iter)
        if other.repair(rank, self.rescues, 3 * self.max_iter) < left:
            run.Y = other.Y

    def _converge(self, run: Run, rank: int) -> str:
        for _ in range(self.rounds):
            run.descend(rank, 3 * self.max_iter)
            if run.moved <= self.tol:
                return "converged"
        return "max_iter"

    def memory_needed(self, n_rows: int, n_columns: int) -> int:
        """Return the bytes a solve takes at its peak."""
        M = n_columns + (self.offset > 0)
        products = M * (M + 1) // 2
        each = ROW_ARRAYS * M * M + 60 * M
        if n_rows <= products:
            return int(BLOCKS + 8 * n_rows * (each + GRAMS * n_rows))
        return int(BLOCKS + 8 * (n_rows * (each + 4 * products) + 4 * products**2))

    def check(self, n: int = 1, m: int = 1) -> None:
        """Raise where a parameter is wrong or the problem does not fit the memory."""
        check_numbers(self, "max_iter", "rounds")
        check_numbers(self, "offset", "tol", "rescues", zero=True)
        if self.rank != "auto" and not (isinstance(self.rank, Integral) and self.rank > 0):
            raise ValueError(
                f'Lifting(rank=...) must be "auto" or a positive whole number, got {self.rank!r}.'
            )
        given = [name for name in ("max_memory", "time_limit") if getattr(self, name) is not None]
        check_numbers(self, *given, zero=True)
        budget = 0.6 * free_memory() if self.max_memory is None else float(self.max_memory)
        need = self.memory_needed(n, m)
        if need > budget:
            widest = int(np.sqrt(max(budget - BLOCKS, 0) / (8 * ROW_ARRAYS * n)))
            raise MemoryError(
                f"The products of {m} columns of {n} rows need {need / 1e9:.2f} GB, more than the "
                f"{budget / 1e9:.2f} GB that may be taken; the products grow with the square of "
                f"the columns. Take fewer columns (about {widest} fit), fit on fewer rows and "
                "transform the others, use a method without products, such as LRMC or PMC, or "
                "raise max_memory."
            )
