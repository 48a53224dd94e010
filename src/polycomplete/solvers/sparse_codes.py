"""Sparse codes: every row written by few atoms, by the alternating direction method of multipliers.

Every row x has coefficients on the atoms D that minimize

    |c|₁ + κ/2 |c|² + λ/2 |x − cD|²,

where x is observed; some coefficients are barred, and where asked they sum to one. The smooth part
and the absolute values take turns (ADMM; Boyd et al. 2011, section 3): a copy z of the coefficients
carries the squared error and meets the constraints exactly, c the absolute values and the ridge,
and scaled multipliers pull them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from polycomplete._resources import TILE

Matrix = np.ndarray
Resolvent = Callable[[Matrix], Matrix]
#: Rows that are coded together: tiles, or the last rows take another path through BLAS.
BLOCK = 4 * TILE
RELAXATION = 1.6  # Boyd et al., section 3.4.3: between 1.5 and 1.8
CELLS = 4e6  # numbers in the systems that are solved together
BALANCE = 10  # steps after which penalties adapt
TINY = 1e-12


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield the rows in blocks."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


class Misfit:
    """λ/2 |x − zD|² of complete rows, with one dictionary for all or one (in 3-D) for each.

    ``counted`` are ones for the coefficients that must sum to one, zeros for the others; without it
    there is no such constraint.
    """

    def __init__(self, X: Matrix, atoms: Matrix, weight: float, counted: np.ndarray | None = None):
        self.weight, self.counted = weight, counted
        transposed = atoms.swapaxes(-1, -2)
        # z = T + (x − TD) λ (λ DᵀD + ρI)⁻¹ Dᵀ = T + (xDᵀ − TDDᵀ) λ (λ DDᵀ + ρI)⁻¹: the smaller one.
        if atoms.shape[-1] > atoms.shape[-2]:
            self.gram = self.forward = atoms @ transposed
            self.target, self.back = _times(X, transposed), np.eye(atoms.shape[-2])
        else:
            self.gram, self.forward = transposed @ atoms, atoms
            self.target, self.back = X, transposed

    def resolvent(self, penalty: Matrix) -> Resolvent:
        """Return the map from T to the z that minimizes the misfit + penalty/2 |z − T|²."""
        ridge = penalty.item() / self.weight * np.eye(self.gram.shape[-1])
        gain = np.linalg.inv(self.gram + ridge) @ self.back

        def free(T: Matrix) -> Matrix:
            return T + _times(self.target - _times(T, self.forward), gain)

        if self.counted is None:
            return free
        counted = self.counted
        direction = counted - _times(np.matmul(counted, self.forward), gain)
        direction /= (direction @ counted)[..., None]

        def constrained(T: Matrix) -> Matrix:
            Z = free(T)
            Z -= (Z @ counted - 1)[:, None] * direction
            return Z

        return constrained


@dataclass(frozen=True)
class ObservedMisfit:
    """λ/2 |x − zD|² of the observed entries of each row, with one dictionary for all.

    With ``bar_self`` the rows are the atoms' own, in the same order, and none uses its own atom.
    """

    X: Matrix
    mask: Matrix
    atoms: Matrix
    weight: float
    bar_self: bool

    def resolvent(self, penalty: Matrix) -> Resolvent:
        """Return the map from T to the z that minimizes the misfit + penalty/2 |z − T|²."""
        wide = self.atoms.shape[1] > len(self.atoms)
        step = self._step_wide if wide else self._step_tall

        def solve(T: Matrix) -> Matrix:
            Z = T + step(np.where(self.mask, self.X - T @ self.atoms, 0), penalty)
            if self.bar_self:
                np.fill_diagonal(Z, 0)
            return Z

        return solve

    def _step_tall(self, R: Matrix, penalty: Matrix) -> Matrix:
        """Solve a system in the columns for each row, where its missing ones stand alone."""
        m = R.shape[1]
        products, diagonal = self.atoms.T @ self.atoms, np.arange(m)
        found = np.empty_like(R)
        for rows in blocks(len(R), max(1, min(BLOCK, int(CELLS / m**2)))):
            seen = self.mask[rows].astype(float)
            H = seen[:, :, None] * seen[:, None, :]
            H *= products
            if self.bar_self:
                own = seen * self.atoms[rows]
                H -= own[:, :, None] * own[:, None, :]
            H[:, diagonal, diagonal] += penalty[rows] / self.weight
            found[rows] = np.linalg.solve(H, R[rows, :, None])[:, :, 0]
        return found @ self.atoms.T

    def _step_wide(self, R: Matrix, penalty: Matrix) -> Matrix:
        """Solve a system in the coefficients, which are fewer than the columns."""
        found = np.empty((len(R), len(self.atoms)))
        for i, (r, seen, ridge) in enumerate(zip(R, self.mask, penalty, strict=True)):
            D = self.atoms[:, seen]
            if self.bar_self:
                D[i] = 0
            H = D @ D.T + ridge / self.weight * np.eye(len(D))
            found[i] = np.linalg.solve(H, D @ r[seen])
        return found


class Admm:
    """Where ADMM stands: codes c, copies z, multipliers, penalties (one, or one for each row).

    ``residual`` is the larger of primal and dual residual, relative to the size of what they are
    residuals of; where there is no ``balance``, the largest difference of any two copies.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        penalty: Matrix,
        ridge: Matrix | float = 0.0,
        bar_self: bool = False,
        balance: bool = True,
    ):
        self.codes, self.copies, self.multiplier = (np.zeros(shape) for _ in range(3))
        self.penalty, self.ridge = penalty, ridge
        self.bar_self, self.balance = bar_self, balance

    def step(self, solve: Resolvent) -> None:
        """Let both copies of the coefficients take their turn."""
        relaxation = RELAXATION if self.balance else 1.0
        self.copies = solve(self.codes - self.multiplier)
        target = relaxation * self.copies + (1 - relaxation) * self.codes + self.multiplier
        self.before, self.codes = self.codes, self._shrink(target)
        self.multiplier = target - self.codes

    def _shrink(self, target: Matrix) -> Matrix:
        """Move entries towards zero by 1/ρ, and no further; then by the ridge's share."""
        codes = target - np.clip(target, -1 / self.penalty, 1 / self.penalty)
        codes *= self.penalty / (self.penalty + self.ridge)
        if self.bar_self:
            np.fill_diagonal(codes, 0)
        return codes

    def residuals(self) -> tuple[Matrix, Matrix]:
        """Return how far the copies are apart, and how far the multipliers still have to go."""
        if not self.balance:  # the published rule looks at the copies only
            apart = np.abs(self.copies - self.codes).max(initial=0)
            return np.array([[apart]]), np.zeros((1, 1))
        size = np.maximum(self._norm(self.copies), self._norm(self.codes))
        primal = self._norm(self.copies - self.codes) / np.maximum(size, TINY)
        moved = self._norm(self.codes - self.before)
        return primal, moved / np.maximum(self._norm(self.multiplier), TINY)

    def adapt(self) -> bool:
        """Adapt penalties so that both residuals fall together; return whether one changed."""
        primal, dual = (np.maximum(each, TINY) for each in self.residuals())
        factor = np.clip(np.sqrt(primal / dual), 0.2, 5)
        factor[(factor > 2 / 3) & (factor < 3 / 2)] = 1
        self.penalty, self.multiplier = self.penalty * factor, self.multiplier / factor
        return bool(np.any(factor != 1))

    def run(self, misfit: Misfit | ObservedMisfit, tol: float, max_iter: int) -> tuple[int, bool]:
        """Take steps until all rows rest; return how many, and whether they do.

        With a penalty for each row, a row that rests keeps its copies: nothing depends on others.
        """
        solve = misfit.resolvent(self.penalty)
        kept, resting = self.copies, np.zeros((len(self.penalty), 1), dtype=bool)
        for iteration in range(1, max_iter + 1):
            self.step(solve)
            kept = np.where(resting, kept, self.copies) if resting.any() else self.copies
            resting |= np.maximum(*self.residuals()) < tol
            if resting.all():
                break
            # A penalty has time to show what it does; one that changes for ever may keep the
            # method from converging.
            settling = self.balance and iteration % BALANCE == 0 and iteration <= 20 * BALANCE
            if settling and self.adapt():
                solve = misfit.resolvent(self.penalty)
        self.copies = kept
        return iteration, bool(resting.all())

    def _norm(self, A: Matrix) -> Matrix:
        axis = 1 if len(self.penalty) > 1 else None
        return np.linalg.norm(A, axis=axis, keepdims=True)


def _times(A: Matrix, B: Matrix) -> Matrix:
    """Return the product of each row with one matrix for all, or with its own."""
    return A @ B if B.ndim == 2 else np.matmul(A[:, None, :], B)[:, 0]
