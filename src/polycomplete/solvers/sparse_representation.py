"""Sparse representation of each row by a few others, for SRMC and subspace clustering.

The coefficients c of a row x on the atoms D (other rows) minimize

    |c|₁ + κ/2 |c|² + λ/2 |x − cD|²

over its observed entries. Some coefficients may be fixed at zero, and their sum may be fixed at
one. ADMM (Boyd et al. 2011, section 3) alternates between a copy z of the coefficients with the
squared error and the constraints, which hold exactly, and c with the absolute values and the ridge;
scaled multipliers make them agree.

Sparse self-representation (Fan & Chow 2017) minimizes the sum over all rows, with the missing
entries among the unknowns. Then an entry also affects the residuals of rows that use its row as an
atom, and the sum favors long rows, because long atoms need small coefficients. With half of the
entries missing, minimizers have a far lower value than the truth at every λ that was tried. Here a
missing entry minimizes the residual of its own row only: it is what the representation of its row
predicts, and the coefficients of a row are fitted to its observed entries. A solution is an
equilibrium: every row is at the minimum of its own term of the sum, given the others. With atoms of
unit length and a constant coordinate, rows cannot diverge, and an equilibrium exists. Since no
single function decreases from round to round, the convergence criterion is the distance of the
entries from their predictions. A round is one ADMM step with a warm start from the last round,
although entries and atoms have moved since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from polycomplete._messages import check_numbers
from polycomplete._resources import TILE, blas_threads_for
from polycomplete.solvers.base import (
    Callback,
    Monitor,
    PathSolver,
    Result,
    Stopped,
    fill,
    logger,
    stages,
)

Matrix = np.ndarray
Resolvent = Callable[[Matrix], Matrix]
#: Rows that are processed together: whole tiles, so that BLAS treats all rows alike.
BLOCK = 4 * TILE
#: Maximum number of entries of the linear systems that are solved together.
CELLS = 4e6


@dataclass(eq=False, repr=False)
class SelfRepresentation(PathSolver):
    """Complete a matrix so that its rows are sparse combinations of each other.

    The smoothing γ = 1/λ starts at 1 and is halved after a few rounds; a round is a step of the
    coefficients followed by one of the missing entries.

    Parameters
    ----------
    smoothing : "auto" or float, default="auto"
        The last γ, for data divided by the length of a typical row: the paper's 1/λ over the mean
        squared length of the observed part of a row. "auto" chooses it on held-out entries.
    ridge : float, default=1.0
        κ, which spreads the weight over similar rows.
    constant : float, default=1.0
        An additional constant coordinate, relative to the length of a typical row. It draws the sum
        of a row's coefficients (of rows that are not normalized) towards one, as for affine
        surfaces; 0 for none.
    n_rounds : int, default=5
        Number of rounds at each smoothing except the last.
    max_iter : int, default=100
        Maximum number of rounds at the last smoothing.
    tol : float, default=5e-3
        Converged when the missing entries would move less than this in a round, as a root mean
        square relative to that of the observed entries.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each round; the run ends when
        it returns True.

    References
    ----------
    J. Fan, T. W. S. Chow (2017). Matrix completion by least-square, low-rank, and sparse
    self-representations. Pattern Recognition 71, 290–305.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(-1, 1, 40)
    >>> X, mask = np.c_[t, 2 * t, -t], np.ones((40, 3), dtype=bool)
    >>> mask[::3, 1] = False
    >>> dictionary, result = SelfRepresentation().solve(X, mask, 1e-5)
    >>> result.stop, bool(np.abs(result.X - X).max() < 0.01)
    ('converged', True)
    >>> new, seen = np.array([[0.5, 0.0, -0.5]]), np.array([[True, False, True]])
    >>> dictionary.complete(new, seen)[0].round(2)
    array([[ 0.5,  1. , -0.5]])
    """

    smoothing: float | str = "auto"
    ridge: float = 1.0
    constant: float = 1.0
    n_rounds: int = 5
    max_iter: int = 100
    tol: float = 5e-3
    time_limit: float | None = None
    callback: Callback | None = None

    path_end = 1e-7

    def check(self) -> None:
        """Raise if a parameter is not an allowed value."""
        check_numbers(self, "max_iter", "n_rounds")
        check_numbers(self, "tol", "ridge", "constant", zero=True)
        if self.time_limit is not None:
            check_numbers(self, "time_limit", zero=True)
        given = self.smoothing
        if given != "auto" and not (isinstance(given, Real) and 0 < given <= 1):
            raise ValueError(f'smoothing must be "auto" or a number in (0, 1], got {given!r}.')

    def solve(
        self, X: Matrix, mask: Matrix, smoothing: float, init: Matrix | None = None
    ) -> tuple[RowDictionary, Result]:
        """Return the dictionary of completed rows and the result."""
        run, stop = SelfRepresentationRun(self, X, mask), "converged"
        try:
            for gamma in stages(1.0, smoothing, 2.0) if run.free.any() else []:
                last = gamma == smoothing
                stop = run.stage(gamma, self.max_iter if last else self.n_rounds, last)
        except Stopped as ended:
            stop = ended.reason
        logger.info("%.1f s: smoothing %.1e, %s", run.monitor.seconds, smoothing, stop)
        dictionary = RowDictionary(run.atoms(), run.unit, run.constant, smoothing, self.ridge)
        return dictionary, run.monitor.result(run.completed(), stop)

    def path(
        self, X: Matrix, mask: Matrix, time_limit: float | None = None
    ) -> Iterator[tuple[float, Matrix]]:
        """Yield the smoothing and the completed matrix after each stage, from coarse to fine.

        The path ends early at its time limit.
        """
        quick = replace(self, time_limit=time_limit, callback=None)
        run, gamma = SelfRepresentationRun(quick, X, mask), 1.0
        try:
            for gamma in stages(1.0, self.path_end, 2.0):
                run.stage(gamma, self.n_rounds)
                yield gamma, run.completed()
        except Stopped:
            yield gamma, run.completed()


class SelfRepresentationRun:
    """State of a run: rows in units of a typical row, and their coefficients."""

    def __init__(self, solver: SelfRepresentation, X: Matrix, mask: Matrix):
        n = len(X)
        self.mask, self.given, self.tol = mask, X, solver.tol
        self.monitor = Monitor(solver.time_limit, solver.callback)
        total = float(np.linalg.norm(np.where(mask, X, 0))) or 1.0
        longer = float(np.hypot(1, solver.constant))
        self.unit, self.constant = longer * total / np.sqrt(n), solver.constant / longer
        # The root mean square of the observed entries, the unit of movements.
        self.spread = np.sqrt(n / max(mask.sum(), 1)) / longer
        X = fill(X, mask, "mean") / self.unit
        self.X, self.seen = append_constant(X, mask, self.constant)
        self.free = ~self.seen
        self.admm = row_wise_admm(n, n, solver.ridge)

    def atoms(self) -> Matrix:
        """Return the current rows, normalized."""
        length = np.linalg.norm(self.X, axis=1, keepdims=True)
        return self.X / np.where(length > 0, length, 1.0)

    def stage(self, gamma: float, rounds: int, converge: bool = False) -> str:
        """Take rounds at one smoothing; return the stop reason."""
        for _ in range(rounds):
            move, value = self.round(gamma)
            moved = np.linalg.norm(move) / np.sqrt(max(self.free.sum(), 1)) / self.spread
            self.X = self.X + move
            self.monitor.note(value, gamma)
            if converge and moved < self.tol:
                return "converged"
        return "max_iter"

    def round(self, gamma: float) -> tuple[Matrix, float]:
        """Update the coefficients; return the step of the missing entries, and the objective."""
        atoms = self.atoms()
        misfit = ObservedMisfit(self.X, self.seen, atoms, 1 / gamma, bar_self=True)
        self.admm.step(misfit.resolvent(self.admm.penalty))
        self.admm.adapt()
        D = self.admm.copies  # they fit the observed entries better than the codes
        missed = self.X - D @ atoms
        norm = np.abs(D).sum() + self.admm.ridge / 2 * np.sum(D**2)
        value = norm + np.sum(missed[self.seen] ** 2) / (2 * gamma)
        return np.where(self.free, -missed, 0), float(value)

    def completed(self) -> Matrix:
        """Return the completed matrix in its own units, with the observed entries as given."""
        return np.where(self.mask, self.given, self.unit * self.X[:, : self.mask.shape[1]])


def append_constant(X: Matrix, mask: Matrix, constant: float) -> tuple[Matrix, Matrix]:
    """Append a constant coordinate, which is always observed; none if it is 0."""
    if constant == 0:
        return X, mask
    return np.c_[X, np.full(len(X), constant)], np.c_[mask, np.ones(len(X), dtype=bool)]


@dataclass(frozen=True)
class RowDictionary:
    """Completed training rows as atoms for new rows, in units of a typical row's length.

    A constant coordinate, if any, is the last one; ``smoothing`` is γ in that unit.
    """

    atoms: Matrix
    unit: float
    constant: float
    smoothing: float
    ridge: float = 1.0
    tol: float = 1e-3
    max_iter: int = 200

    def complete(self, X: Matrix, mask: Matrix) -> tuple[Matrix, Matrix]:
        """Complete each row independently by a sparse representation of its observed entries.

        A training row is one of the atoms, and returned as fitted, up to the smoothing.
        """
        completed = X.copy()
        for begin in range(0, len(X), BLOCK):
            # The last block is padded: a completion must not depend on the number of rows.
            at = np.arange(begin, begin + BLOCK) % len(X)
            given = np.where(mask[at], X[at], 0) / self.unit
            with blas_threads_for(BLOCK):  # nor on how threads share the rows
                found = self._predict(*append_constant(given, mask[at], self.constant))
            rows, found = at[: len(X) - begin], self.unit * found[: len(X) - begin, : X.shape[1]]
            completed[rows] = np.where(mask[rows], X[rows], found)
        return completed, np.zeros(len(X), dtype=bool)

    def _predict(self, X: Matrix, mask: Matrix) -> Matrix:
        """Predict all entries of rows by sparse representations of the observed ones."""
        admm = row_wise_admm(len(X), len(self.atoms), self.ridge)
        admm.run(ObservedMisfit(X, mask, self.atoms, 1 / self.smoothing), self.tol, self.max_iter)
        return admm.copies @ self.atoms


class Misfit:
    """Squared error λ/2 |x − zD|² of complete rows, with one dictionary for all, or one for each.

    ``counted`` is one for coefficients that must sum to one, and zero for others; None for no such
    constraint.
    """

    def __init__(self, X: Matrix, atoms: Matrix, weight: float, counted: Matrix | None = None):
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

        counted, direction = self.counted, None
        if counted is not None:
            direction = counted - _times(np.matmul(counted, self.forward), gain)
            direction /= (direction @ counted)[..., None]

        def solve(T: Matrix) -> Matrix:
            Z = T + _times(self.target - _times(T, self.forward), gain)
            if direction is not None:
                Z -= (Z @ counted - 1)[:, None] * direction
            return Z

        return solve


@dataclass(frozen=True)
class ObservedMisfit:
    """Squared error λ/2 |x − zD|² of the observed entries of rows, with one dictionary for all.

    With ``bar_self``, atom i is row i, and no row may use its own atom.
    """

    X: Matrix
    mask: Matrix
    atoms: Matrix
    weight: float
    bar_self: bool = False

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
        """Solve one system in the columns for each row, with missing columns decoupled."""
        m = R.shape[1]
        products, diagonal = self.atoms.T @ self.atoms, np.arange(m)
        found = np.empty_like(R)
        size = max(1, min(BLOCK, int(CELLS / m**2)))
        for begin in range(0, len(R), size):
            rows = slice(begin, begin + size)
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
        """Solve one system in the coefficients for each row, for more columns than atoms."""
        found = np.empty((len(R), len(self.atoms)))
        for i, (r, seen, ridge) in enumerate(zip(R, self.mask, penalty, strict=True)):
            D = self.atoms[:, seen]
            if self.bar_self:
                D[i] = 0
            H = D @ D.T + ridge / self.weight * np.eye(len(D))
            found[i] = np.linalg.solve(H, D @ r[seen])
        return found


@dataclass
class Admm:
    """State of ADMM: codes c, copies z, multipliers, and one penalty for all rows or one for each.

    Without ``balance``, the penalty is constant, and ADMM stops when codes and copies agree in
    every entry.
    """

    shape: tuple[int, int]
    penalty: Matrix
    ridge: Matrix | float = 0.0
    bar_self: bool = False
    balance: bool = True

    def __post_init__(self) -> None:
        """Start from zeros."""
        self.codes, self.copies, self.multiplier = (np.zeros(self.shape) for _ in range(3))

    def step(self, solve: Resolvent) -> None:
        """Update copies, codes and multipliers."""
        relaxation = 1.6 if self.balance else 1.0  # Boyd et al., section 3.4.3: 1.5 to 1.8
        self.copies = solve(self.codes - self.multiplier)
        target = relaxation * self.copies + (1 - relaxation) * self.codes + self.multiplier
        self.before, self.codes = self.codes, self._shrink(target)
        self.multiplier = target - self.codes

    def _shrink(self, target: Matrix) -> Matrix:
        """Soft-threshold entries by 1/ρ, then shrink them by the ridge."""
        codes = target - np.clip(target, -1 / self.penalty, 1 / self.penalty)
        codes *= self.penalty / (self.penalty + self.ridge)
        if self.bar_self:
            np.fill_diagonal(codes, 0)
        return codes

    def residuals(self) -> tuple[Matrix, Matrix]:
        """Return the relative primal and dual residuals."""
        if not self.balance:  # the published rule uses the primal residual only
            apart = np.abs(self.copies - self.codes).max(initial=0)
            return np.array([[apart]]), np.zeros((1, 1))
        size = np.maximum(self._norm(self.copies), self._norm(self.codes))
        primal = self._norm(self.copies - self.codes) / np.maximum(size, 1e-12)
        moved = self._norm(self.codes - self.before)
        return primal, moved / np.maximum(self._norm(self.multiplier), 1e-12)

    def adapt(self) -> bool:
        """Adapt penalties so that both residuals fall together; return whether one changed."""
        primal, dual = (np.maximum(each, 1e-12) for each in self.residuals())
        factor = np.clip(np.sqrt(primal / dual), 0.2, 5)
        factor[(factor > 2 / 3) & (factor < 3 / 2)] = 1
        self.penalty, self.multiplier = self.penalty * factor, self.multiplier / factor
        return bool(np.any(factor != 1))

    def run(self, misfit: Misfit | ObservedMisfit, tol: float, max_iter: int) -> tuple[int, bool]:
        """Take steps until all rows converge; return the number of steps, and whether all did.

        With one penalty per row, a row that has converged keeps its copies, so that it does not
        depend on other rows.
        """
        solve = misfit.resolvent(self.penalty)
        kept, converged = self.copies, np.zeros((len(self.penalty), 1), dtype=bool)
        for iteration in range(1, max_iter + 1):
            self.step(solve)
            kept = np.where(converged, kept, self.copies) if converged.any() else self.copies
            converged |= np.maximum(*self.residuals()) < tol
            if converged.all():
                break
            # Each penalty is used for ten steps; if it changed forever, ADMM might not converge.
            if self.balance and iteration % 10 == 0 and iteration <= 200 and self.adapt():
                solve = misfit.resolvent(self.penalty)
        self.copies = kept
        return iteration, bool(converged.all())

    def _norm(self, A: Matrix) -> Matrix:
        axis = 1 if len(self.penalty) > 1 else None
        return np.linalg.norm(A, axis=axis, keepdims=True)


def row_wise_admm(n_rows: int, n_atoms: int, ridge: float) -> Admm:
    """Return ADMM for self-representation, with a penalty that adapts to each row."""
    return Admm((n_rows, n_atoms), np.full((n_rows, 1), 30.0), ridge)


def _times(A: Matrix, B: Matrix) -> Matrix:
    """Return the product of each row with one matrix for all, or with its own."""
    return A @ B if B.ndim == 2 else np.matmul(A[:, None, :], B)[:, 0]
