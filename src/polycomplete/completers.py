"""The scikit-learn estimator: validate, hand over to the surface, put the observed entries back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polycomplete._machine import chosen
from polycomplete.base import Fitted
from polycomplete.blockwise import fit_landmarks
from polycomplete.devices import name_of
from polycomplete.exact import Exact
from polycomplete.keeping import all_or_nothing
from polycomplete.kernels import RBF, Kernel
from polycomplete.landmarks import Landmark, Sweeps
from polycomplete.lift import Lift, pick
from polycomplete.model import SurfaceModel
from polycomplete.penalties import Ramp, Schatten
from polycomplete.recipe import Recipe, walk
from polycomplete.solvers import AdamPlus, Continuation
from polycomplete.streams import BlockCompleter
from polycomplete.surface import fit_surface

__all__ = ["Completer"]

#: Beyond this many rows "auto" takes the landmark engine (``make bench-scale`` measures both).
MANY = 400


class Completer(BlockCompleter):
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
    kernel : Kernel, optional
        What "close" means; ``RBF()`` by default.
    penalty : Schatten, optional
        How the spectrum of the Gram matrix is charged; ``Schatten(p=-0.5, weights=Ramp())`` by
        default.
    engine : {"auto", "exact", "landmark", "lift"}, or such an object, default="auto"
        How the problem is evaluated: on the Gram matrix of all rows (:class:`~polycomplete.Exact`,
        cubic in the rows), by landmarks (:class:`~polycomplete.Landmark`, linear), or, for a
        polynomial kernel, on its monomials (:class:`~polycomplete.Lift`). "auto" takes the exact
        engine for small data and what is cheaper for larger.
    solver : Continuation, Sweeps or AdamPlus, optional
        How the missing entries move: by default :class:`~polycomplete.solvers.Continuation`, with
        the landmark engine :class:`~polycomplete.landmarks.Sweeps`.
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
        units. By default they are kept. The answer has them as given in any case; the moved
        values are ``X - completer.residual_``.
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
    model_ : SurfaceModel or None
        The learned surface.
    engine_ : Exact, Lift or Landmark
        The engine used.
    cell_std_ : ndarray of shape (n_samples, n_features)
        Estimated standard deviation of each completed cell, 0 where observed: from the curvature
        of the row's energy, scaled so that 68 % of the entries that "auto" hid lie within it. A
        first estimate; in very wide rows one number for all holes, in the units of the scaled
        columns. NaN in columns without any observed entry.
    scale_ : str or None
        The scaling used.
    smoothing_ : float
        The smoothing used.
    n_iter_ : int
        Iterations of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows that their observed entries do not determine.
    residual_ : ndarray of shape (n_samples, n_features)
        With ``noise``: observed minus moved value, so that ``fit_transform(X) - residual_`` is
        the denoised matrix; 0 on missing entries.
    held_out_ : HeldOut or None
        ``rows``, ``columns``, ``truth`` and ``completed`` of observed entries that the fit had
        hidden to choose its settings; None where it chose nothing.
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
        kernel: Kernel | None = None,
        penalty: Schatten | None = None,
        engine: str | Exact | Landmark = "auto",
        solver: Continuation | Sweeps | AdamPlus | None = None,
        scale: str | None = "auto",
        smoothing: float | str = "auto",
        noise: float | None = None,
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
        self.smoothing = smoothing
        self.noise = noise
        super().__init__(
            scale=scale,
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
            random_state=random_state,
            verbose=verbose,
        )

    model_: SurfaceModel | None
    engine_: Exact | Landmark
    scale_: str | None
    residual_: np.ndarray
    _lies_on: str | None = None  # the card that holds the data

    def _learn(self, completed: np.ndarray, mask: np.ndarray) -> None:
        self.scale_, self.smoothing_ = None, np.nan
        if hasattr(self, "residual_"):
            del self.residual_  # of an earlier fit
        given = completed if self.noise is None else completed.copy()
        super()._learn(completed, mask)
        if self.noise is not None:
            self.residual_ = np.where(mask, given - completed, 0)

    def _check_params(self) -> None:
        self._recipe(seed=0)

    @property
    def _remedy(self) -> str:
        solver = self.solver
        if solver is None:
            solver = Sweeps() if isinstance(self.engine_, Landmark) else self._default_solver()
        limit = "rounds" if isinstance(solver, Continuation) else "max_iter"
        return f"more (solver={type(solver).__name__}({limit}=...)) or a larger smoothing"

    @all_or_nothing
    def _fit(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self._lies_on = name_of(X)
        return super()._fit(X)

    def _model(self) -> Any:
        """Return the model; threads, memory and device as the engine says now."""
        model, engine = self.model_, self.engine
        if model is None or not isinstance(engine, Landmark):
            return model
        engine = clone(engine)
        engine.device = engine.device or model.engine.device
        return replace(model, engine=engine)

    def _fit_matrix(self, X: np.ndarray, mask: np.ndarray, seed: int) -> Fitted:
        recipe = self._recipe(seed, X.shape)
        if self._column_groups is not None:
            recipe = replace(recipe, groups=self._column_groups[self._columns])
        if isinstance(recipe.engine, Landmark) and recipe.engine.device is None:
            recipe = replace(recipe, engine=clone(recipe.engine).set_params(device=self._lies_on))
        fit = fit_landmarks if isinstance(recipe.engine, Landmark) else fit_surface
        learned = fit(X, mask, recipe)
        surface, self.scale_ = learned.surface, learned.scale
        self.engine_, self.smoothing_ = recipe.engine, surface.smoothing
        return Fitted(
            model=surface,
            completed=learned.completed,
            result=learned.result,
            determined=learned.determined,
            deviation=learned.deviation,
            held_out=learned.held_out,
        )

    def _most_rows(self, n_rows: int, n_columns: int) -> int | None:
        engine = self._engine(self._kernel(), n_rows, n_columns)
        return int(engine.max_rows) if isinstance(engine, Landmark) else None

    def path(self, X: Any) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the smoothing and X completed, from coarse to fine, without fitting.

        One way shows what a fit with each smoothing would roughly give; ``smoothing="auto"``
        chooses on it by hidden entries, and other criteria can be followed along it as well.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Every column with observed entries that differ, every row with an observed entry.

        Yields
        ------
        smoothing : float
        completed : ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from polycomplete import PMC
        >>> t = np.linspace(-1, 1, 60)
        >>> arc = np.c_[t, t**2, t**3]
        >>> arc[::3, 1] = np.nan
        >>> for smoothing, completed in PMC(random_state=0).path(arc):
        ...     error = np.abs(completed[:, 1] - t**2).max()
        >>> bool(error < 0.01)
        True
        """
        matrix, mask = clone(self)._validate(X, reset=True)
        given = np.where(mask, matrix, 0.0).astype(np.float64)
        yield from walk(given, mask, self._recipe(self._seed(), given.shape))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return how well each row lies on the learned surface: the lower, the more of an outlier.

        Minus the row's energy, which is its squared distance from the surface in feature space, in
        units of the usual energy of a training row: about −1 for a row like those, −1000 for one
        that has no business here. Rows with holes are completed first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with or without holes.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from polycomplete import PMC
        >>> t = np.linspace(-1, 1, 60)
        >>> arc = np.c_[t, t**2, t**3]
        >>> arc[::3, 1] = np.nan
        >>> scores = PMC(random_state=0).fit(arc).score_samples([[0.5, 0.25, 0.125], [0.5, 1, -1]])
        >>> bool(scores[0] > 100 * scores[1])
        True
        """
        check_is_fitted(self)
        matrix, mask = self._validate(X, reset=False)
        if self.model_ is None:
            return np.zeros(len(matrix))
        completed = chosen(mask, matrix, self._fill())
        self._complete_rows(completed, mask)
        return -self._model().distance(completed[:, self._columns])

    def _recipe(self, seed: int, shape: tuple[int, ...] = (1, 1)) -> Recipe:
        kernel = self._kernel()
        engine = self._engine(kernel, *shape)
        solver = self.solver
        if solver is None:
            landmark = isinstance(engine, Landmark)
            solver = Sweeps(random_state=seed) if landmark else self._default_solver()
        if isinstance(engine, Landmark) != isinstance(solver, Sweeps):
            raise TypeError(
                "The landmark engine goes with the solver Sweeps, and Sweeps with no other engine; "
                f"got engine={engine!r} and solver={solver!r}. Leave one of them out."
            )
        return Recipe(
            kernel=kernel,
            penalty=self._penalty(solver),
            engine=engine,
            solver=solver,
            scale=self.scale,
            smoothing=self.smoothing,
            noise=self.noise,
            seed=seed,
        )

    def _engine(self, kernel: Kernel, n_rows: int, n_columns: int) -> Exact | Landmark:
        """Return the engine; "auto" leaves it to the size of the data."""
        if isinstance(self.engine, Exact | Landmark):
            return self.engine
        named: dict[str, Exact | Landmark] = {
            "exact": Exact(),
            "lift": Lift(),
            "landmark": Landmark(),
        }
        if isinstance(self.engine, str) and self.engine in named:
            return named[self.engine]
        if self.engine != "auto":
            raise ValueError(
                'engine must be "auto", "exact", "landmark", "lift", or an Exact, Landmark or Lift '
                f"object, got {self.engine!r}."
            )
        if isinstance(self.solver, Sweeps):
            return Landmark()
        suits = self.solver is None and isinstance(self._default_solver(), Continuation)
        if suits and self.noise is None and n_rows > MANY:
            return Landmark()
        return pick(None, kernel, n_rows, n_columns)

    def _kernel(self) -> Kernel:
        return RBF() if self.kernel is None else self.kernel

    def _default_solver(self) -> Any:
        return Continuation()

    def _penalty(self, solver: object) -> Schatten:
        return Schatten(weights=Ramp()) if self.penalty is None else self.penalty
