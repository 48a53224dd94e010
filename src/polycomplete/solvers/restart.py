"""Second chances: rows that settled in the wrong place, and rows that have no single right place.

Both are judged by the energy of a row given the *other* rows; a model that contains the stuck row
would support its own mistake.
"""

from __future__ import annotations

import numpy as np

from polycomplete.kernels import typical_distance
from polycomplete.rows import Candidates, RowEnergy, candidates
from polycomplete.solvers.lift import row_energy
from polycomplete.solvers.problem import ExactProblem

SUSPECTS = 0.25  # share of rows, worst first, that are tried again
SUSPICIOUS = 2.0  # ... if their energy is so many times the median
STARTS, STEPS = 6, 3  # of each, and steps for each model
FEW, MANY = 6, 10  # starts that a row's other places are looked for from: at first, and closely
UNTRUSTED = 0.2  # share of rows, worst first, that lend no start
GAIN = 0.5  # a row moves only if its energy falls at least to this share


def rescue(problem: ExactProblem, X: np.ndarray, gamma: float) -> tuple[np.ndarray, int]:
    """Start the worst rows again from their neighbours; return X and how many rows moved.

    The energy of a row given the others is its exact share of the log penalty, so a row that
    finds a much lower one was stuck.

    Parameters
    ----------
    problem : ExactProblem
        The problem.
    X : ndarray of shape (n, m)
        Its current completion.
    gamma : float
        The smoothing, in the units of the kernel.

    Returns
    -------
    X : ndarray of shape (n, m)
        The completion with better starts for some rows.
    moved : int
        How many.

    Examples
    --------
    >>> from polycomplete import RBF, Schatten, datasets, masks
    >>> X = datasets.make_polynomial_manifold(100, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> problem = ExactProblem(X, mask, RBF().resolve(X, mask), Schatten())
    >>> stuck = X.copy()
    >>> stuck[3, ~mask[3]] += 1.0
    >>> rescue(problem, stuck, gamma=1e-6)[1]
    1
    """
    energies = _surfaces(problem, X, gamma)
    now = energies[-1].left_out(X)
    order = np.argsort(-now, kind="stable")
    worst = order[: max(1, int(SUSPECTS * len(X)))]
    worst = worst[now[worst] + gamma > SUSPICIOUS * (np.median(now) + gamma)]
    worst = worst[~problem.mask[worst].all(axis=1)]
    if not len(worst):
        return X, 0
    trusted = order[int(UNTRUSTED * len(X)) :]
    found, energy = _retry(energies, X, problem.mask, worst, trusted, STARTS).best()
    better = energy + gamma < GAIN * (now[worst] + gamma)
    X = X.copy()
    X[worst[better]] = found[better]
    return X, int(better.sum())


def blend_ambiguous(
    problem: ExactProblem, X: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with several plausible completions their mean; return X and which rows.

    The few observed entries of such a row fit several places of the surface equally well. A quick
    look at a coarse model leaves few rows to look at closely.

    Parameters
    ----------
    problem : ExactProblem
        The problem.
    X : ndarray of shape (n, m)
        Its current completion.
    gamma : float
        The smoothing, in the units of the kernel.

    Returns
    -------
    X : ndarray of shape (n, m)
        The completion with blended rows.
    ambiguous : ndarray of bool, shape (n,)
        Which rows.

    Examples
    --------
    >>> from polycomplete import RBF, Schatten, datasets, masks
    >>> X = datasets.make_polynomial_manifold(100, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> mask[3, 1:] = False
    >>> problem = ExactProblem(X, mask, RBF().resolve(X, mask), Schatten())
    >>> np.flatnonzero(blend_ambiguous(problem, X, gamma=1e-6)[1])
    array([3])
    """
    energies = _surfaces(problem, X, gamma)
    rows = np.flatnonzero(~problem.mask.all(axis=1))
    for models, starts in ((energies[:1], FEW), (energies, MANY)):
        if len(rows):
            mixed, ambiguous = _plausible(problem, models, X, rows, starts)
            rows, mixed = rows[ambiguous], mixed[ambiguous]
    X, found = X.copy(), np.zeros(len(X), dtype=bool)
    if len(rows):
        # The mean of equal numbers may differ from them in the last bit.
        X[rows], found[rows] = np.where(problem.mask[rows], X[rows], mixed), True
    return X, found


def _plausible(
    problem: ExactProblem, energies: list[RowEnergy], X: np.ndarray, rows: np.ndarray, starts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the mean of its plausible completions, and whether they differ."""
    now = energies[-1].left_out(X)
    trusted = np.argsort(-now, kind="stable")[int(UNTRUSTED / 2 * len(X)) :]
    tried = _retry(energies, X, problem.mask, rows, trusted, starts)
    both = Candidates(
        np.concatenate([X[rows][:, None], tried.rows], axis=1),
        np.concatenate([now[rows][:, None], tried.energy], axis=1),
    )
    return both.blend(float(np.median(now)), typical_distance(X, problem.mask))


def _surfaces(problem: ExactProblem, X: np.ndarray, gamma: float) -> list[RowEnergy]:
    """Return row energies of the same rows from coarse to fine, for a row to walk down."""
    start = max(1e-3 * problem.unit, gamma)
    ladder = np.unique([start, np.sqrt(start * gamma), gamma])[::-1]
    return [row_energy(problem.kernel, X, step) for step in ladder]


def _retry(
    energies: list[RowEnergy],
    X: np.ndarray,
    mask: np.ndarray,
    rows: np.ndarray,
    trusted: np.ndarray,
    k: int,
) -> Candidates:
    """Complete ``rows`` again from trusted rows, each in its own place of the model."""
    place = np.full(len(X), -1)
    place[trusted] = np.arange(len(trusted))
    given, seen, pool = X[rows], mask[rows], X[trusted]
    return candidates(energies, given, seen, pool, who=rows, lender=place[rows], k=k, steps=STEPS)
