"""Kernel factorisation (KFMC): a few atoms explain every row in feature space.

1. *Warm-up.* The weight β of the codes shrinks from sweep to sweep. Each sweep draws its atoms
   among the current rows, and every row takes one Levenberg–Marquardt step on its energy.
2. Rows that settled in the wrong place start again (:mod:`polycomplete.rows.posterior`).
3. *Descent.* Atoms are selected among the rows; then rows and atoms move together by L-BFGS with
   the codes eliminated, in preconditioned variables, down to the last β and there until the
   objective rests.
4. Rows with few observed entries get the mean of their plausible completions.

Many rows: the atoms are learned on ``max_rows`` of them, the others are completed one by one.

Rows may come in batches. The memory is a bounded sample of the rows seen so far, each row as likely
as any other, with what was observed of them. A batch is completed with the atoms as they are; then
its rows, the rows in memory and the atoms move together for a while. As long as the memory still
fills up, the atoms are learned from the beginning each time the number of rows has doubled: the
first batches determine neither the atoms nor β, and all these fits together cost about as much as
the last two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from polycomplete import model_selection
from polycomplete._messages import check_numbers
from polycomplete.kernels import RBF, Kernel
from polycomplete.scaling import ColumnScaler
from polycomplete.solvers.base import Callback, Monitor, Result, Stopped, logger, stages
from polycomplete.solvers.factorisation.descent import ROUND, FactorisationRun
from polycomplete.solvers.factorisation.dictionary import Dictionary

FIRST = 1.0  # the first β of the warm-up
COARSE = 1e-6  # its last; below, drawn atoms are too few to tell right from wrong
FINE = 1e-9  # where the descent may end
LEAST = 1e-12  # less would be lost in rounding
RESUME = 100.0  # a warm-up that is taken up again begins so many times above its end
AGAIN = 4  # its sweeps in each factor of ten
ENOUGH = 4.0  # a mean energy of so many β: now the number of atoms limits, not β
SLACK = 0.03  # within this of the lowest error the coarsest β wins
CERTAIN = 500  # so many hidden entries tell an error to about that, 1/√(2N)
DRAWS = 3  # holdouts at most
FEW = 0.01  # share of rows that may have moved without the others sweeping again
ROUNDS = 2  # of the descent with each batch


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
        Rounds of restarts for rows that settled in the wrong place.
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
        run = FactorisationRun(X[some], mask[some], kernel, self.n_atoms, monitor, rng)
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
        monitor, rng = Monitor(time_limit), np.random.default_rng(seed)
        run = FactorisationRun(X, mask, kernel, self.n_atoms, monitor, rng)
        beta = FIRST
        try:
            for i, beta in enumerate(stages(FIRST, COARSE, 10 ** (1 / self.sweeps))):
                run.sweep(beta)
                if i % int(self.sweeps) == 0:
                    yield beta, run.X
        except Stopped:
            yield beta, run.X

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
        draws = model_selection.holdouts(run.mask, seed, CERTAIN, DRAWS)
        if not draws:
            return model_selection.CAUTIOUS, run.X
        unit = ColumnScaler.fit(run.X, run.mask, "standard").scale
        # At most half of the time that is given goes into choosing.
        limit = self.time_limit and self.time_limit / (2 * len(draws))
        choices: list[model_selection.Choice] = []
        reached: dict[float, np.ndarray] = {}
        judged = 0

        def steps(visible: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
            for beta, X in self.path(run.X, visible, run.kernel, seed, limit):
                reached[beta] = X
                yield beta, X

        for visible, hidden in draws:
            choices.append(model_selection.follow(steps(visible), run.X, hidden, unit))
            errors = model_selection.together(choices).errors
            lowest = min(errors.values())
            beta = max(beta for beta, error in errors.items() if error <= (1 + SLACK) * lowest)
            judged += int(hidden.sum())
            if judged >= (model_selection.ENOUGH if beta <= COARSE else CERTAIN):
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


def partial_solve(
    solver: KernelFactorisation,
    model: Dictionary | None,
    X: np.ndarray,
    mask: np.ndarray,
    kernel: Kernel = RBF(),
    seed: int = 0,
) -> tuple[Dictionary, Result]:
    """Learn from a batch of rows, and complete them.

    Parameters
    ----------
    solver : KernelFactorisation
        The method; ``memory`` bounds the rows that are kept.
    model : Dictionary or None
        What was learned before; it is not changed. None for the first batch.
    X, mask : ndarrays of shape (n, m)
        The rows, and True where observed.
    kernel : Kernel, default=RBF()
        Used, and "auto" resolved, whenever the atoms are learned from the beginning.
    seed : int, default=0
        Seed of the first batch.

    Returns
    -------
    model : Dictionary
        What has been learned so far.
    result : Result
        With the completed batch.

    Examples
    --------
    >>> from polycomplete import datasets, masks, metrics
    >>> X = datasets.make_polynomial_manifold(200, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> solver, model = KernelFactorisation(), None
    >>> for batch in np.split(np.arange(200), 4):
    ...     model, result = partial_solve(solver, model, X[batch], mask[batch])
    >>> metrics.rse(X, model.complete(X, mask)[0], mask) < 0.05
    True
    """
    if model is None:
        return solver.solve(X, mask, kernel, seed)
    solver.check()
    rng = np.random.default_rng([model.seed, model.seen])
    old = _others(model, X, mask)
    if model.learned >= solver.memory or len(old) + len(X) < 2 * model.learned:
        return _go_on(solver, model, old, X, mask, rng)
    # Learn from the rows in memory and the batch as if they had come together.
    rows, known = np.vstack([model.rows[old], X]), np.vstack([model.mask[old], mask])
    renewed, result = solver.solve(rows, known, kernel, int(rng.integers(2**31)))
    result.X, result.ambiguous = result.X[len(old) :], result.ambiguous[len(old) :]
    return replace(renewed, seen=model.seen + len(X), seed=model.seed), result


def _others(model: Dictionary, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return which rows in memory are not in the batch: a row that comes again counts once."""

    def names(rows: np.ndarray, seen: np.ndarray) -> list[bytes]:
        known = np.where(seen, rows, 0.0)
        return [x.tobytes() + s.tobytes() for x, s in zip(known, seen, strict=True)]

    batch = set(names(X, mask))
    fresh = [name not in batch for name in names(model.rows, model.mask)]
    return np.flatnonzero(fresh)


def _go_on(
    solver: KernelFactorisation,
    model: Dictionary,
    old: np.ndarray,
    X: np.ndarray,
    mask: np.ndarray,
    rng: np.random.Generator,
) -> tuple[Dictionary, Result]:
    """Complete the batch, then let its rows, those in memory and the atoms move together."""
    monitor, memory, total = Monitor(solver.time_limit, solver.callback), int(solver.memory), len(X)
    completed, ambiguous = model.complete(X, mask)
    # The mean of several places lies on no surface: nothing to learn from such a row.
    new = np.sort(rng.permutation(np.flatnonzero(~ambiguous))[:memory])
    model, stop = replace(model, seen=model.seen + total), "converged"
    if len(old) + len(new):
        rows = np.vstack([model.rows[old], completed[new]])
        seen = np.vstack([model.mask[old], mask[new]])
        run = FactorisationRun(rows, seen, model.kernel, solver.n_atoms, monitor, rng)
        run.X, run.atoms, run.scale = rows, model.atoms, model.scale
        try:
            stop = run.converge(model.beta, ROUNDS * ROUND, solver.tol)
        except Stopped as ended:
            stop = ended.reason
        completed[new] = run.X[len(old) :]
        # A row in memory stands for many that were forgotten, a row of the batch for few.
        earlier = (model.seen - total) / max(len(model.rows), 1)
        weight = np.repeat([earlier, total / max(len(new), 1)], [len(old), len(new)])
        size = min(memory, len(rows))
        kept = np.sort(rng.choice(len(rows), size, replace=False, p=weight / weight.sum()))
        model = replace(model, atoms=run.atoms, rows=run.X[kept], mask=seen[kept]).judging(run.X)
    return model, monitor.result(completed, stop, model.kernel, ambiguous)
