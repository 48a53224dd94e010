"""Learning a kernel factorisation from batches of rows that come one after the other.

The memory is a bounded sample of the rows seen so far, each row as likely as any other, with what
was observed of them. A batch is completed with the atoms as they are; then its rows, the rows in
memory and the atoms move together for a while. As long as the memory still fills up, the atoms are
learned from the beginning each time the number of rows has doubled: the first batches determine
neither the atoms nor β, and all these fits together cost about as much as the last two.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polycomplete.kernels import RBF, Kernel
from polycomplete.solvers.base import Monitor, Result, Stopped
from polycomplete.solvers.factorisation.dictionary import Dictionary
from polycomplete.solvers.factorisation.run import ROUND
from polycomplete.solvers.factorisation.solver import KernelFactorisation

ROUNDS = 2  # of the descent with each batch


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
    if model.learned < solver.memory and len(old) + len(X) >= 2 * model.learned:
        return _begin_again(solver, model, old, X, mask, kernel, rng)
    return _go_on(solver, model, old, X, mask, rng)


def _others(model: Dictionary, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return which rows in memory are not in the batch: a row that comes again counts once."""

    def names(rows: np.ndarray, seen: np.ndarray) -> list[bytes]:
        known = np.where(seen, rows, 0.0)
        return [x.tobytes() + s.tobytes() for x, s in zip(known, seen, strict=True)]

    batch = set(names(X, mask))
    fresh = [name not in batch for name in names(model.rows, model.mask)]
    return np.flatnonzero(fresh)


def _begin_again(
    solver: KernelFactorisation,
    model: Dictionary,
    old: np.ndarray,
    X: np.ndarray,
    mask: np.ndarray,
    kernel: Kernel,
    rng: np.random.Generator,
) -> tuple[Dictionary, Result]:
    """Learn from the rows in memory and the batch as if they had come together."""
    rows, seen = np.vstack([model.rows[old], X]), np.vstack([model.mask[old], mask])
    renewed, result = solver.solve(rows, seen, kernel, int(rng.integers(2**31)))
    result.X, result.ambiguous = result.X[len(old) :], result.ambiguous[len(old) :]
    return replace(renewed, seen=model.seen + len(X), seed=model.seed), result


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
        run = solver.start(rows, seen, model.kernel, monitor, rng)
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
