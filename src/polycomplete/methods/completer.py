"""The general scikit-learn estimator, for any kernel, penalty and solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polycomplete._resources import Resources
from polycomplete.kernels import RBF, Kernel
from polycomplete.landmarks import Landmark
from polycomplete.out_of_core import BlockCompleter
from polycomplete.penalties import Ramp, Schatten
from polycomplete.solvers import Exact, Solver
from polycomplete.surface import Fitted, Surface, SurfaceModel

__all__ = ["Completer"]

#: Beyond this many rows, the landmark solver is the default (``make bench-scale`` measures both).
MANY = 400


class Completer(BlockCompleter):
    """Complete a matrix whose rows lie on a low-dimensional curved surface.

    The general method, with any kernel, penalty and solver. :class:`~polycomplete.PMC` and
    :class:`~polycomplete.NLMC` are special cases.

    Columns without any observed entry are dropped (or kept as zeros); constant columns are filled
    with their constant; rows without any observed entry get the column means. All other entries are
    completed jointly by ``fit``, and each row independently by ``transform``. ``transform``
    completes training rows again, given all fitted rows including themselves: on data that fit a
    surface, the result agrees with ``fit_transform`` up to 1 % of a column's spread for rows that
    are determined; on noisy tables with many good completions, it may differ by a few tenths.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; ``RBF()`` by default.
    penalty : Schatten, optional
        Penalty of the spectrum of the Gram matrix; ``Schatten(p=-0.5, weights=Ramp())`` by default.
    solver : Exact, Landmark, AdamPlus or another Solver, optional
        Optimizes the missing entries: jointly with the Gram matrix (:class:`~polycomplete.Exact`,
        cubic in the number of rows), with landmarks (:class:`~polycomplete.Landmark`, linear), or
        by the paper's algorithm (:class:`~polycomplete.AdamPlus`). By default ``Exact()`` for up to
        400 rows or with ``noise``, and ``Landmark()`` otherwise.
    scale : {"auto", "standard", "sqrt", "range"} or None, default="auto"
        How to scale columns, from their observed entries: by their standard deviation, its square
        root, or their range. "auto" is "sqrt" for columns of similar spread, and otherwise chooses
        between "standard" and "sqrt" on held-out entries ("standard" with AdamPlus, which has no
        path to choose on).
    smoothing : "auto" or float, default="auto"
        The last smoothing γ, relative to the mean of k(x, x): how far rows may be from the surface,
        like a noise level. "auto" chooses it on held-out entries.
    noise : float, optional
        λ of the noisy formulation, in which observed entries may move, with the penalty
        λ/2 (x̂ − x)² in scaled units; 2/p times the paper's λ, as R is. By default they do not.
        Completed matrices always have the given entries; the moved values are
        ``X - completer.residual_``.
    n_jobs : int, default=-1
        Number of cores that complete rows: up to four threads, or processes for 100 000 rows and
        more. −1 means all cores. The result does not depend on it.
    device : str, optional
        Device that completes rows (with ``Exact``, that computes the objective): "cpu", "cuda", one
        of several GPUs such as "cuda:1", or "auto" for a GPU if there is one and enough rows. By
        default the host, or with ``Landmark`` the GPU of a tensor.
    missing_values : float, default=nan
        Number that marks a missing entry, besides NaN and None.
    add_indicator : bool, default=False
        Append a column of missing-value indicators for each column with missing entries.
    keep_empty_features : bool, default=False
        Keep columns without any observed entry, filled with zeros.
    random_state : int, RandomState or None, default=None
        Chooses the entries that "auto" holds out.
    verbose : int, default=0
        1 logs stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    result_ : Result or None
        Objective history, iterations, seconds and stop reason; None if no column varies.
    model_ : SurfaceModel or None
        The learned surface.
    solver_ : Solver
        The solver used.
    cell_std_ : ndarray of shape (n_samples, n_features)
        Estimated standard deviation of each completed cell, 0 where observed: that of the row's
        posterior, calibrated so that 90 % of held-out entries are within 1.645 of them. In very
        wide rows it is the same for all cells, in units of the scaled columns. NaN in columns
        without any observed entry.
    scale_ : str or None
        The scaling used.
    smoothing_ : float
        The smoothing used.
    n_iter_ : int
        Number of iterations of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows whose missing entries their observed entries do not determine.
    residual_ : ndarray of shape (n_samples, n_features)
        With ``noise``: observed minus moved value, so that ``fit_transform(X) - residual_`` is
        the denoised matrix; 0 on missing entries.
    held_out_ : HeldOut or None
        ``rows``, ``columns``, ``truth``, ``completed`` and ``deviation`` of the entries that were
        held out to choose settings; None if nothing was chosen.
    statistics_ : ndarray of shape (n_features,)
        Mean of the observed entries of each column; NaN if there is none.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete import Completer
    >>> t = np.linspace(-1, 1, 60)
    >>> X = np.c_[t, t**2, t**3]
    >>> X[::3, 1] = np.nan
    >>> completed = Completer(random_state=0).fit_transform(X)
    >>> bool(np.abs(completed[:, 1] - t**2).max() < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        penalty: Schatten | None = None,
        solver: Solver | None = None,
        scale: str | None = "auto",
        smoothing: float | str = "auto",
        noise: float | None = None,
        n_jobs: int = -1,
        device: str | None = None,
        *,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.penalty = penalty
        self.solver = solver
        self.scale = scale
        self.smoothing = smoothing
        self.noise = noise
        self.n_jobs = n_jobs
        self.device = device
        super().__init__(
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
            random_state=random_state,
            verbose=verbose,
        )

    model_: SurfaceModel | None
    solver_: Solver
    scale_: str | None
    smoothing_: float

    def _check_params(self) -> None:
        self._surface(seed=0)

    @property
    def _remedy(self) -> str:
        solver = self.solver_
        return f"more (solver={type(solver).__name__}({solver.limit}=...)) or a larger smoothing"

    def _method(self, shape: tuple[int, int], seed: int) -> Surface:
        surface = self._surface(seed, shape[0], self._groups)
        self.solver_ = surface.solver
        return surface

    def _keep(self, fitted: Fitted | None) -> None:
        self.scale_ = None if fitted is None else fitted.scale
        self.smoothing_ = np.nan if fitted is None else fitted.smoothing

    def max_training_rows(self, n_rows: float = np.inf) -> int | None:
        """Return the maximum number of rows that a fit on ``n_rows`` rows uses; None for all."""
        return self._solver(n_rows).max_samples

    def path(self, X: Any) -> Iterator[tuple[float, np.ndarray]]:
        """Yield smoothings and the completed X, from coarse to fine, without fitting.

        This shows roughly what a fit would give at each smoothing. ``smoothing="auto"`` chooses
        along such a path by held-out entries; use it to choose by other criteria.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A matrix without constant columns and without empty rows.

        Yields
        ------
        smoothing : float
        completed : ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from polycomplete import PMC
        >>> t = np.linspace(-1, 1, 60)
        >>> arc = np.c_[t, t**2, t**3]
        >>> arc[::3, 1] = np.nan
        >>> for smoothing, completed in PMC(random_state=0).path(arc):
        ...     error = np.abs(completed[:, 1] - t**2).max()
        >>> bool(error < 0.01)
        True
        """
        matrix, mask = clone(self)._validate(X, reset=True)
        given = np.where(mask, matrix, 0.0).astype(np.float64)
        yield from self._surface(self._seed(), len(given)).walk(given, mask)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return how well each row fits the learned surface; outliers have low scores.

        The score is minus the row's energy, its squared distance from the surface in feature space,
        in units of the usual energy of a training row: about −1 for typical rows, −1000 for rows
        far away. Incomplete rows are completed first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Complete or incomplete rows.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from polycomplete import PMC
        >>> t = np.linspace(-1, 1, 60)
        >>> arc = np.c_[t, t**2, t**3]
        >>> arc[::3, 1] = np.nan
        >>> scores = PMC(random_state=0).fit(arc).score_samples([[0.5, 0.25, 0.125], [0.5, 1, -1]])
        >>> bool(scores[0] > 100 * scores[1])
        True
        """
        check_is_fitted(self)
        matrix, mask = self._validate(X, reset=False)
        if self.model_ is None:
            return np.zeros(len(matrix))
        completed = self._filled(matrix, mask)
        self._complete_rows(completed, mask)
        return -self.model_.distance(completed[:, self._columns])

    def _surface(self, seed: int, n_rows: int = 1, groups: np.ndarray | None = None) -> Surface:
        solver = self._solver(n_rows)
        surface = Surface(
            kernel=self._kernel(),
            penalty=self._penalty(solver),
            solver=solver,
            scale=self.scale,
            smoothing=self.smoothing,
            noise=self.noise,
            seed=seed,
            groups=groups,
        )
        return replace(surface, resources=self._resources(solver))

    def _resources(self, solver: Solver) -> Resources:
        """Return threads, memory and device; by default some solvers use the device of X."""
        follows = self.device is None and solver.follows_tensors
        device = self._lies_on if follows else self.device
        return Resources(self.n_jobs, device, solver.max_memory)

    def _solver(self, n_rows: float) -> Solver:
        """Return the given solver, or the default for this number of rows."""
        if self.solver is not None:
            return self.solver
        return Landmark() if n_rows > MANY and self.noise is None else Exact()

    def _kernel(self) -> Kernel:
        return RBF() if self.kernel is None else self.kernel

    def _penalty(self, solver: Solver) -> Schatten:
        return Schatten(weights=Ramp()) if self.penalty is None else self.penalty
