"""SRMC: every row a sparse combination of the others."""

from __future__ import annotations

import numpy as np

from polycomplete.methods.base import PathCompleter
from polycomplete.solvers import SelfRepresentation
from polycomplete.solvers.base import Callback


class SRMC(PathCompleter):
    """Matrix completion by sparse self-representation: rows explain each other, few at a time.

    Fan & Chow (2017). On a union of subspaces a row needs only rows of its own subspace, which a
    sparse combination finds. Parameters that are not listed here are those of
    :class:`~polycomplete.base.BaseCompleter`, as are the attributes.

    ``transform`` represents the observed entries of a new row by the completed training rows and
    predicts the missing ones from that.

    Parameters
    ----------
    smoothing : "auto" or float, default="auto"
        How far a row may stay from its representation: 1/λ of the paper, for rows of length one.
        "auto" chooses it by hiding observed entries.
    constant : float, default=1.0
        A constant coordinate that every row gets, for surfaces that do not go through the origin;
        0 for subspaces that do.
    max_iter : int, default=100
        Rounds at the last smoothing, at most.
    tol : float, default=5e-3
        Converged when the missing entries would move less than this in a round, relative to the
        observed ones.
    time_limit : float, optional
        Seconds after which the fit ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each round; the fit ends when
        it returns True.
    scale : {"standard", "sqrt", "range"} or None, default="standard"
        How columns are scaled.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(-1, 1, 40)
    >>> X = np.c_[t, 2 * t, -t]
    >>> X[::3, 1] = np.nan
    >>> bool(np.abs(SRMC(random_state=0).fit_transform(X)[:, 1] - 2 * t).max() < 0.1)
    True
    """

    def __init__(
        self,
        smoothing: float | str = "auto",
        constant: float = 1.0,
        max_iter: int = 100,
        tol: float = 5e-3,
        time_limit: float | None = None,
        callback: Callback | None = None,
        scale: str | None = "standard",
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.smoothing = smoothing
        self.constant = constant
        self.max_iter = max_iter
        self.tol = tol
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

    def _solver(self, shape: tuple[int, int], seed: int) -> SelfRepresentation:
        return SelfRepresentation(
            smoothing=self.smoothing,
            constant=self.constant,
            max_iter=self.max_iter,
            tol=self.tol,
            time_limit=self.time_limit,
            callback=self.callback,
        )
