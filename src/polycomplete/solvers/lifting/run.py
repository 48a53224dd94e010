"""One run of LADMC, the moves that lower the misfit of the lifts; and the search for their rank.

Two kinds of data meet where the rank is found by hiding observed entries. On smooth surfaces and on
tables the error falls slowly with the rank, and any rank near the best one will do. On unions of
subspaces, and on exact polynomials, the misfit collapses at one rank: below it nothing fits, and
above it rows that are stuck find room to stay so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

from polycomplete import model_selection
from polycomplete.scaling import ColumnScaler
from polycomplete.solvers.base import Monitor, Stopped, logger
from polycomplete.solvers.lifting.space import (
    NOTHING,
    LiftedModel,
    Lifter,
    Lifts,
    curvature,
    misfit,
    parts,
)
from polycomplete.solvers.precondition import Preconditioner

Matrix = np.ndarray

#: Bounds how soft a direction is taken to be, and how strongly misfit pulls missing entries to 0.
DAMPING, PULL = 1e-3, 1.0
#: Where the mean misfit is below this nothing is left to explain.
EXPLAINED = 1e-9
#: Rows that are started again: this share at most, worst first, if their misfit is so many times
#: the median; and the gain that lets a row move.
SUSPECTS, FAR, GAIN = 0.2, 10.0, 0.5
#: Rows with a larger square than this, one being usual, are doubtful.
LONG = 9.0
#: The rank where there is too little to hide.
CAUTIOUS = 3
#: Leave the path where the hidden error has come this far above its lowest.
GIVE_UP = 1.25
#: The second start is given up after this many ranks at which it was so many times worse.
PATIENCE, WORSE = 2, 1.3
#: A fall of the misfit by the first factor from one rank of the path to the next is worth a search
#: between them; a single rank that lowers it by the second is that of the data.
FALL, COLLAPSE = 100.0, 1000.0


@dataclass
class Run:
    """Rows in the form that is lifted, and the moves of the solver.

    ``Y`` are the rows as they stand, ``start`` with zeros in their holes; ``seen`` is True where an
    entry was observed.
    """

    lifter: Lifter
    start: Matrix
    seen: Matrix
    length: Matrix
    Y: Matrix
    monitor: Monitor
    lifts: Lifts = field(default_factory=Lifts)
    moved: float = np.inf

    @classmethod
    def begin(cls, X: Matrix, mask: Matrix, offset: float, monitor: Monitor) -> Run:
        """Prepare the rows of a matrix."""
        lifter = Lifter.fit(X, mask, offset)
        Y, seen, length = lifter.prepare(X, mask)
        return cls(lifter, Y, seen, length, Y, monitor)

    def anew(self) -> Run:
        """Return a run that stands at the start."""
        return replace(self, Y=self.start, lifts=Lifts())

    def completed(self, X: Matrix, mask: Matrix) -> Matrix:
        """Return the rows in the units of X."""
        return self.lifter.restore(self.Y, self.length, X, mask)

    def value(self, rank: int) -> float:
        """Return the mean misfit: the share of the lifts that is unexplained."""
        return self.lifts.unexplained(self.Y, rank)[0]

    def model(self, rank: int, rows: Matrix | None = None) -> LiftedModel:
        """Return the space of the lifts of these rows (all by default), for completing others."""
        pool = self.Y if rows is None else self.Y[rows]
        basis, shares = self.lifts.space(pool, rank)
        typical = float(np.median(self._misfits(basis, pool)))
        return LiftedModel(self.lifter, basis, shares, pool, max(typical, 0.0))

    def descend(self, rank: int, iterations: int) -> None:
        """Minimise at one rank, by L-BFGS in row-preconditioned variables.

        As long as much is unexplained the missing entries also pay for their squares: rows that
        follow a poor model far are hard to bring back.
        """
        free, begin = ~self.seen, self.Y
        basis, _ = self.lifts.space(begin, rank)
        unit = float(np.mean(self._misfits(basis, begin)))
        self.moved = 0.0
        if not free.any() or unit <= NOTHING / 100:
            return
        pull = PULL * unit
        change = self._precondition(basis, pull)

        def objective(y: Matrix) -> tuple[float, Matrix]:
            z = change.back(y)
            value, g = self.lifts.unexplained(self._filled(z), rank)
            value += pull * float(z @ z) / len(begin)
            slope = change.gradient(len(begin) * g[free] + 2 * pull * z)
            return value / unit, slope / (len(begin) * unit)

        def watch(intermediate_result: object) -> None:
            self.Y = self._filled(change.back(intermediate_result.x))  # type: ignore[attr-defined]
            self.monitor.note(intermediate_result.fun * unit, float(rank))  # type: ignore[attr-defined]

        options = {"maxiter": iterations, "maxcor": 20, "ftol": 1e-4, "gtol": 1e-12}
        y = change.forward(begin[free])
        minimize(objective, y, jac=True, method="L-BFGS-B", callback=watch, options=options)
        step = ((self.Y - begin) * (self.length / self.lifter.unit)[:, None])[free]
        self.moved = float(np.sqrt(np.mean(step**2)))
        logger.info("%.1f s: rank %d, moved by %.1e of a typical entry",
                    self.monitor.seconds, rank, self.moved)  # fmt: skip

    def climb(self, rank: int, iterations: int) -> None:
        """Go on to a rank from the last one."""
        self.descend(rank, iterations)
        if self.rescue(rank):
            self.descend(rank, iterations)

    def rescue(self, rank: int) -> int:
        """Start the worst rows again, given the space of the others; return how many moved.

        A space that contains a stuck row would support its mistake.
        """
        E = self._misfits(self.lifts.space(self.Y, rank)[0], self.Y)
        order = np.argsort(-E, kind="stable")
        cut = max(1, int(SUSPECTS * len(E)))
        worst, trusted = order[:cut], order[cut:]
        worst = worst[(E[worst] > FAR * np.median(E) + EXPLAINED) & ~self.seen[worst].all(axis=1)]
        if len(worst) == 0 or len(trusted) == 0:
            return 0
        model = replace(self, lifts=Lifts()).model(rank, trusted)
        found = model.candidates(self.start[worst], self.seen[worst], self.Y[worst], steps=8)
        rows, lowest = found.best()
        better = lowest < GAIN * found.energy[:, 0] - NOTHING
        self.Y = self.Y.copy()
        self.Y[worst[better]] = np.where(self.seen[worst], self.Y[worst], rows)[better]
        return int(better.sum())

    def repair(self, rank: int, rounds: int, iterations: int) -> float:
        """Rescue rows as long as that lowers the misfit; return what is left."""
        kept, lowest = self.Y, self.value(rank)
        for _ in range(rounds):
            if lowest < EXPLAINED / 100 or not self.rescue(rank):
                break
            self.descend(rank, iterations)
            value = self.value(rank)
            if value >= lowest:
                break
            kept, lowest = self.Y, value
        self.Y = kept
        return lowest

    def blend(self, rank: int) -> Matrix:
        """Give rows that are not determined the mean of what is plausible; return which."""
        model = self.model(rank)
        long = np.sum(self.Y**2, axis=1) > LONG
        rows = np.flatnonzero((model.scarce(self.seen) | long) & ~self.seen.all(axis=1))
        loose = np.zeros(len(self.Y), dtype=bool)
        if len(rows):
            found, loose[rows] = model.decide(
                self.start[rows], self.seen[rows], self.Y[rows], own=rows
            )
            self.Y = self.Y.copy()
            self.Y[loose] = found[loose[rows]]
        return loose

    def _filled(self, z: Matrix) -> Matrix:
        Y = self.start.copy()
        Y[~self.seen] = z
        return Y

    def _misfits(self, basis: Matrix, Y: Matrix) -> Matrix:
        return np.concatenate([misfit(basis, Y[part])[0] for part in parts(len(Y), basis)])

    def _precondition(self, basis: Matrix, pull: float) -> Preconditioner:
        n, M = self.Y.shape
        C, at = np.empty((n, M, M)), np.arange(M)
        for part in parts(n, basis):
            Y, seen = self.Y[part], self.seen[part]
            H = curvature(Y, misfit(basis, Y)[2], seen, DAMPING)
            H[:, at, at] += np.where(seen, 0, 2 * pull)
            C[part] = np.linalg.cholesky(H)
        number = np.where(self.seen, -1, np.cumsum(~self.seen).reshape(n, M) - 1)
        return Preconditioner([number], [C])


def ranks(last: int, finer: int) -> list[int]:
    """Return growing ranks from one to ``last``, in steps of a share ``1/finer`` of the rank."""
    found = [1]
    while found[-1] < last:
        found.append(min(last, found[-1] + max(1, found[-1] // finer)))
    return found


def most(seen: Matrix) -> int:
    """Return the rank at which nothing is left unexplained, whatever the data."""
    n, M = seen.shape
    return min(n, M * (M + 1) // 2)


def largest(seen: Matrix) -> int:
    """Return where the path of ranks ends.

    At half of the rows, so that each direction has two of them, and at as many products as three
    quarters of the rows have observed at most: with more dimensions than products anything fits.
    """
    count = seen.sum(axis=1)
    products = int(np.quantile(count * (count + 1) / 2, 0.75))
    return max(1, min(len(seen) // 2, products, most(seen) - 1))


class Search:
    """The search for the rank on one draw of hidden entries."""

    def __init__(self, run: Run, X: Matrix, visible: Matrix, hidden: Matrix, max_iter: int):
        self.run, self.other, self.max_iter = run, run.anew(), max_iter
        self.X, self.visible, self.hidden = X, visible, hidden
        self.unit = ColumnScaler.fit(X, visible | hidden, "standard").scale
        self.errors: dict[float, float] = {}
        self.left: dict[int, float] = {}
        self.rows: dict[int, Matrix] = {}

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
