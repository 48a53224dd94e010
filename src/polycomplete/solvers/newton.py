"""Newton steps on the missing entries of all rows together, by conjugate gradients.

A step costs one eigendecomposition and a few products with the curvature
(:mod:`polycomplete.solvers.hessian`), each about as expensive; quasi-Newton steps need an
eigendecomposition each, and many more of them.
"""

from __future__ import annotations

import numpy as np

from polycomplete.solvers.hessian import (
    UNUSED,
    HessianOperator,
    Point,
    Product,
    evaluate,
    hessian,
)
from polycomplete.solvers.problem import ExactProblem

DAMPING = 1e-6  # of a row's own metric: bounds steps in directions that nothing determines
LONGEST = 60  # conjugate gradient steps
SHORTER = 0.3  # a step that does not lower the objective is shortened by this
SHORTEST = 1e-4
FINER = 3.0  # the smoothing of the next step may be so many times smaller


class Newton:
    """Where a problem stands, and steps from there.

    Parameters
    ----------
    problem : ExactProblem
        The problem.
    z : ndarray
        The free entries.
    gamma : float
        The first smoothing, in the units of the kernel.
    solved : float
        Conjugate gradients end when the residual has fallen to this share.
    renewed : int
        Steps after which the preconditioner is made anew.
    unused : float
        Directions whose weight is nearer to 1 than this are not told apart.

    Attributes
    ----------
    at : Point
        The completion, with its spectrum.

    Examples
    --------
    >>> from polycomplete.kernels import Polynomial
    >>> from polycomplete.penalties import Schatten
    >>> X, mask = np.array([[1.0, 2.0], [2.0, 0.0]]), np.array([[True, True], [True, False]])
    >>> problem = ExactProblem(X, mask, Polynomial(1, 0.0), Schatten(0.5))
    >>> newton = Newton(problem, np.array([3.0]), 1e-3)
    >>> for gamma in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
    ...     before, after = newton.step(gamma)
    >>> newton.at.z.round(1)  # the rows are parallel
    array([4.])
    """

    def __init__(
        self,
        problem: ExactProblem,
        z: np.ndarray,
        gamma: float,
        solved: float = 0.1,
        renewed: int = 3,
        unused: float = UNUSED,
    ):
        self.problem = problem
        self.solved, self.renewed, self.unused = solved, renewed, unused
        self.at: Point = evaluate(problem, z, gamma)
        self.taken = 0

    def step(self, gamma: float, finer: float = FINER) -> tuple[float, float]:
        """Take a step that lowers the objective, if there is one.

        ``finer`` says by what factor the smoothing of the next step may be smaller. Returns the
        objective before and after, both at γ.
        """
        before, begin = self.at.value(gamma), self.at.z
        here = hessian(self.at, gamma, self.unused)
        if self.taken % self.renewed == 0:
            self.blocks = here.inverse(DAMPING)
        self.taken += 1
        move = self.problem.pack(direction(here, self.blocks, self.solved))
        length = 1.0
        while length > SHORTEST:
            trial = evaluate(self.problem, begin + length * move, gamma / finer)
            after = trial.value(gamma)
            if after <= before:  # False for NaN
                self.at = trial
                return before, after
            length *= SHORTER
        return before, before


def direction(here: HessianOperator, solve: Product, solved: float = 0.1) -> np.ndarray:
    """Return the step of the weighted least squares problem, by conjugate gradients.

    Parameters
    ----------
    here : HessianOperator
        Gradient and curvature.
    solve : callable
        Preconditions; the residual is measured as it does.
    solved : float
        The end: when the residual has fallen to this share.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> from polycomplete.kernels import Polynomial
    >>> from polycomplete.penalties import Schatten
    >>> X, mask = np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([[True, True], [True, False]])
    >>> problem = ExactProblem(X, mask, Polynomial(1, 0.0), Schatten(0.5))
    >>> here = hessian(evaluate(problem, np.array([3.0]), 1e-3), 1e-3)
    >>> bool(direction(here, here.inverse(1e-6))[1, 1] > 0)
    True
    """
    V = np.zeros_like(here.gradient)
    residual = -here.gradient
    pointed = way = solve(residual)
    size = first = float(np.sum(residual * pointed))
    for _ in range(LONGEST):
        if not size > solved**2 * first or size == 0:
            break
        curved = here.product(way, DAMPING)
        steep = float(np.sum(way * curved))
        if not steep > 0:  # non-positive curvature from rounding: stop
            break
        length = size / steep
        V, residual = V + length * way, residual - length * curved
        pointed = solve(residual)
        last, size = size, float(np.sum(residual * pointed))
        way = pointed + (size / last) * way
    return V
