"""Every point written by few other points: the coefficients of sparse subspace clustering.

Points of one subspace write each other more sparsely than points of another can; so the nonzero
coefficients show who belongs together. Every row x is written by few atoms, the rows of a
dictionary D:

    min |c|₁ + κ/2 |c|² + λ/2 |x − cD|²,   some coefficients barred, where asked with Σ c = 1.

In the alternating direction method of multipliers (ADMM) the smooth part and the absolute values
take turns: a copy z of the coefficients carries the former and meets the constraint exactly, c the
latter, and scaled multipliers pull them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

Matrix = np.ndarray
# Residuals are compared this often, so that a penalty has time to show what it does, and no longer
# than this: a penalty that changes for ever may keep the method from converging.
_BALANCE_EVERY, _BALANCE_UNTIL = 10, 200
_RELAXATION = 1.6
# Rows coded together with dictionaries of their own: few enough for these to stay in the cache.
_BLOCK = 128


@dataclass(frozen=True)
class Shared:
    """One dictionary for all rows; a step costs n_rows × n_atoms × n_features.

    ``counted`` are ones for the atoms whose coefficients must sum to one, zeros for the others;
    without it there is no such constraint.
    """

    X: Matrix
    atoms: Matrix
    weight: float
    counted: np.ndarray | None = None

    def resolvent(self, penalty: float) -> Callable[[Matrix], Matrix]:
        """Return the map from T to the z that minimizes λ/2 |x − zD|² + penalty/2 |z − T|²."""
        D = self.atoms
        # z = T + (x − TD) λ (λ DᵀD + ρI)⁻¹ Dᵀ: the small inverse is as wide as the data.
        inner = self.weight * (D.T @ D) + penalty * np.eye(D.shape[1])
        gain = self.weight * linalg.solve(inner, D.T, assume_a="pos")
        if self.counted is None:
            return lambda T: T + (self.X - T @ D) @ gain
        direction = self.counted - (self.counted @ D) @ gain
        direction /= direction @ self.counted

        def solve(T: Matrix) -> Matrix:
            free = T + (self.X - T @ D) @ gain
            return free - np.outer(free @ self.counted - 1, direction)

        return solve


@dataclass(frozen=True)
class Own:
    """A small dictionary for every row; a step costs n_rows × n_atoms².

    ``grams`` are the scalar products of the atoms of every row, ``products`` those of a row with
    its atoms.
    """

    grams: Matrix
    products: Matrix
    weight: float
    affine: bool

    def resolvent(self, penalty: float) -> Callable[[Matrix], Matrix]:
        """Return the map from T to the z that minimizes λ/2 |x − zD|² + penalty/2 |z − T|²."""
        ratio = self.weight / penalty
        inverse = np.linalg.inv(ratio * self.grams + np.eye(self.grams.shape[1]))
        direction = inverse.sum(axis=2)
        direction /= direction.sum(axis=1, keepdims=True)

        def solve(T: Matrix) -> Matrix:
            free = np.matmul(inverse, (T + ratio * self.products)[:, :, None])[:, :, 0]
            return free - (free.sum(axis=1, keepdims=True) - 1) * direction if self.affine else free

        return solve


@dataclass(frozen=True)
class Schedule:
    """How long ADMM runs; ``penalty`` weighs the distance between the two copies.

    With ``balance`` ADMM over-relaxes and adapts the penalty so that primal and dual residual fall
    together; ``tol`` is then the largest residual, relative to the size of what it is a residual
    of. Without, it is the largest difference of any two copies of a coefficient.
    """

    penalty: float
    tol: float = 1e-3
    max_iter: int = 1000
    balance: bool = True


class Codes(NamedTuple):
    """What ADMM found: coefficients of every row, iterations (of the slowest part), whether enough.

    ``atoms`` are the points that the coefficients belong to, None where these are all points in
    their order; ``outliers`` is what the outlier term took out of the points, where there is one.
    """

    values: Matrix
    iterations: int
    converged: bool
    atoms: np.ndarray | None = None
    outliers: Matrix | None = None


def sparse_codes(
    quadratic: Shared | Own,
    shape: tuple[int, int],
    schedule: Schedule,
    barred: np.ndarray | None = None,
    ridge: float | np.ndarray = 0.0,
) -> Codes:
    """Return the sparse coefficients of every row, zero where barred.

    With a ridge, κ for all atoms or for each, a coefficient is shared among atoms that are alike,
    instead of one being chosen.
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


def by_all(
    X: Matrix,
    alpha: float,
    affine: bool,
    outlier_alpha: float | None,
    schedule: Schedule,
    ridge: float = 0.0,
) -> Codes:
    """Code every point by all the others.

    λ of the squared error is alpha / min_i max_j |xᵢ·xⱼ|: above 1 no point is left at zero.
    """
    n, m = X.shape
    products = np.abs(X @ X.T)
    np.fill_diagonal(products, 0)
    weight = alpha / _smallest(products.max(axis=1))
    barred, atoms, counted = np.eye(n, dtype=bool), X, np.ones(n)
    if outlier_alpha is not None:
        # λₑ = outlier_alpha / min_i max_{j≠i} |xⱼ|₁: that minimum is the second largest norm.
        scale = outlier_alpha / (float(np.sort(np.abs(X).sum(axis=1))[-2]) or 1.0)
        # An outlier is a combination of unit vectors; dividing them by λₑ charges them λₑ each.
        atoms = np.vstack([X, np.eye(m) / scale])
        barred = np.hstack([barred, np.zeros((n, m), dtype=bool)])
        counted = np.concatenate([counted, np.zeros(m)])
    problem = Shared(*_narrow(X, atoms), weight, counted if affine else None)
    found = sparse_codes(problem, barred.shape, schedule, barred, ridge * counted)
    outliers = None if outlier_alpha is None else found.values[:, n:] / scale
    return found._replace(values=found.values[:, :n], outliers=outliers)


def by_nearest(
    X: Matrix, alpha: float, affine: bool, n_neighbors: int, schedule: Schedule, ridge: float = 0.0
) -> Codes:
    """Code every point by its nearest others, in blocks: memory grows with the points only.

    Nearest means the smallest distance where subspaces are affine, the smallest angle where they go
    through the origin.
    """
    atoms, largest = _nearest(X, affine, n_neighbors)
    weight = alpha / _smallest(largest)
    values, iterations, converged = np.zeros(atoms.shape), 0, True
    for rows in _blocks(len(X)):
        D = X[atoms[rows]]
        products = np.einsum("bkm,bm->bk", D, X[rows])
        problem = Own(D @ D.transpose(0, 2, 1), products, weight, affine)
        found = sparse_codes(problem, products.shape, schedule, ridge=ridge)
        values[rows] = found.values
        iterations, converged = max(iterations, found.iterations), converged and found.converged
    return Codes(values, iterations, converged, atoms)


def _nearest(X: Matrix, affine: bool, n_neighbors: int) -> tuple[np.ndarray, Matrix]:
    """Return the nearest points of each in ascending order, and the largest product of each."""
    norms = np.linalg.norm(X, axis=1)
    atoms, largest = np.empty((len(X), n_neighbors), dtype=np.intp), np.empty(len(X))
    for rows in _blocks(len(X)):
        products = X[rows] @ X.T
        own = np.arange(len(products)), np.arange(rows.start, rows.stop)
        closeness = (
            2 * products - norms**2 if affine else np.abs(products) / np.maximum(norms, 1e-300)
        )
        closeness[own], products[own] = -np.inf, 0
        largest[rows] = np.abs(products).max(axis=1)
        # In the order of the points: no result depends on how the search sorts.
        atoms[rows] = np.sort(np.argpartition(-closeness, n_neighbors - 1)[:, :n_neighbors], axis=1)
    return atoms, largest


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


def _narrow(X: Matrix, atoms: Matrix) -> tuple[Matrix, Matrix]:
    """Turn the space so that there are no more columns than atoms; products stay what they are."""
    if X.shape[1] <= len(atoms):
        return X, atoms
    basis = np.linalg.svd(atoms, full_matrices=False)[2].T
    return X @ basis, atoms @ basis


def _smallest(largest: np.ndarray) -> float:
    """Return the smallest number that is not rounding; points at the origin tell nothing."""
    positive = largest[largest > 1e-12 * largest.max()]
    return float(positive.min()) if positive.size else 1.0
