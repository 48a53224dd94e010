"""What the transductive estimators share: features and target are completed side by side.

The weight of the target, the width of the kernel and the smoothing are chosen on held-out targets.
Settings that these cannot tell apart are all fitted, and their predictions are averaged.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from polycomplete._messages import check_settings, showing, warn
from polycomplete._resources import in_processes
from polycomplete.base import checked, prepared
from polycomplete.frames import find_missing, is_missing, to_matrix
from polycomplete.kernels import RBF
from polycomplete.methods import PMC
from polycomplete.methods.completer import MANY
from polycomplete.model_selection import ENOUGH, Choice, follow, indistinct, together
from polycomplete.out_of_core import BlockCompleter
from polycomplete.persistence import Savable
from polycomplete.scaling import ColumnScaler, is_constant
from polycomplete.solvers import Exact
from polycomplete.tables.codecs import Column

logger = logging.getLogger("polycomplete")

#: Candidate weights of the target, where a feature has 1, and widths of the kernel in typical
#: distances: boundaries between classes are finer than surfaces.
WEIGHTS, WIDTHS = (1.0, 0.3, 3.0, 0.1), (1.0, 2.0)
#: Observed entries to choose by, and the minimum number of rows.
ENTRIES, FEWEST = 12_000, 500
#: Observed share of the features of many labeled rows that suffices to learn from them alone.
CLEAR = 0.75
#: Minimum number of entries for several processes; maximum for more than one member.
LONG, LARGE = 5000, 100_000


@dataclass(frozen=True)
class Member:
    """An estimator of features and target: the last ``width`` columns, multiplied by a weight."""

    weight: float
    estimator: Any
    width: int

    def path(self, Z: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield smoothings and completed targets; without a path, 0 and the targets of a fit."""
        params = self.estimator.get_params(deep=False)
        solver, free = params.get("solver"), params.get("smoothing") == "auto"
        if free and hasattr(self.estimator, "path") and (solver is None or solver.path_end > 0):
            for smoothing, completed in self.estimator.path(self._weighted(Z)):
                yield smoothing, self._targets(Z, completed)
        else:
            yield 0.0, self.fit(Z)

    def fit(self, Z: np.ndarray) -> np.ndarray:
        """Learn the surface; return completed targets."""
        return self._targets(Z, self.estimator.fit_transform(self._weighted(Z)))

    def complete(self, Z: np.ndarray) -> np.ndarray:
        """Return completed targets of new rows."""
        return self._targets(Z, self.estimator.transform(self._weighted(Z)))

    def fitted(self, Z: np.ndarray, holdout: Holdout) -> tuple[Any, ...]:
        """Return the fitted member, its targets, held-out targets, and the warnings of the fit."""
        held_out = holdout.complete(self)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            completed = self.fit(Z)
        return self, completed, held_out, caught

    def _weighted(self, Z: np.ndarray) -> np.ndarray:
        return Z * np.repeat([1.0, self.weight], [Z.shape[1] - self.width, self.width])

    def _targets(self, Z: np.ndarray, completed: Any) -> np.ndarray:
        whole = checked(self.estimator, Z, completed)
        return np.asarray(whole[:, Z.shape[1] - self.width :] / self.weight)


@dataclass(frozen=True)
class Holdout:
    """Rows with a known target, and several draws of those whose target is held out.

    ``errors`` measures completed targets against their numbers. With ``labeled_only``, rows without
    a target take no part in a fit.
    """

    Z: np.ndarray
    numbers: np.ndarray
    draws: list[np.ndarray]
    errors: Callable[[np.ndarray, np.ndarray], np.ndarray]
    labeled_only: bool

    @property
    def truth(self) -> np.ndarray:
        """The numbers of held-out targets."""
        return np.concatenate([self.numbers[:0], *(self.numbers[draw] for draw in self.draws)])

    def judge(self, member: Member) -> Choice:
        """Return the errors of held-out targets along the path of a member."""
        return together([self._follow(member, draw) for draw in self.draws])

    def _follow(self, member: Member, draw: np.ndarray) -> Choice:
        path = (
            (smoothing, self.errors(completed[draw], self.numbers[draw])[:, None])
            for smoothing, completed in member.path(self._visible(member, draw))
        )
        zero = np.zeros((np.count_nonzero(draw), 1))
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            return follow(path, zero, zero == 0, np.ones(1))

    def complete(self, member: Member) -> np.ndarray:
        """Return held-out targets as completed by a fit: along a path, rows have not converged."""
        found = [np.empty((0, member.width))]
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            for draw in self.draws:
                Z = self._visible(member, draw)
                if self.labeled_only:
                    member.fit(Z[~draw])
                    found.append(member.complete(Z[draw]))
                else:
                    found.append(member.fit(Z)[draw])
        return np.concatenate(found)

    def _visible(self, member: Member, draw: np.ndarray) -> np.ndarray:
        target = np.arange(self.Z.shape[1]) >= self.Z.shape[1] - member.width
        return np.where(draw[:, None] & target, np.nan, self.Z)


def hold_out(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return which known targets are held out: about half of each group, but never all of it."""
    order = np.lexsort((rng.random(len(groups)), groups))
    first = _first_of_each(groups, order)
    return np.isin(np.arange(len(groups)), np.setdiff1d(order[rng.integers(2) :: 2], first))


def draw_rows(groups: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return the positions of a sample of rows: at least one of each group, more of small ones."""
    if len(groups) <= n_rows:
        return np.arange(len(groups))
    places, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    # The chance of a group grows with the square root of its size.
    priority = rng.random(len(groups)) * np.sqrt(sizes[places])
    priority[_first_of_each(places, np.argsort(priority, kind="stable"))] = -1
    return np.sort(np.argsort(priority, kind="stable")[: max(n_rows, len(sizes))])


def _first_of_each(groups: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the first row of each group in an order of the rows."""
    return np.asarray(order[np.unique(groups[order], return_index=True)[1]])


@dataclass(eq=False, repr=False)
class BaseTransducer(Savable, BaseEstimator):
    """The part that does not depend on the kind of target."""

    estimator: Any = None
    label_weight: float | str = "auto"
    _: KW_ONLY
    n_members: int | str = "auto"
    learn_from: str = "auto"
    max_samples: int = 3000
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def predict(self, X: Any) -> np.ndarray:
        """Return the target of each row, of classes the most probable, without refitting.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, NaN where missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decode(self._complete(X))

    def _decode(self, block: np.ndarray) -> np.ndarray:
        """Return completed targets in the user's terms."""
        return np.asarray(self._codec.gather(block))

    def _errors(self, block: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the errors of completed targets, given their numbers."""
        return np.asarray(np.abs(block - self._codec.spread(numbers))[:, 0])

    def _fit(
        self, X: Any, codec: Column, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Complete the target, whose numbers are NaN where missing.

        Returns the target's columns for all rows, those of held-out targets, and their numbers.
        """
        self._check()
        matrix, mask = self._validate(X, reset=True)
        check_consistent_length(matrix, numbers)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        given = _default(len(numbers)) if self.estimator is None else self.estimator
        estimator = prepared(given, seed)
        codec.fit_block(numbers)
        self._codec: Any = codec
        labeled_only = self._learns_from_labeled(estimator, mask[~np.isnan(numbers)])
        train = self._training_rows(numbers, labeled_only, rng)
        self._fit_features(matrix, mask, train)
        Z = self._joined(matrix, mask, codec.spread(numbers))
        with showing(self.verbose):
            holdout = self._holdout(Z, numbers, labeled_only, rng)
            members = self._choose(estimator, holdout, matrix.size)
            return *self._fit_members(members, Z, train, holdout), holdout.truth

    def _learns_from_labeled(self, estimator: Any, mask: np.ndarray) -> bool:
        """Return whether the surface is learned from labeled rows alone, given which are observed.

        Unlabeled rows show what missing features look like. But they support whatever target
        they were given first, the more so the finer the smoothing: where few features are missing,
        it is better to complete them one by one.
        """
        if self.learn_from != "auto":
            return self.learn_from == "labeled"
        enough = len(mask) > MANY and mask.mean() >= CLEAR
        return bool(enough and isinstance(estimator, BlockCompleter))

    def _groups(self, numbers: np.ndarray) -> np.ndarray:
        """Return the group of each row; samples have rows of every group."""
        return numbers if self._codec.has_classes else np.zeros(len(numbers))

    def _training_rows(
        self, numbers: np.ndarray, labeled_only: bool, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the rows that the surface is learned from, labeled ones with priority."""
        if len(numbers) <= self.max_samples and not labeled_only:
            return np.arange(len(numbers))
        labeled, others = np.flatnonzero(~np.isnan(numbers)), np.flatnonzero(np.isnan(numbers))
        train = labeled[draw_rows(self._groups(numbers[labeled]), self.max_samples, rng)]
        room = 0 if labeled_only else max(0, self.max_samples - len(train))
        return np.sort(np.concatenate([train, rng.choice(others, room, replace=False)]))

    def _fit_features(self, matrix: np.ndarray, mask: np.ndarray, train: np.ndarray) -> None:
        """Decide which features take part, and how they are scaled."""
        self._used = np.flatnonzero(mask[train].any(axis=0))
        if not len(self._used):
            raise ValueError(
                f"X has no observed entry in the {len(train)} rows to learn from; give the "
                "features of some labeled rows."
            )
        self._scaler = ColumnScaler.fit(matrix[:, self._used], mask[:, self._used], "standard")

    def _joined(self, matrix: np.ndarray, mask: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Return the features that take part, scaled, NaN where missing, and the target."""
        matrix, mask = matrix[:, self._used], mask[:, self._used]
        return np.hstack([np.where(mask, self._scaler.apply_observed(matrix, mask), np.nan), block])

    def _holdout(
        self, Z: np.ndarray, numbers: np.ndarray, labeled_only: bool, rng: np.random.Generator
    ) -> Holdout:
        """Hold out known targets of a sample of rows; none where all have the same value."""
        rows, observed, features = np.flatnonzero(~np.isnan(numbers)), ~np.isnan(Z), len(self._used)
        per_row = max(1.0, float(observed[rows, :features].sum(axis=1).mean()))
        n_rows = max(FEWEST, int(ENTRIES / per_row))
        rows = rows[draw_rows(self._groups(numbers[rows]), n_rows, rng)]
        varies = ~is_constant(np.nan_to_num(Z[rows]), observed[rows])
        rows = rows[observed[rows, :features][:, varies[:features]].any(axis=1)]
        varies[features:] = True
        # Several draws where each holds out few targets.
        n_draws = min(3, -(-2 * ENOUGH // len(rows))) if len(np.unique(numbers[rows])) > 1 else 0
        draws = [hold_out(self._groups(numbers[rows]), rng) for _ in range(n_draws)]
        draws = [draw for draw in draws if draw.any()]
        return Holdout(Z[rows][:, varies], numbers[rows], draws, self._errors, labeled_only)

    def _choose(self, estimator: Any, holdout: Holdout, size: int) -> list[Member]:
        """Return the members, to be fitted."""
        params, width = estimator.get_params(deep=False), len(self._codec.center)
        weights = WEIGHTS if self.label_weight == "auto" else (float(self.label_weight),)
        free = "kernel" in params and repr(params["kernel"]) in ("None", repr(RBF()))
        scale = {"scale": None} if params.get("scale") == "auto" else {}  # weights scale them
        widths = [{"kernel": RBF(multiple=each)} for each in WIDTHS] if free else [{}]
        members = [Member(weight, clone(estimator).set_params(**kernel, **scale), width)
                   for kernel in widths for weight in weights]  # fmt: skip
        if not holdout.draws:
            return members[:1]
        cases = [(member,) for member in members]
        choices = in_processes(holdout.judge, cases, holdout.Z.size >= LONG)
        most = (1 if size >= LARGE else 3) if self.n_members == "auto" else int(self.n_members)
        losses = {i: choice.off[choice.smoothing] ** 2 for i, choice in enumerate(choices)}
        best = indistinct(losses)[:most]
        for member, choice in ((members[each], choices[each]) for each in best):
            if choice.smoothing:
                member.estimator.set_params(smoothing=choice.smoothing)
            logger.info("chose target weight %g in %s: error %.3f", member.weight,
                        member.estimator, choice.error)  # fmt: skip
        return [members[each] for each in best]

    def _fit_members(
        self, members: list[Member], Z: np.ndarray, train: np.ndarray, holdout: Holdout
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit all members; return the means of their targets for all rows, and of held-out ones.

        Only the best of them shows its warnings.
        """
        cases = [(member, Z[train], holdout) for member in members]
        done = in_processes(Member.fitted, cases, Z[train].size >= LONG)
        self.members_, targets, held_out, caught = map(list, zip(*done, strict=True))
        for each in caught[0]:
            warn(str(each.message), each.category)
        self.label_weight_, self.estimator_ = self.members_[0].weight, self.members_[0].estimator
        block = np.empty((len(Z), self.members_[0].width))
        block[train] = np.mean(targets, axis=0)
        rest = np.setdiff1d(np.arange(len(Z)), train)
        if len(rest):
            block[rest] = self._mean_targets(Z[rest])
        return block, np.mean(held_out, axis=0)

    def _mean_targets(self, Z: np.ndarray) -> np.ndarray:
        return np.mean([member.complete(Z) for member in self.members_], axis=0)

    def _complete(self, X: Any) -> np.ndarray:
        """Return the target's columns of new rows."""
        check_is_fitted(self)
        matrix, mask = self._validate(X, reset=False)
        block = np.full((len(matrix), len(self._codec.center)), np.nan)
        return self._mean_targets(self._joined(matrix, mask, block))

    def _probe(self) -> None:
        """Raise where the parts of a fitted estimator do not fit together, as in a changed file."""
        if hasattr(self, "members_"):
            row = np.full((1, self.n_features_in_), np.nan)
            row[0, self._used[:1]] = self._scaler.centre[:1]
            self.predict(row)

    def _check(self) -> None:
        weight, count, source = self.label_weight, self.n_members, self.learn_from
        positive = isinstance(weight, Real) and 0 < float(weight) < np.inf
        check_settings(
            self,
            label_weight=(positive or weight == "auto", '"auto" or a positive number'),
            n_members=(_is_count(count) or count == "auto", '"auto" or a positive integer'),
            learn_from=(source in ("auto", "all", "labeled"), '"auto", "all" or "labeled"'),
            max_samples=(_is_count(self.max_samples), "a positive integer"),
        )
        if not (self.estimator is None or hasattr(self.estimator, "fit_transform")):
            raise TypeError(f"estimator must be a completer or an imputer, got {self.estimator!r}.")

    def _validate(self, X: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        matrix = check_array(to_matrix(X), dtype=float, ensure_all_finite=False, estimator=self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return matrix, find_missing(matrix, np.nan)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def known_entries(y: Any) -> tuple[np.ndarray, dict[int, Any]]:
    """Return y as a one-dimensional array, and its entries that are not missing by row.

    Lists and columns of data frames are taken entry by entry: NumPy would turn NaN among text into
    text, and a whole number beside None into a float.
    """
    if y is None:
        raise ValueError(
            "A transductive estimator requires y to be passed, but the target y is None; give it "
            "with missing values where labels are to be found."
        )
    column = nw.from_native(y, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(column, nw.Series):
        y = column.to_list()
    if isinstance(y, list | tuple) and not any(isinstance(one, list | np.ndarray) for one in y):
        y = np.fromiter(y, dtype=object, count=len(y))
    y = np.asarray(column_or_1d(y, warn=True))
    return y, {row: entry for row, entry in enumerate(y) if not is_missing(entry)}


def refuse(known: dict[int, Any], test: Callable[[Any], bool], why: str) -> None:
    """Raise with the first entry that passes a test."""
    for row, entry in known.items():
        if test(entry):
            raise ValueError(f"y holds {entry!r:.60} in row {row}, which {why}.")


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and int(value) >= 1


def _default(n_rows: int) -> PMC:
    """Return the default estimator.

    Averaging the places where a row may lie takes most of the time, and averaging over members
    does the same.
    """
    return PMC() if n_rows > MANY else PMC(solver=Exact(blend=False))
