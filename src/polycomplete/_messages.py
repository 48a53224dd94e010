"""What users are told: log messages and warnings of a fit, and errors of what they passed."""

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

from sklearn.exceptions import ConvergenceWarning


def warn_unconverged(result: Any, remedy: str) -> None:
    """Say once that a run did not converge, with the remedy; not where a callback ended it."""
    if result.stop == "max_iter":
        said = (
            f"did not converge in {result.iterations} iterations; the completion may improve with "
            f"{remedy}."
        )
    elif result.stop == "time_limit":
        said = (
            f"reached its time limit at smoothing {result.smoothing:.0e}, before it converged; "
            "allow more time or fit on fewer rows."
        )
    else:
        return
    warn(f"The solver {said}", ConvergenceWarning)


def warn_dropped(names: list[str]) -> None:
    """Say which columns have nothing in them and do not come back."""
    warn(
        f"Columns {', '.join(names)} have no observed entry and are dropped; "
        "keep_empty_features=True keeps them as zeros.",
        UserWarning,
    )


def warn(message: str, kind: type[Warning]) -> None:
    """Warn at the line of the user's that called the library."""
    warnings.warn(message, kind, stacklevel=_level_of_the_user())


def _level_of_the_user() -> int:
    """Return how far up the stack the first frame outside of this library and scikit-learn is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(
        ("polycomplete", "sklearn")
    ):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def showing(verbose: int) -> Iterator[None]:
    """Show the messages of the library while a fit runs."""
    if not verbose:
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[polycomplete] %(message)s"))
    with listening(handler, logging.INFO if verbose == 1 else logging.DEBUG):
        yield


@contextmanager
def listening(handler: logging.Handler, level: int) -> Iterator[None]:
    """Give a handler the messages of the library from a level on."""
    logger = logging.getLogger("polycomplete")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def check_numbers(owner: object, *names: str, zero: bool = False) -> None:
    """Raise unless these attributes of an object are finite numbers above zero (or zero)."""
    for name in names:
        value = getattr(owner, name)
        good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        if not good or value < 0 or (value == 0 and not zero):
            kind = "a number that is not negative" if zero else "a positive number"
            raise ValueError(f"{type(owner).__name__}({name}=...) must be {kind}, got {value!r}.")


class FarCellError(ValueError):
    """A row that cannot be completed, because an entry is too far from what was learned."""

    def __init__(self, owner: object, row: int, column: int, value: object):
        names = getattr(owner, "feature_names_in_", None)
        self.row, self.column = int(row), int(column)
        named = self.column if names is None else repr(names[column])
        super().__init__(self.said(named, value))

    def said(self, name: object, value: object) -> str:
        """Return the message with the name of the column and the entry."""
        return (
            f"Row {self.row} cannot be completed: its {value} in column {name} is too far from "
            "the rows that were learned; correct it, or make it missing to have it completed."
        )
