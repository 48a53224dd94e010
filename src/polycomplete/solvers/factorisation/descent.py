"""The moves of a kernel factorisation: sweeps with drawn atoms, restarts, joint descent.

A few atoms D (rows of the same space) explain every row in feature space, φ(x) ≈ φ(D)ᵀ z. With the
best codes z put in,

    f(X, D) = ½ Σⱼ [k(xⱼ, xⱼ) − k(D, xⱼ)ᵀ (k(D, D) + βI)⁻¹ k(D, xⱼ)] + α/2 Σᵢ k(dᵢ, dᵢ),

half the sum of the row energies of :mod:`polycomplete.rows` with the atoms as landmarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.optimize import OptimizeResult, minimize

from polycomplete.kernels import Kernel
from polycomplete.rows import (
    PLAIN,
    Block,
    Holes,
    Posterior,
    RowEnergy,
    folds,
    learn,
    pivots,
    restart,
    settle,
    spreads,
)
from polycomplete.solvers.base import Monitor, fill, logger, stages
from polycomplete.solvers.factorisation.dictionary import Dictionary
from polycomplete.solvers.problem import WIDEST

OVER = 2  # drawn atoms for each atom to be learned: atoms that are drawn explain less
TRIM = 0.3  # directions of the drawn atoms with less than this share of β explain too little
FEWEST_ATOMS, MOST_ATOMS = 40, 300  # of "auto"; a step costs r³
ROUND = 40  # iterations between two renewals of the preconditioners
#: Bounds how soft a direction may be: of a row's own metric, of the atoms' mean curvature.
ROW_DAMPING, ATOM_DAMPING = 1e-3, 0.1


def evaluate(
    kernel: Kernel, X: np.ndarray, atoms: np.ndarray, beta: float, alpha: float = 0.0
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the objective of a factorisation and its gradients in the rows and in the atoms."""
    inside, K = kernel.gram(atoms), kernel.gram(X, atoms)
    Z = _codes(inside, K, beta)
    left = kernel.diagonal(X) - np.sum(K * Z, axis=1)
    value = 0.5 * float(left.sum() + alpha * kernel.diagonal(atoms).sum())
    rows = kernel.diagonal_slope(X)[:, None] * X - _pull(kernel, X, atoms, K, Z)
    moves = 0.5 * kernel.vjp(atoms, inside, Z.T @ Z) - _pull(kernel, atoms, X, K.T, Z.T)
    return value, rows, moves + alpha * kernel.diagonal_slope(atoms)[:, None] * atoms


def _codes(inside: np.ndarray, K: np.ndarray, beta: float) -> np.ndarray:
    """Return the best code of each row, (K_DD + βI)⁻¹ k(D, x)."""
    factor = linalg.cho_factor(inside + beta * np.eye(len(inside)), lower=True, check_finite=False)
    return linalg.cho_solve(factor, K.T, check_finite=False).T


def _pull(kernel: Kernel, X: np.ndarray, Y: np.ndarray, K: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return the gradient in X of ``Σ G ∘ k(X, Y)``."""
    s, t = kernel.slopes(X, Y, K)
    if s is t:  # only differences of rows count: keep their digits
        centre = Y.mean(axis=0)
        X, Y = X - centre, Y - centre
        pull = G * s
        return pull @ Y - pull.sum(axis=1)[:, None] * X
    return (G * s) @ Y - np.sum(G * t, axis=1)[:, None] * X


@dataclass(frozen=True)
class AtomPreconditioner:
    """The change of variables ``C = Lᵀ D`` with one triangular matrix for all columns of atoms."""

    factor: np.ndarray

    def forward(self, atoms: np.ndarray) -> np.ndarray:
        """Return the new variables for atoms."""
        return self.factor.T @ atoms

    def back(self, changed: np.ndarray) -> np.ndarray:
        """Return the atoms for new variables."""
        return linalg.solve_triangular(self.factor, changed, trans=1, lower=True)

    def gradient(self, slope: np.ndarray) -> np.ndarray:
        """Return the gradient in the new variables for one in the atoms."""
        return linalg.solve_triangular(self.factor, slope, lower=True)


def precondition_atoms(
    kernel: Kernel, X: np.ndarray, atoms: np.ndarray, beta: float
) -> AtomPreconditioner:
    """Return variables in which all atoms are about equally stiff.

    Moving an atom changes a row by as much as the row's code uses that atom. With frozen codes
    the Gauss–Newton matrix of the atoms is ``ZᵀZ ∘ s(D, D)``, the same for every column where the
    atoms lie close to each other compared with the kernel's width: the relaxed Newton matrix of
    Fan & Udell.
    """
    inside = kernel.gram(atoms)
    Z = _codes(inside, kernel.gram(X, atoms), beta)
    H = (Z.T @ Z) * np.broadcast_to(kernel.slopes(atoms, atoms, inside)[0], inside.shape)
    size = max(float(np.mean(np.diag(H))), 1e-300)
    H = H + ATOM_DAMPING * size * np.eye(len(atoms))
    return AtomPreconditioner(linalg.cholesky(H, lower=True, check_finite=False))


@dataclass(frozen=True)
class PackedHoles(Holes):
    """The missing entries of rows, in blocks, as an optimiser wants them."""

    def pack(self, A: np.ndarray) -> np.ndarray:
        """Return the entries of A in the holes as a vector, zeros for padding in between."""
        places, real = self._places
        z = np.zeros(len(real))
        z[real] = A.ravel()[places]
        return z

    def unpack(self, z: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return A with the entries of a vector in its holes."""
        places, real = self._places
        flat = A.flatten()
        flat[places] = z[real]
        return flat.reshape(A.shape)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the entries of a vector stand in the flat matrix, and which are no padding."""
        m, none = self.mask.shape[1], [np.empty(0, dtype=int)]
        flat = [(block.rows[:, None] * m + block.columns).ravel() for block in self.blocks]
        real = np.concatenate([~block.padding.ravel() for block in self.blocks] + [none[0] > 0])
        return np.concatenate(flat + none)[real], real

    def parts(self, z: np.ndarray) -> Iterator[tuple[Block, np.ndarray]]:
        """Yield each block with its part of a vector, (g, k)."""
        begin = 0
        for block in self.blocks:
            end = begin + block.columns.size
            yield block, z[begin:end].reshape(block.columns.shape)
            begin = end

    def precondition(self, energy: RowEnergy, X: np.ndarray) -> HolePreconditioner:
        """Return variables in which all directions of a row are about equally stiff.

        Wide data would need too much memory for that; there all entries of a row are scaled alike.
        """
        C = []
        for block in self.blocks:
            if self.mask.shape[1] > WIDEST:
                a = energy.kernel.metric(X[block.rows])[0]
                C.append(np.sqrt(2 * np.maximum(a, 1e-300))[:, None, None])
            else:
                here = energy.expand(X[block.rows], block.columns)
                C.append(np.linalg.cholesky(here.hessian(block.padding, ROW_DAMPING)))
        return HolePreconditioner(self, C, [np.linalg.inv(part) for part in C])


@dataclass(frozen=True)
class HolePreconditioner:
    """The change of variables ``y = Cᵀ z`` with one small triangular C for each row.

    ``C`` and ``inverse`` hold the matrices of each block, (g, k, k), or numbers, (g, 1, 1).
    """

    holes: PackedHoles
    C: list[np.ndarray]
    inverse: list[np.ndarray]

    def forward(self, z: np.ndarray) -> np.ndarray:
        """Return y for z."""
        return self._apply([part.transpose(0, 2, 1) for part in self.C], z)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return z for y."""
        return self._apply([part.transpose(0, 2, 1) for part in self.inverse], y)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient in y for one in z."""
        return self._apply(self.inverse, g)

    def _apply(self, matrices: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        done = np.empty_like(vector)
        pairs = zip(self.holes.parts(vector), self.holes.parts(done), matrices, strict=True)
        for (_, part), (_, into), M in pairs:
            into[:] = M[:, :, 0] * part if M.shape[1] == 1 else (M @ part[:, :, None])[:, :, 0]
        return done


class FactorisationRun:
    """Where a factorisation stands, and its moves; ``rng`` draws atoms."""

    def __init__(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        n_atoms: int | str,
        monitor: Monitor,
        rng: np.random.Generator,
    ):
        X = np.where(mask, X, 0.0)
        self.mask, self.kernel = mask, kernel.resolve(X, mask)
        self.monitor, self.rng = monitor, rng
        self.X = fill(X, mask, "mean")
        self.holes = PackedHoles(mask)
        self.damping = np.full(len(X), 0.1)
        self.scale = float(np.mean(self.kernel.diagonal(self.X))) or 1.0
        self.most = max(1, len(X) // 2)
        auto = min(max(2 * X.shape[1], FEWEST_ATOMS), MOST_ATOMS)
        self.count = min(auto if isinstance(n_atoms, str) else int(n_atoms), self.most)
        self.atoms: np.ndarray | None = None
        self.beta = 1.0

    def warm_up(self, first: float, last: float, per_ten: int) -> None:
        """Sweep while β shrinks; ``last`` itself is left to the descent."""
        for beta in stages(first, last, 10 ** (1 / per_ten))[:-1]:
            self.sweep(beta)

    def sweep(self, beta: float) -> None:
        """Draw atoms among the rows and let every row take one step towards them."""
        self.beta, gamma = beta, beta * self.scale
        count = min(OVER * self.count, self.most)
        drawn = self.X[self.rng.choice(len(self.X), count, replace=False)]
        energy = _trimmed(learn(self.kernel, drawn, gamma, in_place=False), gamma)
        self.X, E, self.damping, _ = settle(energy, self.X, self.holes, self.damping)
        self.monitor.note(0.5 * float(E.sum()), beta)

    def rescue(self, beta: float) -> int:
        """Start the worst rows again; return how many moved."""
        gamma, count = beta * self.scale, min(OVER * self.count, self.most)
        X, mask, moved, spread = self.X.copy(), self.mask, 0, spreads(self.X)
        for part in folds(len(X), 2, self.rng):
            others = np.delete(self.X, part, axis=0)
            if not len(others):
                break
            energy = learn(self.kernel, others[pivots(self.kernel, others, count)], gamma, False)
            posterior = Posterior(energy, others, spread, gamma, packing=PLAIN)
            X[part], more = restart(posterior, self.X[part], mask[part], gamma)
            moved += more
        self.X = X
        self.damping[:] = 0.1
        logger.info("started %d rows again", moved)
        return moved

    def renew_atoms(self) -> np.ndarray:
        """Select the atoms among the current rows."""
        self.atoms = self.X[pivots(self.kernel, self.X, self.count)]
        return self.atoms

    def descend(self, beta: float, max_iter: int) -> float:
        """Move rows and atoms together at one β; return the objective."""
        X, kernel, holes, gamma = self.X, self.kernel, self.holes, beta * self.scale
        atoms = self.renew_atoms() if self.atoms is None else self.atoms
        self.beta, alpha = beta, self._alpha(beta)
        by_row = holes.precondition(learn(kernel, atoms, gamma, in_place=False), X)
        by_atom = precondition_atoms(kernel, X, atoms, gamma)
        begin = np.append(by_row.forward(holes.pack(X)), by_atom.forward(atoms))
        size = len(begin) - atoms.size

        def parts(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            rows = holes.unpack(by_row.back(y[:size]), X)
            return rows, by_atom.back(y[size:].reshape(atoms.shape))

        def objective(y: np.ndarray) -> tuple[float, np.ndarray]:
            value, rows, moves = evaluate(kernel, *parts(y), gamma, alpha)
            slope = np.append(by_row.gradient(holes.pack(rows)), by_atom.gradient(moves))
            return value / gamma, slope / gamma

        latest = begin

        def watch(intermediate_result: OptimizeResult) -> None:
            nonlocal latest
            latest = intermediate_result.x.copy()
            self.monitor.note(float(intermediate_result.fun) * gamma, beta)

        options = {"maxiter": max_iter, "maxcor": 10, "ftol": 1e-15, "gtol": 1e-10}
        arguments = {"jac": True, "method": "L-BFGS-B", "callback": watch, "options": options}
        try:
            return float(minimize(objective, begin, **arguments).fun) * gamma
        finally:  # also where the monitor ends the run
            self.X, self.atoms = parts(latest)

    def _alpha(self, beta: float) -> float:
        """Return α, which keeps atoms from running away where long atoms make short codes."""
        # Where k(x, x) is constant they cannot, and their weight is but a constant.
        return beta if np.any(self.kernel.diagonal_slope(self.X)) else 0.0

    def converge(self, beta: float, max_iter: int, tol: float) -> str:
        """Descend at one β until the objective rests."""
        before = np.inf
        for left in range(max_iter, 0, -ROUND):
            value = self.descend(beta, min(ROUND, left))
            if before - value <= tol * abs(value) * min(ROUND, left):
                return "converged"
            before = value
        return "max_iter"

    def model(self, memory: int, seed: int) -> Dictionary:
        """Return what has been learned so far."""
        atoms = self.renew_atoms() if self.atoms is None else self.atoms
        n = len(self.X)
        kept = np.sort(self.rng.permutation(n)[:memory])
        model = Dictionary(
            self.kernel,
            atoms,
            self.beta,
            self.scale,
            self.X[kept],
            self.mask[kept],
            typical=0.0,
            seen=n,
            learned=n,
            seed=seed,
        )
        return model.judging(self.X)


def _trimmed(energy: RowEnergy, gamma: float) -> RowEnergy:
    """Leave out the directions that explain little of any row."""
    eigenvalues = 1 / np.sum(energy.factor**2, axis=0) - gamma
    kept = np.ascontiguousarray(energy.factor[:, eigenvalues > TRIM * gamma])
    return RowEnergy(energy.kernel, energy.landmarks, kept, None)
