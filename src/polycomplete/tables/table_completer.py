"""The estimator of tables: codecs turn a table into a matrix, which any completer completes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from polycomplete._messages import FarCellError, check_settings, warn
from polycomplete.base import Reported, adapt, all_or_nothing, checked, prepared
from polycomplete.frames import table, with_columns
from polycomplete.methods import PMC
from polycomplete.methods.completer import Completer
from polycomplete.model_selection import HeldOut
from polycomplete.tables.calibration import (
    Calibration,
    calibrate,
    deviation_factors,
    fall_back,
    held_out_cells,
)
from polycomplete.tables.codecs import Column, codec_of


class Probabilities(NamedTuple):
    """Probabilities of the missing cells of a column.

    Attributes
    ----------
    rows : ndarray of int, shape (k,)
        Positions of the rows whose cell is missing.
    levels : list
        The classes.
    values : ndarray of shape (k, c)
        The probability of each class; rows sum to one.

    Examples
    --------
    >>> Probabilities(np.array([4]), ["no", "yes"], np.array([[0.25, 0.75]])).levels
    ['no', 'yes']
    """

    rows: np.ndarray
    levels: list[Any]
    values: np.ndarray


@dataclass(eq=False, repr=False)
class TableCompleter(Reported, TransformerMixin, BaseEstimator):
    """Complete a table with columns of all kinds.

    The result has the library, dtypes, index and categories of the input, a pandas, polars or
    pyarrow table. Only missing cells change. Numbers, booleans, categories, ordered categories,
    dates and durations become a matrix whose columns have equal weight, a completer completes it,
    and the result becomes cells again. The probabilities of categories are calibrated on held-out
    cells.

    Parameters
    ----------
    method : estimator, default=None
        What completes the matrix: a completer of this library (by default
        :class:`~polycomplete.PMC`) or an imputer of scikit-learn. It may choose the scale of a
        table of numbers; the columns of other tables are scaled here, to have equal weight.
    column_types : dict, default=None
        Kinds of columns that their dtype does not tell: from names to "numeric", "integer",
        "bool", "categorical", "ordered", "datetime" or "duration", or to a list of levels from low
        to high.
    passthrough : str or sequence of names, default=()
        Columns that are neither completed nor used.
    clip : None, "observed" or dict, default=None
        Bounds of completed numbers, dates and durations: none, the range of the observed cells, or
        a dict from names to "observed" or pairs (low, high).
    integers : {"typed", "whole"}, default="typed"
        Which columns are completed by whole numbers: those with a dtype of integers, or also
        those of floats without any fraction. The dtype stays.
    max_categories : int, default=50
        Maximum number of levels; columns with more are refused.
    column_weights : dict, default=None
        Weights of columns, from names to numbers; 1 by default.
    handle_unknown : {"error", "missing"}, default="error"
        What ``transform`` does with categories that did not occur in ``fit``: refuse them, or
        leave them in place and use the other cells of the row.
    random_state : int, RandomState or None, default=None
        Seed of all random choices, also of those of the method unless it has its own.
    verbose : int, default=0
        Verbosity of the method, if it has such a parameter.

    Attributes
    ----------
    schema_ : list of Column
        The kind of each column, and how its cells become columns of the matrix.
    method_ : estimator or None
        The method, fitted to the matrix; None if nothing varies.
    proba_ : dict
        From the name of each column of categories or booleans to the :class:`Probabilities` of
        its missing cells.
    cell_std_ : dict or None
        From the name of each column of numbers, dates (in seconds), durations (in seconds) or
        ordered levels (in steps) to the estimated standard deviation of its cells, 0 if observed;
        None if the method estimates none.
    held_out_ : HeldOut or None
        ``rows``, ``columns`` (among those that are completed), ``truth``, ``completed`` and
        ``deviation`` of the cells that the method held out, as numbers and codes; None if it held
        out none.
    fallback_columns_ : list
        Columns whose held-out cells were completed worse than by the mean or the most frequent
        level, by more than one standard error: these are filled in, in new rows too.
    calibrations_ : dict
        From the names of columns to the :class:`~polycomplete.tables.Calibration` of their scores.
    n_samples_seen_ : int
        Number of rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, if all of them are text.

    See Also
    --------
    PMC : Completes a matrix of numbers; the default inside.
    TransductiveClassifier : Finds the missing labels of one column.
    sklearn.compose.ColumnTransformer : Prepares columns of several kinds for other estimators.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "length": [1.0, 1.2, 3.1, 2.9, 1.1, None] * 5,
    ...     "kind": ["short", "short", "long", "long", None, "long"] * 5,
    ... })
    >>> completer = TableCompleter(random_state=0)
    >>> completer.fit_transform(table)["kind"].tolist()[:6]
    ['short', 'short', 'long', 'long', 'short', 'long']
    >>> completer.transform(pd.DataFrame({"kind": [None], "length": [3.0]})).loc[0, "kind"]
    'long'

    An ordered column, a column that is passed through, and bounds:

    >>> table["size"] = ["S", "M", None, "L", "S", "M"] * 5
    >>> table["name"] = [f"no. {i}" for i in range(30)]
    >>> completer = TableCompleter(
    ...     column_types={"size": ["S", "M", "L"]}, passthrough=["name"],
    ...     clip={"length": (0, None)}, random_state=0,
    ... )
    >>> completer.fit(table).schema_[2].kind
    'ordered'
    """

    method: Any = None
    column_types: Mapping[Any, Any] | None = None
    passthrough: Sequence[Any] = ()
    clip: Any = None
    integers: str = "typed"
    max_categories: int = 50
    column_weights: Mapping[Any, float] | None = None
    handle_unknown: str = "error"
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from the rows of a table.

        Parameters
        ----------
        X : data frame
            With missing cells: null, None, NA, NaT or NaN.
        y : ignored
            For pipelines.

        Returns
        -------
        self
        """
        self._fit(table(X))
        return self

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Learn from the rows of a table and return it completed.

        Parameters
        ----------
        X : data frame
            With missing cells: null, None, NA, NaT or NaN.
        y : ignored
            For pipelines.

        Returns
        -------
        data frame
            As X; observed cells are unchanged.
        """
        frame = table(X)
        return self._decode(frame, *self._fit(frame))

    def transform(self, X: Any) -> Any:
        """Complete new rows, each independently of the others.

        Parameters
        ----------
        X : data frame
            With the columns that ``fit`` saw, in any order.

        Returns
        -------
        data frame
            Of the same library and dtypes as X, with the columns in the order of ``fit``.
        """
        return self._decode(*self._complete(X))

    def predict_proba(self, X: Any) -> dict[Any, Probabilities]:
        """Return the probabilities of the missing cells of new rows.

        Parameters
        ----------
        X : data frame
            With the columns that ``fit`` saw, in any order.

        Returns
        -------
        dict
            From the name of each column of categories or booleans to the
            :class:`Probabilities` of its missing cells.
        """
        return self._missing_classes(*self._complete(X)[1:])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns, which are those of ``fit``.

        Parameters
        ----------
        input_features : ignored
            For pipelines.

        Returns
        -------
        ndarray of object
        """
        check_is_fitted(self)
        names = np.empty(len(self.schema_), dtype=object)  # pandas may have tuples for names
        names[:] = [column.name for column in self.schema_]
        return names

    @property
    def calibrations_(self) -> dict[Any, Calibration]:
        """How the scores of columns become probabilities, by name."""
        known = {column.name: column.calibration for column in self.schema_}
        return {name: found for name, found in known.items() if found is not None}

    @property
    def fallback_columns_(self) -> list[Any]:
        """Columns that are filled in with their mean or most frequent level."""
        return [column.name for column in self.schema_ if column.falls_back]

    def _fit(self, frame: Any) -> tuple[np.ndarray, np.ndarray]:
        """Learn everything; return the mask of observed cells, and the completed matrix."""
        with all_or_nothing(self):
            self._learn_columns(frame)
            numbers, present = self._encode(frame)
            self.n_samples_seen_ = len(numbers)
            seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2)
            seed = None if self.random_state is None else int(seeds[0])
            method = prepared(PMC() if self.method is None else self.method, seed, self.verbose)
            scaled = self._learn_blocks(numbers, method)
            matrix, owners = self._matrix(numbers), self._owners()
            self.method_, completed, held = None, matrix, None
            if matrix.shape[1]:
                adapt(method, owners, scaled)
                completed = checked(method, matrix, method.fit_transform(matrix))
                calibrate(method, matrix, owners, numbers, self._codecs, int(seeds[1]))
                self.method_, held = method, getattr(method, "held_out_", None)
            self.held_out_ = held and held_out_cells(held, owners, numbers, self._codecs)
            if self.held_out_ is not None:
                fall_back(self._codecs, self.held_out_)
            self.proba_ = self._missing_classes(present, completed)
            self.cell_std_ = self._deviations(numbers, held)
            return present, completed

    def _learn_columns(self, frame: Any) -> None:
        """Find the kind of each column."""
        self._check(frame)
        given, left = self.column_types or {}, listed(self.passthrough)
        whole, most = self.integers == "whole", self.max_categories
        self.schema_: list[Any] = [
            Column(series.name, "id", str(series.dtype))
            if series.name in left
            else codec_of(series, given.get(series.name), whole, most)
            for series in frame.iter_columns()
        ]
        unused = [column.name for column in self.schema_ if not column.is_completed]
        if empty := [repr(name) for name in unused if name not in left]:
            message = f"Columns without any observed cell stay empty: {', '.join(empty)}."
            warn(message, UserWarning)
        self.n_features_in_ = len(self.schema_)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if all(isinstance(name, str) for name in frame.columns):
            self.feature_names_in_: np.ndarray = np.array(frame.columns, dtype=object)

    def _learn_blocks(self, numbers: np.ndarray, method: Any) -> bool:
        """Learn how numbers become the matrix; return whether they are scaled here.

        A method that scales columns itself does so if there are neither weights nor categories.
        """
        weights, clip = self.column_weights or {}, self.clip
        scaled = bool(weights) or not isinstance(method, Completer) or method.scale is None
        scaled |= any(column.is_labels and column.has_classes for column in self._codecs)
        for column, mine in zip(self._codecs, numbers.T, strict=True):
            own = clip.get(column.name) if isinstance(clip, Mapping) else clip
            column.fit_block(mine, weights.get(column.name, 1.0), scaled, own)
        return scaled

    @property
    def _codecs(self) -> list[Any]:
        """The codecs of the columns that are completed."""
        return [column for column in self.schema_ if column.is_completed]

    def _encode(self, frame: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return a number for each cell of the columns that are completed, and the mask."""
        series, empty = _by_name(frame), np.empty((len(frame), 0))
        parts = [column.encode(series[column.name], self.handle_unknown) for column in self._codecs]
        numbers = np.column_stack([empty, *(part for part, _ in parts)])
        return numbers, np.column_stack([empty.astype(bool), *(part for _, part in parts)])

    def _owners(self) -> np.ndarray:
        """Return the number of the completed column to which each column of the matrix belongs."""
        widths = [len(column.center) for column in self._codecs]
        return np.repeat(np.arange(len(widths)), widths)

    def _matrix(self, numbers: np.ndarray) -> np.ndarray:
        pairs = zip(self._codecs, numbers.T, strict=True)
        blocks = [column.spread(mine) for column, mine in pairs]
        # The last bits of some methods depend on the order in memory.
        return np.asfortranarray(np.hstack([np.empty((len(numbers), 0)), *blocks]))

    def _blocks(self, matrix: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield each codec with its columns of a matrix."""
        owners = self._owners()
        for j, column in enumerate(self._codecs):
            yield column, matrix[:, owners == j]

    def _complete(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return a table of new rows, the mask of observed cells, and the completed matrix."""
        check_is_fitted(self)
        frame = table(X)
        check_columns([column.name for column in self.schema_], frame.columns)
        numbers, present = self._encode(frame)
        matrix = self._matrix(numbers)
        if self.method_ is None or not np.isnan(matrix).any():
            return frame, present, matrix
        try:
            found = self.method_.transform(matrix)
        except FarCellError as error:
            name = self._codecs[self._owners()[error.column]].name
            raise ValueError(error.said(repr(name), _by_name(frame)[name][error.row])) from None
        return frame, present, checked(self.method_, matrix, found)

    def _decode(self, frame: Any, present: np.ndarray, completed: np.ndarray) -> Any:
        """Return the table with its missing cells filled in."""
        series = _by_name(frame)
        for (column, block), known in zip(self._blocks(completed), present.T, strict=True):
            rows = np.flatnonzero(~known)
            series[column.name] = column.decode(
                series[column.name], rows, column.gather(block)[rows]
            )
        return with_columns(frame, [series[column.name] for column in self.schema_])

    def _missing_classes(
        self, present: np.ndarray, completed: np.ndarray
    ) -> dict[Any, Probabilities]:
        """Return the probabilities of missing cells, by the name of their column."""
        found = {}
        for (column, block), known in zip(self._blocks(completed), present.T, strict=True):
            if column.has_classes:
                rows = np.flatnonzero(~known)
                values = column.probabilities(block[rows])
                found[column.name] = Probabilities(rows, list(column.levels), values)
        return found

    def _deviations(
        self, numbers: np.ndarray, held: HeldOut | None
    ) -> dict[Any, np.ndarray] | None:
        """Return the standard deviation of each cell, by the name of its column."""
        spread = getattr(self.method_, "cell_std_", None)
        if spread is None:
            return None
        spread, found = spread * deviation_factors(held, self._owners(), self._codecs), {}
        for (column, block), mine in zip(self._blocks(spread), numbers.T, strict=True):
            if column.has_classes:
                continue
            own = (block * column.scale)[:, 0] if block.shape[1] else np.zeros(len(spread))
            if column.falls_back:
                off = float(np.sqrt(np.nanmean((mine - column.fallback) ** 2)))
                own = np.where(own > 0, off, 0.0)
            found[column.name] = column.show(own)
        return found

    def _probe(self) -> None:
        """Raise if what was learned does not fit together, as in a modified file."""
        if hasattr(self, "schema_"):
            numbers = np.zeros((2, len(self._codecs)))
            numbers[:, 1:] = np.nan
            matrix = self._matrix(numbers)
            if self.method_ is not None:
                matrix = checked(self.method_, matrix, self.method_.transform(matrix))
            for column, block in self._blocks(matrix):
                column.gather(block)

    def _check(self, frame: Any) -> None:
        """Raise if a parameter is wrong, or does not suit the table."""
        clip, most = self.clip, self.max_categories
        good_clip = clip is None or isinstance(clip, Mapping) or str(clip) == "observed"
        check_settings(
            self,
            clip=(good_clip, 'None, "observed" or a dict from names to bounds'),
            integers=(self.integers in ("typed", "whole"), '"typed" or "whole"'),
            handle_unknown=(self.handle_unknown in ("error", "missing"), '"error" or "missing"'),
            max_categories=(isinstance(most, Integral) and most >= 1, "a positive integer"),
        )
        for name, weight in (self.column_weights or {}).items():
            if not (isinstance(weight, Real) and 0 < float(weight) < np.inf):
                raise ValueError(
                    f"column_weights[{name!r}] must be a positive number, got {weight!r}; leave a "
                    f"column alone by passthrough=[{name!r}]."
                )
        for setting in ("passthrough", "column_types", "clip", "column_weights"):
            _check_names(setting, getattr(self, setting), list(frame.columns))
        if not (len(frame) and len(frame.columns)):
            raise ValueError(
                f"X has {len(frame)} rows and {len(frame.columns)} columns; there is nothing to "
                "learn from."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _by_name(frame: Any) -> dict[Any, Any]:
    """Return the columns of a table by their names, which pandas allows to be other than text."""
    return {series.name: series for series in frame.iter_columns()}


def listed(names: Any) -> list[Any]:
    """Return names as a list; a single text is one name."""
    return [names] if isinstance(names, str) else list(names)


def _check_names(setting: str, given: Any, known: list[Any]) -> None:
    """Raise if a setting (names, or a mapping from them) names a column that does not exist."""
    names = listed(given) if setting == "passthrough" or isinstance(given, Mapping) else []
    if odd := [name for name in names if name not in known]:
        shown = ", ".join(map(repr, known[:10])) + (", …" if len(known) > 10 else "")
        raise ValueError(
            f"{setting} names column {odd[0]!r}, which the table does not have; its columns "
            f"are {shown}."
        )


def check_columns(known: list[Any], given: list[Any]) -> None:
    """Raise if a table does not have the columns of the one that was fitted."""
    for names, others, problem in (
        (known, given, "of the fitted table is missing ({} in all); add it, with missing "
         "cells if nothing is known."),
        (given, known, "was not in the fitted table ({} in all); drop it."),
    ):  # fmt: skip
        if odd := [name for name in names if name not in others]:
            raise ValueError(f"Column {odd[0]!r} {problem.format(len(odd))}")
