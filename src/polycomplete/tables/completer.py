"""The scikit-learn estimator: a table becomes a matrix, is completed, and becomes a table again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from polycomplete._checks import FarCellError
from polycomplete._messages import warn
from polycomplete.keeping import Reported, all_or_nothing
from polycomplete.model_selection import HeldOut
from polycomplete.tables import calibration, cells
from polycomplete.tables import method as using
from polycomplete.tables.codecs import Category, Column, codec_of


class Probabilities(NamedTuple):
    """What the missing cells of a column may be.

    Attributes
    ----------
    rows : ndarray of int, shape (k,)
        Positions of the rows whose cell was missing.
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


class TableCompleter(Reported, TransformerMixin, BaseEstimator):
    """Complete a table with columns of all kinds.

    A pandas, polars or pyarrow table comes back as what it was: same library, dtypes, index and
    categories. Only missing cells change. Numbers, truth values, categories, ordered categories,
    dates and durations become a matrix whose columns weigh the same; a completer completes it, and
    the result becomes cells again. Categories come with probabilities, calibrated on hidden cells.

    Parameters
    ----------
    method : estimator, optional
        What completes the matrix: a completer of this library (by default
        :class:`~polycomplete.PMC`) or an imputer of scikit-learn. It may choose the scale of a
        table of numbers; the columns of other tables are scaled here, to weigh the same.
    kinds : dict, optional
        What columns are, where their dtype does not tell: a name and "numeric", "integer",
        "bool", "categorical", "ordered", "datetime" or "duration"; or a list of levels from low
        to high.
    ids : sequence of names
        Columns that are left alone: neither completed nor used.
    clip : None, "observed" or dict, default=None
        Bounds of completed numbers, dates and durations: none, the range of the present cells, or
        a dict from names to "observed" or pairs (low, high).
    integers : {"typed", "whole"}, default="typed"
        Which columns are completed by whole numbers: those whose dtype is of integers, or also
        those of floats without any fraction. The dtype stays.
    max_categories : int, default=50
        Columns with more levels than this are refused.
    weights : dict, optional
        How much columns count, by name; 1 by default.
    unseen : {"error", "missing"}, default="error"
        What ``transform`` does with categories that did not occur in ``fit``: refuse them, or
        leave them in place and go by the other cells of the row.
    random_state : int, RandomState or None, default=None
        Everything random follows from it; given to the method where that has none of its own.
    verbose : int, default=0
        Given to the method where it has such a parameter.

    Attributes
    ----------
    schema_ : list of Column
        What each column is, and how its cells become columns of the matrix.
    method_ : estimator or None
        Fitted to the matrix; None where nothing varies.
    proba_ : dict
        For each column of categories or truth values the :class:`Probabilities` of its missing
        cells.
    cell_std_ : dict or None
        For each column of numbers, dates (in seconds), durations (in seconds) or orders (in steps)
        the estimated standard deviation of its cells, 0 where present; None where the method gives
        none.
    held_out_ : HeldOut or None
        ``rows``, ``columns`` (of those that are completed), ``truth``, ``completed`` and
        ``deviation`` of cells that the fit had hidden, as numbers and codes; None where the method
        hid none.
    fallback_columns_ : list
        Columns whose held-out cells came back worse than by filling in the mean or the most
        frequent label, by more than one standard error: that is filled in, in new rows too.
    calibrations_ : dict
        From the names of columns to how their scores become probabilities.
    n_samples_seen_ : int
        Number of rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, where all of them are text.

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
    """

    def __init__(
        self,
        method: Any = None,
        kinds: Mapping[Any, Any] | None = None,
        ids: Sequence[Any] = (),
        clip: Any = None,
        integers: str = "typed",
        max_categories: int = 50,
        weights: Mapping[Any, float] | None = None,
        unseen: str = "error",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.method = method
        self.kinds = kinds
        self.ids = ids
        self.clip = clip
        self.integers = integers
        self.max_categories = max_categories
        self.weights = weights
        self.unseen = unseen
        self.random_state = random_state
        self.verbose = verbose

    feature_names_in_: np.ndarray
    held_out_: HeldOut | None
    fallback_columns_: list[Any]

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
        self._fit(cells.table(X))
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
            As X; present cells are untouched.
        """
        frame = cells.table(X)
        there, completed = self._fit(frame)
        return self._written(frame, there, completed)

    def transform(self, X: Any) -> Any:
        """Complete new rows, each by itself.

        Parameters
        ----------
        X : data frame
            With the columns that ``fit`` saw, in any order.

        Returns
        -------
        data frame
            Of the same library and dtypes as X, with the columns in the order of ``fit``.
        """
        frame, there, completed = self._complete_new(X)
        return self._written(frame, there, completed)

    def predict_proba(self, X: Any) -> dict[Any, Probabilities]:
        """Return what the missing cells of new rows may be.

        Parameters
        ----------
        X : data frame
            With the columns that ``fit`` saw, in any order.

        Returns
        -------
        dict
            For each column of categories or truth values the :class:`Probabilities` of its
            missing cells.
        """
        _, there, completed = self._complete_new(X)
        return self._missing_classes(completed, there)

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
    def calibrations_(self) -> dict[Any, calibration.Calibration]:
        """How the scores of columns become probabilities, by name."""
        known = {column.name: column.calibration for column in self.schema_}
        return {name: found for name, found in known.items() if found is not None}

    @all_or_nothing
    def _fit(self, frame: Any) -> tuple[np.ndarray, np.ndarray]:
        """Learn everything; return which cells are there, and the completed matrix."""
        self._learn_schema(frame)
        numbers, there = self._numbers(frame)
        self.n_samples_seen_ = len(numbers)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        seed = None if self.random_state is None else int(seeds[0])
        self.method_ = using.prepared(self.method, seed, self.verbose)
        self._fit_blocks(numbers)
        completed = self._complete_fitted(numbers, int(seeds[1]))
        self._judge(numbers)
        self.proba_ = self._missing_classes(completed, there)
        self.cell_std_ = self._deviations(numbers)
        return there, completed

    def _learn_schema(self, frame: Any) -> None:
        ids, kinds, weights = using.listed(self.ids), self.kinds or {}, self.weights or {}
        using.check_choices(self.clip, self.integers, self.unseen, self.max_categories, weights)
        using.check_names(frame.columns, ids=ids, kinds=kinds, clip=self.clip, weights=weights)
        if len(frame) == 0 or len(frame.columns) == 0:
            raise ValueError(
                f"X has {len(frame)} rows and {len(frame.columns)} columns; there is nothing to "
                "learn from."
            )
        self.schema_ = [
            Column(series.name, "id", str(series.dtype))
            if series.name in ids
            else codec_of(
                series, kinds.get(series.name), self.integers == "whole", self.max_categories
            )
            for series in frame.iter_columns()
        ]
        empty = [repr(column.name) for column in self.schema_ if column.kind == "empty"]
        if empty:
            said = f"Columns without any present cell stay as they are: {', '.join(empty)}."
            warn(said, UserWarning)
        self.n_features_in_ = len(self.schema_)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        if all(isinstance(name, str) for name in frame.columns):
            self.feature_names_in_ = np.array(frame.columns, dtype=object)

    def _completed_columns(self) -> list[Any]:
        return [column for column in self.schema_ if column.is_completed]

    def _numbers(self, frame: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return a number for each cell that may be completed, and which of them are present."""
        series, empty = cells.by_name(frame), np.empty((len(frame), 0))
        parts = [column.encode(series[column.name], self.unseen)
                 for column in self._completed_columns()]  # fmt: skip
        numbers = np.column_stack([empty, *(part for part, _ in parts)])
        return numbers, np.column_stack([empty.astype(bool), *(part for _, part in parts)])

    def _fit_blocks(self, numbers: np.ndarray) -> None:
        """Learn bounds, and how numbers become the matrix; tell the method what its columns are."""
        columns, weights, clip = self._completed_columns(), self.weights or {}, self.clip
        one_hot = any(isinstance(column, Category) for column in columns)
        scaled = not using.scales_itself(self.method_) or one_hot or bool(weights)
        for column, mine in zip(columns, numbers.T, strict=True):
            own = clip.get(column.name) if isinstance(clip, Mapping) else clip
            column.low, column.high = column.bounds(own, mine[~np.isnan(mine)])
        for column, mine in zip(columns, numbers.T, strict=True):
            column.fit_block(mine, weights.get(column.name, 1.0), scaled)
        using.adapt(self.method_, self._owners(), scaled)

    def _owners(self) -> np.ndarray:
        """Return the column of the table, of those completed, of each column of the matrix."""
        widths = [len(column.center) for column in self._completed_columns()]
        return np.repeat(np.arange(len(widths)), widths)

    def _matrix(self, numbers: np.ndarray) -> np.ndarray:
        pairs = zip(self._completed_columns(), numbers.T, strict=True)
        blocks = [column.spread(mine) for column, mine in pairs]
        # Methods may depend on the order in memory in their last bits.
        return np.asfortranarray(np.hstack([np.empty((len(numbers), 0)), *blocks]))

    def _complete_fitted(self, numbers: np.ndarray, seed: int) -> np.ndarray:
        """Fit the method to the matrix and return that completed; learn what its scores mean."""
        matrix, owners = self._matrix(numbers), self._owners()
        if matrix.shape[1] == 0:
            self.method_ = None
            return matrix
        completed = using.checked(self.method_, matrix, self.method_.fit_transform(matrix))
        calibration.calibrate(
            self.method_, matrix, owners, numbers, self._completed_columns(), seed
        )
        return completed

    def _judge(self, numbers: np.ndarray) -> None:
        """Learn from held-out cells which columns are better filled with their mean or mode."""
        self.held_out_, self.fallback_columns_ = None, []
        columns, held = self._completed_columns(), getattr(self.method_, "held_out_", None)
        if held is None:
            return
        self.held_out_ = calibration.held_out_cells(held, self._owners(), numbers, columns)
        self.fallback_columns_ = calibration.fallbacks(columns, self.held_out_)
        for j, column in enumerate(columns):
            if column.name in self.fallback_columns_:
                self.held_out_.completed[self.held_out_.columns == j] = column.fallback

    def _deviations(self, numbers: np.ndarray) -> dict[Any, np.ndarray] | None:
        """Return the standard deviation of each cell, by the name of its column."""
        spread = getattr(self.method_, "cell_std_", None)
        if spread is None:
            return None
        columns, owners = self._completed_columns(), self._owners()
        held = getattr(self.method_, "held_out_", None)
        spread = spread * calibration.deviation_factors(held, owners, columns)
        found = {}
        for j, column in enumerate(columns):
            if column.has_classes:
                continue
            own = spread[:, owners == j] * column.scale
            own = own[:, 0] if own.shape[1] else np.zeros(len(spread))
            if column.name in self.fallback_columns_:
                off = float(np.sqrt(np.nanmean((numbers[:, j] - column.fallback) ** 2)))
                own = np.where(own > 0, off, 0.0)
            found[column.name] = column.show(own)
        return found

    def _complete_new(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        check_is_fitted(self)
        frame = cells.table(X)
        using.check_columns([column.name for column in self.schema_], frame.columns)
        numbers, there = self._numbers(frame)
        matrix = self._matrix(numbers)
        if self.method_ is None or np.isnan(matrix).sum() == 0:
            return frame, there, matrix
        try:
            found = self.method_.transform(matrix)
        except FarCellError as error:
            name = self._completed_columns()[self._owners()[error.column]].name
            raise ValueError(
                error.said(repr(name), cells.by_name(frame)[name][error.row])
            ) from None
        return frame, there, using.checked(self.method_, matrix, found)

    def _missing_classes(
        self, completed: np.ndarray, there: np.ndarray
    ) -> dict[Any, Probabilities]:
        """Return the probabilities of cells that are not there, by the name of their column."""
        owners, found = self._owners(), {}
        for j, column in enumerate(self._completed_columns()):
            if column.has_classes:
                rows = np.flatnonzero(~there[:, j])
                block = completed[np.ix_(rows, np.flatnonzero(owners == j))]
                values = column.probabilities(block, column.name in self.fallback_columns_)
                found[column.name] = Probabilities(rows, column.classes, values)
        return found

    def _written(self, frame: Any, there: np.ndarray, completed: np.ndarray) -> Any:
        """Return the table with its missing cells filled in."""
        owners, series = self._owners(), cells.by_name(frame)
        for j, column in enumerate(self._completed_columns()):
            rows, name = np.flatnonzero(~there[:, j]), column.name
            numbers = column.gather(completed[:, owners == j], name in self.fallback_columns_)
            series[name] = column.decode(series[name], rows, numbers[rows])
        return cells.replaced(frame, [series[column.name] for column in self.schema_])

    def _probe(self) -> None:
        """Raise where what was learned does not fit together, as in a changed file."""
        if hasattr(self, "schema_"):
            numbers = np.zeros((2, len(self._completed_columns())))
            numbers[:, 1:] = np.nan
            matrix, owners = self._matrix(numbers), self._owners()
            if self.method_ is not None:
                matrix = using.checked(self.method_, matrix, self.method_.transform(matrix))
            for j, column in enumerate(self._completed_columns()):
                column.gather(matrix[:, owners == j], column.name in self.fallback_columns_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
