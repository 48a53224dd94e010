"""Kernel factorisation (KFMC): a few atoms explain every row in feature space.

1. *Warm-up.* The weight β of the codes shrinks from sweep to sweep. Each sweep draws its atoms
   among the current rows, and every row takes one Levenberg–Marquardt step on its energy.
2. Rows that settled in the wrong place get second chances (:mod:`polycomplete.rows.restarts`).
3. *Descent.* Atoms are selected among the rows; then rows and atoms move together by L-BFGS with
   the codes eliminated, in preconditioned variables, down to the last β and there until the
   objective rests.
4. Rows with few observed entries get the mean of their plausible completions.

Many rows: the atoms are learned on ``max_rows`` of them, the others are completed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from polycomplete import tuning
from polycomplete._checks import check_numbers
from polycomplete.kernels import RBF, Kernel
from polycomplete.scaling import column_spread
from polycomplete.solvers.factorisation.dictionary import Dictionary
from polycomplete.solvers.factorisation.run import ROUND, FactorisationRun
from polycomplete.solvers.result import Callback, Monitor, Result, Stopped, logger
from polycomplete.solvers.stages import stages

FIRST = 1.0  # the first β of the warm-up
COARSE = 1e-6  # its last; below, drawn atoms are too few to tell right from wrong
FINE = 1e-9  # where the descent may end
LEAST = 1e-12  # less would be lost in rounding
RESUME = 100.0  # a warm-up that is taken up again begins so many times above its end
AGAIN = 4  # its sweeps in each factor of ten
ENOUGH = 4.0  # a mean energy of so many β: now the number of atoms limits, not β
FEWEST_ATOMS, MOST_ATOMS = 40, 300  # of "auto"; a step costs r³
SLACK = 0.03  # within this of the lowest error the coarsest β wins
CERTAIN = 500  # so many hidden entries tell an error to about that, 1/√(2N)
DRAWS = 3  # hidings at most
FEW = 0.01  # share of rows that may have moved without the others sweeping again


class KernelFactorisation(BaseEstimator):
    """Learn a dictionary of atoms and complete the rows with it, together.

    Parameters
    ----------
    n_atoms : "auto" or int, default="auto"
        Size r of the dictionary, at most half the number of rows. "auto" is twice the number of
        columns, at least 40 and at most 300.
    beta : "auto" or float, default="auto"
        Weight of the codes, relative to the mean of k(x, x): how much of a row may stay
        unexplained. "auto" chooses it by hiding observed entries; where the finest of the warm-up
        (1e-6) is best the descent goes on to 1e-9, or until the number of atoms is what limits.
        A number below 1e-12 counts as 1e-12.
    sweeps : int, default=5
        Sweeps of the warm-up in each factor of ten of β.
    rescues : int, default=2
        Rounds of second chances for rows that settled in the wrong place.
    blend : bool, default=True
        Give rows that have less than half of the usual observed entries the mean of their
        plausible completions, where these differ.
    max_iter : int, default=400
        Iterations at the last β.
    tol : float, default=2e-3
        Converged when the objective falls by less than this share of itself in an iteration, on
        average over a round of 40.
    max_rows : int, default=2000
        Rows on which the atoms are learned at most, drawn at random.
    memory : int, default=500
        Completed rows that are kept, as starts for new rows and to learn on.
    time_limit : float, optional
        Seconds after which the run ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each sweep and iteration; the
        run ends when it returns True.

    Examples
    --------
    >>> from polycomplete import datasets, masks, metrics
    >>> X = datasets.make_polynomial_manifold(120, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> model, result = KernelFactorisation().solve(X, mask)
    >>> metrics.rse(X, result.X, mask) < 0.05
    True
    """

    def __init__(
        self,
        n_atoms: int | str = "auto",
        beta: float | str = "auto",
        sweeps: int = 5,
        rescues: int = 2,
        blend: bool = True,
        max_iter: int = 400,
        tol: float = 2e-3,
        max_rows: int = 2000,
        memory: int = 500,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ):
        self.n_atoms = n_atoms
        self.beta = beta
        self.sweeps = sweeps
        self.rescues = rescues
        self.blend = blend
        self.max_iter = max_iter
        self.tol = tol
        self.max_rows = max_rows
        self.memory = memory
        self.time_limit = time_limit
        self.callback = callback

    def solve(
        self, X: np.ndarray, mask: np.ndarray, kernel: Kernel = RBF(), seed: int = 0
    ) -> tuple[Dictionary, Result]:
        """Learn atoms and complete the rows."""
        self.check()
        monitor, rng = Monitor(self.time_limit, self.callback), np.random.default_rng(seed)
        some = np.arange(len(X))
        if len(X) > self.max_rows:
            some = np.sort(rng.choice(len(X), int(self.max_rows), replace=False))
        run = self.start(X[some], mask[some], kernel, monitor, rng)
        try:
            stop = self._learn(run, *self._begin(run, seed))
        except Stopped as ended:
            stop = ended.reason
        model = replace(run.model(int(self.memory), seed), seen=len(X))
        completed, ambiguous = np.where(mask, X, 0.0), np.zeros(len(X), dtype=bool)
        completed[some] = run.X
        if self.blend and stop in ("converged", "max_iter"):
            sparse = np.flatnonzero(_is_sparse(run.mask))
            found = model.complete(run.X[sparse], run.mask[sparse], joint=True)
            completed[some[sparse]], ambiguous[some[sparse]] = found
        others = np.setdiff1d(np.arange(len(X)), some)
        completed[others], ambiguous[others] = model.complete(X[others], mask[others])
        return model, monitor.result(completed, stop, run.kernel, ambiguous)

    def path(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel = RBF(),
        seed: int = 0,
        time_limit: float | None = None,
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield β and the completed matrix after each factor of ten of the warm-up.

        Choosing β by hiding entries follows this path. It ends early where time runs out.
        """
        self.check()
        run = self.start(X, mask, kernel, Monitor(time_limit), np.random.default_rng(seed))
        beta = FIRST
        try:
            for i, beta in enumerate(stages(FIRST, COARSE, 10 ** (1 / self.sweeps))):
                run.sweep(beta)
                if i % int(self.sweeps) == 0:
                    yield beta, run.X
        except Stopped:
            yield beta, run.X

    def start(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        monitor: Monitor,
        rng: np.random.Generator,
    ) -> FactorisationRun:
        """Return a run that stands at its beginning."""
        X = np.where(mask, X, 0.0)
        auto = min(max(2 * X.shape[1], FEWEST_ATOMS), MOST_ATOMS)
        count = auto if isinstance(self.n_atoms, str) else int(self.n_atoms)
        resolved = kernel.resolve(X, mask)
        return FactorisationRun(X, mask, resolved, count, monitor, rng)

    def _begin(self, run: FactorisationRun, seed: int) -> tuple[float, float]:
        """Bring a run to the end of its warm-up; return where that and the descent end."""
        if not isinstance(self.beta, str):
            beta = max(float(self.beta), LEAST)
            start = max(beta, COARSE)
            run.warm_up(max(FIRST, start), start, int(self.sweeps))
            return start, beta
        start, X = self._choose(run, seed)
        run.X = np.where(run.mask, run.X, X)
        run.warm_up(min(FIRST, RESUME * start), start, AGAIN)
        return start, FINE if start <= COARSE else start

    def _learn(self, run: FactorisationRun, start: float, beta: float) -> str:
        """Go on from a warm-up that ended at ``start``; return why the run ended."""
        for _ in range(int(self.rescues)):
            if run.rescue(start) <= FEW * len(run.X):
                break
            run.warm_up(min(FIRST, RESUME * start), start, AGAIN)
        for stage in stages(start, beta)[:-1]:
            run.renew_atoms()
            value = run.descend(stage, ROUND // 2)
            limited = 2 * value > ENOUGH * stage * run.scale * len(run.X)
            if limited and isinstance(self.beta, str):
                return run.converge(stage, int(self.max_iter), self.tol)
        run.renew_atoms()
        return run.converge(beta, int(self.max_iter), self.tol)

    def _choose(self, run: FactorisationRun, seed: int) -> tuple[float, np.ndarray]:
        """Choose β by hiding observed entries; return it and a completed matrix to go on from."""
        draws = tuning.hidings(run.mask, seed, CERTAIN, DRAWS)
        if not draws:
            return tuning.CAUTIOUS, run.X
        spread = column_spread(run.X, run.mask)[1]
        unit = np.where(spread > 0, spread, 1.0)
        # At most half of the time that is given goes into choosing.
        limit = self.time_limit and self.time_limit / (2 * len(draws))
        choices: list[tuning.Choice] = []
        reached: dict[float, np.ndarray] = {}
        judged = 0

        def steps(visible: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
            for beta, X in self.path(run.X, visible, run.kernel, seed, limit):
                reached[beta] = X
                yield beta, X

        for visible, hidden in draws:
            choices.append(tuning.follow(steps(visible), run.X, hidden, unit))
            errors = tuning.together(choices).errors
            lowest = min(errors.values())
            beta = max(beta for beta, error in errors.items() if error <= (1 + SLACK) * lowest)
            judged += int(hidden.sum())
            if judged >= (tuning.ENOUGH if beta <= COARSE else CERTAIN):
                break
        logger.info("chose β = %.0e by hiding: error %.3f of a column's spread",
                    beta, errors[beta])  # fmt: skip
        return beta, reached[beta]

    def check(self) -> None:
        """Refuse parameters that make no sense."""
        check_numbers(self, "max_iter", "max_rows", "sweeps", "memory")
        check_numbers(self, "tol", "rescues", zero=True)
        if self.time_limit is not None:
            check_numbers(self, "time_limit", zero=True)
        if self.beta != "auto":
            check_numbers(self, "beta")
        whole = isinstance(self.n_atoms, Integral) and int(self.n_atoms) > 0
        if self.n_atoms != "auto" and not whole:
            raise ValueError(
                f'n_atoms must be "auto" or a whole number from 1, got {self.n_atoms!r}.'
            )


def _is_sparse(mask: np.ndarray) -> np.ndarray:
    """Return which rows have at most half of the usual number of observed entries."""
    count = mask.sum(axis=1)
    return (count <= np.median(count) / 2) & (count < mask.shape[1])
