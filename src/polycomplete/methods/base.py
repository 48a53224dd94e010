"""The shared part of methods with their own solver: choose, solve, complete new rows."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from polycomplete._resources import blas_threads, blas_threads_for
from polycomplete.base import BaseCompleter
from polycomplete.model_selection import Search
from polycomplete.rows import Completion
from polycomplete.scaling import ColumnScaler, refuse_unsquarable
from polycomplete.solvers.base import PathSolver, with_time_left
from polycomplete.surface import Fitted, MatrixMethod, Model

__all__ = ["PathCompleter", "Scaled"]


@dataclass(frozen=True)
class Scaled:
    """A model of scaled rows, in the user's units.

    Attributes
    ----------
    scaler, model : ColumnScaler, Model
        The scaling of the columns, and the model of the scaled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete import LRMC
    >>> fitted = LRMC().fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    >>> fitted.model_.complete(np.array([[5.0, 0.0]]), np.array([[True, False]]))[0].round(3)
    array([[ 5., 50.]])
    """

    scaler: ColumnScaler
    model: Model

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row independently; return the rows and which are not determined."""
        with blas_threads(1):  # with several threads, the bits of a row depend on the others
            completed, loose = self.model.complete(self.scaler.apply_observed(X, mask), mask)
        return self.scaler.undo(completed), loose


@dataclass(frozen=True)
class PathMethod:
    """Fit a matrix by a solver that has a path from coarse to fine."""

    solver: PathSolver
    scale: str | None
    seed: int
    groups: np.ndarray | None = None

    def fit(self, X: np.ndarray, mask: np.ndarray) -> Fitted:
        """Choose on held-out entries, and solve."""
        started = time.perf_counter()
        with blas_threads_for(min(X.shape)):
            search = Search(self.solver, self.scale, self.seed, self.groups)
            for kind in search.scales(X, mask):
                scaler = ColumnScaler.fit(X, mask, kind, self.groups)
                refuse_unsquarable(scaler.apply_observed(X, mask), -1.0, 1e152)
            chosen = search.select(X, mask)
            scaler = ColumnScaler.fit(X, mask, chosen.scale, self.groups)
            scaled = scaler.apply_observed(X, mask)
            left = with_time_left(self.solver, started)
            model, result = left.solve(scaled, mask, chosen.smoothing, chosen.init)
        held = chosen.held_out(X, [Completion.blank(trial.found) for trial in chosen.trials])
        return Fitted(
            model=Scaled(scaler, model),
            completed=scaler.undo(result.X),
            result=result,
            determined=~result.ambiguous,
            held_out=held,
            scale=chosen.scale,
            smoothing=chosen.smoothing,
        )


class PathCompleter(BaseCompleter):
    """A completer with its own solver: a path from coarse to fine, judged on held-out entries.

    A subclass returns a :class:`~polycomplete.solvers.PathSolver` in ``_solver(shape, seed)``.

    Parameters
    ----------
    missing_values : float, default=nan
        Number that marks a missing entry, besides NaN and None.
    add_indicator, keep_empty_features : bool, default=False
        Append indicators of missing entries; keep columns without observed entries, as zeros.
    random_state : int, RandomState or None, default=None
        Seed of everything random.
    verbose : int, default=0
        1 logs stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    model_, result_, held_out_ : Scaled, Result, HeldOut, or None
        The fitted model, how the solver ran, and the held-out entries.
    n_iter_, row_determined_, statistics_, n_samples_seen_, n_features_in_, feature_names_in_ : any
        As in :class:`~polycomplete.base.BaseCompleter`.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> isinstance(LRMC(), PathCompleter)
    True
    """

    #: How to scale columns, for a method with such a parameter.
    scale: str | None = None

    def _solver(self, shape: tuple[int, int], seed: int) -> PathSolver:
        """Return the solver for a matrix of this shape."""
        raise NotImplementedError

    def _check_params(self) -> None:
        ColumnScaler.fit(np.ones((1, 1)), np.ones((1, 1), dtype=bool), self.scale)
        self._solver((1, 1), 0).check()

    def _method(self, shape: tuple[int, int], seed: int) -> MatrixMethod:
        return PathMethod(self._solver(shape, seed), self.scale, seed, self._groups)
