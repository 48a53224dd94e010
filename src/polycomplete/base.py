"""The part of a fit that all completers share: validate, learn, complete, deliver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from polycomplete._devices import name_of
from polycomplete._messages import FarCellError, showing, warn, warn_unconverged
from polycomplete.frames import column_labels, find_missing, like_input, to_matrix
from polycomplete.kernels import RBF
from polycomplete.model_selection import HeldOut
from polycomplete.persistence import Savable
from polycomplete.sampling import training_rows
from polycomplete.scaling import column_spread, is_constant
from polycomplete.surface import Fitted, MatrixMethod

if TYPE_CHECKING:
    from polycomplete.report import Report

__all__ = ["BaseCompleter"]

LARGEST = 1e307  # magnitude of an entry, so that differences do not overflow


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore an estimator if the block raises or is interrupted."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class Reported(Savable):
    """An estimator with a report of what it completed."""

    def report(self, X: Any, completed: Any, **options: Any) -> Report:
        """Return a report on a completion: displayed in notebooks, saved by ``write(path)``.

        Parameters
        ----------
        X, completed : array-like or data frame
            The table before and after completion; rows of the fit, or new ones.
        **options
            Passed on to :class:`polycomplete.report.Report`.

        Returns
        -------
        Report
        """
        from polycomplete.report import Report  # here, because it imports completers

        check_is_fitted(self)
        return Report(self, X, completed, **options)


@dataclass(eq=False, repr=False, kw_only=True)
class BaseCompleter(Reported, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """The part of a completer that does not depend on the method.

    Columns without any observed entry are dropped (or kept as zeros); constant columns are filled
    with their constant; rows without any observed entry get the column means. The rest goes to
    the method: a subclass returns in ``_method`` what fits a matrix, and inherits ``fit``,
    ``transform``, support for data frames, checks and messages.

    Parameters
    ----------
    missing_values : float, default=nan
        Number that marks a missing entry, besides NaN and None.
    add_indicator : bool, default=False
        Append a column of missing-value indicators for each column with missing entries.
    keep_empty_features : bool, default=False
        Keep columns without any observed entry, filled with zeros.
    random_state : int, RandomState or None, default=None
        Seed of everything random.
    verbose : int, default=0
        1 logs stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    model_ : object or None
        The fitted model; ``model_.complete`` completes new rows. None if no column varies.
    result_ : Result or None
        Objective history, iterations, seconds and stop reason; None if no column varies.
    n_iter_ : int
        Number of iterations of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows whose missing entries their observed entries do not determine.
    held_out_ : HeldOut or None
        ``rows``, ``columns``, ``truth`` and ``completed`` of the observed entries that the fit
        held out to choose its settings; None if it chose nothing.
    statistics_ : ndarray of shape (n_features,)
        Mean of the observed entries of each column; NaN if there are none.
    n_samples_seen_ : int
        Number of rows in the data, also if the fit used only a sample of them.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> isinstance(PMC(), BaseCompleter)
    True
    """

    missing_values: float = np.nan
    add_indicator: bool = False
    keep_empty_features: bool = False
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    model_: Any = field(init=False)  # a Model, or None
    held_out_: HeldOut | None = field(init=False)
    #: Columns with the same number encode one variable, as the indicators of a category do.
    _column_groups: np.ndarray | None = field(init=False, default=None)
    _lies_on: str | None = field(init=False, default=None)  # the GPU that holds the data

    @property
    def _remedy(self) -> str:
        """What to try if a fit did not converge."""
        return "more (max_iter=...) or a larger smoothing"

    def _check_params(self) -> None:
        """Raise if a parameter of the method is invalid, even if there is nothing to fit."""

    def _method(self, shape: tuple[int, int], seed: int) -> MatrixMethod:
        """Return what fits a matrix of this shape."""
        raise NotImplementedError

    @property
    def _groups(self) -> np.ndarray | None:
        """The groups of the columns that the method sees."""
        return None if self._column_groups is None else self._column_groups[self._columns]

    def set_params(self, **params: Any) -> Self:
        """Set parameters; nested ones (``kernel__width``) on a copy of the part they belong to.

        Without the copy they would change for every completer that shares the part. A kernel of
        None counts as ``RBF()``.
        """
        own = self.get_params(deep=False)
        for name in own.keys() & {key.split("__")[0] for key in params if "__" in key}:
            part = RBF() if name == "kernel" and own[name] is None else own[name]
            if isinstance(part, BaseEstimator):
                setattr(self, name, clone(part))
        return super().set_params(**params)

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the surface from the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            NaN (or None, NA, ``missing_values``) where missing.
        y : ignored
            Present for pipelines.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Learn the surface and return X completed; observed entries are returned bit for bit.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            NaN (or None, NA, ``missing_values``) where missing.
        y : ignored
            Present for pipelines.

        Returns
        -------
        ndarray or data frame
            Of the type of X, unless :meth:`set_output` says otherwise.
        """
        matrix, mask, completed = self._fit(X)
        return self._deliver(X, matrix, mask, completed)

    def transform(self, X: Any) -> Any:
        """Complete new rows, each independently of the others.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            NaN (or None, NA, ``missing_values``) where missing.

        Returns
        -------
        ndarray or data frame
            Of the type of X.
        """
        check_is_fitted(self)
        matrix, mask = self._validate(X, reset=False, min_rows=0)
        completed = self._filled(matrix, mask)
        self._complete_rows(completed, mask)
        return self._deliver(X, matrix, mask, completed)

    def _probe(self) -> None:
        """Raise if fitted attributes are inconsistent, as in a file that was tampered with."""
        if hasattr(self, "statistics_"):
            rows, first = np.full((2, self.n_features_in_), np.nan), self._columns[:1]
            rows[:, first] = self.statistics_[first]
            self.transform(rows)

    def _complete_rows(self, completed: np.ndarray, mask: np.ndarray) -> tuple[Any, Any]:
        """Complete rows by the model, in place; return their positions and the model's answer."""
        columns, seen = self._columns, mask[self._part(np.arange(len(mask)), mask)]
        rows = np.flatnonzero(~seen.all(axis=1) & seen.any(axis=1))
        if self.model_ is None or not len(rows):
            return rows, None
        part = self._part(rows, mask)
        given, seen = completed[part], mask[part]
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                done = self.model_.complete(given, seen)
            except np.linalg.LinAlgError:
                done = (np.full_like(given, np.nan),)
            found = done[0]
            lost = ~(np.isfinite(found) | seen).all(axis=1)
            if lost.any():
                far = np.abs(np.where(seen & lost[:, None], self.model_.scaler.apply(given), 0.0))
                row, column = np.unravel_index(np.argmax(far), far.shape)
                raise FarCellError(self, rows[row], columns[column], given[row, column])
        completed[part] = found
        return rows, done

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; by default those seen by ``fit``.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        kept = names[self._kept]
        if not self.add_indicator:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    def _fit(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Learn from the rows of X or a sample of them; return matrix, mask and completion."""
        with all_or_nothing(self), showing(self.verbose):
            self._forget()
            matrix, mask = self._validate(X, reset=True)
            self._lies_on = name_of(X)
            self._check_params()
            most = self.max_training_rows(len(mask))
            if most is None or len(mask) <= most:
                return matrix, mask, self._learn(matrix, mask)
            train = training_rows(mask, most, self._seed())
            self._learn(matrix[train], mask[train])
            self._renumber(train, len(mask))
            return matrix, mask, self._complete_all(matrix, mask)

    def _learn(self, matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Fit the method to the columns that vary; return the rows completed."""
        self._take_columns(matrix, mask)
        completed = self._filled(matrix, mask)
        self.model_, self.result_, self.n_iter_, self.held_out_ = None, None, 0, None
        self._keep(None)
        self.row_determined_ = self._has_entries(mask)
        if not len(self._columns):
            return completed
        rows = np.flatnonzero(self.row_determined_)
        part = self._part(rows, mask)
        given = completed[part]
        fitted = self._method(given.shape, self._seed()).fit(given, mask[part])
        self._keep(fitted)
        if fitted.moved is not None:
            self.residual_ = np.zeros(mask.shape)
            self.residual_[part] = np.where(mask[part], given - fitted.moved, 0)
        if fitted.deviation is not None:
            self.cell_std_ = self._blank_deviation(mask)
            self.cell_std_[part] = fitted.deviation
        if fitted.held_out is not None:
            held, columns = fitted.held_out, self._columns[fitted.held_out.columns]
            self.held_out_ = held._replace(rows=rows[held.rows], columns=columns)
        self.model_, self.result_ = fitted.model, fitted.result
        self.n_iter_ = max(fitted.result.iterations, 1)  # scikit-learn wants at least one
        self.row_determined_[rows] = fitted.determined
        completed[part] = fitted.completed  # now, because ``given`` may be a view of it
        warn_unconverged(fitted.result, self._remedy)
        return completed

    def _keep(self, fitted: Fitted | None) -> None:
        """Set what only this kind of completer knows after a fit; None if no column varies."""

    def max_training_rows(self, n_rows: float = np.inf) -> int | None:
        """Return the maximum number of rows that a fit on ``n_rows`` rows uses; None for all."""
        return None

    def _renumber(self, numbers: np.ndarray, n_rows: int) -> None:
        """Refer to rows by their positions in the data instead of the sample."""
        self.n_samples_seen_ = n_rows
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_._replace(rows=numbers[self.held_out_.rows])

    def _complete_all(self, matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Complete all rows by the model of a sample; set the attributes that describe rows."""
        completed = self._filled(matrix, mask)
        rows, found = self._complete_rows(completed, mask)
        self.row_determined_ = self._has_entries(mask)
        if self.model_ is not None:
            self.cell_std_ = self._blank_deviation(mask)
        if found is not None:
            self.cell_std_[self._part(rows, mask)] = found.std
            self.row_determined_[rows] = found.determined
        return completed

    def _take_columns(self, matrix: np.ndarray, mask: np.ndarray) -> None:
        """Decide which columns are returned, and which the method sees."""
        seen = np.asarray(mask.any(axis=0))
        if not seen.any():
            raise ValueError(
                f"X has no observed entry in its {len(mask)} rows and {len(seen)} columns;"
                " there is nothing to learn from."
            )
        mean, self._spread = column_spread(matrix, mask)
        self.statistics_ = np.where(seen, mean, np.nan)
        self.n_samples_seen_ = len(mask)
        self._kept = np.flatnonzero(seen | self.keep_empty_features)
        varies = np.flatnonzero(seen)
        self._columns = varies[~is_constant(matrix[:, varies], mask[:, varies])]
        if len(self._kept) < len(seen):
            names = ", ".join(map(str, super().get_feature_names_out()[~seen]))
            message = f"Columns {names} have no observed entry and are dropped; "
            warn(message + "keep_empty_features=True keeps them as zeros.", UserWarning)
        if self.add_indicator:
            holes = np.where(mask.all(axis=0), 0.0, np.nan)
            self.indicator_ = MissingIndicator(error_on_new=False).fit(holes[None])

    def _forget(self) -> None:
        """Delete the attributes of an earlier fit."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _part(self, rows: np.ndarray, mask: np.ndarray) -> Any:
        """Return the index of some rows in the columns that vary; a view if these are all."""
        if len(self._columns) < mask.shape[1]:
            return np.ix_(rows, self._columns)
        return rows if len(rows) < len(mask) else slice(None)

    def _has_entries(self, mask: np.ndarray) -> np.ndarray:
        """Return which rows have an observed entry in the columns that vary, if any column does."""
        columns = self._columns if len(self._columns) else slice(None)
        return np.asarray(mask[:, columns].any(axis=1))

    def _blank_deviation(self, mask: np.ndarray) -> np.ndarray:
        """Return the deviations of cells before anything is completed."""
        blank = np.zeros(mask.shape)
        seen = ~np.isnan(self.statistics_)
        blank[:, ~seen] = np.nan
        # A row without observed entries is as uncertain as its columns are wide.
        blank[np.ix_(~mask.any(axis=1), seen)] = self._spread[seen]
        return blank

    def _validate(self, X: Any, *, reset: bool, min_rows: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return X as a matrix, and its mask, True where observed; raise if X is invalid."""
        matrix = check_array(
            to_matrix(X, exact=True),
            dtype=[np.float64, np.float32],
            order="C",  # of any input: the bits must not depend on it
            ensure_all_finite=False,
            ensure_min_samples=min_rows,
            estimator=self,
            input_name="X",
        )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not isinstance(self.missing_values, Real):
            raise ValueError(
                f"missing_values must be a number or NaN, got {self.missing_values!r}; replace "
                "other markers by NaN first."
            )
        return matrix, find_missing(matrix, self.missing_values, LARGEST)

    def _filled(self, matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the rows in float64, with column means in place of missing entries."""
        return np.where(mask, matrix, np.nan_to_num(self.statistics_, nan=0.0))

    def _deliver(self, X: Any, matrix: np.ndarray, mask: np.ndarray, completed: np.ndarray) -> Any:
        """Put the observed entries back, select the columns, return the user's kind of table.

        This is the only place where observed entries return. It overwrites ``completed``.
        """
        np.copyto(completed, matrix, where=mask)
        final = completed.astype(matrix.dtype, copy=False)
        if len(self._kept) < final.shape[1]:
            final = final[:, self._kept]
        if self.add_indicator:
            flags = ~mask[:, self.indicator_.features_]
            final = np.hstack([final, flags.astype(matrix.dtype)])
        own = getattr(self, "_sklearn_output_config", {})
        if own.get("transform", get_config()["transform_output"]) != "default":
            return final  # scikit-learn wraps it
        labels = column_labels(X, self._kept)
        if labels is not None and self.add_indicator:
            labels = [*labels, *self.get_feature_names_out()[len(self._kept) :]]
        return like_input(final, X, labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def prepared(estimator: Any, seed: int | None, verbose: int = 0) -> Any:
    """Return a clone of an estimator, seeded unless it has a seed of its own."""
    if isinstance(estimator, str | type):
        raise TypeError(
            f"An estimator object is needed here, such as PMC() or polycomplete.methods.get("
            f"'pmc-w'), got {estimator!r}."
        )
    estimator = clone(estimator)
    params = estimator.get_params(deep=False)
    if seed is not None and params.get("random_state", seed) is None:
        estimator.set_params(random_state=seed)
    if verbose and "verbose" in params:
        estimator.set_params(verbose=verbose)
    return estimator


def adapt(estimator: Any, owners: np.ndarray, scaled: bool) -> None:
    """Pass on which columns belong together, and that they need no more scaling."""
    if scaled and "scale" in estimator.get_params(deep=False):
        estimator.set_params(scale=None)
    if isinstance(estimator, BaseCompleter) and len(np.unique(owners)) < len(owners):
        estimator._column_groups = owners


def checked(estimator: Any, matrix: np.ndarray, completed: Any) -> np.ndarray:
    """Return an estimator's completion of a matrix; raise if it is not one."""
    completed = np.asarray(completed, dtype=np.float64)
    name = type(estimator).__name__
    if completed.shape != matrix.shape:
        raise ValueError(
            f"{name} returned {completed.shape[1]} columns for {matrix.shape[1]}; switch off what "
            "adds or drops columns (add_indicator)."
        )
    if not np.isfinite(completed).all():
        raise ValueError(f"{name} left entries missing or infinite; choose another method.")
    return completed
