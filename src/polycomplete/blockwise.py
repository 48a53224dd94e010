"""The surface through landmarks, learned jointly from not too many rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from polycomplete.landmarks import LandmarkModel
from polycomplete.model_selection import Trial
from polycomplete.recipe import Learned, Recipe
from polycomplete.sampling import training_rows

ENTRIES = 25_000  # observed entries that are enough to choose by
FEWEST = 400  # rows
JUDGED = 500  # rows whose hidden entries are enough to scale deviations by


def fit_landmarks(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> Learned:
    """Complete a matrix through landmarks, all rows jointly.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        float64; missing entries may hold anything.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    recipe : Recipe
        The method; its solver is a Landmark.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from polycomplete import RBF, Landmark, Schatten, datasets, masks, metrics
    >>> from polycomplete.recipe import Recipe
    >>> X = datasets.make_polynomial_manifold(400, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> recipe = Recipe(RBF(), Schatten(), Landmark(), "sqrt", "auto", None, seed=0)
    >>> metrics.rse(X, fit_landmarks(X, mask, recipe).completed, mask) < 0.1
    True
    """
    with recipe.resources.pool() as resources:
        recipe = replace(recipe, resources=resources)
        sample = training_rows(mask, _enough(mask), recipe.seed + 1)
        scaler, problem, result, chosen = recipe.solve(X, mask, sample)
        model = LandmarkModel.learn(problem, result.X, scaler, chosen.smoothing, recipe.seed)
        factor, held_out = chosen.calibrate(X, partial(_trial_spread, X, model, recipe))
        model = model.calibrated(factor)
        joint = model.settled(result.X, mask, resources.mapping)
    return Learned(
        surface=model,
        completed=scaler.undo(joint.rows),
        result=result,
        scale=chosen.scale,
        determined=~joint.loose,
        deviation=joint.deviation * scaler.scale,
        held_out=held_out,
    )


def _enough(mask: np.ndarray) -> int:
    """Return how many rows are enough to choose by: rows with few entries tell less.

    There are twice as many rows as columns: fewer could not show all directions of wide rows, and
    would ask for another smoothing.
    """
    m = mask.shape[1]
    return max(FEWEST, 2 * m, int(ENTRIES / max(mask.mean() * m, 1.0)))


def _trial_spread(X: np.ndarray, model: LandmarkModel, recipe: Recipe, trial: Trial) -> np.ndarray:
    """Return the deviations of what choosing found, where entries were missing or hidden.

    Some of the rows are enough to calibrate by; the others have NaN.
    """
    scaler, rows, visible, _, found = trial
    problem = recipe.pose(scaler.apply_observed(X[rows], visible), visible)
    judging = LandmarkModel.learn(problem, found, scaler, model.smoothing, recipe.seed)
    some = np.linspace(0, len(rows) - 1, min(len(rows), JUDGED)).astype(int)
    spread = np.full_like(found, np.nan)
    spread[some] = judging.deviations(found[some], visible[some], problem.resources.mapping)
    return spread
