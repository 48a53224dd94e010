"""The surface of all completed rows, and completing new ones against them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from polycomplete._resources import blas_threads, blas_threads_for
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.model_selection import Trial
from polycomplete.recipe import Learned, Recipe
from polycomplete.rows import (
    LOOSE,
    RowEnergy,
    Span,
    bring_back,
    candidates,
    deviations_in_place,
    evenly,
)
from polycomplete.scaling import ColumnScaler
from polycomplete.solvers.base import stages
from polycomplete.solvers.lift import row_energy

#: Usual energies of a row: one with more is far from the surface.
DOUBT = 100.0


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
    span : Span
        The observed range of each column, scaled.
    """

    scaler: ColumnScaler
    kernel: Kernel
    rows: np.ndarray
    smoothing: float
    typical: float
    span: Span

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are ambiguous."""
        assert self._energies  # learned now, by as many threads as there are
        with blas_threads(1):  # several share rows in ways that change their bits
            scaled = self.scaler.apply(np.where(mask, X, self.scaler.centre))
            completed, ambiguous = self._find(scaled, mask)
            outside, wild = self.bring_back(completed, mask)
            return self.scaler.undo(completed), ambiguous | outside | wild

    def bring_back(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete scaled rows that ran away once more, at coarser and coarser smoothings."""
        least = self.smoothing * float(np.mean(self.kernel.diagonal(self.rows)))

        def doubtful(rows: np.ndarray) -> np.ndarray:
            return np.asarray(evenly(self._energies[-1], rows) > DOUBT * max(self.typical, least))

        ways = [lambda who, level=level: self._find(X[who], mask[who], level)[0]
                for level in range(len(self._energies), 0, -1)]  # fmt: skip
        return bring_back(self.span, X, mask, doubtful, ways)

    def _find(
        self, X: np.ndarray, mask: np.ndarray, level: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Complete scaled rows, down to one of the models; say which are ambiguous."""
        found = candidates(self._energies[:level], X, mask, self.rows, k=10, steps=6)
        unit = typical_distance(self.rows, np.ones_like(self.rows, dtype=bool))
        return found.blend(self.typical, unit)

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
    """Complete a matrix with a solver that sees all rows at once.

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
    >>> from polycomplete import RBF, Exact, Schatten, datasets, masks, metrics
    >>> from polycomplete.recipe import Recipe
    >>> X = datasets.make_polynomial_manifold(80, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> recipe = Recipe(RBF(), Schatten(), Exact(), "auto", "auto", None, seed=0)
    >>> learned = fit_surface(X, mask, recipe)
    >>> metrics.rse(X, learned.completed, mask) < 0.1, learned.scale
    (True, 'sqrt')
    """
    with blas_threads_for(len(X)):
        scaler, problem, result, chosen = recipe.solve(X, mask)
        kernel = result.kernel or problem.kernel
        rows, gamma = result.X, chosen.smoothing * problem.unit
        span = Span.of(problem.X, mask)
        outside, wild = np.zeros((2, len(X)), dtype=bool)
        strays = span.strays(rows, mask)
        if strays.any() and not strays.all():
            rows, kept = rows.copy(), rows[~strays]
            typical = float(np.median(row_energy(kernel, kept, gamma).left_out(kept)))
            # By the other rows alone: one that ran away supports itself.
            others = Surface(scaler, kernel, kept, chosen.smoothing, typical, span)
            some = rows[strays]
            outside[strays], wild[strays] = others.bring_back(some, mask[strays])
            rows[strays] = some
        energy = row_energy(kernel, rows, gamma)
        typical = float(np.median(energy.left_out(rows)))
        spread, reach = deviations_in_place(energy, rows, mask, max(typical, gamma))
        far = reach > LOOSE * typical_distance(rows, np.ones_like(mask))
        factor, held_out = chosen.calibrate(X, partial(_trial_spread, kernel, gamma))
        spread = np.maximum(spread * factor, np.where(wild[:, None] & ~mask, span.width, 0.0))
        return Learned(
            surface=Surface(scaler, kernel, rows, chosen.smoothing, typical, span),
            completed=scaler.undo(rows),
            result=result,
            scale=chosen.scale,
            determined=~(result.ambiguous | outside | wild | far),
            deviation=spread * scaler.scale,
            held_out=held_out,
        )


def _trial_spread(kernel: Kernel, gamma: float, trial: Trial) -> np.ndarray:
    """Return the deviations of what choosing found, where entries were missing or hidden."""
    energy = row_energy(kernel, trial.found, gamma)
    budget = max(float(np.median(energy.left_out(trial.found))), gamma)
    return deviations_in_place(energy, trial.found, trial.visible, budget)[0]
