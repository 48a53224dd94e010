"""The landmark engine's surface: learned jointly from some rows, the others row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polycomplete import tuning
from polycomplete.landmarks import Landmark, LandmarkModel
from polycomplete.recipe import Learned, Recipe, Trial, pose, solve

__all__ = ["fit_landmarks", "training_rows"]

ENTRIES = 25_000  # observed entries that are enough to choose by
FEWEST = 400  # rows
PART = 65_536  # rows that are completed at a time, to keep copies small


def fit_landmarks(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> Learned:
    """Complete a matrix with the landmark engine.

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
    >>> engine = Landmark(max_rows=200)
    >>> recipe = Recipe(RBF(), Schatten(), engine, Sweeps(), "sqrt", "auto", None, seed=0)
    >>> metrics.rse(X, fit_landmarks(X, mask, recipe).completed, mask) < 0.1
    True
    """
    assert isinstance(recipe.engine, Landmark)
    recipe.engine.check_params()
    with recipe.engine.pool() as engine:
        recipe = replace(recipe, engine=engine)
        train = training_rows(mask, int(engine.max_rows), recipe.seed)
        given, seen = X[train], mask[train]
        sample = training_rows(seen, _enough(seen), recipe.seed + 1)
        scaler, problem, result, chosen = solve(given, seen, recipe, sample)
        smoothing = max(chosen.smoothing, problem.finest)
        model = LandmarkModel.learn(problem, result.X, scaler, smoothing, recipe.seed)
        model = model.calibrated(_calibration(given, chosen.trial, model, recipe))
        joint = model.settled(result.X, seen, engine.run)
    completed, deviation = np.where(mask, X, 0.0), np.zeros(X.shape)
    determined = np.ones(len(X), dtype=bool)
    completed[train] = scaler.undo(joint.rows)
    deviation[train] = joint.deviation * scaler.scale
    determined[train] = ~joint.loose
    others = np.flatnonzero(~np.isin(np.arange(len(X)), train) & ~mask.all(axis=1))
    for begin in range(0, len(others), PART):
        part = others[begin : begin + PART]
        found = model.completion(X[part], mask[part])
        completed[part], deviation[part] = found.rows, found.deviation
        determined[part] = ~found.loose
    held_out = chosen.trial and chosen.trial.held_out(given)
    if held_out is not None:
        held_out = held_out._replace(rows=train[held_out.rows])
    return Learned(model, completed, result, chosen.scale, determined, deviation, held_out)


def training_rows(mask: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the rows to learn the surface from, in their order.

    Half of them are those with the most observed entries, half are drawn among the others, those
    with many observed entries more often: rows without holes may not be like the others.

    Parameters
    ----------
    mask : ndarray of bool, shape (n, m)
        True where observed.
    most : int
        How many at most.
    seed : int
        For drawing.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> mask = np.ones((6, 2), dtype=bool)
    >>> mask[:4, 0] = False
    >>> len(training_rows(mask, 4, seed=0)), training_rows(mask, 9, seed=0)
    (4, array([0, 1, 2, 3, 4, 5]))
    """
    if len(mask) <= most:
        return np.arange(len(mask))
    share = mask.mean(axis=1)
    order = np.argsort(-share, kind="stable")
    best, others = order[: most // 2], order[most // 2 :]
    weight = np.maximum(share[others] ** 2, 1e-6)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(others, most - len(best), replace=False, p=weight / weight.sum())
    return np.sort(np.concatenate([best, drawn]))


def _enough(mask: np.ndarray) -> int:
    """Return how many rows are enough to choose by: rows with few entries tell less."""
    return max(FEWEST, int(ENTRIES / max(mask.mean() * mask.shape[1], 1.0)))


def _calibration(X: np.ndarray, trial: Trial | None, model: LandmarkModel, recipe: Recipe) -> float:
    """Return what deviations must be multiplied by to fit the entries that choosing had hidden."""
    if trial is None:
        return 1.0
    scaler, rows, visible, hidden, found = trial
    problem = pose(X[rows], visible, scaler, recipe)
    judge = LandmarkModel.learn(problem, found, scaler, model.smoothing, recipe.seed)
    spread = judge.settled(found, visible, problem.engine.run).deviation
    return tuning.calibration((found - scaler.apply(X[rows]))[hidden], spread[hidden])
