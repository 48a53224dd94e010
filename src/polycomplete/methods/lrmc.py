"""LRMC: low-rank matrix completion, the baseline for curved data."""

from __future__ import annotations

from dataclasses import dataclass

from polycomplete.methods.base import PathCompleter
from polycomplete.solvers import AugmentedLagrangian, SoftImpute


@dataclass(eq=False, repr=False)
class LRMC(PathCompleter):
    """Low-rank matrix completion: the completion with minimum nuclear norm.

    It minimizes ‖X̂‖_* over the missing entries [1]_ by an inexact augmented Lagrangian [2]_, or for
    large matrices by soft-impute [3]_. ``transform`` completes a new row by ridge regression on the
    singular vectors of the solution, and training rows as ``fit_transform`` does.

    Parameters
    ----------
    solver : AugmentedLagrangian or SoftImpute, optional
        ``AugmentedLagrangian()`` fits the observed entries exactly; ``SoftImpute()`` allows for
        noise by a threshold, which it chooses on held-out entries. By default the former, or the
        latter if n · m · min(n, m) exceeds 5e8 (about 800 × 800).
    scale : {"standard", "sqrt", "range"} or None, default="standard"
        How to scale columns, from their observed entries: by their standard deviation, its square
        root, or their range. None is the method as published, without centering.
    missing_values : float, default=nan
        Number that marks a missing entry, besides NaN and None.
    add_indicator : bool, default=False
        Append a column of missing-value indicators for each column with missing entries.
    keep_empty_features : bool, default=False
        Keep columns without any observed entry, filled with zeros.
    random_state : int, RandomState or None, default=None
        Chooses the entries that are held out.
    verbose : int, default=0
        1 logs stages, 2 every iteration, through :mod:`logging`.

    Attributes
    ----------
    model_ : Scaled or None
        The scaler, and the right singular vectors of the solution with their singular values; None
        if no column varies.
    result_ : Result or None
        Objective history, iterations, seconds and stop reason.
    n_iter_ : int
        Number of iterations of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows with fewer observed entries than the rank of the solution.
    held_out_ : HeldOut or None
        Held-out entries, with their completions; None if nothing was chosen.
    statistics_ : ndarray of shape (n_features,)
        Mean of the observed entries of each column.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number of columns seen by ``fit``, and their names if X had any.
    n_samples_seen_ : int
        Number of rows in the data.

    See Also
    --------
    PMC : For curved data, which do not have low rank.
    SRMC : For rows on several subspaces.

    References
    ----------
    .. [1] E. J. Candès and B. Recht (2009). Exact matrix completion via convex optimization.
       Foundations of Computational Mathematics 9.
    .. [2] Z. Lin, M. Chen and Y. Ma (2010). The augmented Lagrange multiplier method for exact
       recovery of corrupted low-rank matrices. arXiv:1009.5055.
    .. [3] R. Mazumder, T. Hastie and R. Tibshirani (2010). Spectral regularization algorithms for
       learning large incomplete matrices. Journal of Machine Learning Research 11.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.arange(1.0, 10.0), [1.0, 2.0, 3.0, 4.0])
    >>> X[3, 2] = np.nan
    >>> LRMC(scale=None).fit_transform(X)[3].round(1).tolist()
    [4.0, 8.0, 12.0, 16.0]
    """

    solver: AugmentedLagrangian | SoftImpute | None = None
    scale: str | None = "standard"

    @property
    def _remedy(self) -> str:
        return "more (max_iter=... of the solver)"

    def _solver(self, shape: tuple[int, int], seed: int) -> AugmentedLagrangian | SoftImpute:
        if self.solver is None:
            # One decomposition costs n · m · min(n, m); soft-impute needs leading vectors only.
            large = shape[0] * shape[1] * min(shape) > 5e8
            return SoftImpute() if large else AugmentedLagrangian()
        if not isinstance(self.solver, AugmentedLagrangian | SoftImpute):
            raise TypeError(
                f"solver must be an AugmentedLagrangian or SoftImpute object, got {self.solver!r}."
            )
        return self.solver
