"""Selection of scale and smoothing (or a rank, or a threshold) on held-out entries.

Every method has a path from coarse to fine values. Some observed entries are held out, the path is
followed, and each value is judged by its error on these entries, for each of the possible scales.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

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
TOO_FEW = ENOUGH // 5
#: The smoothing of a surface unless held-out entries say otherwise.
CAUTIOUS = 1e-2
#: Powers of the errors by which all entries are judged, between the absolute and the squared error,
#: and most of them, so that a few stuck or undetermined rows do not decide.
ALL, MOST = 1.5, 0.5
#: Differences of this many standard errors are clear.
CLEAR = 3.0
#: Data have little noise if the lowest error is below this, in units of a column's spread.
WELL = 0.05
#: Coverage at which deviations are calibrated.
COVERED = 0.9
#: Largest error that counts, in units of a column's spread: how far a diverged row went is chance.
LOST = 3.0
#: Data are noisy if the lowest error is above this.
ROUGH = LOST / 10
#: Maximum number of rows to calibrate deviations on.
JUDGED = 5 * ENOUGH
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
    def usual_smoothing(self) -> float | None:
        """The value that is taken unless held-out entries say otherwise; None if there is none."""

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
    """Chosen smoothing, with errors and completions at each smoothing of the path.

    ``off`` are the errors of the held-out entries. If several paths were judged together, there is
    one completion for each of them.
    """

    smoothing: float
    off: dict[float, np.ndarray] = field(repr=False, compare=False)
    completed: dict[float, list[np.ndarray]] = field(repr=False, compare=False)

    @property
    def errors(self) -> dict[float, float]:
        """The error at each smoothing."""
        return {s: _mean_error(off) for s, off in self.off.items()}

    @property
    def error(self) -> float:
        """The error at the chosen smoothing."""
        return _mean_error(self.off[self.smoothing])

    @property
    def rough(self) -> bool:
        """Whether noise seems to dominate the error, so that many smoothings are about as good."""
        return self.error > ROUGH


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
    """Return the error on held-out entries, in units of each column's spread."""
    return _mean_error(_errors(X, completed, hidden, unit, groups))


def _mean_error(errors: np.ndarray, power: float = ALL) -> float:
    """Return a mean between the absolute and the root mean squared error.

    With the squared error alone, a handful of rows would decide for all others; with the absolute
    error alone, many small improvements would outweigh a few large errors.
    """
    return float(np.mean(errors**power) ** (1 / power))


def _errors(
    X: np.ndarray,
    completed: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    groups: np.ndarray | None,
) -> np.ndarray:
    """Return the absolute error of each held-out entry; for a group, the norm over its columns."""
    errors = np.abs((completed - X) / unit)
    if groups is not None:
        numbers, place = np.unique(groups, return_inverse=True)
        member = np.eye(len(numbers))[place]
        errors, hidden = np.sqrt((errors**2 * hidden) @ member), (hidden @ member) > 0
    return np.minimum(errors[hidden], LOST)


def follow(
    path: Iterable[tuple[float, np.ndarray]],
    X: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    end: float = 0.0,
    groups: np.ndarray | None = None,
    usual: float | None = None,
) -> Choice:
    """Follow a path of (smoothing, completed matrix) while it may be best; choose a smoothing."""
    off: dict[float, np.ndarray] = {}
    completed: dict[float, list[np.ndarray]] = {}
    for smoothing, rows in path:
        if smoothing < end and off:
            break
        found = _errors(X, rows, hidden, unit, groups)
        if smoothing not in off or _mean_error(found) <= _mean_error(off[smoothing]):
            off[smoothing], completed[smoothing] = found, [rows]
        if not any(smoothing in indistinct(off, power) for power in (ALL, MOST)):
            break
    return choice_of(off, completed, usual)


def choice_of(
    off: dict[float, np.ndarray], completed: dict[float, list[np.ndarray]], usual: float | None
) -> Choice:
    """Choose a smoothing by the errors of the held-out entries.

    With little noise, it is the finest that cannot be told from the best for most entries.
    Otherwise, of those that cannot be told from the best for all entries, and are not clearly worse
    for most of them, it is the one nearest to the usual one, or the best if there is none.
    """
    if _quiet(off):
        chosen = min(indistinct(off, MOST))
    else:
        alike = {smoothing: off[smoothing] for smoothing in indistinct(off, ALL)}
        left = indistinct(alike, MOST, CLEAR)
        best = next(smoothing for smoothing in alike if smoothing in left)
        chosen = min(left, key=lambda s: abs(np.log(s / usual))) if usual else best
    return Choice(chosen, off, completed)


def _quiet(off: dict[float, np.ndarray]) -> bool:
    return min(map(_mean_error, off.values())) < WELL


def indistinct(
    off: Mapping[Any, np.ndarray], power: float = 2.0, standard_errors: float = 1.0
) -> list[Any]:
    """Return which candidates cannot be told from the best, with the best first.

    ``off`` are the errors of each; their mean, to a power, is larger by at most so many standard
    errors of the difference.
    """
    losses = {each: errors**power for each, errors in off.items()}
    best, *others = sorted(losses, key=lambda each: float(losses[each].mean()))
    more = {each: losses[each] - losses[best] for each in others}
    bound = standard_errors / np.sqrt(len(losses[best]))
    return [best, *(each for each, d in more.items() if d.mean() <= bound * d.std())]


def together(choices: list[Choice], usual: float | None = None) -> Choice:
    """Choose by the errors on several paths, at their common smoothings."""
    common = [s for s in choices[0].off if all(s in c.off for c in choices)]
    off = {s: np.concatenate([c.off[s] for c in choices]) for s in common}
    return choice_of(off, {s: [x for c in choices for x in c.completed[s]] for s in common}, usual)


def calibration(errors: np.ndarray, deviations: np.ndarray) -> float:
    """Return the factor for deviations by which 90 % of the errors are within 1.645 of them.

    Errors have heavier tails than a Gaussian: then more than 68 % are within one deviation.
    """
    usable = (deviations > 0) & np.isfinite(errors)
    if not usable.any():
        return 1.0
    ratio = np.quantile(np.abs(errors[usable]) / deviations[usable], COVERED)
    return float(ratio / ndtri((1 + COVERED) / 2)) or 1.0


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
        usual = self.solver.usual_smoothing
        for visible, hidden in draws:
            if len(found) >= needed:
                so_far = together(found, usual)
                if limit is not None or not so_far.rough:
                    break
                end = max(end, min(so_far.off))
            logger.info("choosing on %d held-out entries", hidden.sum())
            path = self.solver.path(scaler.apply_observed(X, visible), visible, limit)
            # A column may be constant in the sample of rows: its errors have no unit.
            judged = hidden & (unit > 0)
            judged = judged if judged.any() else hidden
            safe = np.where(unit > 0, unit, 1)
            found.append(follow(path, truth, judged, safe, end, self.groups, usual))
        return together(found, usual)

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


def _varies(X: np.ndarray, mask: np.ndarray, visible: np.ndarray, scaler: ColumnScaler) -> bool:
    """Return whether visible entries vary: all variation may be due to one held-out outlier."""
    most, left = (
        float(np.max(column_spread(X, seen)[1] / scaler.scale)) for seen in (mask, visible)
    )
    return left > NARROWEST * most
