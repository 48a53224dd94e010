"""Messages to users: logging, warnings of a fit, errors about what they passed."""

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
    """Warn that a solver did not converge, with the remedy, unless a callback stopped it."""
    problems = {
        "max_iter": f"did not converge in {result.iterations} iterations; the completion may "
        f"improve with {remedy}.",
        "time_limit": f"reached its time limit at smoothing {result.smoothing:.0e}, before it "
        "converged; allow more time or fit on fewer rows.",
    }
    if result.stop in problems:
        warn(f"The solver {problems[result.stop]}", ConvergenceWarning)


def warn(message: str, kind: type[Warning]) -> None:
    """Warn at the line of the user's code that called the library."""
    warnings.warn(message, kind, stacklevel=_user_stacklevel())


def _user_stacklevel() -> int:
    """Return the level of the first frame outside this library and scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(
        ("polycomplete", "sklearn")
    ):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def showing(verbose: int) -> Iterator[None]:
    """Print the log messages of a fit."""
    if not verbose:
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[polycomplete] %(message)s"))
    with listening(handler, logging.INFO if verbose == 1 else logging.DEBUG):
        yield


@contextmanager
def listening(handler: logging.Handler, level: int) -> Iterator[None]:
    """Send log messages of the library, from a level up, to a handler."""
    logger = logging.getLogger("polycomplete")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def check_settings(owner: object, **rules: tuple[bool, str]) -> None:
    """Raise unless these attributes of an object are good, with what is allowed."""
    for name, (good, allowed) in rules.items():
        if not good:
            raise ValueError(f"{name} must be {allowed}, got {getattr(owner, name)!r}.")


def check_numbers(owner: object, *names: str, zero: bool = False) -> None:
    """Raise unless these attributes of an object are finite positive numbers (or zero)."""
    for name in names:
        value = getattr(owner, name)
        good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        if not good or value < 0 or (value == 0 and not zero):
            kind = "a non-negative number" if zero else "a positive number"
            raise ValueError(f"{type(owner).__name__}({name}=...) must be {kind}, got {value!r}.")


class FarCellError(ValueError):
    """A row that cannot be completed, because an entry is too far from the training rows."""

    def __init__(self, owner: object, row: int, column: int, value: object):
        names = getattr(owner, "feature_names_in_", None)
        self.row, self.column = int(row), int(column)
        named = self.column if names is None else repr(names[column])
        super().__init__(self.said(named, value))

    def said(self, name: object, value: object) -> str:
        """Return the message, given the name of the column and the entry."""
        return (
            f"Row {self.row} cannot be completed: its {value} in column {name} is too far from "
            "the training rows; correct it, or make it missing to have it completed."
        )
