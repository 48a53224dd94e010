"""LADMC: low rank of the products of two entries."""

from __future__ import annotations

from dataclasses import dataclass

from polycomplete.methods.base import PathCompleter
from polycomplete.solvers import RankPath
from polycomplete.solvers.base import Callback


@dataclass(eq=False, repr=False)
class LADMC(PathCompleter):
    """Low algebraic dimension matrix completion: low rank of the products of two entries.

    For unions of subspaces and surfaces with equations of degree two [1]_. It minimizes the squared
    distance of the products of all rows from the best subspace of R dimensions, which is
    ``Schatten(p=2, weights=Skip(R))`` with the kernel ``Polynomial(2)``, along increasing ranks.
    ``transform`` completes each new row by its posterior under the learned subspace.

    Parameters
    ----------
    rank : "auto" or int, default="auto"
        The rank R of the products, or less if that explains everything. "auto" chooses it on
        held-out entries.
    offset : float, default=1.0
        Squared length of an additional constant coordinate, relative to that of a typical row: it
        adds linear terms and a constant to the products. 0, with ``scale=None``, is the method as
        published, for subspaces through the origin; the default finds these, too.
    max_memory : float, optional
        Maximum number of bytes; by default 60 % of the free memory.
    time_limit : float, optional
        Seconds after which the fit ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration, with 1/R in
        place of the smoothing; the fit ends when it returns True.
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
        The scaler and the learned subspace; None if no column varies.
    result_ : Result or None
        Objective history, iterations, seconds and stop reason.
    n_iter_ : int
        Number of iterations of the solver.
    row_determined_ : ndarray of bool, shape (n_samples,)
        False for training rows whose missing entries their observed entries do not determine.
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
    VMC : Low rank of all polynomials of a degree, without a rank to choose.
    SRMC : Unions of subspaces by sparse combinations of rows.

    References
    ----------
    .. [1] G. Ongie, D. Pimentel-Alarcón, L. Balzano, R. Willett and R. D. Nowak (2021). Tensor
       methods for nonlinear matrix completion. SIAM Journal on Mathematics of Data Science 3.

    Examples
    --------
    >>> from polycomplete import LADMC, datasets, masks, metrics
    >>> X = datasets.make_union_of_subspaces(120, 8, n_subspaces=2, dim=1, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> completer = LADMC(offset=0, scale=None, random_state=0)
    >>> metrics.rse(X, completer.fit_transform(masks.apply(X, mask)), mask) < 0.1
    True
    """

    rank: int | str = "auto"
    offset: float = 1.0
    max_memory: float | None = None
    time_limit: float | None = None
    callback: Callback | None = None
    scale: str | None = "standard"

    @property
    def _remedy(self) -> str:
        return "a smaller rank"

    def _solver(self, shape: tuple[int, int], seed: int) -> RankPath:
        return RankPath(
            rank=self.rank,
            offset=self.offset,
            max_memory=self.max_memory,
            time_limit=self.time_limit,
            callback=self.callback,
        )
