"""The landmark engine's surface, learned jointly from not too many rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polycomplete import tuning
from polycomplete.landmarks import Landmark, LandmarkModel
from polycomplete.recipe import Learned, Recipe, Trial, pose, solve
from polycomplete.sampling import training_rows

__all__ = ["fit_landmarks"]

ENTRIES = 25_000  # observed entries that are enough to choose by
FEWEST = 400  # rows
JUDGED = 500  # rows whose hidden entries are enough to scale deviations by


def fit_landmarks(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> Learned:
    """Complete a matrix with the landmark engine, all rows jointly.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        float64; missing entries may hold anything.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    recipe : Recipe
        The method; its engine is a Landmark.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from polycomplete import RBF, Schatten, datasets, masks, metrics
    >>> from polycomplete.landmarks import Sweeps
    >>> X = datasets.make_polynomial_manifold(400, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> recipe = Recipe(RBF(), Schatten(), Landmark(), Sweeps(), "sqrt", "auto", None, seed=0)
    >>> metrics.rse(X, fit_landmarks(X, mask, recipe).completed, mask) < 0.1
    True
    """
    assert isinstance(recipe.engine, Landmark)
    recipe.engine.check_params()
    with recipe.engine.pool() as engine:
        recipe = replace(recipe, engine=engine)
        sample = training_rows(mask, _enough(mask), recipe.seed + 1)
        scaler, problem, result, chosen = solve(X, mask, recipe, sample)
        smoothing = max(chosen.smoothing, problem.finest)
        model = LandmarkModel.learn(problem, result.X, scaler, smoothing, recipe.seed)
        model = model.calibrated(_calibration(X, chosen.trial, model, recipe))
        joint = model.settled(result.X, mask, engine.run)
    return Learned(
        surface=model,
        completed=scaler.undo(joint.rows),
        result=result,
        scale=chosen.scale,
        determined=~joint.loose,
        deviation=joint.deviation * scaler.scale,
        held_out=chosen.trial and chosen.trial.held_out(X),
    )


def _enough(mask: np.ndarray) -> int:
    """Return how many rows are enough to choose by: rows with few entries tell less.

    There are twice as many rows as columns: fewer could not show all directions of wide rows, and
    would ask for another smoothing.
    """
    m = mask.shape[1]
    return max(FEWEST, 2 * m, int(ENTRIES / max(mask.mean() * m, 1.0)))


def _calibration(X: np.ndarray, trial: Trial | None, model: LandmarkModel, recipe: Recipe) -> float:
    """Return what deviations must be multiplied by to fit the entries that choosing had hidden."""
    if trial is None:
        return 1.0
    scaler, rows, visible, hidden, found = trial
    problem = pose(X[rows], visible, scaler, recipe)
    judge = LandmarkModel.learn(problem, found, scaler, model.smoothing, recipe.seed)
    some = np.linspace(0, len(rows) - 1, min(len(rows), JUDGED)).astype(int)
    spread = judge.deviations(found[some], visible[some], problem.engine.run)
    errors = found[some] - scaler.apply(X[rows[some]])
    return tuning.calibration(errors[hidden[some]], spread[hidden[some]])
