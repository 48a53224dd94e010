"""The landmark solver: alternate between learning the surface and one step of every row.

Each sweep learns the surface and takes one Levenberg–Marquardt step of every row. Momentum carries
over from sweep to sweep; without it, far more sweeps are needed. The smoothing decreases as fast as
the rows follow: more slowly while they move far compared with the smoothing. At the end, stuck rows
are restarted.
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
from polycomplete.landmarks.landmark_problem import JUDGE, LandmarkProblem
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

SETTLED = 0.25  # squared movement, in units of γ, at which the smoothing decreases as planned
FASTEST = 2.0  # the smoothing decreases at most twice and at least half as fast as planned
ENTRIES = 25_000  # observed entries in the rows used for choosing
STICKY = 3e-4  # above this smoothing, energies have one minimum, so that no row is stuck


@dataclass(eq=False, repr=False)
class Landmark(Solver[LandmarkProblem]):
    """Represent the surface by a few landmark rows, and complete each row independently.

    Time and memory grow linearly with the number of rows. The surface is learned jointly from at
    most ``max_samples`` rows, half of them those with the most observed entries, by sweeps with
    decreasing smoothing. If there are more rows, all are then completed by the learned row energy.

    Parameters
    ----------
    n_landmarks : "auto" or int, default="auto"
        Number of landmarks: of randomly drawn rows, more often ones with many observed entries,
        those that the others explain least. "auto" increases their number, up to 400 or the number
        of columns, until what they do not represent is small compared with the smoothing.
    max_samples : int, default=3000
        Maximum number of rows to learn the surface from.
    init : {"mean", "zero", "row-column"}, default="mean"
        Initial values of the missing entries.
    initial_smoothing : float, default=1.0
        The first smoothing, relative to the mean of k(x, x).
    steps_per_decade : float, default=8
        Number of sweeps per factor of ten in the smoothing, if rows follow easily.
    momentum : float, default=0.9
        Share of a row's last movement that is kept.
    n_final_sweeps : int, default=10
        Number of sweeps at the last smoothing.
    max_iter : int, default=400
        Maximum number of sweeps.
    n_restarts : int, default=3
        Maximum number of rounds that restart stuck rows, if the last smoothing is below 3e-4.
    max_memory : float, optional
        Maximum number of bytes for completing rows, beyond the data; by default a quarter of the
        free memory. Processes share it; there is at most one per 200 MB.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
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
        """Raise if a parameter is not an allowed value."""
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
            raise ValueError(f"{self!r} needs a penalty with p of at most 1, got {penalty!r}.")
        if noise is not None:
            raise ValueError(
                "Landmark() keeps observed entries; for noise=... use solver=Exact(), or omit "
                "noise and let the smoothing account for it."
            )
        self.check()
        given = None if isinstance(self.n_landmarks, str) else int(self.n_landmarks)
        return LandmarkProblem(X, mask, kernel, penalty, given, resources, seed)

    def working(self, resources: Resources, n_rows: int) -> AbstractContextManager[Resources]:
        """Return resources with threads that map over blocks of rows."""
        return resources.pool()

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and smoothing are chosen.

        There are more of them if rows have few entries, and at least twice as many as columns:
        fewer would not span all directions of wide rows, and need another smoothing.
        """
        m = mask.shape[1]
        enough = max(2 * m, int(ENTRIES / max(mask.mean() * m, 1.0)))
        return training_rows(mask, enough, seed + 1)

    def learn(self, problem: LandmarkProblem, X: np.ndarray, smoothing: float) -> Posterior:
        """Return the posterior learned from completed rows, with as many landmarks as needed."""
        return problem.learn(X, smoothing, np.arange(len(X)))

    def without(
        self, problem: LandmarkProblem, X: np.ndarray, smoothing: float
    ) -> Iterator[tuple[np.ndarray, Posterior, None]]:
        """Yield the rows of each fold, and their posterior given the other folds."""
        for part in folds(len(X), FOLDS, np.random.default_rng(problem.seed)):
            others = np.setdiff1d(np.arange(len(X)), part)
            yield part, problem.learn(X, smoothing, others if len(others) else part), None

    def path(
        self, problem: LandmarkProblem, time_limit: float | None = None
    ) -> Iterator[tuple[float, Array]]:
        """Yield the smoothing and the completed rows, twice for each factor of ten.

        The smoothing is chosen on held-out entries along this path. The last smoothing is yielded
        twice, before and after restarts. The path ends early at its time limit.
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
        """Complete the rows of a problem at a smoothing.

        ``init`` is a completion found near that smoothing: a warm start, which needs fewer sweeps.
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
    """State of a run, and its sweeps."""

    def __init__(self, solver: Landmark, problem: LandmarkProblem, init: np.ndarray | None = None):
        self.solver, self.problem = solver, problem
        self.monitor = Monitor(solver.time_limit, solver.callback)
        self.rng = np.random.default_rng(problem.seed)
        X, mask = problem.X, problem.mask
        X = fill(X, mask, solver.init) if init is None else np.where(mask, X, init)
        # From here on, all arrays are on the device that completes rows.
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
        """The current completed rows."""
        return self.device.get(self.X)

    def shrink(self, first: float, last: float, rest: float = np.inf) -> Iterator[float]:
        """Sweep with decreasing smoothing, then at the last one; yield that of each sweep."""
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
        """Learn the surface and take one step of every row; return how far rows moved.

        This is the median squared movement in feature space, in units of γ.
        """
        xp = array_namespace(self.X)
        problem, gamma = self.problem, self.problem.gamma(smoothing)
        # No momentum at the last smoothing: each new set of landmarks moves the rows a little.
        momentum = 0.0 if smoothing == self.smoothing else self.solver.momentum
        Y = self.X + momentum * (self.X - self.before)
        spectrum = problem.spectrum(Y, self.count, self.rng)
        energy, self.smoothing = spectrum.energy(gamma), smoothing
        self.before = self.X
        self.X, E, self.damping, _ = settle(energy, Y, self.holes, self.damping, run=problem.run)
        self.count = problem.more(self.count, spectrum, gamma)
        self.monitor.note(float(xp.mean(E)), smoothing)
        squared = xp.sum((self.X - self.before) ** 2, axis=1) * problem.kernel.metric(self.X)[0]
        return median(squared) / gamma

    def restart(self, smoothing: float) -> int:
        """Restart rows, judged by the posterior of other folds; return how many moved."""
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
