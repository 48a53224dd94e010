"""Restarts of rows that settled in the wrong place, judged by the other rows."""

from __future__ import annotations

import numpy as np

from polycomplete.rows import PLAIN, Posterior, restart, spreads
from polycomplete.solvers.lift import row_energy
from polycomplete.solvers.problem import ExactProblem


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
    energy = row_energy(problem.kernel, X, gamma)
    posterior = Posterior(energy, X, spreads(X), gamma, packing=PLAIN)
    return restart(posterior, X, problem.mask, gamma, exclude=np.arange(len(X)))
