"""Numbers and names as people read them, safe to show anywhere."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import numpy as np

__all__ = ["clean", "counted", "number", "percent", "shown"]

#: A name longer than this is cut.
LETTERS = 120
FARTHEST = 3e6  # days from 1970 that are still written as a date
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


def counted(count: int, thing: str) -> str:
    """Return a number of things.

    Parameters
    ----------
    count : int
        How many.
    thing : str
        One of them.

    Returns
    -------
    str

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number(count)} {thing}{'' if count == 1 else 's'}"


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
    >>> percent(0.5), percent(0.0005), percent(3e-7), percent(0.99999), percent(1.0), percent(0.123)
    ('50 %', '0.05 %', '3e-05 %', '> 99.9 %', '100 %', '12.3 %')
    """
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return f"{100 * share:.2f} %" if share > 1e-4 else f"{100 * share:.0e} %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{round(100 * share, 1):g} %"


def shown(value: float | str | None, kind: str = "number", digits: int = 3) -> str:
    """Return a value of a column as people read it.

    Parameters
    ----------
    value : float, str or None
        A number, a label, or days since 1970 (dates) or as such (durations).
    kind : str
        Of the column.
    digits : int
        So many that count.

    Returns
    -------
    str

    Examples
    --------
    >>> shown(18262.4, "date"), shown(2.5, "duration"), shown(2.5), shown("red", "text")
    ('2020-01-01', '2.5 days', '2.5', 'red')
    """
    if isinstance(value, str):
        return value
    if value is None or kind not in ("date", "duration"):
        return number(value, digits)
    if kind == "duration" or abs(value) > FARTHEST:
        return f"{number(value, digits)} days"
    return str(np.datetime64(math.floor(value), "D"))
