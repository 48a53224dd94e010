"""Newton steps on the missing entries of all rows jointly, by conjugate gradients.

A step takes one eigendecomposition and a few products with the Hessian, each about as expensive.
Each quasi-Newton step also takes an eigendecomposition, and many more steps are needed.

Write Φ for the features of the rows, σᵢ² = λᵢ for the eigenvalues of K = Φ Φᵀ, uᵢ and rᵢ for the
singular vectors, and hᵢ = γ^(1−p/2) ∂R/∂λᵢ, which is 1 for unused directions and nearly 0 for those
that represent the data. For a change Δ of the features, the curvature is

    Σᵢⱼ wᵢⱼ (uᵢᵀ Δ rⱼ)²,      wᵢⱼ = (λᵢ hᵢ − λⱼ hⱼ) / (λᵢ − λⱼ),

the exact second derivative except for the coupling of (i, j) with (j, i). Iteratively reweighted
least squares with one-sided weights has hᵢ (or hⱼ) instead of wᵢⱼ, which is larger if only one of
the two directions is used, and makes its steps unnecessarily short.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polycomplete.rows import WIDE, Block, Holes, RowEnergy
from polycomplete.solvers.problem import LiftProblem, Point

PER_DECADE = 3  # steps per factor of ten in the smoothing
RENEWED = 2 * PER_DECADE  # steps between updates of the preconditioner
SLIGHT = 1e-6  # damping relative to a row's metric: bounds steps in undetermined directions
LENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01)  # step lengths, tried until the objective does not rise
SOLVED, LONGEST = 0.25, 60  # relative residual and number of iterations at which CG stops
UNUSED = 0.1  # directions whose weight is closer to 1 than this are treated as unused

Product = Callable[[np.ndarray], np.ndarray]


class HessianOperator:
    """Hessian of the objective as an operator, and its gradient, both times γ^(1−p/2).

    Attributes
    ----------
    gradient : ndarray of shape (n, m)
        The gradient, zero for fixed entries.
    """

    def __init__(self, point: Point, gamma: float, unused: float = UNUSED):
        self.problem, self.X = point.problem, point.X
        self.scale = gamma ** (1 - self.problem.penalty.p / 2)
        lam, vectors = point.spectrum.eigenvalues, point.spectrum.vectors
        h = self.problem.price(point.spectrum, gamma)[1] * self.scale
        used = (1 - h > unused) & (lam > 0)
        self.h, self.lam, self.vectors = h[used], lam[used], vectors[:, used]
        self.both = self._weights(gamma) + 1 - self.h[:, None] - self.h
        self.a, self.b = self.problem.kernel.metric(self.X)
        self.floor = np.maximum(self.a, max(1e-9 * float(np.max(self.a)), 1e-300))
        G = self.problem._charge(point.spectrum, gamma)[1]
        gradient = self._chain(point, G) + self.problem.fidelity(self.X)[1]
        self.gradient = np.where(self.problem.free, self.scale * gradient, 0)
        self.left, self.energy = self._prepare(point)
        #: Share of each row that used directions do not explain: the weight of its diagonal block.
        least = float(np.min(h, initial=1.0))
        self.own = np.maximum(1 - np.sum(self.left**2 * (1 - self.h), axis=1), max(least, 1e-15))

    def _weights(self, gamma: float) -> np.ndarray:
        """Return wᵢⱼ, clipped to between min(hᵢ, hⱼ)/4 and max(hᵢ, hⱼ).

        For equal weights and 0 < p ≤ 1, wᵢⱼ is at most the maximum without clipping.
        """
        lam, h = self.lam, self.h
        gap = lam[:, None] - lam
        close = np.abs(gap) <= 1e-6 * (np.maximum(lam[:, None], lam) + gamma)
        rise = lam * h
        equal = h * (1 - (1 - self.problem.penalty.p / 2) * lam / (lam + gamma))
        w = np.where(close, equal, (rise[:, None] - rise) / np.where(close, 1.0, gap))
        low, high = np.minimum(h[:, None], h), np.maximum(h[:, None], h)
        return np.clip(w, 0.25 * low, high)

    def _chain(self, point: Point, G: np.ndarray) -> np.ndarray:
        """Return the gradient in X, given that in the matrix whose spectrum is penalized."""
        raise NotImplementedError

    def _prepare(self, point: Point) -> tuple[np.ndarray, RowEnergy]:
        """Return the used left vectors, and the row energy given the right ones."""
        raise NotImplementedError

    def _curve(self, V: np.ndarray) -> np.ndarray:
        """Return half the product of the penalty's Hessian and V."""
        raise NotImplementedError

    def _mix(self, G: np.ndarray) -> np.ndarray:
        """Return what the used right directions subtract, given a step's components in them."""
        return G * (1 - self.h) - self.left @ (self.both * (self.left.T @ G))

    def product(self, V: np.ndarray, damping: float) -> np.ndarray:
        """Return the product of the Hessian and V."""
        out = self._curve(V) + damping * (self.own * self.floor)[:, None] * V
        return np.where(self.problem.free, 2 * out + self._stiffness() * V, 0)

    def _stiffness(self) -> np.ndarray | float:
        noise = self.problem.noise
        return 0.0 if noise is None else np.where(self.problem.mask, noise * self.scale, 0)

    def inverse(self, damping: float) -> Product:
        """Return the inverse of the block diagonal (one block per row), as a product.

        For wide rows, only the diagonal is used.
        """
        if self.X.shape[1] > WIDE:
            scale = 2 * (self.own * self.floor * (1 + damping))[:, None] + self._stiffness()
            return lambda R: R / scale
        holes = Holes(~self.problem.free)
        inverses = [_inverses(self._own_block(block, damping)) for block in holes.blocks]

        def solve(R: np.ndarray) -> np.ndarray:
            out = np.zeros_like(R)
            for block, inverse in zip(holes.blocks, inverses, strict=True):
                part = np.where(block.padding, 0.0, block.gather(R))
                moved = (inverse @ part[:, :, None])[:, :, 0]
                out[block.rows] = block.fill(moved, out[block.rows])
            return out

        return solve

    def _own_block(self, block: Block, damping: float) -> np.ndarray:
        """Return the diagonal block of the Hessian for each row of a block."""
        here = self.energy.expand(self.X[block.rows], block.columns)
        H = here.hessian(block.padding, damping) * self.own[block.rows, None, None]
        if self.problem.noise is not None:
            at = np.arange(block.n_holes)
            H[:, at, at] += block.gather(self._stiffness() * np.ones_like(self.X))
        return H


class _GramHessian(HessianOperator):
    """Hessian based on the Gram matrix."""

    def _chain(self, point: Point, G: np.ndarray) -> np.ndarray:
        return self.problem.kernel.vjp(self.X, point.K, G)

    def _prepare(self, point: Point) -> tuple[np.ndarray, RowEnergy]:
        kernel, U = self.problem.kernel, self.vectors
        self.s, self.t = kernel.slopes(self.X, self.X, point.K)
        self.L = self.X - self.X.mean(axis=0) if self.s is self.t else self.X
        self.cross = kernel.cross(self.X, point.K, (U * (1 - self.h)) @ U.T)
        self.B = U / np.sqrt(self.lam)
        factor = self.B * np.sqrt(1 - self.h)
        return U, RowEnergy(kernel, self.X, factor, None)

    def _curve(self, V: np.ndarray) -> np.ndarray:
        X, L = self.X, self.L
        along = self.s * (V @ L.T) - self.t * np.sum(V * L, axis=1)[:, None]
        Q = self._mix(along @ self.B) @ self.B.T
        back = (Q * self.s) @ L - np.sum(Q * self.t, axis=1)[:, None] * L
        own = self.a[:, None] * V + self.b[:, None] * X * np.sum(X * V, axis=1)[:, None]
        return own - self.cross(V) - back


class _LiftHessian(HessianOperator):
    """Hessian based on the features of a polynomial kernel."""

    problem: LiftProblem

    def _chain(self, point: Point, G: np.ndarray) -> np.ndarray:
        return 2 * self.problem.features.pull(self.X, point.K @ G)

    def _prepare(self, point: Point) -> tuple[np.ndarray, RowEnergy]:
        left = (point.K @ self.vectors) / np.sqrt(self.lam)
        return left, self.problem.features.energy(self.vectors * np.sqrt(1 - self.h))

    def _curve(self, V: np.ndarray) -> np.ndarray:
        features, R = self.problem.features, self.vectors
        A = features.push(self.X, V)
        rest = A - self.left @ ((1 - self.h)[:, None] * (self.left.T @ A)) - self._mix(A @ R) @ R.T
        return features.pull(self.X, rest)


def _inverses(H: np.ndarray) -> np.ndarray:
    """Return the inverses of symmetric matrices; pseudoinverses if rounding made one singular."""
    try:
        return np.linalg.inv(H)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(H, hermitian=True)


def hessian(point: Point, gamma: float, unused: float = UNUSED) -> HessianOperator:
    """Return the Hessian and the gradient at a point."""
    kind = _GramHessian if point.problem.features is None else _LiftHessian
    return kind(point, gamma, unused)


def step(at: Point, gamma: float, here: HessianOperator, solve: Product) -> Point:
    """Take a Newton step that does not raise the objective; return the same point if there is none.

    Examples
    --------
    >>> from polycomplete.kernels import Polynomial
    >>> from polycomplete.penalties import Schatten
    >>> from polycomplete.solvers.problem import ExactProblem
    >>> X, mask = np.array([[1.0, 2.0], [2.0, 0.0]]), np.array([[True, True], [True, False]])
    >>> problem = ExactProblem(X, mask, Polynomial(1, 0.0), Schatten(0.5))
    >>> at = problem.evaluate(np.array([3.0]), 1e-3)
    >>> for gamma in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
    ...     here = hessian(at, gamma)
    ...     at = step(at, gamma, here, here.inverse(SLIGHT))
    >>> at.z.round(1)  # the rows are parallel
    array([4.])
    """
    move, before = at.problem.pack(direction(here, solve)), at.value(gamma)
    for length in LENGTHS:
        trial = at.problem.evaluate(at.z + length * move, gamma)
        if trial.value(gamma) <= before:  # False for NaN
            return trial
    return at


def direction(here: HessianOperator, solve: Product, solved: float = SOLVED) -> np.ndarray:
    """Return the Newton direction by preconditioned conjugate gradients."""
    V = np.zeros_like(here.gradient)
    residual = -here.gradient
    pointed = way = solve(residual)
    size = first = float(np.sum(residual * pointed))
    for _ in range(LONGEST):
        if not size > solved**2 * first or size == 0:
            break
        curved = here.product(way, SLIGHT)
        steep = float(np.sum(way * curved))
        if not steep > 0:  # non-positive curvature from rounding: stop
            break
        length = size / steep
        V, residual = V + length * way, residual - length * curved
        pointed = solve(residual)
        last, size = size, float(np.sum(residual * pointed))
        way = pointed + (size / last) * way
    return V
