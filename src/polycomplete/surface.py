"""Fits that see all rows at once: the joint completion, then the posterior of each row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from polycomplete._machine import blas_threads_for
from polycomplete.kernels import Kernel
from polycomplete.landmarks.engine import Landmark
from polycomplete.lift import row_energy
from polycomplete.model import SurfaceModel
from polycomplete.recipe import Learned, Read, Recipe, Trial, judge, judged, solve, spread_out
from polycomplete.rows import EVEN, PLAIN, Completion, Posterior, spreads


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
        factor, held_out = judge(X, chosen.trials, partial(reading, kernel, gamma))
        posterior = replace(leave_one_out(kernel, gamma, rows, mask), factor=factor)
        found = posterior.complete(rows, mask, exclude=np.arange(len(rows)), joint=True)
        if getattr(recipe.solver, "blend", False) and recipe.noise is None:
            rows = found.rows
        energy = row_energy(kernel, rows, gamma, in_place=False)
        posterior = replace(posterior, energy=energy, pool=rows, packing=EVEN)
        here = Landmark(n_jobs=1, device="cpu")
        return Learned(
            surface=SurfaceModel(scaler, posterior, chosen.smoothing, here),
            completed=scaler.undo(rows),
            result=result,
            scale=chosen.scale,
            determined=found.determined,
            deviation=found.std * scaler.scale,
            held_out=held_out,
        )


def leave_one_out(kernel: Kernel, gamma: float, X: np.ndarray, mask: np.ndarray) -> Posterior:
    """Return the posterior of jointly completed rows, each of which can be excluded."""
    energy = row_energy(kernel, X, gamma)
    usual = max(float(np.median(energy.left_out())), gamma)
    return Posterior(energy, X, spreads(X, mask), usual, packing=PLAIN)


def reading(kernel: Kernel, gamma: float, trial: Trial) -> Read:
    """Return how the held-out entries of a trial are completed by the trial's own model."""
    posterior = leave_one_out(kernel, gamma, trial.found, trial.visible)
    some = judged(trial)
    X, mask = trial.found[some], trial.visible[some]
    found = posterior.minima(X, mask, exclude=some, joint=True)

    def read(factor: float) -> Completion:
        return spread_out(trial, [(some, replace(posterior, factor=factor).read(
            found, mask, exclude=some))])  # fmt: skip

    return read
