"""LRMC: low-rank matrix completion, the method that curved data defeat."""

from __future__ import annotations

import numpy as np

from polycomplete.methods.base import PathCompleter
from polycomplete.solvers import AugmentedLagrangian, SoftImpute

#: n · m · min(n, m), the cost of one full decomposition, beyond which soft-impute takes over: it
#: computes the leading singular vectors only.
LARGE = 5e8


class LRMC(PathCompleter):
    """Low-rank matrix completion: the completion of smallest nuclear norm.

    Candès & Recht (2009); solved by an inexact augmented Lagrangian (Lin, Chen & Ma 2010), and by
    soft-impute (Mazumder, Hastie & Tibshirani 2010) where both sides of the matrix are long.
    Parameters that are not listed here are those of :class:`~polycomplete.base.BaseCompleter`, as
    are the attributes.

    ``transform`` completes a new row by ridge regression on the directions of the solution, which
    gives training rows back as ``fit_transform`` did.

    Parameters
    ----------
    solver : AugmentedLagrangian or SoftImpute, optional
        ``AugmentedLagrangian()`` meets the observed entries exactly; ``SoftImpute()`` allows for
        noise, by a threshold that it chooses by hiding observed entries. By default the former,
        and the latter where n · m · min(n, m) exceeds 5e8 (800 × 800, say).
    scale : {"standard", "sqrt", "range"} or None, default="standard"
        How columns are scaled. None is the method as published, without centring.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.arange(1.0, 10.0), [1.0, 2.0, 3.0, 4.0])
    >>> X[3, 2] = np.nan
    >>> LRMC(scale=None).fit_transform(X)[3].round(1).tolist()
    [4.0, 8.0, 12.0, 16.0]
    """

    def __init__(
        self,
        solver: AugmentedLagrangian | SoftImpute | None = None,
        scale: str | None = "standard",
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.solver = solver
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
        return "more (max_iter=... of the solver)"

    def _solver(self, shape: tuple[int, int], seed: int) -> AugmentedLagrangian | SoftImpute:
        if self.solver is None:
            large = shape[0] * shape[1] * min(shape) > LARGE
            return SoftImpute() if large else AugmentedLagrangian()
        if not isinstance(self.solver, AugmentedLagrangian | SoftImpute):
            raise TypeError(
                f"solver must be an AugmentedLagrangian or SoftImpute object, got {self.solver!r}."
            )
        return self.solver
