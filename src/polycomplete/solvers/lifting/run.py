"""One run of LADMC: where the rows stand, and the moves that lower the misfit of their lifts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from polycomplete.solvers.base import Monitor, logger
from polycomplete.solvers.lifting.products import BLOCK_BYTES, Lifter, Lifts, misfit
from polycomplete.solvers.lifting.rows import NOTHING, LiftedModel, curvature
from polycomplete.solvers.precondition import RowPreconditioner

#: Bounds how soft a direction is taken to be, and how strongly misfit pulls missing entries to 0.
DAMPING, PULL = 1e-3, 1.0
#: Where the mean misfit is below this nothing is left to explain.
EXPLAINED = 1e-9
#: Rows that are started again: this share at most, worst first, if their misfit is so many times
#: the median; and the gain that lets a row move.
SUSPECTS, FAR, GAIN = 0.2, 10.0, 0.5
#: Rows with a larger square than this, one being usual, are doubtful.
LONG = 9.0


@dataclass
class Run:
    """Rows in the form that is lifted, and the moves of the solver.

    ``Y`` are the rows as they stand, ``start`` with zeros in their holes; ``seen`` is True where an
    entry was observed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5))
    >>> mask = rng.random(X.shape) < 0.8
    >>> run = Run.begin(X, mask, 0.0, Monitor())
    >>> before = run.value(3)
    >>> run.descend(3, 50)
    >>> run.value(3) < before / 5
    True
    """

    lifter: Lifter
    start: np.ndarray
    seen: np.ndarray
    length: np.ndarray
    Y: np.ndarray
    monitor: Monitor
    lifts: Lifts = field(default_factory=Lifts)
    moved: float = np.inf

    @classmethod
    def begin(cls, X: np.ndarray, mask: np.ndarray, offset: float, monitor: Monitor) -> Run:
        """Prepare the rows of a matrix."""
        lifter = Lifter.fit(X, mask, offset)
        Y, seen, length = lifter.prepare(X, mask)
        return cls(lifter, Y, seen, length, Y, monitor)

    def anew(self) -> Run:
        """Return a run that stands at the start."""
        return replace(self, Y=self.start, lifts=Lifts())

    def completed(self, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the rows in the units of X."""
        return self.lifter.restore(self.Y, self.length, X, mask)

    def value(self, rank: int) -> float:
        """Return the mean misfit: the share of the lifts that is unexplained."""
        return self.lifts.unexplained(self.Y, rank)[0]

    def model(self, rank: int, rows: np.ndarray | None = None) -> LiftedModel:
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

        def objective(y: np.ndarray) -> tuple[float, np.ndarray]:
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

    def blend(self, rank: int) -> np.ndarray:
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

    def _filled(self, z: np.ndarray) -> np.ndarray:
        Y = self.start.copy()
        Y[~self.seen] = z
        return Y

    def _misfits(self, basis: np.ndarray, Y: np.ndarray) -> np.ndarray:
        size = self._block(basis)
        return np.concatenate([misfit(basis, Y[i : i + size])[0] for i in range(0, len(Y), size)])

    def _block(self, basis: np.ndarray) -> int:
        return max(1, int(BLOCK_BYTES / (8 * basis.shape[0] * basis.shape[1])))

    def _precondition(self, basis: np.ndarray, pull: float) -> RowPreconditioner:
        n, M = self.Y.shape
        C, size, at = np.empty((n, M, M)), self._block(basis), np.arange(M)
        for begin in range(0, n, size):
            part = slice(begin, begin + size)
            Y, seen = self.Y[part], self.seen[part]
            H = curvature(Y, misfit(basis, Y)[2], seen, DAMPING)
            H[:, at, at] += np.where(seen, 0, 2 * pull)
            C[part] = np.linalg.cholesky(H)
        return RowPreconditioner(C, np.linalg.inv(C), ~self.seen)
