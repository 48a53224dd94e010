"""The scikit-learn estimator: validate, hand over to the surface, put the observed entries back."""

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

#: Beyond this many rows "auto" takes the landmark solver (``make bench-scale`` measures both).
MANY = 400


class Completer(BlockCompleter):
    """Complete a matrix by making its rows lie on a low-dimensional curved surface.

    The general method: any kernel, penalty and solver. :class:`~polycomplete.PMC` and
    :class:`~polycomplete.NLMC` are compositions of it.

    Columns without any observed entry are dropped (or kept as zeros); constant columns are filled
    with their constant; rows without any observed entry get the column means. Everything else is
    completed jointly by ``fit``, and row by row by ``transform``: the answer for a new row does not
    depend on which other rows come along. A training row given to ``transform`` is completed anew
    against the fitted rows, itself among them: on data that fit a surface it comes back as from
    ``fit_transform`` up to 1 % of a column's spread where its observed entries determine it; on
    noisy tables, where many completions are about as good, the two may differ by some tenths.

    Parameters
    ----------
    kernel : Kernel, optional
        What "close" means; ``RBF()`` by default.
    penalty : Schatten, optional
        How the spectrum of the Gram matrix is charged; ``Schatten(p=-0.5, weights=Ramp())`` by
        default.
    solver : Exact, Landmark, AdamPlus or another Solver, optional
        How the missing entries move: all of them jointly on the Gram matrix
        (:class:`~polycomplete.Exact`, cubic in the rows), by landmarks
        (:class:`~polycomplete.Landmark`, linear), or by the paper's algorithm
        (:class:`~polycomplete.AdamPlus`). By default ``Exact()`` up to 400 rows, and with
        ``noise``, and else ``Landmark()``.
    scale : {"auto", "standard", "sqrt", "range"} or None, default="auto"
        How columns are scaled, from their observed entries. "sqrt" divides by the square root of
        the standard deviation. "auto" takes "sqrt" for columns of similar spread and otherwise
        chooses between "standard" and "sqrt" by hiding observed entries (with AdamPlus, which
        gives no path to follow, it takes "standard").
    smoothing : "auto" or float, default="auto"
        The last smoothing γ, relative to the mean of k(x, x): how far from the surface rows may
        stay. It plays the part of a noise level. "auto" chooses it by hiding observed entries.
    noise : float, optional
        λ of the noisy formulation: observed entries may move and pay λ/2 (x̂ − x)² in scaled
        units. By default they are kept. The answer has them as given in any case; the moved
        values are ``X - completer.residual_``.
    missing_values : float, default=nan
        A number that stands for a missing entry, besides NaN and None.
    add_indicator : bool, default=False
        Append columns that say which entries were missing.
    keep_empty_features : bool, default=False
        Keep columns without any observed entry, as zeros.
    n_jobs : int, default=-1
        Cores that rows are completed by: up to four threads, and from 100 000 rows on processes.
        −1 takes all of them. The result does not depend on it.
    device : str, optional
        Where rows are completed, or with ``Exact`` the objective is computed: "cpu", "cuda" (or
        "cuda:1" and so on), or "auto" for a GPU where there is one and there are enough rows. By
        default the host, and with ``Landmark`` the GPU for a tensor that lies there.
    random_state : int, RandomState or None, default=None
        Chooses the entries that "auto" holds out.
    verbose : int, default=0
        1 shows stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    result_ : Result or None
        Objective history, iterations, seconds and stop reason; None where nothing varied.
    model_ : SurfaceModel or None
        The learned surface.
    solver_ : Solver
        The solver used.
    cell_std_ : ndarray of shape (n_samples, n_features)
        Estimated standard deviation of each completed cell, 0 where observed: from the curvature
        of the row's energy, scaled so that 95 % of the entries that "auto" hid lie within 1.96. A
        first estimate; in very wide rows one number for all holes, in the units of the scaled
        columns. NaN in columns without any observed entry.
    scale_ : str or None
        The scaling used.
    smoothing_ : float
        The smoothing used.
    n_iter_ : int
        Iterations of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows that their observed entries do not determine.
    residual_ : ndarray of shape (n_samples, n_features)
        With ``noise``: observed minus moved value, so that ``fit_transform(X) - residual_`` is
        the denoised matrix; 0 on missing entries.
    held_out_ : HeldOut or None
        ``rows``, ``columns``, ``truth`` and ``completed`` of observed entries that the fit had
        hidden to choose its settings; None where it chose nothing.
    statistics_ : ndarray of shape (n_features,)
        Mean of the observed entries of each column; NaN where there is none.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, where X had any.

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
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        n_jobs: int = -1,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.penalty = penalty
        self.solver = solver
        self.smoothing = smoothing
        self.noise = noise
        self.n_jobs = n_jobs
        self.device = device
        super().__init__(
            scale=scale,
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
        """Yield the smoothing and X completed, from coarse to fine, without fitting.

        One way shows what a fit with each smoothing would roughly give; ``smoothing="auto"``
        chooses on it by hidden entries, and other criteria can be followed along it as well.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Every column with observed entries that differ, every row with an observed entry.

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
        """Return how well each row lies on the learned surface: the lower, the more of an outlier.

        Minus the row's energy, which is its squared distance from the surface in feature space, in
        units of the usual energy of a training row: about −1 for a row like those, −1000 for one
        far off. Rows with holes are completed first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with or without holes.

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
        """Return where rows are worked on; one by one by default where they lie."""
        follows = self.device is None and solver.follows_tensors
        device = self._lies_on if follows else self.device
        return Resources(self.n_jobs, device, solver.max_memory)

    def _solver(self, n_rows: float) -> Solver:
        """Return the solver; where none is given, the size of the data decides."""
        if self.solver is not None:
            return self.solver
        return Landmark() if n_rows > MANY and self.noise is None else Exact()

    def _kernel(self) -> Kernel:
        return RBF() if self.kernel is None else self.kernel

    def _penalty(self, solver: Solver) -> Schatten:
        return Schatten(weights=Ramp()) if self.penalty is None else self.penalty
