"""What users are told while a fit runs and after it: log messages and warnings."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

from polycomplete.solvers import Result


def warn_unconverged(result: Result) -> None:
    """Say once that a run did not converge, with the remedy."""
    if result.stop == "max_iter":
        warnings.warn(
            f"The solver did not converge in {result.iterations} iterations; the completion may "
            "improve with more (solver=Continuation(rounds=...) or AdamPlus(max_iter=...)) or "
            "with a larger smoothing.",
            ConvergenceWarning,
            stacklevel=_level_of_the_user(),
        )


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
    logger = logging.getLogger("polycomplete")
    handler, level = logging.StreamHandler(), logger.level
    handler.setFormatter(logging.Formatter("[polycomplete] %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
