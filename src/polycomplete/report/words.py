"""Numbers and names as people read them, safe to show anywhere."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

__all__: list[str] = []

#: A name longer than this is cut.
LETTERS = 120
FARTHEST = 3e6  # days from 1970 that are still written as a date
#: Characters that end lines or control a terminal, and such as turn the direction of what follows
#: them or are half a pair.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(name: Any, most: int = LETTERS) -> str:
    """Return a name without control characters, on one line, and not too long."""
    text = str(name)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return TURNS.sub("\ufffd", CONTROLS.sub(" ", text))


def number(value: float | None, digits: int = 3) -> str:
    """Return a number in a few digits: 1,234,567, 0.0123, 4, 1e-09, – where it is unknown."""
    if value is None:
        return "–"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def counted(count: int, thing: str) -> str:
    """Return a number of things: 1 row, 2,000 rows."""
    return f"{number(count)} {thing}{'' if count == 1 else 's'}"


def percent(share: float | None) -> str:
    """Return a share in percent, never 0 or 100 where it is not."""
    if share is None:
        return "–"
    rough = "<0.1%" if 0 < share < 0.0005 else ">99.9%" if 0.9995 <= share < 1 else None
    return rough or f"{share:.1%}"


def shown(value: float | str | None, kind: str = "number", digits: int = 3) -> str:
    """Return a value of a column: a label, a number, days, or the date of a day since 1970."""
    if isinstance(value, str):
        return value
    if value is None or kind not in ("date", "duration"):
        return number(value, digits)
    if kind == "duration" or abs(value) > FARTHEST:
        return f"{number(value, digits)} days"
    return str(np.datetime64(math.floor(value), "D"))
