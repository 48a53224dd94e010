"""The moves of a kernel factorisation: sweeps with drawn atoms, second chances, joint descent."""

from __future__ import annotations

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from polycomplete.kernels import Kernel
from polycomplete.rows import (
    PLAIN,
    Posterior,
    RowEnergy,
    folds,
    learn,
    pivots,
    restart,
    settle,
    spreads,
)
from polycomplete.solvers.factorisation.dictionary import (
    Dictionary,
    evaluate,
    precondition_atoms,
)
from polycomplete.solvers.factorisation.packing import PackedHoles
from polycomplete.solvers.result import Monitor, logger
from polycomplete.solvers.stages import stages
from polycomplete.solvers.start import fill

OVER = 2  # drawn atoms for each atom to be learned: atoms that are drawn explain less
TRIM = 0.3  # directions of the drawn atoms with less than this share of β explain too little
ROUND = 40  # iterations between two renewals of the preconditioners


class FactorisationRun:
    """Where a factorisation stands, and its moves.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, m)
        The data, and True where observed.
    kernel : Kernel
        Resolved.
    n_atoms : int
        Size of the dictionary; at most half as many as there are rows are used.
    monitor : Monitor
        Told of every sweep and iteration.
    rng : Generator
        Draws atoms.
    """

    def __init__(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        n_atoms: int,
        monitor: Monitor,
        rng: np.random.Generator,
    ):
        self.mask, self.kernel = mask, kernel
        self.monitor, self.rng = monitor, rng
        self.X = fill(X, mask, "mean")
        self.holes = PackedHoles(mask)
        self.damping = np.full(len(X), 0.1)
        self.scale = float(np.mean(kernel.diagonal(self.X))) or 1.0
        self.most = max(1, len(X) // 2)
        self.count = min(n_atoms, self.most)
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
        """Give the worst rows second chances; return how many moved."""
        gamma, count = beta * self.scale, min(OVER * self.count, self.most)
        X, mask, moved = self.X.copy(), self.mask, 0
        spread = spreads(X)
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
        kept = np.sort(self.rng.permutation(len(self.X))[:memory])
        n = len(self.X)
        model = Dictionary(
            kernel=self.kernel,
            atoms=atoms,
            beta=self.beta,
            scale=self.scale,
            rows=self.X[kept],
            mask=self.mask[kept],
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
