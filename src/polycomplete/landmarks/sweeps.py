"""The solver of the landmark engine: learn the surface, let every row step towards it, repeat.

One Levenberg–Marquardt step of every row for each renewal of the surface; between two sweeps the
rows keep most of their momentum, without which far more sweeps are needed. The smoothing
shrinks as fast as the rows follow: while they still move far, measured against the smoothing, it
waits. In the end rows in the wrong place get second chances.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator

from polycomplete._arrays import Array, median
from polycomplete._checks import check_numbers
from polycomplete.landmarks.engine import JUDGE, LandmarkProblem
from polycomplete.rows import Holes, Posterior, folds, restart, settle, spreads
from polycomplete.solvers.result import Callback, Monitor, Result, Stopped, logger
from polycomplete.solvers.stages import stages
from polycomplete.solvers.start import fill

GROW = 1.1  # of the number of landmarks from one sweep to the next
SETTLED = 0.25  # squared movement of a row in units of the smoothing at which it shrinks as planned
SLOWEST, BRISK, FASTEST = 0.25, 0.5, 3.0  # of the planned speed; BRISK where it need not be exact
NOISY = 1e-6  # a last smoothing above this is that of data with noise: they need not be exact
FIRST = 5  # sweeps before the movement tells anything
FOLDS = 2  # parts of the rows: each is judged by what the others show
BRIEF = 3  # sweeps at the last smoothing before second chances
NEAR = 1e3  # so many times coarser than a completion to begin with, rows still find their place
STICKY = 3e-4  # smoothing: above, a row has one place only and is not stuck in another
AGAIN, SOON = 100.0, 30.0  # after second chances the smoothing is so many times larger; with noise


class Sweeps(BaseEstimator):
    """Sweeps over all rows under a shrinking smoothing, for the landmark engine.

    Parameters
    ----------
    first : float, default=1.0
        The first smoothing, relative to the mean of k(x, x).
    per_ten : float, default=8
        Sweeps in which the smoothing falls by a factor of ten, if rows follow easily.
    momentum : float, default=0.9
        The share of its last movement that a row keeps.
    rest : int, default=10
        Sweeps at the last smoothing.
    max_iter : int, default=400
        The most sweeps.
    rescues : int, default=3
        Rounds of second chances for rows in the wrong place, where the smoothing ends below 3e-4.
    start : {"mean", "zero", "row-column"}, default="mean"
        What the missing entries hold at first.
    random_state : int, default=0
        Draws landmarks.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each sweep; the run ends when
        it returns True.

    Examples
    --------
    >>> Sweeps(momentum=0.5)
    Sweeps(momentum=0.5)
    """

    #: The smallest smoothing: where "auto" ends on data without noise.
    default_smoothing = 1e-7
    #: Where the path ends that choosing by hiding follows.
    path_end = 1e-7

    def __init__(
        self,
        first: float = 1.0,
        per_ten: float = 8,
        momentum: float = 0.9,
        rest: int = 10,
        max_iter: int = 400,
        rescues: int = 3,
        start: str = "mean",
        random_state: int = 0,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.first = first
        self.per_ten = per_ten
        self.momentum = momentum
        self.rest = rest
        self.max_iter = max_iter
        self.rescues = rescues
        self.start = start
        self.random_state = random_state
        self.time_limit = time_limit
        self.callback = callback

    def path(
        self, problem: LandmarkProblem, time_limit: float | None = None
    ) -> Iterator[tuple[float, Array]]:
        """Yield the smoothing and the completed rows, twice for each factor of ten.

        Choosing the smoothing by hiding entries follows this path. The last stage comes twice,
        before and after second chances. A path that runs out of time ends early.
        """
        quick = copy(self)
        quick.time_limit, quick.callback = time_limit, None
        run = SweepRun(quick, problem)
        end = self.path_end
        grid = stages(self.first, end, 10**0.5)
        try:
            for smoothing in run.shrink(self.first, end, BRISK):
                while len(grid) > 1 and smoothing <= grid[0]:
                    yield grid.pop(0), run.completed
            yield end, run.completed
            if run.rescue(end):
                for _ in run.shrink(end, end):
                    pass
        except Stopped:
            pass
        yield grid[0], run.completed

    def solve(
        self, problem: LandmarkProblem, smoothing: float, begin: np.ndarray | None = None
    ) -> Result:
        """Complete the rows of a problem, down to a smoothing.

        ``begin`` is a completion that was found near that smoothing: then fewer sweeps lead there.
        """
        run = SweepRun(self, problem, begin)
        first = self.first if begin is None else min(self.first, NEAR * smoothing)
        slowest, again = (BRISK, SOON) if smoothing > NOISY else (SLOWEST, AGAIN)
        try:
            for _ in run.shrink(first, smoothing, slowest, BRIEF):
                pass
            before = len(problem.mask)
            for _ in range(self.rescues if smoothing < STICKY else 0):
                moved = run.rescue(smoothing)
                if moved == 0:
                    break
                for _ in run.shrink(min(self.first, again * smoothing), smoothing, BRISK, BRIEF):
                    pass
                if moved > before / 2:  # the same rows to and fro: there is no one place for them
                    break
                before = moved
            for _ in run.shrink(smoothing, smoothing):
                pass
            stop = "converged" if run.arrived else "max_iter"
        except Stopped as ended:
            stop = ended.reason
        return run.monitor.result(run.completed, stop, problem.kernel)


class SweepRun:
    """Where a run stands, and its moves."""

    def __init__(self, solver: Sweeps, problem: LandmarkProblem, begin: np.ndarray | None = None):
        check_numbers(solver, "first", "per_ten", "max_iter")
        check_numbers(solver, "momentum", "rest", "rescues", zero=True)
        self.solver, self.problem = solver, problem
        self.monitor = Monitor(solver.time_limit, solver.callback)
        self.rng = np.random.default_rng(solver.random_state)
        X, mask = problem.X, problem.mask
        X = fill(X, mask, solver.start) if begin is None else np.where(mask, X, begin)
        # From here on everything is where the engine works.
        self.device = problem.device
        self.X: Array = self.device.put(X)
        self.before = self.X
        packing = problem.engine.packing(self.device, problem.most)
        self.holes = Holes(self.device.put(mask), packing)
        self.damping = self.X[:, 0] * 0 + 0.1
        self.smoothing, self.arrived = solver.first, False
        self.count = problem.fewest

    @property
    def completed(self) -> np.ndarray:
        """The rows as they are."""
        return self.device.get(self.X)

    def shrink(
        self, first: float, last: float, slowest: float = SLOWEST, rest: float = np.inf
    ) -> Iterator[float]:
        """Sweep while the smoothing shrinks, and some more; yield the smoothing of each sweep."""
        solver, self.before = self.solver, self.X
        rest = min(rest, solver.rest)
        smoothing, rested, self.arrived = first, 0, False
        for count in range(solver.max_iter):
            moved = self.sweep(smoothing)
            yield smoothing
            if smoothing <= last * (1 + 1e-9):
                rested += 1
                if rested >= rest:
                    self.arrived = True
                    return
            ease = SETTLED / max(moved, 1e-300)
            speed = 1.0 if count < FIRST else float(np.clip(ease, slowest, FASTEST))
            smoothing = max(last, smoothing * 10 ** (-speed / solver.per_ten))

    def sweep(self, smoothing: float) -> float:
        """Learn the surface and let every row take a step; return how far rows moved.

        The squared movement of the median row, as seen by the kernel, in units of γ.
        """
        xp = array_namespace(self.X)
        problem, gamma = self.problem, self.problem.gamma(smoothing)
        # At the last smoothing rows come to rest: each redrawn set of landmarks pushes them a bit.
        momentum = 0.0 if smoothing == self.smoothing else self.solver.momentum
        Y = self.X + momentum * (self.X - self.before)
        spectrum = problem.spectrum(Y, self.count, self.rng)
        energy, self.smoothing = spectrum.energy(gamma), smoothing
        self.before = self.X
        self.X, E, self.damping, _ = settle(energy, Y, self.holes, self.damping, run=problem.run)
        self.count = problem.more(self.count, spectrum, gamma, GROW)
        self.monitor.note(float(xp.mean(E)), smoothing)
        squared = xp.sum((self.X - self.before) ** 2, axis=1) * problem.kernel.metric(self.X)[0]
        return median(squared) / gamma

    def rescue(self, smoothing: float) -> int:
        """Give rows second chances; return how many moved."""
        problem, gamma = self.problem, self.problem.gamma(max(smoothing, JUDGE))
        X, moved = self.X, 0
        xp, where = array_namespace(X), device(X)
        spread = spreads(X)
        better = xp.asarray(X, copy=True)
        for part in folds(X.shape[0], FOLDS, self.rng):
            others = np.setdiff1d(np.arange(X.shape[0]), part)
            if not len(others):
                break
            pool, rows = (xp.take(X, xp.asarray(at, device=where), axis=0) for at in (others, part))
            energy = problem.spectrum(pool, min(self.count, len(others)), self.rng, others)
            posterior = Posterior(
                energy.energy(gamma), pool, spread, gamma, packing=self.holes.packing
            )
            at = xp.asarray(part, device=where)
            seen = xp.take(self.holes.mask, at, axis=0)
            better[at, :], more = restart(posterior, rows, seen, gamma, run=problem.run)
            moved += more
        self.X = better
        self.damping = self.X[:, 0] * 0 + 0.1
        logger.info("%.1f s: started %d rows again", self.monitor.seconds, moved)
        return moved
