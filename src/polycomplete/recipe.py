"""What to fit, and the choices that are made by hiding: the scaling and the smoothing.

Plain arrays in, plain arrays out; every column here has observed entries that vary, every row has
at least one observed entry. The estimators of :mod:`polycomplete.completers` take care of the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from polycomplete import tuning
from polycomplete._machine import blas_threads_for
from polycomplete.exact import Exact
from polycomplete.kernels import Kernel
from polycomplete.landmarks import Landmark
from polycomplete.penalties import Schatten
from polycomplete.rows import Completion
from polycomplete.scaling import ColumnScaler, column_spread, large_groups, refuse_unsquarable
from polycomplete.solvers import Result
from polycomplete.solvers.result import logger

Solver = Any  # Continuation, Sweeps, AdamPlus, or another object with solve and default_smoothing
Problem = Any  # what the engine poses

#: An error of most hidden entries that no data with noise have: it is the smoothing's.
CLEAN = 1e-3
#: Spreads of the columns that differ by less than this factor need no choice of scaling.
SIMILAR = 10.0
#: Of the observed range of a column: farther outside, a row ran away.
OUTSIDE = 0.5
#: Rounds in which deviations are calibrated, and the largest factor.
FITTED, MOST = 3, 1e4
#: Rows whose held-out entries are enough to calibrate by.
JUDGED = 500
#: Of the spread: hidden entries that leave less of it cannot be told by the others.
COLLAPSED = 1e-6


class Learned(NamedTuple):
    """What a fit gives: the surface, the completed matrix in the user's units, and how it went.

    ``deviation`` is the estimated standard deviation of each missing cell; 0 where observed.
    """

    surface: Any
    completed: np.ndarray
    result: Result
    scale: str | None
    determined: np.ndarray
    deviation: np.ndarray
    held_out: tuning.HeldOut | None = None


@dataclass(frozen=True)
class Recipe:
    """What to fit: the parts of a method, put together by an estimator."""

    kernel: Kernel
    penalty: Schatten
    engine: Exact | Landmark
    solver: Solver
    scale: str | None
    smoothing: float | str
    noise: float | None
    seed: int
    groups: np.ndarray | None = None  # columns with the same number are held out together

    def __post_init__(self) -> None:
        """Refuse what cannot be fitted, in the words of the estimators' parameters."""
        for name, kind in (("kernel", Kernel), ("penalty", Schatten)):
            given = getattr(self, name)
            if not isinstance(given, kind):
                raise TypeError(f"{name} must be a {kind.__name__} object, got {given!r}.")
        if isinstance(self.solver, type) or not hasattr(self.solver, "solve"):
            raise TypeError(
                "solver must be a Continuation or AdamPlus object, or another one that has solve() "
                f"and default_smoothing, got {self.solver!r}."
            )
        if self.smoothing != "auto" and not _positive(self.smoothing):
            raise ValueError(
                f'smoothing must be "auto" or a positive number, got {self.smoothing!r}.'
            )
        if self.noise is not None and not _positive(self.noise):
            raise ValueError(f"noise must be None or a positive number, got {self.noise!r}.")


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < float("inf")


def pose(X: np.ndarray, mask: np.ndarray, scaler: ColumnScaler, recipe: Recipe) -> Problem:
    """Return the problem of a recipe on scaled data, with every "auto" of its parts resolved."""
    scaled = scaler.apply_observed(X, mask)
    refuse_unsquarable(scaled, 1e-100, 1e100)
    return recipe.engine.pose(
        X=scaled,
        mask=mask,
        kernel=recipe.kernel.resolve(scaled, mask),
        penalty=recipe.penalty.resolve(scaled, mask),
        noise=recipe.noise,
    )


class Trial(NamedTuple):
    """What choosing showed: which entries were visible and hidden, and the completed rows, scaled.

    ``rows`` says which rows of the matrix these are.
    """

    scaler: ColumnScaler
    rows: np.ndarray
    visible: np.ndarray
    hidden: np.ndarray
    found: np.ndarray

    def held_out(self, X: np.ndarray, found: Completion) -> tuning.HeldOut:
        """Return the hidden entries of X and what was found for them; completions are scaled."""
        rows, columns = np.nonzero(self.hidden)
        completed = self.scaler.undo(found.rows)[self.hidden]
        deviation = (found.std * self.scaler.scale)[self.hidden]
        truth = X[self.rows[rows], columns]
        return tuning.HeldOut(self.rows[rows], columns, truth, completed, deviation)


Read = Callable[[float], Completion]  # by the factor that deviations are multiplied by


def judge(
    X: np.ndarray, trials: Sequence[Trial], reading: Callable[[Trial], Read]
) -> tuple[float, tuning.HeldOut | None]:
    """Return what deviations must be multiplied by to fit held-out entries, and these."""
    factor, reads = 1.0, [reading(trial) for trial in trials]
    if not trials:
        return factor, None
    for last in (False,) * FITTED + (True,):  # deviations are bounded, so that they follow slowly
        found = [trial.held_out(X, read(factor)) for trial, read in zip(trials, reads, strict=True)]
        held = tuning.HeldOut(*(np.concatenate(part) for part in zip(*found, strict=True)))
        if not last:
            ratio = tuning.calibration(held.completed - held.truth, held.deviation)
            factor = float(np.clip(factor * ratio, 1 / MOST, MOST))
    return factor, held


def judged(trial: Trial) -> np.ndarray:
    """Return some rows of which entries were held out."""
    rows = np.flatnonzero(trial.hidden.any(axis=1))
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), JUDGED)).astype(int)]


def spread_out(trial: Trial, parts: list[tuple[np.ndarray, Completion]]) -> Completion:
    """Return the completion of all rows of a trial; rows that were not judged have NaN."""
    n = len(trial.found)
    nan = np.full(trial.found.shape, np.nan)
    whole = Completion(trial.found.copy(), nan, np.full(n, np.nan), np.zeros(n, dtype=bool))
    for rows, found in parts:
        for into, values in zip(whole, found, strict=True):
            into[rows] = values
    return whole


class Chosen(NamedTuple):
    """A scaling, a smoothing, and where to begin: what choosing found, if data had no noise."""

    scale: str | None
    smoothing: float
    begin: np.ndarray | None = None
    trials: Sequence[Trial] = ()


def solve(
    X: np.ndarray, mask: np.ndarray, recipe: Recipe, sample: np.ndarray | None = None
) -> tuple[ColumnScaler, Problem, Result, Chosen]:
    """Choose scaling and smoothing, on a sample of the rows where one is given, and complete all.

    Returns
    -------
    scaler, problem, result, chosen
        The rows of the result are scaled. ``chosen.smoothing`` is what was reached.
    """
    started = time.perf_counter()
    if sample is None or len(sample) == len(X):
        chosen = choose(X, mask, recipe)
    else:
        chosen = choose(X[sample], mask[sample], recipe)._replace(begin=None)
        chosen = chosen._replace(trials=[trial._replace(rows=sample) for trial in chosen.trials])
    solver = copy(recipe.solver)
    if getattr(solver, "time_limit", None) is not None:  # of the fit, the choosing included
        solver.time_limit = max(0.0, solver.time_limit - (time.perf_counter() - started))
    scaler = ColumnScaler.fit(X, mask, chosen.scale, recipe.groups)
    problem = pose(X, mask, scaler, recipe)
    takes = "begin" in signature(solver.solve).parameters
    options = {"begin": chosen.begin} if takes else {}
    result = solver.solve(problem, chosen.smoothing, **options)
    if result.stop in ("time_limit", "callback") and result.smoothings:
        chosen = chosen._replace(smoothing=result.smoothings[-1])  # as far as it came
    return scaler, problem, result, chosen


def walk(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the smoothing and the completed matrix, in the user's units, from coarse to fine."""
    if not hasattr(recipe.solver, "path"):
        raise TypeError(f"{recipe.solver!r} has no path of decreasing smoothing to follow.")
    scaler = ColumnScaler.fit(X, mask, _scales_to_try(X, mask, recipe)[0], recipe.groups)
    engine = recipe.engine
    pool = engine.pool() if isinstance(engine, Landmark) else nullcontext(engine)
    with blas_threads_for(len(X)), pool as ready:
        problem = pose(X, mask, scaler, replace(recipe, engine=ready))
        for smoothing, rows in recipe.solver.path(problem):
            yield smoothing, scaler.undo(rows)


def choose(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> Chosen:
    """Choose the scaling and the smoothing, by hiding observed entries where that is asked for.

    A solver without a path leaves nothing to follow: the first scaling and its own smoothing.
    """
    scales = _scales_to_try(X, mask, recipe)
    given = None if isinstance(recipe.smoothing, str) else float(recipe.smoothing)
    if not hasattr(recipe.solver, "path"):
        return Chosen(scales[0], recipe.solver.default_smoothing if given is None else given)
    if given is not None and len(scales) == 1:
        return Chosen(scales[0], given)
    draws = tuning.hidings(mask, recipe.seed, tuning.CERTAIN, groups=recipe.groups)
    scalers = [ColumnScaler.fit(X, mask, kind, recipe.groups) for kind in scales]
    draws = [draw for draw in draws if all(_varies(X, mask, draw[0], one) for one in scalers)]
    if not draws:
        return Chosen(scales[0], tuning.CAUTIOUS if given is None else given)
    choices = {kind: _judge(X, mask, draws, kind, len(scales), recipe) for kind in scales}
    scale = tuning.best_of(choices)
    smoothing = choices[scale].smoothing if given is None else given
    logger.info("chose scale %r, smoothing %.0e by hiding: error %.3f of a column's spread",
                scale, smoothing, choices[scale].error)  # fmt: skip
    found = choices[scale].completed[choices[scale].smoothing]
    scaler = ColumnScaler.fit(X, mask, scale, recipe.groups)
    trials = [Trial(scaler, np.arange(len(X)), *draw, completed)
              for draw, completed in zip(draws, found, strict=False)]  # fmt: skip
    clean = choices[scale].most < CLEAN
    if given is None and (clean or smoothing <= recipe.solver.path_end):  # finer is better
        # What was found counts as a start only where hidden entries came back well: elsewhere
        # rows are in wrong places, from which a large smoothing still frees them.
        begin = found[0] if choices[scale].error < tuning.WELL else None
        return Chosen(scale, recipe.solver.default_smoothing, begin, trials)
    return Chosen(scale, smoothing, None, trials)


def _varies(X: np.ndarray, mask: np.ndarray, visible: np.ndarray, scaler: ColumnScaler) -> bool:
    """Return whether the rows still vary: one hidden outlier may be all of their variation."""
    most, left = (
        float(np.max(column_spread(X, seen)[1] / scaler.scale)) for seen in (mask, visible)
    )
    return left > COLLAPSED * most


def _judge(
    X: np.ndarray,
    mask: np.ndarray,
    draws: list[tuple[np.ndarray, np.ndarray]],
    kind: str | None,
    n_kinds: int,
    recipe: Recipe,
) -> tuning.Choice:
    """Follow the solver's path on as many draws as are needed; return what they show together."""
    scaler = ColumnScaler.fit(X, mask, kind, recipe.groups)
    end = 0.0 if isinstance(recipe.smoothing, str) else float(recipe.smoothing)
    needed = min(len(draws), -(-tuning.ENOUGH // max(_cells(draws[0][1], recipe), 1)))
    # At most half of the time that is given goes into choosing.
    limit = recipe.solver.time_limit and recipe.solver.time_limit / (2 * n_kinds * needed)
    found: list[tuning.Choice] = []
    for draw in draws:
        if len(found) >= needed:
            so_far = tuning.together(found)
            if limit is not None or not so_far.rough:
                break
            end = max(end, so_far.finest)
        logger.info("choosing by hiding %d observed entries, scale %r", draw[1].sum(), kind)
        found.append(_follow(X, mask, draw, scaler, recipe, end, limit))
    return tuning.together(found)


def _follow(
    X: np.ndarray,
    mask: np.ndarray,
    draw: tuple[np.ndarray, np.ndarray],
    scaler: ColumnScaler,
    recipe: Recipe,
    end: float,
    limit: float | None,
) -> tuning.Choice:
    """Follow the solver's path where some observed entries are hidden."""
    visible, hidden = draw
    truth = scaler.apply(np.where(mask, X, scaler.centre))
    unit = column_spread(truth, mask)[1]
    if recipe.groups is not None:
        unit = np.sqrt(np.bincount(recipe.groups, unit**2))[recipe.groups]
    path = recipe.solver.path(pose(X, visible, scaler, recipe), limit)
    patience = tuning.GIVE_UP if _cells(hidden, recipe) >= tuning.ENOUGH else np.inf  # small: quick
    # A column that varies elsewhere may not vary in a sample: errors there have no unit.
    judged = hidden & (unit > 0)
    judged = judged if judged.any() else hidden
    unit = np.where(unit > 0, unit, 1)
    strays = partial(_outside, truth, visible)
    return tuning.follow(path, truth, judged, unit, end, patience, recipe.groups, strays)


def _outside(X: np.ndarray, mask: np.ndarray, completed: np.ndarray) -> np.ndarray:
    """Return which rows were completed far outside of what was observed of their columns."""
    low, high = (
        f(np.where(mask, X, far), axis=0) for f, far in ((np.min, np.inf), (np.max, -np.inf))
    )
    far = OUTSIDE * (high - low)
    return np.any(((completed < low - far) | (completed > high + far)) & ~mask, axis=1)


def _cells(hidden: np.ndarray, recipe: Recipe) -> int:
    """Return how many entries are hidden; those of a group are one."""
    if recipe.groups is not None:
        hidden = hidden[:, np.unique(recipe.groups, return_index=True)[1]]
    return int(hidden.sum())


def _scales_to_try(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> list[str | None]:
    """Return the scalings among which to choose, the preferred one first."""
    if recipe.scale is None and np.any(large_groups(recipe.groups)):
        return [None, "reduced"]
    if recipe.scale != "auto":
        return [recipe.scale]
    spread = column_spread(X, mask)[1]
    if spread.max() <= SIMILAR * spread.min():
        return ["sqrt"]
    return ["standard", "sqrt"]
