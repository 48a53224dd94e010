"""What methods with a solver of their own share: scale, solve, complete new rows by the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polycomplete._resources import blas_threads, blas_threads_for
from polycomplete.base import BaseCompleter
from polycomplete.model import Fitted, Model
from polycomplete.scaling import ColumnScaler, refuse_unsquarable
from polycomplete.solvers import Result

__all__ = ["Scaled", "SolvedCompleter"]


@dataclass(frozen=True)
class Scaled:
    """A model of scaled rows, in the user's units.

    Attributes
    ----------
    scaler : ColumnScaler
        From the user's units to those of the model.
    model : Model
        What was learned.

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
        """Complete each row by itself; return the rows and which of them are not determined."""
        with blas_threads(1):  # several share rows in ways that change their bits
            completed, loose = self.model.complete(self.scaler.apply_observed(X, mask), mask)
        return self.scaler.undo(completed), loose


class SolvedCompleter(BaseCompleter):
    """A completer whose ``_solver()`` has ``solve(X, mask, seed)``, returning model and result.

    The parameters are those of :class:`~polycomplete.base.BaseCompleter`.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> isinstance(LRMC(), SolvedCompleter)
    True
    """

    def _solver(self, shape: tuple[int, int]) -> Any:
        """Return what solves a matrix of this shape."""
        raise NotImplementedError

    def _solve(self, X: np.ndarray, mask: np.ndarray, seed: int) -> tuple[Model, Result]:
        """Solve a scaled matrix."""
        return self._solver(X.shape).solve(X, mask, seed)

    def _check_params(self) -> None:
        ColumnScaler.fit(np.ones((1, 1)), np.ones((1, 1), dtype=bool), self.scale)
        self._solver((1, 1))

    def _fit_matrix(self, X: np.ndarray, mask: np.ndarray, seed: int) -> Fitted:
        scaler = ColumnScaler.fit(X, mask, self.scale)
        scaled = scaler.apply_observed(X, mask)
        refuse_unsquarable(scaled, -1.0, 1e152)
        with blas_threads_for(min(X.shape)):
            model, result = self._solve(scaled, mask, seed)
        return Fitted(Scaled(scaler, model), scaler.undo(result.X), result, ~result.ambiguous)
