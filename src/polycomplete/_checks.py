"""Checking numbers that users pass: one sentence that names the parameter and the value."""

from __future__ import annotations

import math
from numbers import Real


def check_numbers(owner: object, *names: str, zero: bool = False) -> None:
    """Raise unless these attributes of an object are finite numbers above zero (or zero)."""
    for name in names:
        value = getattr(owner, name)
        good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        if not good or value < 0 or (value == 0 and not zero):
            kind = "a number that is not negative" if zero else "a positive number"
            raise ValueError(f"{type(owner).__name__}({name}=...) must be {kind}, got {value!r}.")
