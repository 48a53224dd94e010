"""What the transductive estimators share: features and target side by side, completed together."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from polycomplete._messages import showing, warn
from polycomplete._resources import in_processes
from polycomplete.completers import MANY, prepared
from polycomplete.frames import find_missing, to_matrix
from polycomplete.keeping import Savable
from polycomplete.kernels import RBF
from polycomplete.methods import PMC
from polycomplete.out_of_core import BlockCompleter
from polycomplete.scaling import ColumnScaler, is_constant
from polycomplete.solvers import Exact
from polycomplete.transduction.search import (
    LONG,
    MULTIPLES,
    WEIGHTS,
    Member,
    Search,
    Settings,
    Target,
    hiding,
)

ENTRIES = 12_000  # observed entries that are enough to choose by
#: Rows, however few entries are enough, and the share of their targets that is hidden: where rows
#: without a target take part in the fit, and where they do not.
FEWEST, HIDE = 450, 0.5
FEWEST_APART, HIDE_APART = 600, 0.25
PLENTY = 200  # known targets that are enough to learn from them alone
CLEAR = 0.75  # ... if this share of their features is observed
#: Settings to average, and entries of X from which on one has to do: the more rows there are, the
#: better their targets tell settings apart, and the longer a fit takes.
MEMBERS, LARGE = 3, 100_000


class BaseTransducer(Savable, BaseEstimator):
    """The part that does not depend on the kind of target."""

    def __init__(
        self,
        method: Any = None,
        label_weight: float | str = "auto",
        average: int | str = "auto",
        learn_from: str = "auto",
        max_rows: int = 3000,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.method = method
        self.label_weight = label_weight
        self.average = average
        self.learn_from = learn_from
        self.max_rows = max_rows
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, target: Target, y: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Complete the target; return it for all rows, decoded."""
        self._check()
        matrix, mask = self._validate(X, reset=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        method = prepared(_default(len(y)) if self.method is None else self.method, seed, 0)
        apart = self._apart(method, mask, known)
        train = self._training_rows(target.groups(y), known, apart, rng)
        self._take_features(matrix, mask, train)
        features, self._target = self._features(matrix, mask), target
        with showing(self.verbose):
            chosen, search = self._choose(method, features, y, known, apart, rng)
            self._calibrate(chosen, search)
            block = np.full((len(y), len(target.centre)), np.nan)
            block[known] = target.encode(y[known])
            members = [each.member(method) for each in chosen]
            return self._fit_members(members, features, block, train)

    def _apart(self, method: Any, mask: np.ndarray, known: np.ndarray) -> bool:
        """Return whether the surface is learned from the rows with a target alone.

        Rows without one teach what missing features look like. But they support whatever target
        they were given first, the more so the finer the smoothing: where few features are missing
        they are better completed one by one.
        """
        if self.learn_from != "auto":
            return self.learn_from == "labelled"
        enough = int(np.count_nonzero(known)) >= PLENTY and float(mask[known].mean()) >= CLEAR
        return enough and isinstance(method, BlockCompleter)

    def _training_rows(
        self, groups: np.ndarray, known: np.ndarray, apart: bool, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the rows that the surface is learned from: those with a target come first."""
        if len(known) <= self.max_rows and not apart:
            return np.arange(len(known))
        train = draw_rows(np.flatnonzero(known), groups, self.max_rows, rng)
        room = 0 if apart else max(0, self.max_rows - len(train))
        others = rng.choice(np.flatnonzero(~known), room, replace=False)
        return np.sort(np.concatenate([train, others]))

    def _take_features(self, matrix: np.ndarray, mask: np.ndarray, train: np.ndarray) -> None:
        """Decide which features take part, and how they are scaled."""
        self._seen = np.flatnonzero(mask[train].any(axis=0))
        if not len(self._seen):
            raise ValueError(
                f"X has no observed entry in the {len(train)} rows to learn from; give the "
                "features of some labelled rows."
            )
        self._scaler = ColumnScaler.fit(matrix[:, self._seen], mask[:, self._seen], "standard")

    def _features(self, matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the features that take part, scaled, NaN where missing."""
        matrix, mask = matrix[:, self._seen], mask[:, self._seen]
        return np.where(mask, self._scaler.apply_observed(matrix, mask), np.nan)

    def _choose(
        self,
        method: Any,
        features: np.ndarray,
        y: np.ndarray,
        known: np.ndarray,
        apart: bool,
        rng: np.random.Generator,
    ) -> tuple[list[Settings], Search | None]:
        """Choose what was left to be chosen, on rows whose target is known."""
        mask, groups = ~np.isnan(features), self._target.groups(y)
        weights = list(WEIGHTS) if self.label_weight == "auto" else [float(self.label_weight)]
        multiples: list[float | None] = [None]
        if _is_default(method.get_params(deep=False)):
            multiples = list(MULTIPLES)
        per_row = max(1.0, float(mask[known].sum(axis=1).mean()))
        fewest, share = (FEWEST_APART, HIDE_APART) if apart else (FEWEST, HIDE)
        rows = draw_rows(np.flatnonzero(known), groups, max(fewest, int(ENTRIES / per_row)), rng)
        varying = ~is_constant(np.nan_to_num(features[rows]), mask[rows])
        rows = rows[mask[rows][:, varying].any(axis=1)]
        draws = hiding(groups[rows], share, rng) if len(np.unique(y[rows])) > 1 else []
        if not draws:
            return [Settings(weights[0], multiples[0])], None
        search = Search(method, features[rows][:, varying], self._target, y[rows], draws, apart)
        few = MEMBERS if features.size < LARGE else 1
        most = few if self.average == "auto" else int(self.average)
        return search.best(weights, multiples, most), search

    def _calibrate(self, chosen: list[Settings], search: Search | None) -> None:
        """Learn from what comes back for known targets that were hidden, where any were."""

    def _fit_members(
        self, members: list[Member], features: np.ndarray, block: np.ndarray, train: np.ndarray
    ) -> np.ndarray:
        """Fit all members; return the mean of their answers for all rows.

        Only the first, the best, shows its warnings: the others are some of several.
        """
        cases = [(member, features[train], block[train], self._target) for member in members]
        done = in_processes(Member.fitted, cases, features[train].size >= LONG)
        for message, kind in done[0][2]:
            warn(message, kind)
        self.members_ = [member for member, _, _ in done]
        self.label_weight_, self.method_ = self.members_[0].weight, self.members_[0].method
        answers = np.empty((len(features), block.shape[1]))
        answers[train] = np.mean([answer for _, answer, _ in done], axis=0)
        rest = np.setdiff1d(np.arange(len(features)), train)
        if len(rest):
            answers[rest] = self._answer(features[rest])
        return answers

    def _answer(self, features: np.ndarray) -> np.ndarray:
        """Return the mean of what the members say of rows without a target."""
        return np.mean([m.answer(features, self._target) for m in self.members_], axis=0)

    def _complete(self, X: Any) -> np.ndarray:
        """Return the target of new rows, decoded."""
        check_is_fitted(self)
        return self._answer(self._features(*self._validate(X, reset=False)))

    def _probe(self) -> None:
        """Raise where what was learned does not fit together, as in a changed file."""
        if hasattr(self, "members_"):
            row = np.full((1, self.n_features_in_), np.nan)
            row[0, self._seen[:1]] = self._scaler.centre[:1]
            self.predict(row)

    def _check_lengths(self, X: Any, y: Any) -> None:
        """Refuse y of another length than X, and none at all."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give it "
                "with missing values where they are to be found."
            )
        check_consistent_length(to_matrix(X), y)

    def _check(self) -> None:
        weight = self.label_weight
        good = weight == "auto" or (isinstance(weight, Real) and 0 < float(weight) < np.inf)
        self._need(good, "label_weight", '"auto" or a positive number')
        good = self.average == "auto" or _is_count(self.average)
        self._need(good, "average", '"auto" or a positive whole number')
        good = self.learn_from in ("auto", "all", "labelled")
        self._need(good, "learn_from", '"auto", "all" or "labelled"')
        self._need(_is_count(self.max_rows), "max_rows", "a positive whole number")
        if not (self.method is None or hasattr(self.method, "fit_transform")):
            raise TypeError(f"method must be a completer or an imputer, got {self.method!r}.")

    def _need(self, good: bool, name: str, what: str) -> None:
        if not good:
            raise ValueError(f"{name} must be {what}, got {getattr(self, name)!r}.")

    def _validate(self, X: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        matrix = check_array(
            to_matrix(X),
            dtype=np.float64,
            ensure_all_finite=False,
            estimator=self,
            input_name="X",
        )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return matrix, find_missing(matrix, np.nan)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def draw_rows(
    rows: np.ndarray, groups: np.ndarray, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Return some of the rows, of small groups more than their share, of each at least one."""
    if len(rows) <= most:
        return rows
    places, sizes = np.unique(groups[rows], return_inverse=True, return_counts=True)[1:]
    # A group's chance grows with the root of its size, up to all of its rows.
    luck = rng.random(len(rows)) * np.sqrt(sizes[places])
    order = np.argsort(luck, kind="stable")
    luck[order[np.unique(places[order], return_index=True)[1]]] = -1  # the first of each group
    return np.sort(rows[np.argsort(luck, kind="stable")[: max(most, len(sizes))]])


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and int(value) >= 1


def _default(rows: int) -> PMC:
    """Return what completes where nobody says it.

    Several settings tell where a row may lie: no need to average its places for each of them,
    which takes most of the time.
    """
    return PMC() if rows > MANY else PMC(solver=Exact(blend=False))


def _is_default(params: dict[str, Any]) -> bool:
    """Return whether a method has a kernel of which nobody has said how wide it is to be."""
    return "kernel" in params and repr(params["kernel"]) in ("None", repr(RBF()))
