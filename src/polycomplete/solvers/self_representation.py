"""Sparse self-representation (Fan & Chow, 2017): every row a sparse combination of the other rows.

The paper minimizes ‖C‖₁ + λ/2 ‖X − C X‖², diag(C) = 0, over C and the missing entries of X. Two
formulations differ in what moves the missing entries:

- ``"joint"`` is the paper's: they minimize the sum as well. An entry then also moves for the sake
  of the rows that use its row as an atom, and the sum rewards that: some rows grow long, because
  long atoms need small coefficients. With half of the entries missing, minimizers have a far lower
  value than the truth at every λ that was tried, and descent from the truth leaves it. It is here
  for comparison.
- ``"rows"``, the default: a missing entry answers for the residual of its own row only. It is then
  what the representation of its row predicts, and the coefficients of a row are fitted to its
  observed entries. A solution is an equilibrium: every row is at the minimum of its own part of the
  sum, given the others. With atoms of length one and a constant coordinate the rows cannot run
  away, and an equilibrium exists.

In "rows" no single function falls from round to round. What falls is the objective of the atoms of
a round; what is watched, and ends a run, is how far the entries are from where their rows want
them. A round that throws them much farther than an earlier one halves the step.

A row x has coefficients d on atoms A that minimize

    Σⱼ h(dⱼ) + 1/(2γ) |x − d A|²,     h(d) = √(d² + κ²) − κ,

over its observed entries: a lasso whose ℓ1 norm has a small knee κ. A step minimizes the quadratic
that touches h from above at the current coefficients, Σ d²/(2w) + … with w = √(d² + κ²). It never
raises the objective, and its linear systems have no more unknowns than the row has observed
entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Real

import numpy as np

from polycomplete._checks import check_numbers
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

#: Below this share of the length of a typical row a coefficient counts by its square.
KNEE = 1e-2
#: The first smoothing. At 1 hardly any row has a representation.
FIRST = 0.5
END = 1e-7  # the last smoothing of the path that choosing by hiding follows
WILD, SMALLEST_STEP = 1.5, 1 / 64  # a move so many times the smallest one halves the step
DESCENTS = 5  # steps of the missing entries in a round of "joint"
BLOCK_BYTES = 32e6  # of the systems that are solved together
MOST_STEPS, AT_REST = 100, 1e-3  # of a new row: steps, and the coefficient's move that ends them


class SelfRepresentation(PathSolver):
    """Complete a matrix so that its rows are sparse combinations of each other.

    The smoothing γ shrinks by halves from 0.5 on, with a few rounds at each; a round is a step of
    the coefficients, then one of the missing entries.

    Parameters
    ----------
    smoothing : "auto" or float, default="auto"
        The last γ, for data that were divided by the length of a typical row: 1/λ of the paper
        over the mean squared length of the observed part of a row. "auto" chooses it by hiding
        observed entries.
    formulation : {"rows", "joint"}, default="rows"
        Whose residuals the missing entries answer for: their own row's, or, as in the paper, those
        of all rows. "rows" brings atoms to length one, as sparse subspace clustering does: else
        long rows would be cheaper to use.
    constant : float, default=1.0
        A constant coordinate that every row gets, relative to the length of a typical row. It
        draws the sum of a row's coefficients (of the rows as they are) towards one, as for affine
        surfaces; 0 leaves it out. "joint" never has it.
    start : {"mean", "zero", "row-column"}, default="mean"
        What the missing entries hold at first.
    rounds : int, default=5
        Rounds at each smoothing but the last.
    max_iter : int, default=100
        Rounds at the last smoothing, at most.
    tol : float, default=5e-3
        Converged when the missing entries would move less than this in a round, as a root mean
        square relative to that of the observed entries.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
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

    def __init__(
        self,
        smoothing: float | str = "auto",
        formulation: str = "rows",
        constant: float = 1.0,
        start: str = "mean",
        rounds: int = 5,
        max_iter: int = 100,
        tol: float = 5e-3,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.smoothing = smoothing
        self.formulation = formulation
        self.constant = constant
        self.start = start
        self.rounds = rounds
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.callback = callback

    path_end = END

    def solve(
        self, X: np.ndarray, mask: np.ndarray, smoothing: float, init: np.ndarray | None = None
    ) -> tuple[RowDictionary, Result]:
        """Return the dictionary of completed rows and the result."""
        run, stop = _Run(self, X, mask), "converged"
        with blas_threads_for(len(X)):
            for gamma in stages(FIRST, smoothing, 2.0) if run.free.any() else []:
                rounds = self.max_iter if gamma == smoothing else self.rounds
                stop = run.stage(gamma, rounds, converge=gamma == smoothing)
                if stop in ("time_limit", "callback"):
                    break
        logger.info("%.1f s: smoothing %.1e, %s", run.monitor.seconds, smoothing, stop)
        dictionary = RowDictionary(run.atoms().rows, run.unit, run.constant, smoothing)
        return dictionary, run.monitor.result(run.completed(), stop)

    def path(
        self, X: np.ndarray, mask: np.ndarray, time_limit: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the smoothing and the completed matrix after each stage, from coarse to fine.

        A path that runs out of time ends early.
        """
        quick = copy(self)
        quick.time_limit, quick.callback = time_limit, None
        run = _Run(quick, X, mask)
        for gamma in stages(FIRST, END, 2.0):
            stop = run.stage(gamma, self.rounds)
            yield gamma, run.completed()
            if stop == "time_limit":
                return

    def check(self) -> None:
        """Refuse parameters that make no sense."""
        check_numbers(self, "rounds", "max_iter")
        check_numbers(self, "tol", "constant", zero=True)
        if self.time_limit is not None:
            check_numbers(self, "time_limit", zero=True)
        if self.formulation not in ("rows", "joint"):
            raise ValueError(f'formulation must be "rows" or "joint", got {self.formulation!r}.')
        given = self.smoothing
        if given != "auto" and not (isinstance(given, Real) and 0 < given <= 1):
            raise ValueError(f'smoothing must be "auto" or a number in (0, 1], got {given!r}.')


class _Run:
    """One run: where it stands, and its rounds. Everything is in units of a typical row."""

    def __init__(self, solver: SelfRepresentation, X: np.ndarray, mask: np.ndarray):
        n = len(X)
        self.solver, self.mask, self.given = solver, mask, X
        self.joint = solver.formulation == "joint"
        self.monitor = Monitor(solver.time_limit, solver.callback)
        total = float(np.linalg.norm(np.where(mask, X, 0))) or 1.0
        constant = 0.0 if self.joint else float(solver.constant)
        longer = float(np.hypot(1, constant))
        self.unit, self.constant = longer * total / np.sqrt(n), constant / longer
        # The root mean square of the observed entries, by which movements are counted.
        self.spread = np.sqrt(n / max(mask.sum(), 1)) / longer
        X = fill(X, mask, solver.start, "start") / self.unit
        self.X, self.seen = append_constant(X, mask, self.constant)
        self.free = ~self.seen
        self.weigh(np.full((n, n), 1 / n))

    def weigh(self, D: np.ndarray) -> None:
        """Renew the weights of the coefficients; weight zero keeps a row from using itself."""
        self.D, self.weights = D, smooth_abs(D)
        np.fill_diagonal(self.weights, 0)

    def atoms(self) -> Atoms:
        """Return the rows as they are now, as atoms: of length one but for "joint"."""
        if self.joint:
            return Atoms(self.X)
        length = np.linalg.norm(self.X, axis=1, keepdims=True)
        return Atoms(self.X / np.where(length > 0, length, 1.0))

    def stage(self, gamma: float, rounds: int, converge: bool = False) -> str:
        """Take rounds at one smoothing; say why they ended."""
        step, smallest = 1.0, np.inf
        for _ in range(rounds):
            move, value = self.round(gamma)
            moved = np.linalg.norm(move) / np.sqrt(max(self.free.sum(), 1)) / self.spread
            smallest = min(smallest, moved)
            if moved > WILD * smallest and not self.joint:  # rows that chase each other
                step = max(step / 2, SMALLEST_STEP)
            self.X = self.X + step * move
            try:
                self.monitor.note(value, gamma)
            except Stopped as ended:
                return ended.reason
            if converge and moved < self.solver.tol:
                return "converged"
        return "max_iter"

    def round(self, gamma: float) -> tuple[np.ndarray, float]:
        """Move the coefficients; return where the missing entries want to go, and the objective.

        The objective of "rows" is that of the atoms of this round, of "joint" that after the move.
        """
        atoms = self.atoms()
        if self.joint:
            self.weigh(atoms.step(self.weights, self.X, np.ones_like(self.seen), gamma))
            move = _descend(self.D, self.X, self.free)
            X = self.X + move
            missed = X - self.D @ X
        else:
            self.weigh(atoms.step(self.weights, self.X, self.seen, gamma))
            missed = self.X - self.D @ atoms.rows
            move = np.where(self.free, -missed, 0)
            missed = np.where(self.seen, missed, 0)
        norm = self.weights.sum() - KNEE * (self.D.size - len(self.D))
        return move, float(norm + np.sum(missed**2) / (2 * gamma))

    def completed(self) -> np.ndarray:
        """Return the matrix in its own units, the observed entries as given."""
        return np.where(self.mask, self.given, self.unit * self.X[:, : self.mask.shape[1]])


def _descend(C: np.ndarray, X: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return a move of the free entries that lowers |X − C X|², by steepest descents."""
    R, moved = X - C @ X, np.zeros_like(X)
    for _ in range(DESCENTS):
        G = np.where(free, R - C.T @ R, 0)
        along = G - C @ G
        length = np.sum(along**2)
        if length <= 1e-300:
            break
        step = np.sum(G**2) / length  # the exact minimum along the gradient
        moved, R = moved - step * G, R - step * along
    return moved


def smooth_abs(D: np.ndarray) -> np.ndarray:
    """Return √(d² + κ²): the weights of the next step."""
    return np.sqrt(D * D + KNEE * KNEE)


def append_constant(
    X: np.ndarray, mask: np.ndarray, constant: float
) -> tuple[np.ndarray, np.ndarray]:
    """Append a constant coordinate, always observed; none where it would be 0."""
    if constant == 0:
        return X, mask
    return np.c_[X, np.full(len(X), constant)], np.c_[mask, np.ones(len(X), dtype=bool)]


class Atoms:
    """A dictionary, and the step of coefficients on it."""

    def __init__(self, rows: np.ndarray):
        self.rows = rows
        m = rows.shape[1]
        self.wide, self.block = m > len(rows), 1
        if not self.wide:
            #: How many rows go together: tiles, or the last rows take another path through BLAS.
            self.block = TILE * min(4, int(BLOCK_BYTES / (8 * m * m * TILE))) or 1
            i, j = np.triu_indices(m)
            self.products = rows[:, i] * rows[:, j]
            self.place = np.empty((m, m), dtype=int)  # where the product of two columns stands
            self.place[i, j] = self.place[j, i] = np.arange(len(i))

    def step(self, W: np.ndarray, X: np.ndarray, mask: np.ndarray, gamma: float) -> np.ndarray:
        """Minimize Σ d²/(2w) + 1/(2γ) |x − d A|² over the observed entries of each row of X.

        W has the weights of all coefficients; one of zero keeps its coefficient at zero.
        """
        if self.wide:
            return self._step_wide(W, X, mask, gamma)
        blocks = [slice(begin, begin + self.block) for begin in range(0, len(X), self.block)]
        return np.concatenate([self._step_tall(W[b], X[b], mask[b], gamma) for b in blocks])

    def _step_tall(
        self, W: np.ndarray, X: np.ndarray, mask: np.ndarray, gamma: float
    ) -> np.ndarray:
        """Solve systems in the observed entries; those of all rows come from one product."""
        H = (W @ self.products)[:, self.place]
        H *= mask[:, :, None] & mask[:, None, :]
        at = np.arange(X.shape[1])
        H[:, at, at] += np.where(mask, gamma, 1.0)
        return W * (np.linalg.solve(H, np.where(mask, X, 0)[:, :, None])[:, :, 0] @ self.rows.T)

    def _step_wide(
        self, W: np.ndarray, X: np.ndarray, mask: np.ndarray, gamma: float
    ) -> np.ndarray:
        """Solve systems in the coefficients, which are fewer than the columns."""
        D = np.empty_like(W)
        for d, root, x, seen in zip(D, np.sqrt(W), X, mask, strict=True):
            S = root[:, None] * self.rows[:, seen]
            d[:] = root * np.linalg.solve(S @ S.T + gamma * np.eye(len(S)), S @ x[seen])
        return D


@dataclass(frozen=True)
class RowDictionary:
    """Completed training rows as atoms for further rows, in units of a typical row's length.

    A constant coordinate comes last, where there is one; ``smoothing`` is γ in that unit.
    """

    atoms: np.ndarray
    unit: float
    constant: float
    smoothing: float

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself from a sparse representation of its observed entries.

        The representation minimizes the objective of the row, with the γ of the fit; the missing
        entries are what it predicts. A training row finds itself among the atoms and comes back
        as fitted, up to the smoothing.
        """
        atoms, completed = Atoms(self.atoms), X.copy()
        for begin in range(0, len(X), atoms.block):
            # The last block is padded: what a row gets must not depend on how many there are.
            at = np.arange(begin, begin + atoms.block) % len(X)
            given = np.where(mask[at], X[at], 0) / self.unit
            rows = at[: len(X) - begin]
            with blas_threads_for(len(at)):  # nor on how threads share the rows
                D = self._represent(atoms, *append_constant(given, mask[at], self.constant))
                found = self.unit * (D @ self.atoms)[: len(rows), : X.shape[1]]
            completed[rows] = np.where(mask[rows], X[rows], found)
        return completed, np.zeros(len(X), dtype=bool)

    def _represent(self, atoms: Atoms, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Take steps until the coefficients rest, those of each row by themselves."""
        D = np.full((len(X), len(self.atoms)), 1 / len(self.atoms))
        for gamma in stages(FIRST, self.smoothing):
            moving = np.ones(len(X), dtype=bool)
            for _ in range(5 if gamma > self.smoothing else MOST_STEPS):
                new = atoms.step(smooth_abs(D), X, mask, gamma)
                moved = np.max(np.abs(new - D), axis=1)
                D = np.where(moving[:, None], new, D)
                moving &= moved > AT_REST
                if not moving.any():
                    break
        return D
