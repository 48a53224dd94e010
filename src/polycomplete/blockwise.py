"""The landmark engine's surface, learned jointly from not too many rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import clone

from polycomplete.landmarks import Landmark, LandmarkProblem
from polycomplete.model import SurfaceModel
from polycomplete.recipe import Learned, Read, Recipe, Trial, judge, judged, pose, solve, spread_out
from polycomplete.rows import EVEN, PLAIN, Completion, Posterior, folds, spreads
from polycomplete.sampling import training_rows

ENTRIES = 25_000  # observed entries that are enough to choose by
FEWEST = 400  # rows
FOLDS = 5  # parts of the rows: each is judged by what the others show


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
        factor, held_out = judge(X, chosen.trials, partial(_reading, X, recipe, chosen.smoothing))
        found = _out_of_fold(problem, result.X, chosen.smoothing, factor, recipe.seed)
        # From the rows as they are now: one that ran away would support itself.
        posterior = learn(problem, found.rows, chosen.smoothing, recipe.seed)
        posterior = replace(posterior, factor=factor, packing=EVEN)
    return Learned(
        surface=SurfaceModel(scaler, posterior, chosen.smoothing, clone(problem.engine)),
        completed=scaler.undo(found.rows),
        result=result,
        scale=chosen.scale,
        determined=found.determined,
        deviation=found.std * scaler.scale,
        held_out=held_out,
    )


def learn(
    problem: LandmarkProblem,
    X: np.ndarray,
    smoothing: float,
    seed: int,
    rows: np.ndarray | None = None,
) -> Posterior:
    """Learn the posterior of (some) completed rows, with as many landmarks as they need."""
    mask = problem.mask
    every = np.arange(len(X)) if rows is None else rows
    gamma, X, mask = problem.gamma(smoothing), X[every], mask[every]
    energy = problem.enough(X, gamma, np.random.default_rng(seed), every).energy(gamma)
    usual = max(float(np.median(energy.value(X))), gamma)
    return Posterior(energy, X, spreads(X, mask), usual, packing=PLAIN)


def _without(
    problem: LandmarkProblem, X: np.ndarray, smoothing: float, seed: int
) -> Iterator[tuple[np.ndarray, Posterior]]:
    """Yield the rows of each fold, and the posterior that the others give."""
    for part in folds(len(X), FOLDS, np.random.default_rng(seed)):
        others = np.setdiff1d(np.arange(len(X)), part)
        yield part, learn(problem, X, smoothing, seed, others if len(others) else part)


def _out_of_fold(
    problem: LandmarkProblem, X: np.ndarray, smoothing: float, factor: float, seed: int
) -> Completion:
    """Complete jointly completed rows, each by a model without it."""
    n, mask, run = len(X), problem.mask, problem.engine.run
    whole = Completion(X.copy(), np.zeros(X.shape), np.zeros(n), np.zeros(n, dtype=bool))
    for part, posterior in _without(problem, X, smoothing, seed):
        posterior = replace(posterior, factor=factor)
        found = posterior.complete(X[part], mask[part], joint=True, run=run)
        for into, values in zip(whole, found, strict=True):
            into[part] = values
    return whole


def _enough(mask: np.ndarray) -> int:
    """Return how many rows are enough to choose by: rows with few entries tell less.

    There are twice as many rows as columns: fewer could not show all directions of wide rows, and
    would ask for another smoothing.
    """
    m = mask.shape[1]
    return max(FEWEST, 2 * m, int(ENTRIES / max(mask.mean() * m, 1.0)))


def _reading(X: np.ndarray, recipe: Recipe, smoothing: float, trial: Trial) -> Read:
    """Return how the held-out entries of a trial are completed by models of the trial."""
    scaler, rows, visible, _, found = trial
    problem, some, parts = pose(X[rows], visible, scaler, recipe), judged(trial), []
    for fold, posterior in _without(problem, found, smoothing, recipe.seed):
        part = np.intersect1d(fold, some)
        if len(part):
            minima = posterior.minima(found[part], visible[part], joint=True)
            parts.append((part, posterior, minima))

    def read(factor: float) -> Completion:
        return spread_out(
            trial,
            [
                (part, replace(posterior, factor=factor).read(minima, visible[part]))
                for part, posterior, minima in parts
            ],
        )

    return read
