"""The landmark solver: learn the surface, let every row step towards it, repeat.

One Levenberg–Marquardt step of every row for each renewal of the surface; between two sweeps the
rows keep most of their momentum, without which far more sweeps are needed. The smoothing
shrinks as fast as the rows follow: while they still move far, measured against the smoothing, it
waits. In the end stuck rows are restarted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._devices import Array, median
from polycomplete._messages import check_numbers
from polycomplete._resources import Resources
from polycomplete.kernels import Kernel
from polycomplete.landmarks.problem import JUDGE, LandmarkProblem
from polycomplete.penalties import Schatten
from polycomplete.rows import (
    FOLDS,
    Holes,
    Packing,
    Posterior,
    folds,
    restart_by_folds,
    settle,
    spreads,
)
from polycomplete.sampling import training_rows
from polycomplete.solvers.base import (
    WARM,
    Callback,
    Monitor,
    Result,
    Solver,
    Stopped,
    fill,
    logger,
    stages,
)

GROW = 1.1  # of the number of landmarks from one sweep to the next
SETTLED = 0.25  # squared movement of a row in units of the smoothing at which it shrinks as planned
FASTEST = 2.0  # bounds of the speed: twice and half the planned one
ENTRIES = 25_000  # observed entries to choose by
STICKY = 3e-4  # smoothing: above, energies have one minimum and rows are not stuck


@dataclass(eq=False, repr=False)
class Landmark(Solver[LandmarkProblem]):
    """Express the surface by a few of the rows, and complete each row independently.

    Cost and memory grow linearly with the number of rows. The surface is learned jointly from
    ``max_samples`` rows, half of them the best-observed ones, by sweeps over all of them under a
    shrinking smoothing; where there are more rows, every row is then completed by the learned row
    energy.

    Parameters
    ----------
    n_landmarks : "auto" or int, default="auto"
        How many rows express the surface: among rows that are drawn at random, those with many
        observed entries more often, the ones that the others explain least. "auto" lets their
        number grow until what they cannot express is small against the smoothing, up to 400, or
        to the number of columns.
    max_samples : int, default=3000
        Maximum number of rows that the surface is learned from.
    init : {"mean", "zero", "row-column"}, default="mean"
        What the missing entries hold at first.
    initial_smoothing : float, default=1.0
        The first smoothing, relative to the mean of k(x, x).
    steps_per_decade : float, default=8
        Sweeps in which the smoothing falls by a factor of ten, if rows follow easily.
    momentum : float, default=0.9
        The share of its last movement that a row keeps.
    n_final_sweeps : int, default=10
        Sweeps at the last smoothing.
    max_iter : int, default=400
        The most sweeps.
    n_restarts : int, default=3
        Rounds of restarts of stuck rows, where the smoothing ends below 3e-4.
    max_memory : float, optional
        Bytes that completing may take beyond the data; a quarter of the free memory by default.
        Processes share it: there are no more of them than one for every 200 MB.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each sweep; the run ends when
        it returns True.

    Examples
    --------
    >>> Landmark(n_landmarks=200)
    Landmark(n_landmarks=200)
    """

    n_landmarks: int | str = "auto"
    max_samples: int = 3000
    init: str = "mean"
    initial_smoothing: float = 1.0
    steps_per_decade: float = 8
    momentum: float = 0.9
    n_final_sweeps: int = 10
    max_iter: int = 400
    n_restarts: int = 3
    max_memory: float | None = None
    time_limit: float | None = None
    callback: Callback | None = None

    default_smoothing = 1e-7
    path_end = 1e-7
    blend = True
    follows_tensors = True

    def check(self) -> None:
        """Refuse what makes no sense."""
        check_numbers(self, "max_samples", "initial_smoothing", "steps_per_decade", "max_iter")
        check_numbers(self, "momentum", "n_final_sweeps", "n_restarts", zero=True)
        if self.n_landmarks != "auto":
            check_numbers(self, "n_landmarks")
        if self.max_memory is not None:
            check_numbers(self, "max_memory")

    def pose(
        self,
        X: Array,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
        resources: Resources = Resources(),  # noqa: B008  (cannot be changed)
        seed: int = 0,
    ) -> LandmarkProblem:
        """Return the problem of completing these rows; kernel and penalty are resolved."""
        if penalty.p > 1:
            raise ValueError(f"{self!r} takes a penalty with p up to 1, got {penalty!r}.")
        if noise is not None:
            raise ValueError(
                "Landmark() keeps observed entries; for noise=... use solver=Exact(), or leave "
                "noise out and let the smoothing account for it."
            )
        self.check()
        given = None if isinstance(self.n_landmarks, str) else int(self.n_landmarks)
        return LandmarkProblem(X, mask, kernel, penalty, given, resources, seed)

    def working(self, resources: Resources, n_rows: int) -> AbstractContextManager[Resources]:
        """Give threads that map over blocks of rows."""
        return resources.pool()

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and smoothing are chosen, more of rows with few entries.

        There are twice as many rows as columns: fewer could not show all directions of wide rows,
        and would ask for another smoothing.
        """
        m = mask.shape[1]
        enough = max(2 * m, int(ENTRIES / max(mask.mean() * m, 1.0)))
        return training_rows(mask, enough, seed + 1)

    def learn(self, problem: LandmarkProblem, X: np.ndarray, smoothing: float) -> Posterior:
        """Return what completed rows show of further ones, with as many landmarks as they need."""
        return problem.learn(X, smoothing, np.arange(len(X)))

    def without(
        self, problem: LandmarkProblem, X: np.ndarray, smoothing: float
    ) -> Iterator[tuple[np.ndarray, Posterior, None]]:
        """Yield the rows of each fold, and what the others show of them."""
        for part in folds(len(X), FOLDS, np.random.default_rng(problem.seed)):
            others = np.setdiff1d(np.arange(len(X)), part)
            yield part, problem.learn(X, smoothing, others if len(others) else part), None

    def path(
        self, problem: LandmarkProblem, time_limit: float | None = None
    ) -> Iterator[tuple[float, Array]]:
        """Yield the smoothing and the completed rows, twice for each factor of ten.

        Choosing the smoothing by hiding entries follows this path. The last stage comes twice,
        before and after restarts. A path that runs out of time ends early.
        """
        quick = copy(self)
        quick.time_limit, quick.callback = time_limit, None
        run = SweepRun(quick, problem)
        end = self.path_end
        grid = stages(self.initial_smoothing, end, 10**0.5)
        try:
            for smoothing in run.shrink(self.initial_smoothing, end):
                while len(grid) > 1 and smoothing <= grid[0]:
                    yield grid.pop(0), run.completed
            yield end, run.completed
            if run.restart(end):
                for _ in run.shrink(end, end):
                    pass
        except Stopped:
            pass
        yield grid[0], run.completed

    def solve(
        self, problem: LandmarkProblem, smoothing: float, init: np.ndarray | None = None
    ) -> Result:
        """Complete the rows of a problem, down to a smoothing.

        ``init`` is a completion that was found near that smoothing: then fewer sweeps lead there.
        """
        run = SweepRun(self, problem, init)
        first = (
            self.initial_smoothing
            if init is None
            else min(self.initial_smoothing, WARM * smoothing)
        )
        try:
            for _ in run.shrink(first, smoothing, 1):
                pass
            before = len(problem.mask)
            for _ in range(self.n_restarts if smoothing < STICKY else 0):
                moved = run.restart(smoothing)
                if moved == 0:
                    break
                coarse = min(self.initial_smoothing, WARM * smoothing)
                for _ in run.shrink(coarse, smoothing, 1):
                    pass
                # The same rows keep moving: their completion is not unique.
                if moved > before / 2:
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

    def __init__(self, solver: Landmark, problem: LandmarkProblem, init: np.ndarray | None = None):
        self.solver, self.problem = solver, problem
        self.monitor = Monitor(solver.time_limit, solver.callback)
        self.rng = np.random.default_rng(problem.seed)
        X, mask = problem.X, problem.mask
        X = fill(X, mask, solver.init) if init is None else np.where(mask, X, init)
        # From here on everything is where the rows are worked on.
        self.device = problem.device
        self.X: Array = self.device.put(X)
        self.before = self.X
        packing = Packing.on(self.device, problem.resources, problem.most)
        self.holes = Holes(self.device.put(mask), packing)
        self.damping = self.X[:, 0] * 0 + 0.1
        self.smoothing, self.arrived = solver.initial_smoothing, False
        self.count = problem.fewest

    @property
    def completed(self) -> np.ndarray:
        """The rows as they are."""
        return self.device.get(self.X)

    def shrink(self, first: float, last: float, rest: float = np.inf) -> Iterator[float]:
        """Sweep while the smoothing shrinks, and some more; yield the smoothing of each sweep."""
        solver, self.before = self.solver, self.X
        rest = min(rest, solver.n_final_sweeps)
        smoothing, rested, self.arrived = first, 0, False
        for _ in range(solver.max_iter):
            moved = self.sweep(smoothing)
            yield smoothing
            if smoothing <= last * (1 + 1e-9):
                rested += 1
                if rested >= rest:
                    self.arrived = True
                    return
            ease = SETTLED / max(moved, 1e-300)
            speed = float(np.clip(ease, 1 / FASTEST, FASTEST))
            smoothing = max(last, smoothing * 10 ** (-speed / solver.steps_per_decade))

    def sweep(self, smoothing: float) -> float:
        """Learn the surface and let every row take a step; return how far rows moved.

        The squared movement of the median row, as seen by the kernel, in units of γ.
        """
        xp = array_namespace(self.X)
        problem, gamma = self.problem, self.problem.gamma(smoothing)
        # No momentum at the last smoothing: each redrawn set of landmarks moves the rows a bit.
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

    def restart(self, smoothing: float) -> int:
        """Restart rows, judged by a model of the others; return how many moved."""
        problem, gamma = self.problem, self.problem.gamma(max(smoothing, JUDGE))
        X, spread = self.X, spreads(self.X)
        xp, where = array_namespace(X), device(X)

        def given(others: np.ndarray) -> Posterior:
            pool = xp.take(X, xp.asarray(others, device=where), axis=0)
            count = min(self.count, len(others))
            energy = problem.spectrum(pool, count, self.rng, others).energy(gamma)
            return Posterior(energy, pool, spread, gamma, packing=self.holes.packing)

        self.X, moved = restart_by_folds(
            given, X, self.holes.mask, gamma, self.rng, run=problem.run
        )
        self.damping = self.X[:, 0] * 0 + 0.1
        logger.info("%.1f s: restarted %d rows", self.monitor.seconds, moved)
        return moved
