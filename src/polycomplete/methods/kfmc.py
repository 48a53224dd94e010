"""KFMC: a few atoms in feature space, learned at once or batch by batch."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, Self, cast

import numpy as np

from polycomplete._messages import showing
from polycomplete._resources import blas_threads_for
from polycomplete.base import all_or_nothing
from polycomplete.kernels import RBF, Kernel
from polycomplete.methods.base import PathCompleter, Scaled
from polycomplete.scaling import ColumnScaler, refuse_unsquarable
from polycomplete.solvers import KernelFactorisation, partial_solve
from polycomplete.solvers.base import Callback
from polycomplete.surface import Fitted, Method


class KFMC(PathCompleter):
    """Kernelised factorisation: every row is explained by a few atoms in feature space.

    Fan & Udell (2019). Linear in the number of rows; rows may come in batches. Parameters that are
    not listed here are those of :class:`~polycomplete.base.BaseCompleter`, as are the attributes.

    ``transform`` completes each new row by the atoms as they are.

    Parameters
    ----------
    kernel : Kernel, optional
        What "close" means; ``RBF()`` by default.
    n_atoms : "auto" or int, default="auto"
        Atoms, at most half the number of rows. "auto" is twice the number of columns, at least 40
        and at most 300. Several surfaces need more.
    beta : "auto" or float, default="auto"
        Weight of the codes, relative to the mean of k(x, x): how much of a row may stay
        unexplained. "auto" chooses it by hiding observed entries.
    max_iter : int, default=400
        Iterations at the last β.
    tol : float, default=2e-3
        Converged when the objective falls by less than this share of itself in an iteration.
    max_rows : int, default=2000
        Rows on which the atoms are learned at most; the others are completed with these.
    memory : int, default=500
        Rows that are kept: as starts for new rows, and to learn on in ``partial_fit``.
    time_limit : float, optional
        Seconds after which the fit ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration; the fit ends
        when it returns True.
    scale : {"standard", "sqrt", "range"} or None, default="standard"
        How columns are scaled.

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

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_atoms: int | str = "auto",
        beta: float | str = "auto",
        max_iter: int = 400,
        tol: float = 2e-3,
        max_rows: int = 2000,
        memory: int = 500,
        time_limit: float | None = None,
        callback: Callback | None = None,
        scale: str | None = "standard",
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.n_atoms = n_atoms
        self.beta = beta
        self.max_iter = max_iter
        self.tol = tol
        self.max_rows = max_rows
        self.memory = memory
        self.time_limit = time_limit
        self.callback = callback
        super().__init__(
            scale=scale,
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
            random_state=random_state,
            verbose=verbose,
        )

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Learn from a batch of rows, after those that came before.

        The first batch decides which columns vary and how they are scaled, so it should be like
        the others. ``result_`` and ``row_determined_`` are those of the batch.

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
        with all_or_nothing(self):
            if getattr(self, "model_", None) is None:
                return self.fit(X)
            matrix, mask = self._validate(X, reset=False)
            self._check_params()
            self.n_samples_seen_ += len(matrix)
            varying = np.asarray(mask[:, self._columns].any(axis=1))
            self.row_determined_ = varying.copy()
            rows = np.flatnonzero(varying)
            if len(rows) == 0:
                return self
            part = np.ix_(rows, self._columns)
            scaler = self.model_.scaler
            scaled = scaler.apply_observed(matrix[part].astype(np.float64), mask[part])
            with showing(self.verbose), blas_threads_for(len(rows)):
                model, result = partial_solve(
                    self._solver(scaled.shape, 0),
                    self.model_.model,
                    scaled,
                    mask[part],
                    self._kernel(),
                )
            self.model_, self.result_ = Scaled(scaler, model), result
            self.n_iter_ = max(result.iterations, 1)
            self.row_determined_[rows] &= ~result.ambiguous
            return self  # a batch takes a few steps only, so that there is nothing to warn of

    @property
    def _remedy(self) -> str:
        return "more (max_iter=...) or a larger beta"

    def _solver(self, shape: tuple[int, int], seed: int) -> KernelFactorisation:
        if not isinstance(self._kernel(), Kernel):
            raise TypeError(f"kernel must be a Kernel object, got {self.kernel!r}.")
        return KernelFactorisation(
            n_atoms=self.n_atoms,
            beta=self.beta,
            max_iter=self.max_iter,
            tol=self.tol,
            max_rows=self.max_rows,
            memory=self.memory,
            time_limit=self.time_limit,
            callback=self.callback,
        )

    def _kernel(self) -> Kernel:
        return RBF() if self.kernel is None else self.kernel

    def _method(self, shape: tuple[int, int], seed: int) -> Method:
        return cast(Method, SimpleNamespace(fit=partial(self._fit_matrix, seed=seed)))

    def _fit_matrix(self, X: np.ndarray, mask: np.ndarray, seed: int) -> Fitted:
        scaler = ColumnScaler.fit(X, mask, self.scale)
        scaled = scaler.apply_observed(X, mask)
        refuse_unsquarable(scaled, -1.0, 1e152)
        with blas_threads_for(min(X.shape)):
            model, result = self._solver(X.shape, seed).solve(scaled, mask, self._kernel(), seed)
        return Fitted(Scaled(scaler, model), scaler.undo(result.X), result, ~result.ambiguous)
