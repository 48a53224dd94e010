"""What the published algorithms share: a completer that iterates on the rows of its fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycomplete.base import BaseCompleter
from polycomplete.solvers.base import Monitor
from polycomplete.surface import Fitted, MatrixMethod

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class RowsOfTheFit:
    """A model without new rows: these algorithms complete the rows that they are given."""

    def complete(self, X: Array, mask: Mask) -> Any:
        """Raise."""
        raise NotImplementedError(
            "A published algorithm completes the rows of its fit only; use fit_transform on all "
            "rows, or the library's own method of the same name."
        )


@dataclass(eq=False, repr=False)
class Published(BaseCompleter):
    """A completer by the iteration of a subclass, from zero-filled rows and without scaling."""

    max_iter: int = 1000
    scale: str | None = None
    missing_values: float = np.nan
    add_indicator: bool = False
    keep_empty_features: bool = False
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def iterate(self, X: Array, mask: Mask) -> Iterator[tuple[Array, float]]:
        """Yield completed rows and the objective, or what is watched; end when converged.

        X has zeros for missing entries.
        """
        raise NotImplementedError

    def _method(self, shape: tuple[int, int], seed: int) -> MatrixMethod:
        return _Run(self)


@dataclass(frozen=True)
class _Run:
    method: Published

    def fit(self, X: Array, mask: Mask) -> Fitted:
        """Iterate on the rows to the end."""
        monitor, stop = Monitor(), "converged"
        zero_filled = np.where(mask, X, 0.0)
        found = zero_filled
        for rows, objective in self.method.iterate(zero_filled, mask):
            found = rows
            monitor.note(objective, 0.0)
            if len(monitor.objective) == self.method.max_iter:
                stop = "max_iter"
                break
        completed = np.where(mask, X, found)
        determined = np.ones(len(X), dtype=bool)
        return Fitted(RowsOfTheFit(), completed, monitor.result(completed, stop), determined)
