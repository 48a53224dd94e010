"""LADMC: low rank of the products of two entries."""

from __future__ import annotations

import numpy as np

from polycomplete.methods.base import PathCompleter
from polycomplete.solvers import RankPath
from polycomplete.solvers.base import Callback


class LADMC(PathCompleter):
    """Low algebraic dimension matrix completion: low rank of the products of two entries.

    Ongie, Pimentel-Alarcón, Balzano, Willett & Nowak (2021). For unions of subspaces and surfaces
    with equations of degree two. Parameters that are not listed here are those of
    :class:`~polycomplete.base.BaseCompleter`, as are the attributes.

    It minimizes what the best space of R dimensions leaves of the products of all rows, which is
    ``Schatten(p=2, weights=Skip(R))`` with the kernel ``Polynomial(2)``, along growing ranks.
    ``transform`` completes each new row by its posterior under the learned space.

    Parameters
    ----------
    rank : "auto" or int, default="auto"
        The rank R of the products, or less if that leaves nothing unexplained. "auto" chooses it
        by hiding observed entries.
    offset : float, default=1.0
        The squared length of a constant coordinate that every row gets, relative to that of a
        typical row: it adds linear terms and a constant to the products. 0, with ``scale=None``,
        is the method as published, for subspaces through the origin; the default finds these too.
    max_memory : float, optional
        Bytes that may be taken; 60 % of what is free by default.
    time_limit : float, optional
        Seconds after which the fit ends with what it has.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration, with 1/R in
        place of the smoothing; the fit ends when it returns True.
    scale : {"standard", "sqrt", "range"} or None, default="standard"
        How columns are scaled.

    Examples
    --------
    >>> from polycomplete import LADMC, datasets, masks, metrics
    >>> X = datasets.make_union_of_subspaces(120, 8, n_subspaces=2, dim=1, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> completer = LADMC(offset=0, scale=None, random_state=0)
    >>> metrics.rse(X, completer.fit_transform(masks.apply(X, mask)), mask) < 0.1
    True
    """

    def __init__(
        self,
        rank: int | str = "auto",
        offset: float = 1.0,
        max_memory: float | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        scale: str | None = "standard",
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.rank = rank
        self.offset = offset
        self.max_memory = max_memory
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
