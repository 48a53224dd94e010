"""Sparse codes by the alternating direction method of multipliers (ADMM).

Every row x is written by few atoms, the rows of a dictionary D:

    min |c|₁ + κ/2 |c|² + λ/2 |x − cD|²,   some coefficients barred, where asked with Σ c = 1.

The smooth part and the absolute values take turns: a copy z of the coefficients carries the former
and meets the constraint exactly, c the latter, and scaled multipliers pull them together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Matrix = np.ndarray
# Residuals are compared this often, so that a penalty has time to show what it does, and no longer
# than this: a penalty that changes for ever may keep the method from converging.
_BALANCE_EVERY, _BALANCE_UNTIL = 10, 200
_RELAXATION = 1.6


class Quadratic(Protocol):
    """The smooth part of the problem, for as many rows as there are codes."""

    def resolvent(self, penalty: float) -> Callable[[Matrix], Matrix]:
        """Return the map from T to the z that minimises λ/2 |x − zD|² + penalty/2 |z − T|²."""


@dataclass(frozen=True)
class Schedule:
    """How long ADMM runs.

    Attributes
    ----------
    penalty : float
        Weight of the distance between the two copies; where ``balance`` is on, at the start.
    tol : float
        With ``balance``: the largest residual, relative to the size of what it is a residual of.
        Without: the largest difference of any two copies of a coefficient.
    max_iter : int
        Most iterations.
    balance : bool
        Over-relax, and adapt the penalty so that primal and dual residual fall together.

    Examples
    --------
    >>> Schedule(penalty=800.0).max_iter
    1000
    """

    penalty: float
    tol: float = 1e-3
    max_iter: int = 1000
    balance: bool = True


@dataclass(frozen=True)
class Codes:
    """What ADMM found.

    Attributes
    ----------
    coefficients : ndarray
        A row of coefficients for every row that was coded; exact zeros where they are sparse.
    iterations : int
        How many it took.
    converged : bool
        Whether the residuals fell below the tolerance.

    Examples
    --------
    >>> Codes(np.eye(2), 10, True).converged
    True
    """

    coefficients: Matrix
    iterations: int
    converged: bool


def sparse_codes(
    quadratic: Quadratic,
    shape: tuple[int, int],
    schedule: Schedule,
    barred: np.ndarray | None = None,
    ridge: float | np.ndarray = 0.0,
) -> Codes:
    """Return the sparse coefficients of every row.

    Parameters
    ----------
    quadratic : Quadratic
        The data term, see :mod:`polycomplete.clustering.dictionaries`.
    shape : tuple of int
        Number of rows and number of atoms.
    schedule : Schedule
        Penalty, tolerance and iterations.
    barred : ndarray of bool, optional
        Coefficients that must be zero, of that shape.
    ridge : float or ndarray of shape (n_atoms,)
        κ, for all atoms or for each: the coefficient is shared among atoms that are alike, instead
        of one being chosen.

    Returns
    -------
    Codes

    Examples
    --------
    >>> from polycomplete.clustering.dictionaries import Shared
    >>> one = Shared(np.array([[2.0, 0.0]]), np.eye(2), weight=10.0)
    >>> sparse_codes(one, (1, 2), Schedule(10.0, tol=1e-9)).coefficients.round(3)
    array([[1.9, 0. ]])
    """
    codes, multiplier = np.zeros(shape), np.zeros(shape)
    penalty, relaxation = schedule.penalty, _RELAXATION if schedule.balance else 1.0
    solve = quadratic.resolvent(penalty)
    for iteration in range(1, schedule.max_iter + 1):
        smooth = solve(codes - multiplier)
        target = relaxation * smooth + (1 - relaxation) * codes + multiplier
        before, codes = codes, _shrink(target, penalty, ridge, barred)
        multiplier = target - codes
        primal, dual = _residuals(smooth, codes, before, multiplier, schedule.balance)
        if max(primal, dual) < schedule.tol:
            return Codes(codes, iteration, True)
        if schedule.balance and iteration % _BALANCE_EVERY == 0 and iteration <= _BALANCE_UNTIL:
            factor = float(np.clip(np.sqrt(primal / max(dual, 1e-300)), 0.2, 5))
            if not 2 / 3 < factor < 3 / 2:
                penalty *= factor
                multiplier /= factor
                solve = quadratic.resolvent(penalty)
    return Codes(codes, schedule.max_iter, False)


def _shrink(
    target: Matrix, penalty: float, ridge: float | np.ndarray, barred: np.ndarray | None
) -> Matrix:
    """Move every entry towards zero by 1/ρ, and no further; then closer by the ridge's share."""
    shrunk = target - np.clip(target, -1 / penalty, 1 / penalty)
    if np.any(ridge):
        shrunk *= penalty / (penalty + ridge)
    if barred is not None:
        shrunk[barred] = 0
    return shrunk


def _residuals(
    smooth: Matrix, codes: Matrix, before: Matrix, multiplier: Matrix, relative: bool
) -> tuple[float, float]:
    """Return how far the copies are apart and how far the multipliers still have to go."""
    if not relative:  # the published rule looks at the copies only
        return float(np.abs(smooth - codes).max(initial=0)), 0.0
    size = max(_norm(smooth), _norm(codes), 1e-300)
    primal = _norm(smooth - codes) / size
    return primal, _norm(codes - before) / max(_norm(multiplier), 1e-300)


def _norm(matrix: Matrix) -> float:
    return float(np.linalg.norm(matrix))
