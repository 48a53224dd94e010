"""The scikit-learn estimator: validate, hand over to the surface, put the observed entries back."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycomplete.base import BaseCompleter, Fitted
from polycomplete.exact import Exact
from polycomplete.kernels import RBF, Kernel
from polycomplete.lift import Lift
from polycomplete.penalties import Ramp, Schatten
from polycomplete.solvers import AdamPlus, Continuation
from polycomplete.surface import Recipe, Surface, fit_surface

__all__ = ["Completer"]


class Completer(BaseCompleter):
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
    engine : {"auto", "exact", "lift"}, Exact or Lift, default="auto"
        How the problem is evaluated: on the Gram matrix of all rows, or, for a polynomial kernel,
        on its monomials. "auto" takes the latter where it is cheaper.
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
    model_ : Surface or None
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
        self.smoothing = smoothing
        self.noise = noise
        self.denoise = denoise
        super().__init__(
            scale=scale,
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
            random_state=random_state,
            verbose=verbose,
        )

    model_: Surface | None
    scale_: str | None
    residual_: np.ndarray

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

    def _fit_matrix(self, X: np.ndarray, mask: np.ndarray, seed: int) -> Fitted:
        surface, completed, result, self.scale_ = fit_surface(X, mask, self._recipe(seed))
        self.smoothing_ = surface.smoothing
        return Fitted(surface, completed, result, surface.determined)

    def _kept_as_observed(self, mask: np.ndarray) -> np.ndarray:
        return np.zeros_like(mask) if self.denoise and self.noise is not None else mask

    def _recipe(self, seed: int) -> Recipe:
        solver = self._default_solver() if self.solver is None else self.solver
        return Recipe(
            kernel=self._kernel(),
            penalty=self._penalty(solver),
            engine=_engine(self.engine),
            solver=solver,
            scale=self.scale,
            smoothing=self.smoothing,
            noise=self.noise,
            seed=seed,
        )

    def _kernel(self) -> Kernel:
        return self.kernel

    def _default_solver(self) -> Any:
        return Continuation()

    def _penalty(self, solver: object) -> Schatten:
        return Schatten(weights=Ramp()) if self.penalty is None else self.penalty


def _engine(engine: str | Exact) -> Exact | None:
    """Return the engine; None leaves it to the size of the data."""
    if isinstance(engine, Exact):
        return engine
    named = {"auto": None, "exact": Exact(), "lift": Lift()}
    if isinstance(engine, str) and engine in named:
        return named[engine]
    if engine == "landmark":
        raise ValueError(
            'engine="landmark" is not available yet; use "exact", and for many rows fit on a few '
            "thousand of them and transform the others."
        )
    raise ValueError(
        f'engine must be "auto", "exact", "lift", or an Exact or Lift object, got {engine!r}.'
    )
