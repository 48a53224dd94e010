"""The methods of the literature by name: short compositions of kernel, penalty and solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from polycomplete.kernels import Kernel, Polynomial
from polycomplete.methods.completer import Completer
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip, Weights
from polycomplete.solvers import AdamPlus, Exact, Solver


@dataclass(eq=False, repr=False)
class NLMC(Completer):
    """Nonlinear matrix completion [1]_: the plain Schatten-p penalty in feature space.

    Minimizes R₁(φ(X̂)) = Σ σᵢᵖ(φ(X̂)) = Tr(𝒦(X̂)^(p/2)), eqs. (9) and (12) of [2]_, over the missing
    entries: :class:`PMC` without weights. Everything else is as there.

    Parameters
    ----------
    kernel : Kernel, default=None
        Similarity of two rows; None means ``RBF()``.
    p : "auto" or float, default="auto"
        Power of the penalty, at most 1. "auto" means −½, or the paper's ½ with ``AdamPlus``.
    scale, smoothing : str or float, default="auto"
    noise, solver : float, Solver, default=None
    n_jobs : int, default=-1
    device : {"cpu", "cuda", "auto"}, default=None
    missing_values : float, default=nan
    add_indicator, keep_empty_features : bool, default=False
    random_state : int, RandomState or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    model_, result_, held_out_ : SurfaceModel, Result, HeldOut, or None
    n_iter_, n_samples_seen_, n_features_in_ : int
    solver_, scale_, smoothing_ : Solver, str or None, float
    cell_std_, residual_ : ndarray of shape (n_samples, n_features)
    row_determined_ : ndarray of bool, shape (n_samples,)
    statistics_, feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    PMC : With weights that penalize the small singular values most.
    Completer : Any kernel, penalty and solver.

    References
    ----------
    .. [1] J. Fan and T. W. S. Chow (2018). Non-linear matrix completion. Pattern Recognition 77.
    .. [2] J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data
       imputation and transductive learning. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(-1, 1, 60)
    >>> X = np.c_[t, t**2, t**3]
    >>> X[::3, 1] = np.nan
    >>> bool(np.abs(NLMC(random_state=0).fit_transform(X)[:, 1] - t**2).max() < 0.02)
    True
    """

    kernel: Kernel | None = None
    p: float | str = "auto"
    scale: str | None = "auto"
    smoothing: float | str = "auto"
    noise: float | None = None
    solver: Solver | None = None
    n_jobs: int = -1
    device: str | None = None

    def _penalty(self, solver: Solver) -> Schatten:
        return Schatten(_power(self.p, solver), Equal())


@dataclass(eq=False, repr=False)
class PMC(Completer):
    """Polynomial matrix completion: penalize the small singular values in feature space most.

    Completes data whose rows lie on one or several curved surfaces of low dimension; neither their
    number nor their dimension has to be known. The rank of φ(X̂), problem (2) of [1]_, is relaxed to
    a weighted Schatten-p penalty: R₃, eq. (11), for PMC-W, and R₂, eq. (10), for PMC-S. Lemmas 3
    and 4 there give both in terms of the kernel matrix. Rows without any observed entry get the
    column means; columns without any are dropped.

    Parameters
    ----------
    weights : {"ramp", "skip", "inverse"} or Weights, default="ramp"
        Weights of the singular values. "ramp" is the paper's w₂, which penalizes the small ones
        most (PMC-W); "inverse" is its w₁, :class:`~polycomplete.penalties.Inverse`; "skip" ignores
        the s largest (PMC-S).
    s : "auto", "columns" or int, default="auto"
        Number of singular values that "skip" ignores. "auto" estimates it from the observed
        entries; the paper takes the number of columns, which hurts if X itself has a lower rank.
    kernel : Kernel, default=None
        Similarity of two rows; None means ``RBF()``.
    p : "auto" or float, default="auto"
        Power of the penalty, at most 1. "auto" means −½, or the paper's ½ with ``AdamPlus``.
    scale : {"auto", "standard", "sqrt", "range"} or None, default="auto"
        Divide columns by their standard deviation, its square root, or their range. "auto" chooses
        between the first two on held-out entries, unless all columns have a similar spread.
    smoothing : "auto" or float, default="auto"
        Final smoothing γ, relative to the mean of k(x, x): how far rows may stay from the surface.
        "auto" chooses it on held-out entries.
    noise : float, default=None
        λ of the noisy formulation, eq. (3): observed entries may move at a cost of λ/2 (x̂ − x)² in
        scaled units; 2/p times the paper's λ, as R is (``Schatten.factor``). ``fit_transform``
        returns them unchanged, ``residual_`` has the changes.
    solver : Solver, default=None
        :class:`~polycomplete.Exact`, :class:`~polycomplete.Landmark`, or the paper's
        :class:`~polycomplete.AdamPlus`. By default ``Exact()`` up to 400 rows and with
        ``noise``, else ``Landmark()``.
    n_jobs : int, default=-1
        Number of cores; −1 uses all of them. The result does not depend on it.
    device : {"cpu", "cuda", "auto"}, default=None
        Where rows are completed, and ``Exact`` computes its objective; None for where X lies.
    missing_values : float, default=nan
        Number that marks a missing entry, besides NaN and None.
    add_indicator, keep_empty_features : bool, default=False
        Append indicators of missing entries; keep columns without observed entries, as zeros.
    random_state : int, RandomState or None, default=None
        Seed of the choice of held-out entries.
    verbose : int, default=0
        1 logs stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    model_ : SurfaceModel or None
        The learned surface; None if no column varies.
    result_ : Result or None
        Objective history, iterations, seconds and stop reason.
    n_iter_ : int
        Number of iterations of the solver.
    solver_, scale_, smoothing_ : Solver, str or None, float
        The solver, scaling and smoothing used.
    cell_std_, residual_ : ndarray of shape (n_samples, n_features)
        Estimated standard deviation of each completed entry, 0 where observed; and with ``noise``
        the observed minus the moved values, 0 where missing.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for rows of the fit that their observed entries do not determine.
    held_out_ : HeldOut or None
        Held-out entries and their completions; None if nothing was chosen.
    statistics_ : ndarray of shape (n_features,)
        Mean of the observed entries of each column.
    n_samples_seen_, n_features_in_, feature_names_in_ : int, int, ndarray of str
        Numbers of rows and columns seen by ``fit``, and names of the columns, if X had any.

    See Also
    --------
    NLMC : The same without weights.
    Completer : Any kernel, penalty and solver.
    TableCompleter : For tables with columns of all kinds.

    References
    ----------
    .. [1] J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data
       imputation and transductive learning. AAAI. Theorem 1 and Lemma 1: when φ(X) has low rank;
       Theorem 2: how many entries that takes; Algorithm 1: :class:`~polycomplete.AdamPlus`.

    Examples
    --------
    >>> from polycomplete import PMC, datasets, masks, metrics
    >>> X = datasets.make_polynomial_manifold(100, 20, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.6, random_state=0)
    >>> completed = PMC(random_state=0).fit_transform(masks.apply(X, mask))
    >>> metrics.rse(X, completed, mask) < 0.01
    True
    """

    weights: str | Weights = "ramp"
    s: int | str = "auto"
    kernel: Kernel | None = None
    p: float | str = "auto"
    scale: str | None = "auto"
    smoothing: float | str = "auto"
    noise: float | None = None
    solver: Solver | None = None
    n_jobs: int = -1
    device: str | None = None

    def _penalty(self, solver: Solver) -> Schatten:
        return Schatten(_power(self.p, solver), self._weights())

    def _weights(self) -> Weights:
        if isinstance(self.weights, Weights):
            return self.weights
        rules = {"ramp": Ramp(), "skip": Skip(self.s), "inverse": Inverse()}
        if self.weights not in rules:
            raise ValueError(
                f"weights must be one of {list(rules)} or a Weights object, got {self.weights!r}."
            )
        return rules[self.weights]


@dataclass(eq=False, repr=False)
class VMC(Completer):
    """Variety-based matrix completion: rows that satisfy polynomial equations of low degree.

    The Schatten-½ penalty of all monomials up to a degree [1]_, minimized under a decreasing
    smoothing: R₁, eq. (9) of [2]_, with a polynomial kernel. VMC-2 and VMC-3 there have degree 2
    and 3. By default, ``solver`` is ``Exact(blend=False)``; everything else is as in
    :class:`PMC`.

    Parameters
    ----------
    degree : {2, 3}, default=2
        Degree of the monomials.
    offset : float, default=10.0
        c of the kernel (x·y + c)^degree, in units of the mean squared norm of a row; larger values
        give more weight to low degrees. 0, with ``scale=None``, for subspaces through the origin.
    p : float, default=0.5
        Power of the penalty, at most 1.
    scale, smoothing : str or float, default="auto"
    noise, solver : float, Solver, default=None
    n_jobs : int, default=-1
    device : {"cpu", "cuda", "auto"}, default=None
    missing_values : float, default=nan
    add_indicator, keep_empty_features : bool, default=False
    random_state : int, RandomState or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    model_, result_, held_out_ : SurfaceModel, Result, HeldOut, or None
    n_iter_, n_samples_seen_, n_features_in_ : int
    solver_, scale_, smoothing_ : Solver, str or None, float
    cell_std_, residual_ : ndarray of shape (n_samples, n_features)
    row_determined_ : ndarray of bool, shape (n_samples,)
    statistics_, feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LADMC : For unions of subspaces.
    PMC : With a kernel of infinite degree.

    References
    ----------
    .. [1] G. Ongie, R. Willett, R. D. Nowak and L. Balzano (2017). Algebraic variety models for
       high-rank matrix completion. ICML.
    .. [2] J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data
       imputation and transductive learning. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 6, 60)
    >>> X = np.c_[np.cos(t), np.sin(t), np.cos(t) + np.sin(t)]
    >>> X[::3, 1] = np.nan
    >>> bool(np.abs(VMC(random_state=0).fit_transform(X)[:, 1] - np.sin(t)).max() < 0.05)
    True
    """

    degree: int = 2
    offset: float = 10.0
    p: float = 0.5
    scale: str | None = "auto"
    smoothing: float | str = "auto"
    noise: float | None = None
    solver: Solver | None = None
    n_jobs: int = -1
    device: str | None = None

    def _kernel(self) -> Kernel:
        return Polynomial(self.degree, self.offset, relative=True)

    def _solver(self, n_rows: float) -> Solver:
        return Exact(blend=False) if self.solver is None else self.solver

    def _penalty(self, solver: Solver) -> Schatten:
        return Schatten(self.p, Equal())


def _power(p: float | str, solver: Solver) -> float:
    """Return the power of the penalty: by default −½, or the paper's ½ with its algorithm."""
    if p == "auto":
        return 0.5 if isinstance(solver, AdamPlus) else -0.5
    return cast(float, p)  # Schatten refuses what is no number
