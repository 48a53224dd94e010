"""From a matrix with holes to a learned surface: scale, compose, solve; and completing new rows.

Plain arrays in, plain arrays out; every column here has observed entries that vary, every row has
at least one observed entry. The estimators of :mod:`polycomplete.completers` take care of the rest.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from polycomplete import tuning
from polycomplete._machine import blas_threads_for
from polycomplete.exact import WIDEST, Exact, ExactProblem
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.lift import pick, row_energy
from polycomplete.penalties import Schatten
from polycomplete.rows import RowEnergy, candidates, undetermined
from polycomplete.scaling import ColumnScaler, column_spread
from polycomplete.solvers import Result
from polycomplete.solvers.result import logger
from polycomplete.solvers.stages import stages

__all__ = ["Recipe", "Surface", "fit_surface"]

Solver = Any  # Continuation, AdamPlus, or another object with solve and default_smoothing

#: A hidden error, in units of a column's spread, below which the completion is a good start.
WELL = 0.05
#: Spreads of the columns that differ by less than this factor need no choice of scaling.
SIMILAR = 10.0


@dataclass(frozen=True)
class Recipe:
    """What to fit: the parts of a method, put together by an estimator."""

    kernel: Kernel
    penalty: Schatten
    engine: Exact | None
    solver: Solver
    scale: str | None
    smoothing: float | str
    noise: float | None
    seed: int

    def __post_init__(self) -> None:
        """Refuse what cannot be fitted, in the words of the estimators' parameters."""
        kinds: dict[str, tuple[type, ...]] = {
            "kernel": (Kernel,),
            "penalty": (Schatten,),
        }
        for name, allowed in kinds.items():
            given, shown = getattr(self, name), " or ".join(kind.__name__ for kind in allowed)
            if not isinstance(given, allowed):
                raise TypeError(f"{name} must be a {shown} object, got {given!r}.")
        if isinstance(self.solver, type) or not hasattr(self.solver, "solve"):
            raise TypeError(
                "solver must be a Continuation or AdamPlus object, or another one that has solve() "
                f"and default_smoothing, got {self.solver!r}."
            )
        if self.smoothing != "auto" and not _positive(self.smoothing):
            raise ValueError(
                f'smoothing must be "auto" or a positive number, got {self.smoothing!r}.'
            )
        if self.noise is not None and not _positive(self.noise):
            raise ValueError(f"noise must be None or a positive number, got {self.noise!r}.")


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < float("inf")


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
    determined : ndarray of bool, shape (n,)
        Which training rows are determined by their observed entries.
    """

    scaler: ColumnScaler
    kernel: Kernel
    rows: np.ndarray
    smoothing: float
    typical: float
    determined: np.ndarray

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself; return the rows and which of them are ambiguous."""
        with blas_threads_for(len(self.rows)):
            scaled = self.scaler.apply(np.where(mask, X, self.scaler.centre))
            found = candidates(self._energies, scaled, mask, self.rows, k=10, steps=6)
            unit = typical_distance(self.rows, np.ones_like(self.rows, dtype=bool))
            completed, ambiguous = found.blend(self.typical, unit)
            return self.scaler.undo(completed), ambiguous

    @cached_property
    def _energies(self) -> list[RowEnergy]:
        """The models a new row walks down, learned when the first new row comes."""
        unit = float(np.mean(self.kernel.diagonal(self.rows)))
        ladder = stages(max(1e-3, self.smoothing), self.smoothing)[::-2][::-1]
        return [row_energy(self.kernel, self.rows, unit * s, in_place=False) for s in ladder]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_energies"}


def fit_surface(
    X: np.ndarray, mask: np.ndarray, recipe: Recipe
) -> tuple[Surface, np.ndarray, Result, str | None]:
    """Complete a matrix.

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
    surface, completed, result, scale
        The learned surface, the completed matrix, the solver's result and the scaling used.

    Examples
    --------
    >>> from polycomplete import RBF, Continuation, Exact, Schatten, datasets, masks, metrics
    >>> X = datasets.make_polynomial_manifold(80, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> recipe = Recipe(RBF(), Schatten(), Exact(), Continuation(), "auto", "auto", None, seed=0)
    >>> surface, completed, result, scale = fit_surface(X, mask, recipe)
    >>> metrics.rse(X, completed, mask) < 0.1, scale
    (True, 'sqrt')
    """
    with blas_threads_for(len(X)):
        engine = pick(recipe.engine, recipe.kernel, *X.shape)
        engine.check(*X.shape)
        recipe = replace(recipe, engine=engine)
        started = time.perf_counter()
        scale, smoothing, begin = choose(X, mask, recipe)
        solver = copy(recipe.solver)
        if getattr(solver, "time_limit", None) is not None:  # of the fit, the choosing included
            solver.time_limit = max(0.0, solver.time_limit - (time.perf_counter() - started))
        scaler = ColumnScaler.fit(X, mask, scale)
        problem = pose(X, mask, scaler, recipe)
        takes = "begin" in signature(solver.solve).parameters
        result = solver.solve(problem, smoothing, **({"begin": begin} if takes else {}))
        if result.stop in ("time_limit", "callback") and result.smoothings:
            smoothing = result.smoothings[-1]  # as far as it came
        gamma = smoothing * problem.unit
        kernel = result.kernel or problem.kernel
        energy = row_energy(kernel, result.X, gamma)
        typical = float(np.median(energy.left_out()))
        loose = result.ambiguous
        if X.shape[1] <= WIDEST:
            unit = typical_distance(result.X, np.ones_like(mask))
            loose = loose | undetermined(energy, result.X, mask, unit, max(typical, gamma))
        surface = Surface(scaler, kernel, result.X, smoothing, typical, ~loose)
        return surface, scaler.undo(result.X), result, scale


def pose(X: np.ndarray, mask: np.ndarray, scaler: ColumnScaler, recipe: Recipe) -> ExactProblem:
    """Return the problem of a recipe on scaled data, with every "auto" of its parts resolved."""
    scaled = scaler.apply_observed(X, mask)
    if not 1e-100 < np.max(np.abs(scaled)) < 1e100:
        raise ValueError(
            f"The largest of the scaled entries is {np.max(np.abs(scaled)):.0e}, whose square is "
            'beyond the range of numbers; use scale="auto" or "standard".'
        )
    return pick(recipe.engine, recipe.kernel, *X.shape).pose(
        X=scaled,
        mask=mask,
        kernel=recipe.kernel.resolve(scaled, mask),
        penalty=recipe.penalty.resolve(scaled, mask),
        noise=recipe.noise,
    )


class Chosen(NamedTuple):
    """A scaling, a smoothing, and where to begin: what choosing found, if data had no noise."""

    scale: str | None
    smoothing: float
    begin: np.ndarray | None = None


def choose(X: np.ndarray, mask: np.ndarray, recipe: Recipe) -> Chosen:
    """Choose the scaling and the smoothing, by hiding observed entries where that is asked for.

    A solver without a path leaves nothing to follow: the first scaling and its own smoothing.
    """
    scales = _scales_to_try(X, mask, recipe.scale)
    given = None if isinstance(recipe.smoothing, str) else float(recipe.smoothing)
    if not hasattr(recipe.solver, "path"):
        return Chosen(scales[0], recipe.solver.default_smoothing if given is None else given)
    if given is not None and len(scales) == 1:
        return Chosen(scales[0], given)
    draws = tuning.hidings(mask, recipe.seed)
    if not draws:
        return Chosen(scales[0], tuning.CAUTIOUS if given is None else given)
    choices = {kind: _judge(X, mask, draws, kind, len(scales), recipe) for kind in scales}
    scale = tuning.best_of(choices)
    smoothing = choices[scale].smoothing if given is None else given
    logger.info("chose scale %r, smoothing %.0e by hiding: error %.3f of a column's spread",
                scale, smoothing, choices[scale].error)  # fmt: skip
    if given is None and smoothing <= recipe.solver.path_end:  # finer was better all along
        # What was found counts as a start only where hidden entries came back well: elsewhere
        # rows are in wrong places, from which a large smoothing still frees them.
        well = choices[scale].error < WELL
        begin = choices[scale].completed.get(smoothing) if well else None
        return Chosen(scale, recipe.solver.default_smoothing, begin)
    return Chosen(scale, smoothing)


def _judge(
    X: np.ndarray,
    mask: np.ndarray,
    draws: list[tuple[np.ndarray, np.ndarray]],
    kind: str | None,
    n_kinds: int,
    recipe: Recipe,
) -> tuning.Choice:
    """Follow the solver's path on each draw; return what they show together."""
    scaler = ColumnScaler.fit(X, mask, kind)
    truth = scaler.apply(np.where(mask, X, scaler.centre))
    unit = column_spread(truth, mask)[1]
    end = 0.0 if isinstance(recipe.smoothing, str) else float(recipe.smoothing)
    # At most half of the time that is given goes into choosing.
    limit = recipe.solver.time_limit and recipe.solver.time_limit / (2 * n_kinds * len(draws))
    found = []
    for visible, hidden in draws:
        logger.info("choosing by hiding %d observed entries, scale %r", hidden.sum(), kind)
        path = recipe.solver.path(pose(X, visible, scaler, recipe), limit)
        patience = tuning.GIVE_UP if len(draws) == 1 else np.inf  # small tables are quick
        found.append(tuning.follow(path, truth, hidden, unit, end, patience))
    return tuning.together(found)


def _scales_to_try(X: np.ndarray, mask: np.ndarray, scale: str | None) -> list[str | None]:
    """Return the scalings among which to choose, the preferred one first."""
    if scale != "auto":
        return [scale]
    spread = column_spread(X, mask)[1]
    if spread.max() <= SIMILAR * spread.min():
        return ["sqrt"]
    return ["standard", "sqrt"]
