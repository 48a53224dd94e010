"""What the transductive estimators share: features and target side by side, completed together.

How much the target weighs, how wide the kernel is and how smooth the surface is chosen by hiding
known targets. Settings that these cannot tell apart are all fitted, and their answers averaged.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from polycomplete._messages import showing, warn
from polycomplete._resources import in_processes
from polycomplete.base import checked, prepared
from polycomplete.frames import find_missing, is_missing, to_matrix
from polycomplete.kernels import RBF
from polycomplete.methods import PMC
from polycomplete.methods.completer import MANY
from polycomplete.model_selection import ENOUGH, Choice, follow, together
from polycomplete.out_of_core import BlockCompleter
from polycomplete.persistence import Savable
from polycomplete.scaling import ColumnScaler, is_constant
from polycomplete.solvers import Exact
from polycomplete.tables.codecs import Column

logger = logging.getLogger("polycomplete")

#: Weights of the target that are tried, beside features of weight 1, and widths of the kernel in
#: typical distances: classes have finer borders than surfaces.
WEIGHTS, WIDTHS = (1.0, 0.3, 3.0, 0.1), (1.0, 2.0)
#: Observed entries to choose by, and the minimum number of rows.
ENTRIES, FEWEST = 12_000, 500
#: Known targets, and the observed share of their features, that are enough to learn from alone.
LABELED, CLEAR = 200, 0.75
#: Entries from which several processes pay, and from which one member has to do.
LONG, LARGE = 5000, 100_000


@dataclass(frozen=True)
class Member:
    """An estimator that completes features and target, the last ``width`` columns of its rows.

    These are multiplied by the weight.
    """

    weight: float
    estimator: Any
    width: int

    def path(self, Z: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield smoothings and completed targets; without a path 0 and those of a fit."""
        params = self.estimator.get_params(deep=False)
        solver, free = params.get("solver"), params.get("smoothing") == "auto"
        if free and hasattr(self.estimator, "path") and (solver is None or solver.path_end > 0):
            weighted = self._weighted(Z)
            for smoothing, completed in self.estimator.path(weighted):
                yield smoothing, self._targets(weighted, completed)
        else:
            yield 0.0, self.fit(Z)

    def fit(self, Z: np.ndarray) -> np.ndarray:
        """Learn the surface; return completed targets."""
        weighted = self._weighted(Z)
        return self._targets(weighted, self.estimator.fit_transform(weighted))

    def complete(self, Z: np.ndarray) -> np.ndarray:
        """Return completed targets of further rows."""
        weighted = self._weighted(Z)
        return self._targets(weighted, self.estimator.transform(weighted))

    def fitted(self, Z: np.ndarray, holdout: Holdout) -> tuple[Any, ...]:
        """Return the fitted member, its targets, those of the holdout, and warnings.

        It may come from another process.
        """
        held = holdout.answers(self)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            completed = self.fit(Z)
        return self, completed, held, caught

    def _weighted(self, Z: np.ndarray) -> np.ndarray:
        features = Z.shape[1] - self.width
        return np.hstack([Z[:, :features], Z[:, features:] * self.weight])

    def _targets(self, weighted: np.ndarray, completed: Any) -> np.ndarray:
        whole = checked(self.estimator, weighted, completed)
        return np.asarray(whole[:, whole.shape[1] - self.width :] / self.weight)


@dataclass(frozen=True)
class Holdout:
    """Rows whose target is known, and draws of those of them whose target is hidden.

    ``errors`` says how wrong completed targets are, given their numbers. With ``apart`` rows with
    a hidden target take no part in a fit.
    """

    Z: np.ndarray
    numbers: np.ndarray
    hidden: list[np.ndarray]
    errors: Callable[[np.ndarray, np.ndarray], np.ndarray]
    apart: bool

    def judge(self, member: Member) -> Choice:
        """Return the errors of hidden targets along a member's path."""
        return together([self._follow(member, hidden) for hidden in self.hidden])

    def _follow(self, member: Member, hidden: np.ndarray) -> Choice:
        path = (
            (smoothing, self.errors(completed[hidden], self.numbers[hidden])[:, None])
            for smoothing, completed in member.path(self._shown(member, hidden))
        )
        zero = np.zeros((np.count_nonzero(hidden), 1))
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            return follow(path, zero, zero == 0, np.ones(1))

    def answers(self, member: Member) -> np.ndarray:
        """Return what fits give for hidden targets: along a path rows are still on their way."""
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            found = [self._fit(member, hidden) for hidden in self.hidden]
        return np.concatenate([np.empty((0, member.width)), *found])

    @property
    def truth(self) -> np.ndarray:
        """The numbers of hidden targets."""
        return np.concatenate([self.numbers[:0], *(self.numbers[each] for each in self.hidden)])

    def _fit(self, member: Member, hidden: np.ndarray) -> np.ndarray:
        Z = self._shown(member, hidden)
        if not self.apart:
            return member.fit(Z)[hidden]
        member.fit(Z[~hidden])
        return member.complete(Z[hidden])

    def _shown(self, member: Member, hidden: np.ndarray) -> np.ndarray:
        target = np.arange(self.Z.shape[1]) >= self.Z.shape[1] - member.width
        return np.where(hidden[:, None] & target, np.nan, self.Z)


def indistinct(choices: list[Choice]) -> list[int]:
    """Return which choices cannot be told from the best, this one first.

    Their squared errors are larger by less than one standard error of the difference.
    """
    best, *others = np.argsort([choice.error for choice in choices], kind="stable").tolist()
    losses = [np.concatenate(c.completed[c.smoothing]).ravel() ** 2 for c in choices]
    more = {each: losses[each] - losses[best] for each in others}
    return [best, *(e for e, d in more.items() if d.mean() <= d.std() / np.sqrt(len(d)))]


def hiding(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return which known targets are hidden: about half of each group, but never all of them."""
    order = np.lexsort((rng.random(len(groups)), groups))
    first = order[np.unique(groups[order], return_index=True)[1]]
    return np.isin(np.arange(len(groups)), np.setdiff1d(order[rng.integers(2) :: 2], first))


def draw_rows(groups: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return the positions of some rows: at least one of each group, of small ones more."""
    if len(groups) <= most:
        return np.arange(len(groups))
    places, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    # A group's chance grows with the root of its size, up to all of its rows.
    luck = rng.random(len(groups)) * np.sqrt(sizes[places])
    order = np.argsort(luck, kind="stable")
    luck[order[np.unique(places[order], return_index=True)[1]]] = -1  # the first of each group
    return np.sort(np.argsort(luck, kind="stable")[: max(most, len(sizes))])


class BaseTransducer(Savable, BaseEstimator):
    """The part that does not depend on the kind of target."""

    _codec: Column

    def __init__(
        self,
        estimator: Any = None,
        label_weight: float | str = "auto",
        n_members: int | str = "auto",
        learn_from: str = "auto",
        max_samples: int = 3000,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.label_weight = label_weight
        self.n_members = n_members
        self.learn_from = learn_from
        self.max_samples = max_samples
        self.random_state = random_state
        self.verbose = verbose

    def _errors(self, block: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return how wrong completed targets are, given their numbers."""
        raise NotImplementedError

    def _fit(
        self, X: Any, codec: Column, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Complete the target, NaN where it is missing; return its columns for all rows.

        And those that fits gave for hidden targets, with the numbers that these are.
        """
        self._check()
        matrix, mask = self._validate(X, reset=True)
        check_consistent_length(matrix, numbers)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        given = _default(len(numbers)) if self.estimator is None else self.estimator
        estimator = prepared(given, seed, 0)
        apart = self._is_apart(estimator, mask[~np.isnan(numbers)])
        codec.fit_block(numbers)
        self._codec = codec
        train = self._training_rows(numbers, apart, rng)
        self._take_features(matrix, mask, train)
        Z = self._rows(matrix, mask, codec.spread(numbers))
        with showing(self.verbose):
            holdout = self._holdout(Z, numbers, apart, rng)
            members = self._choose(estimator, holdout, matrix.size)
            return *self._fit_members(members, Z, train, holdout), holdout.truth

    def _is_apart(self, estimator: Any, mask: np.ndarray) -> bool:
        """Return whether the surface is learned from the rows with a target alone.

        Rows without one teach what missing features look like. But they support whatever target
        they were given first, the more so the finer the smoothing: where few features are missing
        they are better completed one by one.
        """
        if self.learn_from != "auto":
            return self.learn_from == "labeled"
        enough = len(mask) >= LABELED and mask.mean() >= CLEAR
        return bool(enough and isinstance(estimator, BlockCompleter))

    def _groups(self, numbers: np.ndarray) -> np.ndarray:
        """Return the group of each row: each has some rows where rows are drawn."""
        return numbers if self._codec.has_classes else np.zeros(len(numbers))

    def _training_rows(
        self, numbers: np.ndarray, apart: bool, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the rows that the surface is learned from: those with a target come first."""
        if len(numbers) <= self.max_samples and not apart:
            return np.arange(len(numbers))
        labeled, others = np.flatnonzero(~np.isnan(numbers)), np.flatnonzero(np.isnan(numbers))
        train = labeled[draw_rows(self._groups(numbers[labeled]), self.max_samples, rng)]
        room = 0 if apart else max(0, self.max_samples - len(train))
        return np.sort(np.concatenate([train, rng.choice(others, room, replace=False)]))

    def _take_features(self, matrix: np.ndarray, mask: np.ndarray, train: np.ndarray) -> None:
        """Decide which features take part, and how they are scaled."""
        self._seen = np.flatnonzero(mask[train].any(axis=0))
        if not len(self._seen):
            raise ValueError(
                f"X has no observed entry in the {len(train)} rows to learn from; give the "
                "features of some labeled rows."
            )
        self._scaler = ColumnScaler.fit(matrix[:, self._seen], mask[:, self._seen], "standard")

    def _rows(self, matrix: np.ndarray, mask: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Return the features that take part, scaled, NaN where missing, and the target."""
        matrix, mask = matrix[:, self._seen], mask[:, self._seen]
        return np.hstack([np.where(mask, self._scaler.apply_observed(matrix, mask), np.nan), block])

    def _holdout(
        self, Z: np.ndarray, numbers: np.ndarray, apart: bool, rng: np.random.Generator
    ) -> Holdout:
        """Hide known targets of some rows; of none where these have a single value."""
        rows, seen, features = np.flatnonzero(~np.isnan(numbers)), ~np.isnan(Z), len(self._seen)
        per_row = max(1.0, float(seen[rows, :features].sum(axis=1).mean()))
        most = max(FEWEST, int(ENTRIES / per_row))
        rows = rows[draw_rows(self._groups(numbers[rows]), most, rng)]
        varying = ~is_constant(np.nan_to_num(Z[rows]), seen[rows])
        rows = rows[seen[rows, :features][:, varying[:features]].any(axis=1)]
        varying[features:] = True
        # Several draws where few can be hidden; none where nothing can be told from them.
        times = min(3, -(-2 * ENOUGH // len(rows))) if len(np.unique(numbers[rows])) > 1 else 0
        draws = [hiding(self._groups(numbers[rows]), rng) for _ in range(times)]
        hidden = [draw for draw in draws if draw.any()]
        return Holdout(Z[rows][:, varying], numbers[rows], hidden, self._errors, apart)

    def _choose(self, estimator: Any, holdout: Holdout, size: int) -> list[Member]:
        """Return the members, to be fitted."""
        params, width = estimator.get_params(deep=False), len(self._codec.center)
        weights = WEIGHTS if self.label_weight == "auto" else (float(self.label_weight),)
        free = "kernel" in params and repr(params["kernel"]) in ("None", repr(RBF()))
        scale = {"scale": None} if params.get("scale") == "auto" else {}  # weights scale them
        widths = [{"kernel": RBF(multiple=each)} for each in WIDTHS] if free else [{}]
        members = [Member(weight, clone(estimator).set_params(**kernel, **scale), width)
                   for kernel in widths for weight in weights]  # fmt: skip
        if not holdout.hidden:
            return members[:1]
        cases = [(member,) for member in members]
        choices = in_processes(holdout.judge, cases, holdout.Z.size >= LONG)
        most = (1 if size >= LARGE else 3) if self.n_members == "auto" else int(self.n_members)
        best = indistinct(choices)[:most]
        for member, choice in ((members[each], choices[each]) for each in best):
            if choice.smoothing:
                member.estimator.set_params(smoothing=choice.smoothing)
            logger.info("chose target weight %g in %s: error %.3f", member.weight,
                        member.estimator, choice.error)  # fmt: skip
        return [members[each] for each in best]

    def _fit_members(
        self, members: list[Member], Z: np.ndarray, train: np.ndarray, holdout: Holdout
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit all members; return the means of their answers for all rows, and for hidden targets.

        Only the first, the best, shows its warnings: the others are some of several.
        """
        cases = [(member, Z[train], holdout) for member in members]
        done = in_processes(Member.fitted, cases, Z[train].size >= LONG)
        self.members_, answers, held, caught = map(list, zip(*done, strict=True))
        for each in caught[0]:
            warn(str(each.message), each.category)
        self.label_weight_, self.estimator_ = self.members_[0].weight, self.members_[0].estimator
        block = np.empty((len(Z), self.members_[0].width))
        block[train] = np.mean(answers, axis=0)
        rest = np.setdiff1d(np.arange(len(Z)), train)
        if len(rest):
            block[rest] = self._answer(Z[rest])
        return block, np.mean(held, axis=0)

    def _answer(self, Z: np.ndarray) -> np.ndarray:
        return np.mean([member.complete(Z) for member in self.members_], axis=0)

    def _complete(self, X: Any) -> np.ndarray:
        """Return the target's columns of new rows."""
        check_is_fitted(self)
        matrix, mask = self._validate(X, reset=False)
        block = np.full((len(matrix), len(self._codec.center)), np.nan)
        return self._answer(self._rows(matrix, mask, block))

    def _probe(self) -> None:
        """Raise where what was learned does not fit together, as in a changed file."""
        if hasattr(self, "members_"):
            row = np.full((1, self.n_features_in_), np.nan)
            row[0, self._seen[:1]] = self._scaler.centre[:1]
            self.predict(row)

    def _check(self) -> None:
        weight = self.label_weight
        positive = isinstance(weight, Real) and 0 < float(weight) < np.inf
        for name, good, what in (
            ("label_weight", positive or weight == "auto", '"auto" or a positive number'),
            ("n_members", self.n_members == "auto" or _is_count(self.n_members),
             '"auto" or a positive whole number'),
            ("learn_from", self.learn_from in ("auto", "all", "labeled"),
             '"auto", "all" or "labeled"'),
            ("max_samples", _is_count(self.max_samples), "a positive whole number"),
        ):  # fmt: skip
            if not good:
                raise ValueError(f"{name} must be {what}, got {getattr(self, name)!r}.")
        if not (self.estimator is None or hasattr(self.estimator, "fit_transform")):
            raise TypeError(f"estimator must be a completer or an imputer, got {self.estimator!r}.")

    def _validate(self, X: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        matrix = check_array(
            to_matrix(X), dtype=np.float64, ensure_all_finite=False, estimator=self
        )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return matrix, find_missing(matrix, np.nan)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def entries(y: Any) -> tuple[np.ndarray, dict[int, Any]]:
    """Return y as an array of one dimension, and its entries that are not missing by their rows.

    Lists and the columns of data frames are taken entry by entry: NumPy would make a text of NaN
    where it stands among texts, and a float of a whole number beside None.
    """
    if y is None:
        raise ValueError(
            "A transductive estimator requires y to be passed, but the target y is None; give it "
            "with missing values where they are to be found."
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


def _default(rows: int) -> PMC:
    """Return what completes where nobody says it.

    Several settings tell where a row may lie: no need to average its places for each of them,
    which takes most of the time.
    """
    return PMC() if rows > MANY else PMC(solver=Exact(blend=False))
