"""The exact engines' surface: all completed rows, and completing new ones against them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polycomplete import tuning
from polycomplete._machine import blas_threads, blas_threads_for
from polycomplete.exact import WIDEST
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.lift import row_energy
from polycomplete.recipe import Learned, Recipe, Trial, solve
from polycomplete.rows import LOOSE, RowEnergy, candidates, deviations_in_place, evenly
from polycomplete.scaling import ColumnScaler
from polycomplete.solvers.stages import stages

__all__ = ["Surface", "fit_surface"]


@dataclass(frozen=True)
class Surface:
    """A learned surface: complete rows, and what is needed to complete further ones.

    Attributes
    ----------
    scaler : ColumnScaler
        From the user's units to those of ``rows``.
    kernel : Kernel
        Resolved.
    rows : ndarray of shape (n, m)
        The completed training rows, scaled.
    smoothing : float
        Relative to the mean of k(x, x).
    typical : float
        The median energy of a training row given the others.
    """

    scaler: ColumnScaler
    kernel: Kernel
    rows: np.ndarray
    smoothing: float
    typical: float

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are ambiguous."""
        energies = self._energies
        with blas_threads(1):  # several share rows in ways that change their bits
            scaled = self.scaler.apply(np.where(mask, X, self.scaler.centre))
            found = candidates(energies, scaled, mask, self.rows, k=10, steps=6)
            unit = typical_distance(self.rows, np.ones_like(self.rows, dtype=bool))
            completed, ambiguous = found.blend(self.typical, unit)
            return self.scaler.undo(completed), ambiguous

    def distance(self, X: np.ndarray) -> np.ndarray:
        """Return how far complete rows lie from the surface: their energy, in usual energies."""
        least = self.smoothing * float(np.mean(self.kernel.diagonal(self.rows)))
        energy = self._energies[-1]
        with blas_threads(1):
            E = evenly(energy, self.scaler.apply(X))
        return np.maximum(E, 0) / max(self.typical, least)

    @cached_property
    def _energies(self) -> list[RowEnergy]:
        """The models a new row walks down, learned when the first new row comes."""
        unit = float(np.mean(self.kernel.diagonal(self.rows)))
        ladder = stages(max(1e-3, self.smoothing), self.smoothing)[::-2][::-1]
        with blas_threads_for(len(self.rows)):
            return [row_energy(self.kernel, self.rows, unit * s, in_place=False) for s in ladder]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_energies"}


def fit_surface(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> Learned:
    """Complete a matrix with an engine that sees all rows at once.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        float64; missing entries may hold anything.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    recipe : Recipe
        The method.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from polycomplete import RBF, Continuation, Exact, Schatten, datasets, masks, metrics
    >>> from polycomplete.recipe import Recipe
    >>> X = datasets.make_polynomial_manifold(80, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> recipe = Recipe(RBF(), Schatten(), Exact(), Continuation(), "auto", "auto", None, seed=0)
    >>> learned = fit_surface(X, mask, recipe)
    >>> metrics.rse(X, learned.completed, mask) < 0.1, learned.scale
    (True, 'sqrt')
    """
    with blas_threads_for(len(X)):
        recipe.engine.check(*X.shape)
        scaler, problem, result, chosen = solve(X, mask, recipe)
        kernel = result.kernel or problem.kernel
        rows, gamma = result.X, chosen.smoothing * problem.unit
        energy = row_energy(kernel, rows, gamma)
        typical = float(np.median(energy.left_out()))
        loose, spread = result.ambiguous, np.zeros_like(rows)
        if X.shape[1] <= WIDEST:
            unit, budget = typical_distance(rows, np.ones_like(mask)), max(typical, gamma)
            spread, reach = deviations_in_place(energy, rows, mask, budget)
            loose = loose | (reach > LOOSE * unit)
            spread *= _calibration(X, chosen.trial, kernel, gamma)
        surface = Surface(scaler, kernel, rows, chosen.smoothing, typical)
        completed = scaler.undo(rows)
        held_out = chosen.trial and chosen.trial.held_out(X)
        spread = spread * scaler.scale
        return Learned(surface, completed, result, chosen.scale, ~loose, spread, held_out)


def _calibration(X: np.ndarray, trial: Trial | None, kernel: Kernel, gamma: float) -> float:
    """Return what deviations must be multiplied by to fit the entries that choosing had hidden."""
    if trial is None:
        return 1.0
    energy = row_energy(kernel, trial.found, gamma)
    budget = max(float(np.median(energy.left_out())), gamma)
    spread, _ = deviations_in_place(energy, trial.found, trial.visible, budget)
    errors = trial.found - trial.scaler.apply(X)
    return tuning.calibration(errors[trial.hidden], spread[trial.hidden])
