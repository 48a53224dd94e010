"""KFMC: kernelized factorization with a few atoms, learned at once or in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from polycomplete._messages import check_numbers, showing
from polycomplete.base import all_or_nothing
from polycomplete.kernels import Kernel
from polycomplete.methods.completer import Completer
from polycomplete.penalties import Equal, Schatten
from polycomplete.rows import EVEN, Completion
from polycomplete.solvers import KernelFactorization, Solver
from polycomplete.solvers.base import Callback
from polycomplete.solvers.kernel_factorization import AtomProblem
from polycomplete.surface import Fitted, Surface, SurfaceModel


@dataclass(frozen=True)
class Memory:
    """State of the rows in memory, which are those of the model.

    Attributes
    ----------
    mask : ndarray of bool, shape (p, m)
        True where observed, in the columns that vary.
    keys : ndarray of shape (p,)
        A random key of each row; the rows with the smallest keys are kept.
    learned : int
        The number of rows when the atoms were last learned from scratch.
    """

    mask: np.ndarray
    keys: np.ndarray
    learned: int


@dataclass(eq=False, repr=False)
class KFMC(Completer):
    """Kernelized factorization: every row is a combination of a few atoms in feature space.

    The method of Fan & Udell [1]_. Its cost is linear in the number of rows, and rows may come in
    batches (:meth:`partial_fit`). ``transform`` completes each new row with the current atoms.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; ``RBF()`` by default.
    n_atoms : "auto" or int, default="auto"
        Number of atoms, at most half the number of rows. "auto" is twice the number of columns, at
        least 40 and at most 300. Several surfaces need more.
    beta : "auto" or float, default="auto"
        Weight of the codes, relative to the mean of k(x, x): how much of a row may stay
        unexplained. "auto" chooses it on held-out entries. Values below 1e-6 are approached as far
        as the number of atoms allows.
    max_iter : int, default=400
        Maximum number of iterations at the last β.
    tol : float, default=2e-3
        Converged when the objective falls by less than this share of itself per iteration.
    max_samples : int, default=2000
        Maximum number of rows to learn the atoms from; the others are completed with these atoms.
    memory : int, default=500
        Number of rows to keep, as starts for new rows and for learning in ``partial_fit``.
    time_limit : float, optional
        Seconds after which the fit ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration; the fit ends
        when it returns True.
    scale : {"auto", "standard", "sqrt", "range"} or None, default="standard"
        How to scale columns, from their observed entries: by their standard deviation, its square
        root, or their range. "auto" chooses between the first two on held-out entries, unless all
        columns have a similar spread.
    n_jobs : int, default=-1
        Number of cores that complete rows; −1 means all. The result does not depend on it.
    missing_values : float, default=nan
        Number that marks a missing entry, besides NaN and None.
    add_indicator : bool, default=False
        Append a column of missing-value indicators for each column with missing entries.
    keep_empty_features : bool, default=False
        Keep columns without any observed entry, filled with zeros.
    random_state : int, RandomState or None, default=None
        Chooses the entries that are held out, and draws rows.
    verbose : int, default=0
        1 logs stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    model_ : SurfaceModel or None
        The surface spanned by the atoms; None if no column varies.
    memory_ : Memory
        State of the rows in memory.
    result_ : Result or None
        Objective history, iterations, seconds and stop reason.
    n_iter_ : int
        Number of iterations of the solver.
    solver_, scale_, smoothing_ : KernelFactorization, str or None, float
        The solver, scaling and smoothing used; the smoothing is β.
    cell_std_ : ndarray of shape (n_samples, n_features)
        Estimated standard deviation of each completed cell, 0 where observed.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows whose missing entries their observed entries do not determine.
    held_out_ : HeldOut or None
        Held-out entries, with their completions; None if nothing was chosen.
    statistics_ : ndarray of shape (n_features,)
        Mean of the observed entries of each column.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number of columns seen by ``fit``, and their names if X had any.
    n_samples_seen_ : int
        Number of rows in the data so far.

    See Also
    --------
    PMC : Without atoms; more accurate with few rows.

    References
    ----------
    .. [1] J. Fan and M. Udell (2019). Online high rank matrix completion. CVPR.

    Examples
    --------
    >>> from polycomplete import KFMC, datasets, masks, metrics
    >>> X = datasets.make_polynomial_manifold(200, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> X_missing, online = masks.apply(X, mask), KFMC(random_state=0)
    >>> for batch in range(0, 200, 50):
    ...     online = online.partial_fit(X_missing[batch : batch + 50])
    >>> metrics.rse(X, online.transform(X_missing), mask) < 0.1
    True
    """

    kernel: Kernel | None = None
    n_atoms: int | str = "auto"
    beta: float | str = "auto"
    max_iter: int = 400
    tol: float = 2e-3
    max_samples: int = 2000
    memory: int = 500
    time_limit: float | None = None
    callback: Callback | None = None
    scale: str | None = "standard"
    n_jobs: int = -1

    smoothing, noise, device = "auto", None, None  # no parameters of this method

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Learn from one more batch of rows.

        The first batch determines which columns vary and how they are scaled, so it should be
        representative. ``result_``, ``row_determined_`` and ``cell_std_`` are those of the batch.

        Until the memory is full, the atoms are learned from scratch each time the number of rows
        has doubled, because the first batches determine neither the atoms nor β; together, these
        fits cost about as much as the last two of them. Otherwise the batch is completed with the
        current atoms; then its rows, the rows in memory and the atoms are updated jointly.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            NaN (or None, NA, ``missing_values``) where missing.
        y : ignored
            For pipelines.

        Returns
        -------
        self
        """
        with all_or_nothing(self), showing(self.verbose):
            if getattr(self, "model_", None) is None:
                return self.fit(X)
            matrix, mask = self._validate(X, reset=False)
            self._check_params()
            self.n_samples_seen_ += len(matrix)
            self.held_out_ = None
            self.row_determined_ = self._has_entries(mask)
            self.cell_std_ = self._blank_deviation(mask)
            rows = np.flatnonzero(self.row_determined_)
            if len(rows):
                part = self._part(rows, mask)
                found = self._learn_batch(matrix[part].astype(np.float64), mask[part])
                self.row_determined_[rows], self.cell_std_[part] = found
            return self  # without a convergence warning: a batch takes only a few steps

    def _learn_batch(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Learn from a batch and the rows in memory; return what is determined, and deviations."""
        model, memory, seed = cast(SurfaceModel, self.model_), self.memory_, self._seed()
        X = model.scaler.apply_observed(X, mask)
        old = _others(model.rows, memory.mask, X, mask)
        rows, seen = np.vstack([model.rows[old], X]), np.vstack([memory.mask[old], mask])
        surface = replace(self._surface(seed, len(rows)), scale=None)
        if memory.learned < self.memory and len(rows) >= 2 * memory.learned:
            fitted, learned = surface.fit(rows, seen), len(rows)
        else:
            fitted, learned = self._go_on(surface, rows, seen, len(X)), memory.learned
        random = np.random.default_rng([seed, self.n_samples_seen_]).random(len(X))
        renewed = replace(cast(SurfaceModel, fitted.model), scaler=model.scaler)
        self._remember(renewed, seen, np.append(memory.keys[old], random), learned)
        self.result_, self.n_iter_ = fitted.result, max(fitted.result.iterations, 1)
        self.result_.X = self.result_.X[len(old) :]
        deviation = cast(np.ndarray, fitted.deviation) * model.scaler.scale
        return fitted.determined[len(old) :], deviation[len(old) :]

    def _go_on(self, surface: Surface, rows: np.ndarray, seen: np.ndarray, new: int) -> Fitted:
        """Complete the new rows with the current atoms, then update all rows and the atoms."""
        model, solver = cast(SurfaceModel, self.model_), self._solver(len(rows))
        before, found = model.posterior, Completion.blank(rows)
        with solver.working(surface.resources, len(rows)) as resources:
            found.store(slice(-new, None), before.complete(rows[-new:], seen[-new:]))
            surface = replace(surface, kernel=model.kernel, resources=resources)
            problem = cast(AtomProblem, surface.pose(rows, seen))
            problem.atoms = before.energy.landmarks
            result = solver.solve(problem, model.smoothing, found.rows)
            after = solver.learn(problem, result.X, model.smoothing)
        after = replace(after, factor=before.factor, packing=EVEN)
        model = replace(model, posterior=after)
        return Fitted(model, result.X, result, found.determined, found.std)

    def _remember(
        self, model: SurfaceModel, mask: np.ndarray, keys: np.ndarray, learned: int
    ) -> None:
        """Keep the model with a uniform random sample of the rows seen so far."""
        kept = np.sort(np.argsort(keys, kind="stable")[: int(self.memory)])
        posterior = replace(model.posterior, pool=model.rows[kept])
        self.model_ = replace(model, posterior=posterior)
        self.memory_ = Memory(mask[kept], keys[kept], learned)

    def _learn(self, matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
        completed = super()._learn(matrix, mask)
        if self.model_ is not None:
            seen = mask[:, self._columns][self._has_entries(mask)]
            keys = np.random.default_rng(self._seed()).random(len(seen))
            self._remember(self.model_, seen, keys, len(seen))
        return completed

    @property
    def _remedy(self) -> str:
        return "more (max_iter=...) or a larger beta"

    def _check_params(self) -> None:
        check_numbers(self, "memory")
        if self.beta != "auto":
            check_numbers(self, "beta")
        super()._check_params()
        self._solver(1).check()

    def _surface(self, seed: int, n_rows: int = 1, groups: np.ndarray | None = None) -> Surface:
        return replace(super()._surface(seed, n_rows, groups), smoothing=self.beta)

    def _solver(self, n_rows: float) -> KernelFactorization:
        return KernelFactorization(
            n_atoms=self.n_atoms,
            max_samples=self.max_samples,
            max_iter=self.max_iter,
            tol=self.tol,
            time_limit=self.time_limit,
            callback=self.callback,
        )

    def _penalty(self, solver: Solver) -> Schatten:
        return Schatten(0.0, Equal())  # the penalty that splits into row energies


def _others(X: np.ndarray, mask: np.ndarray, batch: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the indices of rows that are not in a batch, so that repeated rows count once."""

    def keys(X: np.ndarray, mask: np.ndarray) -> list[bytes]:
        known = np.where(mask, X, 0.0)
        return [x.tobytes() + s.tobytes() for x, s in zip(known, mask, strict=True)]

    in_batch = set(keys(batch, seen))
    return np.flatnonzero([key not in in_batch for key in keys(X, mask)])
