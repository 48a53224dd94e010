"""The scikit-learn estimator: validate, hand over to the surface, put the observed entries back."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from polycomplete._messages import showing, warn_dropped, warn_unconverged
from polycomplete.exact import Exact
from polycomplete.frames import column_labels, find_missing, like_input, to_matrix
from polycomplete.kernels import RBF, Kernel
from polycomplete.penalties import Ramp, Schatten
from polycomplete.scaling import column_spread, is_constant
from polycomplete.solvers import AdamPlus, Continuation
from polycomplete.surface import Recipe, fit_surface

__all__ = ["Completer"]


class Completer(TransformerMixin, BaseEstimator):
    """Complete a matrix by making its rows lie on a low-dimensional curved surface.

    The general method: any kernel, penalty, engine and solver. :class:`~polycomplete.PMC` and
    :class:`~polycomplete.NLMC` are compositions of it.

    Columns without any observed entry are dropped (or kept as zeros); constant columns are filled
    with their constant; rows without any observed entry get the column means. Everything else is
    completed jointly by ``fit``, and row by row by ``transform``: the answer for a new row does not
    depend on which other rows come along. A training row given to ``transform`` is completed anew
    against the fitted rows, itself among them: on data that fit a surface it comes back as from
    ``fit_transform`` up to 1 % of a column's spread where its observed entries determine it; on
    noisy tables, where many completions are about as good, the two may differ by some tenths.

    Parameters
    ----------
    kernel : Kernel, default=RBF()
        What "close" means.
    penalty : Schatten, default=Schatten(p=-0.5, weights=Ramp())
        How the spectrum of the Gram matrix is charged. None is this default.
    engine : {"auto", "exact"} or Exact, default="auto"
        How the problem is evaluated.
    solver : Continuation or AdamPlus, optional
        How the missing entries move; :class:`~polycomplete.solvers.Continuation` by default.
    scale : {"auto", "standard", "sqrt", "range"} or None, default="auto"
        How columns are scaled, from their observed entries. "sqrt" divides by the square root of
        the standard deviation. "auto" takes "sqrt" for columns of similar spread and otherwise
        chooses between "standard" and "sqrt" by hiding observed entries (with AdamPlus, which
        gives no path to follow, it takes "standard").
    smoothing : "auto" or float, default="auto"
        The last smoothing γ, relative to the mean of k(x, x): how far from the surface rows may
        stay. It plays the part of a noise level. "auto" chooses it by hiding observed entries.
    noise : float, optional
        λ of the noisy formulation: observed entries may move and pay λ/2 (x̂ − x)² in scaled
        units. By default they are kept.
    denoise : bool, default=False
        With ``noise``: ``fit_transform`` returns the moved values of the observed entries too;
        ``transform`` never moves what was observed.
    missing_values : float, default=nan
        A number that stands for a missing entry, besides NaN and None.
    add_indicator : bool, default=False
        Append columns that say which entries were missing.
    keep_empty_features : bool, default=False
        Keep columns without any observed entry, as zeros.
    random_state : int, RandomState or None, default=None
        Chooses the entries that "auto" hides.
    verbose : int, default=0
        1 shows stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    result_ : Result or None
        Objective history, iterations, seconds and stop reason; None where nothing varied.
    surface_ : Surface or None
        The learned surface.
    scale_ : str or None
        The scaling used.
    smoothing_ : float
        The smoothing used.
    n_iter_ : int
        Iterations of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows that their observed entries do not determine.
    residual_ : ndarray of shape (n_samples, n_features)
        With ``noise``: observed minus moved value; 0 on missing entries.
    statistics_ : ndarray of shape (n_features,)
        Mean of the observed entries of each column; NaN where there is none.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, where X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete import Completer
    >>> t = np.linspace(-1, 1, 60)
    >>> X = np.c_[t, t**2, t**3]
    >>> X[::3, 1] = np.nan
    >>> completed = Completer(random_state=0).fit_transform(X)
    >>> bool(np.abs(completed[:, 1] - t**2).max() < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Kernel = RBF(),
        penalty: Schatten | None = None,
        engine: str | Exact = "auto",
        solver: Continuation | AdamPlus | None = None,
        scale: str | None = "auto",
        smoothing: float | str = "auto",
        noise: float | None = None,
        denoise: bool = False,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.penalty = penalty
        self.engine = engine
        self.solver = solver
        self.scale = scale
        self.smoothing = smoothing
        self.noise = noise
        self.denoise = denoise
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters, nested ones (``kernel__width``) on a copy of the part they belong to.

        Without the copy, setting a parameter of the default kernel would set it for everybody.
        """
        for name in {key.split("__")[0] for key in params if "__" in key}:
            if isinstance(getattr(self, name, None), BaseEstimator):
                setattr(self, name, clone(getattr(self, name)))
        return super().set_params(**params)

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the surface from the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            NaN (or None, NA, ``missing_values``) where missing.
        y : ignored
            For pipelines.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Learn the surface and return X completed; observed entries come back bit-identical.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            NaN (or None, NA, ``missing_values``) where missing.
        y : ignored
            For pipelines.

        Returns
        -------
        ndarray or data frame
            As X; what :meth:`set_output` says, where it was called.
        """
        matrix, mask, completed = self._fit(X)
        keep = ~mask if self.denoise and self.noise is not None else None
        return self._deliver(X, matrix, mask, completed, keep)

    def transform(self, X: Any) -> Any:
        """Complete new rows, each by itself, against the fitted ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows with holes.

        Returns
        -------
        ndarray or data frame
        """
        check_is_fitted(self)
        matrix, mask = self._validate(X, reset=False)
        completed = np.where(mask, matrix, self._fill()).astype(np.float64)
        columns = self._columns
        rows = np.flatnonzero(~mask[:, columns].all(axis=1) & mask[:, columns].any(axis=1))
        if self.surface_ is not None and len(rows):
            part = np.ix_(rows, columns)
            completed[part] = self.surface_.complete(completed[part], mask[part])[0]
        return self._deliver(X, matrix, mask, completed)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that come back.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; those seen by ``fit`` by default.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = _feature_names(self, input_features)
        kept = names[self._kept]
        if not self.add_indicator:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    def _fit(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        matrix, mask = self._validate(X, reset=True)
        if not mask.any():
            raise ValueError(
                f"X has no observed entry in its {len(matrix)} rows and {matrix.shape[1]} columns;"
                " there is nothing to learn from."
            )
        seen = mask.any(axis=0)
        self.statistics_ = np.full(matrix.shape[1], np.nan)
        self.statistics_[seen] = column_spread(matrix[:, seen], mask[:, seen])[0]
        constant = np.ones_like(seen)
        constant[seen] = is_constant(matrix[:, seen], mask[:, seen])
        self._kept = np.flatnonzero(seen | self.keep_empty_features)
        self._columns = np.flatnonzero(seen & ~constant)
        if len(self._kept) < matrix.shape[1]:
            warn_dropped([str(name) for name in _feature_names(self, None)[~seen]])
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(np.where(mask, 0.0, np.nan))
        completed = np.where(mask, matrix, self._fill()).astype(np.float64)
        with showing(self.verbose):
            self._learn(completed, mask, self._recipe())
        return matrix, mask, completed

    def _learn(self, completed: np.ndarray, mask: np.ndarray, recipe: Recipe) -> None:
        """Fit the surface to the columns that vary; write into ``completed``."""
        self.surface_, self.result_, self.n_iter_ = None, None, 0
        self.scale_, self.smoothing_ = None, np.nan
        varying = mask[:, self._columns].any(axis=1) | (len(self._columns) == 0)
        self.row_determined_ = np.asarray(mask.any(axis=1) & varying)
        if self.noise is not None:
            self.residual_ = np.zeros_like(completed)
        elif hasattr(self, "residual_"):
            del self.residual_  # of an earlier fit
        rows = np.flatnonzero(mask[:, self._columns].any(axis=1))
        if len(self._columns) == 0:
            return
        part = np.ix_(rows, self._columns)
        given, seen = completed[part], mask[part]
        self.surface_, found, result, self.scale_ = fit_surface(given, seen, recipe)
        completed[part] = found
        self.result_, self.n_iter_ = result, result.iterations
        self.smoothing_ = self.surface_.smoothing
        self.row_determined_[rows] &= self.surface_.determined
        if self.noise is not None:
            self.residual_[part] = np.where(seen, given - found, 0)
        warn_unconverged(result)

    def _recipe(self) -> Recipe:
        solver = Continuation() if self.solver is None else self.solver
        return Recipe(
            kernel=self.kernel,
            penalty=self._penalty(solver),
            engine=_engine(self.engine),
            solver=solver,
            scale=self.scale,
            smoothing=self.smoothing,
            noise=self.noise,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _penalty(self, solver: object) -> Schatten:
        return Schatten(weights=Ramp()) if self.penalty is None else self.penalty

    def _validate(self, X: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        matrix = check_array(
            to_matrix(X),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            estimator=self,
            input_name="X",
        )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not isinstance(self.missing_values, Real):
            raise ValueError(
                f"missing_values must be a number or NaN, got {self.missing_values!r}; replace "
                "other markers by NaN first."
            )
        return matrix, find_missing(matrix, self.missing_values)

    def _fill(self) -> np.ndarray:
        """Return what stands in a column where nothing better is known."""
        return np.nan_to_num(self.statistics_, nan=0.0)

    def _deliver(
        self,
        X: Any,
        matrix: np.ndarray,
        mask: np.ndarray,
        completed: np.ndarray,
        moved: np.ndarray | None = None,
    ) -> Any:
        """Put the observed entries back, drop what is dropped, return the user's kind of table."""
        final = completed.astype(matrix.dtype)
        if moved is None:
            final[mask] = matrix[mask]
        final = final[:, self._kept]
        if self.add_indicator:
            flags = self.indicator_.transform(np.where(mask, 0.0, np.nan))
            final = np.hstack([final, flags.astype(matrix.dtype)])
        own = getattr(self, "_sklearn_output_config", {})
        if own.get("transform", get_config()["transform_output"]) != "default":
            return final  # scikit-learn wraps it
        labels = column_labels(X, self._kept)
        if labels is not None and self.add_indicator:
            labels = [*labels, *self.get_feature_names_out()[len(self._kept) :]]
        return final if labels is None else like_input(final, X, labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _engine(engine: str | Exact) -> Exact:
    if isinstance(engine, Exact):
        return engine
    if engine in ("auto", "exact"):
        return Exact()
    if engine == "landmark":
        raise ValueError(
            'engine="landmark" is not available yet; use "exact", and for many rows fit on a few '
            "thousand of them and transform the others."
        )
    raise ValueError(f'engine must be "auto", "exact" or an Exact object, got {engine!r}.')


def _feature_names(estimator: Completer, given: Any) -> np.ndarray:
    known = getattr(estimator, "feature_names_in_", None)
    if given is None:
        default = [f"x{j}" for j in range(estimator.n_features_in_)]
        return np.asarray(default if known is None else known, dtype=object)
    given = np.asarray(given, dtype=object)
    if known is not None and not np.array_equal(known, given):
        raise ValueError("input_features is not equal to feature_names_in_")
    if len(given) != estimator.n_features_in_:
        raise ValueError(
            f"input_features should have length equal to number of features "
            f"({estimator.n_features_in_}), got {len(given)}"
        )
    return given
