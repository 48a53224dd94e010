"""Numbers and names as people read them, safe to show anywhere."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

__all__ = ["clean", "number", "percent"]

#: A name longer than this is cut.
LETTERS = 120
#: Characters that turn the direction of what follows them.
TURNS = {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}


def clean(name: Any, most: int = LETTERS) -> str:
    r"""Return a name without control characters, on one line, and not too long.

    Parameters
    ----------
    name : object
        A column name, a label, a setting.
    most : int
        The longest that is shown.

    Returns
    -------
    str

    Examples
    --------
    >>> clean("two\nlines"), clean("x" * 1000, most=5)
    ('two lines', 'xxxx…')
    """
    text = str(name)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind in ("Cc", "Zl", "Zp"):
        return " "
    return "\ufffd" if kind == "Cs" or letter in TURNS else letter


def number(value: float | None, digits: int = 3) -> str:
    """Return a number in a few digits.

    Parameters
    ----------
    value : float or None
        None where it is unknown.
    digits : int
        So many that count.

    Returns
    -------
    str

    Examples
    --------
    >>> number(1234567), number(0.012345), number(4.0), number(389.5, 2), number(1e-9), number(None)
    ('1,234,567', '0.0123', '4', '390', '1e-09', '–')
    """
    if value is None:
        return "–"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    if not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def percent(share: float | None) -> str:
    """Return a share in percent, never 0 or 100 where it is not.

    Parameters
    ----------
    share : float or None
        Between 0 and 1.

    Returns
    -------
    str

    Examples
    --------
    >>> percent(0.5), percent(0.0001), percent(0.99999), percent(1.0), percent(0.123)
    ('50 %', '< 0.1 %', '> 99.9 %', '100 %', '12.3 %')
    """
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{round(100 * share, 1):g} %"
