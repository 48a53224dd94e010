"""SRMC: every row is a sparse combination of the others."""

from __future__ import annotations

from dataclasses import dataclass

from polycomplete.methods.base import PathCompleter
from polycomplete.solvers import SelfRepresentation
from polycomplete.solvers.base import Callback


@dataclass(eq=False, repr=False)
class SRMC(PathCompleter):
    """Matrix completion by sparse self-representation: each row is a combination of a few others.

    It uses the objective ‖C‖₁ + λ/2 ‖X − C X‖² with diag(C) = 0 of [1]_, but a missing entry
    minimizes the residual of its own row only. On a union of subspaces, the sparsest combinations
    use rows of the same subspace. ``transform`` represents the observed entries of a new row by the
    completed training rows, and predicts the missing ones from them.

    Parameters
    ----------
    smoothing : "auto" or float, default="auto"
        1/λ for rows of unit length: how much a row may differ from its representation. "auto"
        chooses it on held-out entries.
    constant : float, default=1.0
        An additional constant coordinate, for surfaces that do not go through the origin; 0 for
        subspaces that do.
    max_iter : int, default=100
        Maximum number of rounds at the last smoothing.
    tol : float, default=5e-3
        Converged when the missing entries would move less than this in a round, relative to the
        observed ones.
    time_limit : float, optional
        Seconds after which the fit ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each round; the fit ends when
        it returns True.
    scale : {"standard", "sqrt", "range"} or None, default="standard"
        How to scale columns, from their observed entries: by their standard deviation, its square
        root, or their range.
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
        The scaler and the completed rows; None if no column varies.
    result_ : Result or None
        Objective history, rounds, seconds and stop reason.
    n_iter_ : int
        Number of rounds of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows without any observed entry.
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
    LRMC : For rows on a single subspace.
    SparseSubspaceClustering : Finds the subspace of each row with the same objective.

    References
    ----------
    .. [1] J. Fan and T. W. S. Chow (2017). Matrix completion by least-square, low-rank, and sparse
       self-representations. Pattern Recognition 71.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(-1, 1, 40)
    >>> X = np.c_[t, 2 * t, -t]
    >>> X[::3, 1] = np.nan
    >>> bool(np.abs(SRMC(random_state=0).fit_transform(X)[:, 1] - 2 * t).max() < 0.1)
    True
    """

    smoothing: float | str = "auto"
    constant: float = 1.0
    max_iter: int = 100
    tol: float = 5e-3
    time_limit: float | None = None
    callback: Callback | None = None
    scale: str | None = "standard"

    def _solver(self, shape: tuple[int, int], seed: int) -> SelfRepresentation:
        return SelfRepresentation(
            smoothing=self.smoothing,
            constant=self.constant,
            max_iter=self.max_iter,
            tol=self.tol,
            time_limit=self.time_limit,
            callback=self.callback,
        )
