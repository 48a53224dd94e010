"""Sparse self-representation (Fan & Chow, 2017): every row a sparse combination of the other rows.

The paper minimizes ‖C‖₁ + λ/2 ‖X − C X‖², diag(C) = 0, over C and the missing entries of X. There
an entry also moves for the sake of the rows that use its row as an atom, and the sum rewards that:
some rows grow long, because long atoms need small coefficients. With half of the entries missing,
minimizers have a far lower value than the truth at every λ that was tried.

Here a missing entry answers for the residual of its own row only. It is then what the
representation of its row predicts, and the coefficients of a row are fitted to its observed
entries. A solution is an equilibrium: every row is at the minimum of its own part of the sum, given
the others. With atoms of length one and a constant coordinate the rows cannot run away, and an
equilibrium exists. No single function falls from round to round; what is watched, and ends a run,
is how far the entries are from where their rows want them.

A row x has coefficients d on atoms A that minimize, over its observed entries,

    |d|₁ + κ/2 |d|² + 1/(2γ) |x − d A|²,

those of sparse subspace clustering. A round is one step of ADMM, which starts from where the last
round ended, though entries and atoms have moved since.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Real

import numpy as np

from polycomplete._messages import check_numbers
from polycomplete._resources import blas_threads_for
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
from polycomplete.solvers.sparse_codes import BLOCK, Admm, ObservedMisfit

#: κ: a row is written by several similar rows instead of one of them.
RIDGE = 1.0
#: The first penalty of ADMM; it adapts to each row.
PENALTY = 30.0
#: The smoothing falls from the first, at which hardly any row has a representation.
FIRST, END = 0.5, 1e-7


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
    constant : float, default=1.0
        A constant coordinate that every row gets, relative to the length of a typical row. It
        draws the sum of a row's coefficients (of the rows as they are) towards one, as for affine
        surfaces; 0 leaves it out.
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
        constant: float = 1.0,
        rounds: int = 5,
        max_iter: int = 100,
        tol: float = 5e-3,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.smoothing = smoothing
        self.constant = constant
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
        dictionary = RowDictionary(run.atoms(), run.unit, run.constant, smoothing)
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
        given = self.smoothing
        if given != "auto" and not (isinstance(given, Real) and 0 < given <= 1):
            raise ValueError(f'smoothing must be "auto" or a number in (0, 1], got {given!r}.')


class _Run:
    """One run: where it stands, and its rounds. Everything is in units of a typical row."""

    def __init__(self, solver: SelfRepresentation, X: np.ndarray, mask: np.ndarray):
        n = len(X)
        self.solver, self.mask, self.given = solver, mask, X
        self.monitor = Monitor(solver.time_limit, solver.callback)
        total = float(np.linalg.norm(np.where(mask, X, 0))) or 1.0
        longer = float(np.hypot(1, solver.constant))
        self.unit, self.constant = longer * total / np.sqrt(n), solver.constant / longer
        # The root mean square of the observed entries, by which movements are counted.
        self.spread = np.sqrt(n / max(mask.sum(), 1)) / longer
        X = fill(X, mask, "mean") / self.unit
        self.X, self.seen = append_constant(X, mask, self.constant)
        self.free = ~self.seen
        self.admm = Admm((n, n), np.full((n, 1), PENALTY), RIDGE, bar_self=True)

    def atoms(self) -> np.ndarray:
        """Return the rows as they are now, brought to length one."""
        length = np.linalg.norm(self.X, axis=1, keepdims=True)
        return self.X / np.where(length > 0, length, 1.0)

    def stage(self, gamma: float, rounds: int, converge: bool = False) -> str:
        """Take rounds at one smoothing; say why they ended."""
        for _ in range(rounds):
            move, value = self.round(gamma)
            moved = np.linalg.norm(move) / np.sqrt(max(self.free.sum(), 1)) / self.spread
            self.X = self.X + move
            try:
                self.monitor.note(value, gamma)
            except Stopped as ended:
                return ended.reason
            if converge and moved < self.solver.tol:
                return "converged"
        return "max_iter"

    def round(self, gamma: float) -> tuple[np.ndarray, float]:
        """Move the coefficients; return where missing entries want to go, and the objective."""
        atoms = self.atoms()
        misfit = ObservedMisfit(self.X, self.seen, atoms, 1 / gamma, bar_self=True)
        self.admm.step(misfit.resolvent(self.admm.penalty))
        self.admm.adapt()
        D = self.admm.copies  # which fit the observed entries better than the codes do
        missed = self.X - D @ atoms
        norm = np.abs(D).sum() + RIDGE / 2 * np.sum(D**2)
        value = norm + np.sum(missed[self.seen] ** 2) / (2 * gamma)
        return np.where(self.free, -missed, 0), float(value)

    def completed(self) -> np.ndarray:
        """Return the matrix in its own units, the observed entries as given."""
        return np.where(self.mask, self.given, self.unit * self.X[:, : self.mask.shape[1]])


def append_constant(
    X: np.ndarray, mask: np.ndarray, constant: float
) -> tuple[np.ndarray, np.ndarray]:
    """Append a constant coordinate, always observed; none where it would be 0."""
    if constant == 0:
        return X, mask
    return np.c_[X, np.full(len(X), constant)], np.c_[mask, np.ones(len(X), dtype=bool)]


@dataclass(frozen=True)
class RowDictionary:
    """Completed training rows as atoms for further rows, in units of a typical row's length.

    A constant coordinate comes last, where there is one; ``smoothing`` is γ in that unit.
    """

    atoms: np.ndarray
    unit: float
    constant: float
    smoothing: float
    tol: float = 1e-3
    max_iter: int = 200

    def complete(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Complete each row by itself from a sparse representation of its observed entries.

        A training row finds itself among the atoms and comes back as fitted, up to the smoothing.
        """
        completed = X.copy()
        for begin in range(0, len(X), BLOCK):
            # The last block is padded: what a row gets must not depend on how many there are.
            at = np.arange(begin, begin + BLOCK) % len(X)
            given = np.where(mask[at], X[at], 0) / self.unit
            rows = at[: len(X) - begin]
            with blas_threads_for(len(at)):  # nor on how threads share the rows
                found = self._predict(*append_constant(given, mask[at], self.constant))
                found = self.unit * found[: len(rows), : X.shape[1]]
            completed[rows] = np.where(mask[rows], X[rows], found)
        return completed, np.zeros(len(X), dtype=bool)

    def _predict(self, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return what sparse representations say of all entries."""
        admm = Admm((len(X), len(self.atoms)), np.full((len(X), 1), PENALTY), RIDGE)
        misfit = ObservedMisfit(X, mask, self.atoms, 1 / self.smoothing, bar_self=False)
        admm.run(misfit, self.tol, self.max_iter)
        return admm.copies @ self.atoms
