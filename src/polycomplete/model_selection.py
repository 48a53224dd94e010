"""Selection of scale and smoothing (or a rank, or a threshold) on held-out entries.

Every method has a path from coarse to fine values. Some observed entries are held out, the path is
followed, and each value is judged by its error on these entries, for each of the possible scales.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import ndtri

from polycomplete import masks
from polycomplete.rows import NARROWEST, Completion
from polycomplete.scaling import ColumnScaler, column_spread, large_groups

logger = logging.getLogger("polycomplete")

#: Share of the observed entries that is held out.
SHARE = 0.1
#: Minimum number of held-out entries, and maximum number of holdouts for small tables to reach it.
ENOUGH, MOST_DRAWS = 100, 8
#: Minimum number of held-out entries on noisy data.
CERTAIN = 3 * ENOUGH
#: With fewer held-out entries, nothing is chosen.
TOO_FEW = 20
#: The smoothing if nothing is chosen: rather too large than too small.
CAUTIOUS = 1e-2
#: Errors within this share of the lowest are equally good. Of their values, the finest is chosen on
#: data with little noise, which fits the data best, and the coarsest otherwise.
SLACK = 0.01
#: Data have little noise if the lowest error is below this, in units of a column's spread.
WELL = 0.05
#: Data are noisy if the lowest error is above this.
ROUGH = 0.3
#: Coverage at which deviations are calibrated.
COVERED = 0.9
#: Quantile of the errors that a few stuck rows do not affect.
MOST = 0.8
#: Maximum share of diverged rows to ignore.
ACCIDENTS = 0.02
#: Rows completed farther outside the observed range than this share of it have diverged.
OUTSIDE = 0.5
#: Maximum number of rows to calibrate deviations on.
JUDGED = 500
#: A path is followed until its error exceeds the lowest by this factor.
GIVE_UP = 1.05
#: If the spreads of the columns differ by less than this factor, no scale needs to be chosen.
SIMILAR = 10.0


class SupportsPath(Protocol):
    """Solver that completes scaled rows along a path of values from coarse to fine.

    The values decrease: a smoothing, a threshold, or the inverse of a rank.
    """

    @property
    def smoothing(self) -> float | str:
        """The given value, or "auto"."""

    @property
    def path_end(self) -> float:
        """The last value of the path; 0 if there is no path."""

    @property
    def default_smoothing(self) -> float | None:
        """The value of "auto" for data without noise; None for the one with the lowest error."""

    @property
    def time_limit(self) -> float | None:
        """Maximum time of a fit, in seconds."""

    def rows_to_choose_by(self, mask: np.ndarray, seed: int) -> np.ndarray | None:
        """Return the rows on which scale and value are chosen; None for all."""

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield values and completed rows, from coarse to fine."""


@dataclass(frozen=True)
class Choice:
    """Chosen smoothing and its error, with error and completions at each smoothing of the path.

    ``mosts`` are the 80 % quantiles of the errors. If several paths were judged together, there is
    one completion for each of them.
    """

    smoothing: float
    error: float
    errors: dict[float, float]
    mosts: dict[float, float] = field(default_factory=dict, repr=False)
    completed: dict[float, list[np.ndarray]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def rough(self) -> bool:
        """Whether noise seems to dominate the error, so that many smoothings are about as good."""
        return self.error > ROUGH

    @property
    def finest(self) -> float:
        """The finest smoothing whose error is not far above the lowest."""
        lowest = min(self.errors.values())
        return min(s for s, error in self.errors.items() if error <= GIVE_UP * lowest)


class HeldOut(NamedTuple):
    """Held-out entries: positions, true and completed values, in the user's units.

    ``deviation`` is the estimated standard deviation of each; NaN if it is not known.
    """

    rows: np.ndarray
    columns: np.ndarray
    truth: np.ndarray
    completed: np.ndarray
    deviation: np.ndarray


def holdouts(
    mask: np.ndarray,
    seed: int,
    enough: int = ENOUGH,
    most_draws: int = MOST_DRAWS,
    groups: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of masks, of visible and of held-out entries, several if one has too few.

    Columns that are always missing together are held out together, because in rows to be completed
    neither is available to predict the other. So are the columns of a group.
    """
    group = _missing_together(mask, np.arange(mask.shape[1]) if groups is None else groups)
    cells = mask[:, np.unique(group, return_index=True)[1]]
    count = int(masks.hide(cells, SHARE, random_state=seed)[1].sum())
    times = min(-(-enough // max(count, 1)), most_draws)
    if times * count < TOO_FEW:
        return []
    draws = [masks.hide(cells, SHARE, random_state=seed + i)[1][:, group] for i in range(times)]
    return [(mask & ~hidden, hidden) for hidden in draws]


def _missing_together(mask: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return a number for each column, equal for the same holes and within a group."""
    numbers: dict[bytes | int, int] = {}
    keys = [int(group) if mask[:, j].all() else np.packbits(mask[:, j]).tobytes()
            for j, group in enumerate(groups)]  # fmt: skip
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def held_out_error(
    X: np.ndarray,
    completed: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    groups: np.ndarray | None = None,
) -> float:
    """Return the error on held-out entries, in units of each column's spread.

    It is the geometric mean of the mean absolute and the root mean squared error. With the squared
    error alone, a handful of diverged rows would decide for all others; with the absolute error
    alone, many small improvements would outweigh a few large errors.
    """
    return _mean_error(_errors(X, completed, hidden, unit, groups))


def _mean_error(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors) * np.sqrt(np.mean(errors**2))))


def _errors(
    X: np.ndarray,
    completed: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    groups: np.ndarray | None,
) -> np.ndarray:
    """Return the absolute error of each held-out entry; for a group, the norm over its columns."""
    errors = np.abs((completed - X) / unit)
    if groups is None:
        return errors[hidden]
    numbers, place = np.unique(groups, return_inverse=True)
    member = np.eye(len(numbers))[place]
    return np.sqrt((errors**2 * hidden) @ member)[(hidden @ member) > 0]


def follow(
    path: Iterable[tuple[float, np.ndarray]],
    X: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    end: float = 0.0,
    give_up: float = GIVE_UP,
    groups: np.ndarray | None = None,
    strays: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Choice:
    """Follow a path of (smoothing, completed matrix) and choose a smoothing."""
    errors: dict[float, float] = {}
    mosts: dict[float, float] = {}
    found: dict[float, list[np.ndarray]] = {}
    for smoothing, completed in path:
        if smoothing < end and errors:
            break
        off = _errors(X, completed, hidden, unit, groups)
        error = _mean_error(off)
        if error <= errors.get(smoothing, error):
            errors[smoothing], found[smoothing] = error, [completed]
            mosts[smoothing] = float(np.quantile(off, MOST))
        # A few stuck rows can raise the error while the others still improve.
        gains = mosts[smoothing] <= min(mosts.values())
        if errors[smoothing] > give_up * min(errors.values()) and not gains:
            break
    if strays is not None:
        astray = np.any([strays(completed[0]) for completed in found.values()], axis=0)
        if 0 < np.count_nonzero(astray) <= ACCIDENTS * len(X) and hidden[~astray].any():
            hidden = hidden & ~astray[:, None]
            offs = {s: _errors(X, rows[0], hidden, unit, groups) for s, rows in found.items()}
            errors = {s: _mean_error(off) for s, off in offs.items()}
            mosts = {s: float(np.quantile(off, MOST)) for s, off in offs.items()}
    return replace(choice_of(errors, mosts), completed=found)


def choice_of(errors: dict[float, float], mosts: dict[float, float] | None = None) -> Choice:
    """Choose a smoothing by its error."""
    quiet = min(errors.values()) < WELL
    judged = mosts if quiet and mosts else errors
    alike = [s for s, e in judged.items() if e <= (1 + SLACK) * min(judged.values())]
    chosen = min(alike) if quiet else max(alike)
    return Choice(chosen, errors[chosen], errors, mosts or {})


def calibration(errors: np.ndarray, deviations: np.ndarray) -> float:
    """Return the factor for deviations by which 90 % of the errors are within 1.645 of them.

    Errors have heavier tails than a Gaussian: then more than 68 % are within one deviation.
    """
    usable = (deviations > 0) & np.isfinite(errors)
    if not usable.any():
        return 1.0
    ratio = np.quantile(np.abs(errors[usable]) / deviations[usable], COVERED)
    return float(ratio / ndtri((1 + COVERED) / 2)) or 1.0


def together(choices: list[Choice]) -> Choice:
    """Choose by the geometric mean of the errors of several paths, at their common smoothings.

    Geometric, because with few held-out entries a single outlier dominates an error.
    """
    common = [s for s in choices[0].errors if all(s in c.errors for c in choices)]
    errors = {s: _mean([c.errors[s] for c in choices]) for s in common}
    known = all(c.mosts for c in choices)
    mosts = {s: _mean([c.mosts[s] for c in choices]) for s in common} if known else None
    completed = {s: [each for c in choices for each in c.completed.get(s, ())] for s in common}
    return replace(choice_of(errors, mosts), completed=completed)


def _mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-300)))))


class Trial(NamedTuple):
    """Holdout with its visible and held-out entries, and the completed rows, scaled.

    ``rows`` are the indices of these rows in the matrix.
    """

    scaler: ColumnScaler
    rows: np.ndarray
    visible: np.ndarray
    hidden: np.ndarray
    found: np.ndarray

    @property
    def judged(self) -> np.ndarray:
        """Some of the rows with held-out entries."""
        rows = np.flatnonzero(self.hidden.any(axis=1))
        return rows[np.linspace(0, len(rows) - 1, min(len(rows), JUDGED)).astype(int)]

    def held_out(self, X: np.ndarray, found: Completion) -> HeldOut:
        """Return the held-out entries of X and their completions, given the scaled completion."""
        rows, columns = np.nonzero(self.hidden)
        completed = self.scaler.undo(found.rows)[self.hidden]
        deviation = (found.std * self.scaler.scale)[self.hidden]
        truth = X[self.rows[rows], columns]
        return HeldOut(self.rows[rows], columns, truth, completed, deviation)


Read = Callable[[float], Completion]  # given the factor of the posterior


class Selection(NamedTuple):
    """Chosen scale and smoothing, with a completion for a warm start, and the trials."""

    scale: str | None
    smoothing: float
    init: np.ndarray | None = None
    trials: Sequence[Trial] = ()

    def held_out(self, X: np.ndarray, found: Iterable[Completion]) -> HeldOut | None:
        """Return the held-out entries of all trials, given the completion of each."""
        pairs = zip(self.trials, found, strict=True)
        parts = [trial.held_out(X, completion) for trial, completion in pairs]
        return HeldOut(*map(np.concatenate, zip(*parts, strict=True))) if parts else None

    def calibrate(
        self, X: np.ndarray, reading: Callable[[Trial], Read]
    ) -> tuple[float, HeldOut | None]:
        """Return the calibration factor of the posterior, and the held-out entries."""
        if not self.trials:
            return 1.0, None
        reads, factor = [reading(trial) for trial in self.trials], 1.0
        for _ in range(2):  # deviations are bounded, and grow more slowly than the factor
            held = self.held_out(X, (read(factor) for read in reads))
            assert held is not None
            factor *= calibration(held.completed - held.truth, held.deviation)
        return factor, self.held_out(X, (read(factor) for read in reads))


@dataclass(frozen=True)
class Search:
    """Selection of scale and smoothing for a solver.

    Attributes
    ----------
    solver : SupportsPath
        Completes scaled rows.
    scale : str or None
        "auto" if it is to be chosen.
    seed : int
        Seed for drawing holdouts.
    groups : ndarray of int, shape (m,), optional
        Columns with the same number are held out together.
    """

    solver: SupportsPath
    scale: str | None
    seed: int
    groups: np.ndarray | None = None

    @property
    def given(self) -> float | None:
        """The given smoothing; None if it is to be chosen."""
        given = self.solver.smoothing
        return None if isinstance(given, str) else float(given)

    def scales(self, X: np.ndarray, mask: np.ndarray) -> list[str | None]:
        """Return the scales to try, the preferred one first."""
        if self.scale is None and np.any(large_groups(self.groups)):
            return [None, "reduced"]
        if self.scale != "auto":
            return [self.scale]
        spread = column_spread(X, mask)[1]
        if spread.max() <= SIMILAR * spread.min():
            return ["sqrt"]
        return ["standard", "sqrt"]

    def select(self, X: np.ndarray, mask: np.ndarray) -> Selection:
        """Choose scale and smoothing on held-out entries, unless they are given.

        For a solver without a path, these are the first scale and its default smoothing.
        """
        rows = self.solver.rows_to_choose_by(mask, self.seed)
        some = rows is not None and len(rows) < len(X)
        if rows is None or not some:
            rows = np.arange(len(X))
        elif some:
            X, mask = X[rows], mask[rows]
        solver, given, scales = self.solver, self.given, self.scales(X, mask)
        fallback = solver.default_smoothing if not solver.path_end else CAUTIOUS
        unjudged = Selection(scales[0], given or fallback or CAUTIOUS)
        if not solver.path_end or (given is not None and len(scales) == 1):
            return unjudged
        scalers = {kind: ColumnScaler.fit(X, mask, kind, self.groups) for kind in scales}
        draws = [
            draw
            for draw in holdouts(mask, self.seed, CERTAIN, groups=self.groups)
            if all(_varies(X, mask, draw[0], scaler) for scaler in scalers.values())
        ]
        if not draws:
            return unjudged
        choices = {}
        for kind, scaler in scalers.items():
            choices[kind] = self._judge(X, mask, draws, scaler, len(scales))
        scale = min(choices, key=lambda kind: choices[kind].error)
        best = choices[scale]
        smoothing = best.smoothing if given is None else given
        logger.info("chose scale %r, smoothing %.0e on held-out entries: error %.3f of a column's "
                    "spread", scale, smoothing, best.error)  # fmt: skip
        found = best.completed[best.smoothing]
        trials = [Trial(scalers[scale], rows, *draw, completed)
                  for draw, completed in zip(draws, found, strict=False)]  # fmt: skip
        finer = given is None and smoothing <= solver.path_end  # smaller ones may be better
        if finer and solver.default_smoothing is not None:
            # A warm start is used only if held-out entries were completed well: otherwise rows are
            # in wrong minima, from which a large smoothing can still free them.
            init = found[0] if best.error < WELL and not some else None
            return Selection(scale, solver.default_smoothing, init, trials)
        return Selection(scale, smoothing, None, trials)

    def _judge(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        draws: list[tuple[np.ndarray, np.ndarray]],
        scaler: ColumnScaler,
        n_scales: int,
    ) -> Choice:
        """Follow the path on as many holdouts as needed; return their joint choice."""
        end = self.given or 0.0
        needed = min(len(draws), -(-ENOUGH // max(self._cells(draws[0][1]), 1)))
        # Selection takes at most half of the time limit.
        limit = self.solver.time_limit and self.solver.time_limit / (2 * n_scales * needed)
        truth = scaler.apply(np.where(mask, X, scaler.centre))
        unit = self._unit(truth, mask)
        found: list[Choice] = []
        for visible, hidden in draws:
            if len(found) >= needed:
                so_far = together(found)
                if limit is not None or not so_far.rough:
                    break
                end = max(end, so_far.finest)
            logger.info("choosing on %d held-out entries", hidden.sum())
            path = self.solver.path(scaler.apply_observed(X, visible), visible, limit)
            patience = GIVE_UP if self._cells(hidden) >= ENOUGH else np.inf  # small: quick
            # A column may be constant in the sample of rows: its errors have no unit.
            judged = hidden & (unit > 0)
            judged = judged if judged.any() else hidden
            strays = partial(_outside, truth, visible)
            safe = np.where(unit > 0, unit, 1)
            found.append(follow(path, truth, judged, safe, end, patience, self.groups, strays))
        return together(found)

    def _unit(self, truth: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the spread of each column; for a group, the norm over its columns."""
        unit = column_spread(truth, mask)[1]
        if self.groups is None:
            return unit
        return np.sqrt(np.bincount(self.groups, unit**2))[self.groups]

    def _cells(self, hidden: np.ndarray) -> int:
        """Return the number of held-out entries, counting a group as one."""
        if self.groups is not None:
            hidden = hidden[:, np.unique(self.groups, return_index=True)[1]]
        return int(hidden.sum())


def _outside(X: np.ndarray, mask: np.ndarray, completed: np.ndarray) -> np.ndarray:
    """Return which rows were completed far outside the observed range of a column."""
    low = np.min(np.where(mask, X, np.inf), axis=0)
    high = np.max(np.where(mask, X, -np.inf), axis=0)
    far = OUTSIDE * (high - low)
    return np.any(((completed < low - far) | (completed > high + far)) & ~mask, axis=1)


def _varies(X: np.ndarray, mask: np.ndarray, visible: np.ndarray, scaler: ColumnScaler) -> bool:
    """Return whether visible entries vary: all variation may be due to one held-out outlier."""
    most, left = (
        float(np.max(column_spread(X, seen)[1] / scaler.scale)) for seen in (mask, visible)
    )
    return left > NARROWEST * most
