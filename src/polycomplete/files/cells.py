"""What the cells of a column mean: missing, a number, or text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from polycomplete._optional import need

#: What stands for a missing cell in text, whatever surrounds it of blanks; nan also in any other
#: case and with a sign, as programs write it.
MARKERS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")
#: What people type into a cell that they have nothing for, in small letters.
SIGNS = ("-", "--", ".", "n/a")
#: Words that say so too. In a column of numbers or days they are missing cells; in one of text they
#: may be a label like any other, and stay, but nothing should ever be completed by them.
UNKNOWN = ("none", "unknown", "missing")
#: Digits with a zero before them are a code, such as 007 or a postcode, and not a number.
CODE = r"^[+-]?0\d+$"
NAN = r"^[+-]?(?i:nan)$"
WHOLE = r"^[+-]?\d+$"
DAY = r"^\d{4}-\d{2}-\d{2}$"


def meaning(
    column: Any, markers: Iterable[str] = MARKERS, decimal: str = ".", numbers: bool = True
) -> Any:
    """Return a column as numbers or text, null where a cell is missing.

    Parameters
    ----------
    column : polars Series
        Of any type; text is looked into.
    markers : iterable of str
        What stands for a missing cell; one that is a number also in columns of numbers.
    decimal : str
        What stands before the decimals of a number in text.
    numbers : bool
        Whether people typed the text: it may be turned into numbers, and :data:`SIGNS` are missing.

    Returns
    -------
    polars Series
        Int64 where every cell of a text column that is there is a whole number without decimals,
        and no code such as 007; Float64 where every cell is a number; Date where every cell is a
        day such as 2024-12-31; else of the same type.

    Examples
    --------
    >>> import polars as pl
    >>> meaning(pl.Series(["1.10", " 2", "?"])).to_list()
    [1.1, 2.0, None]
    >>> meaning(pl.Series(["41", "NA"])).to_list()
    [41, None]
    >>> meaning(pl.Series(["2024-12-31", "?"])).to_list()
    [datetime.date(2024, 12, 31), None]
    >>> meaning(pl.Series(["007", "008", ""])).to_list()
    ['007', '008', None]
    >>> meaning(pl.Series([1.5, -9.0]), ["-9"]).to_list()
    [1.5, None]
    >>> meaning(pl.Series(["1.5", "-", "None"])).to_list()
    [1.5, None, None]
    >>> meaning(pl.Series(["red", "-", "None"])).to_list()
    ['red', None, 'None']
    """
    pl = need("polars", "cli", "Reading a table")
    markers = list(markers)
    if column.dtype == pl.String:
        column = _without_markers(column, markers)
        column = _typed(column, decimal) if numbers else column
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_numeric():
        signs = [number for number in map(_number, markers) if number is not None]
        column = (
            pl.select(pl.when(~column.cast(pl.Float64).is_in(signs)).then(column))
            .to_series()
            .alias(column.name)
        )
    return column


def _without_markers(column: Any, markers: list[str]) -> Any:
    pl = need("polars", "cli", "Reading a table")
    plain = column.str.strip_chars()
    there = ~(plain.is_in([marker.strip() for marker in markers]) | plain.str.contains(NAN))
    return pl.select(pl.when(there).then(column)).to_series().alias(column.name)


def without(column: Any, texts: Sequence[str]) -> Any:
    """Return a column of text, null where a cell is one of some texts, in whatever letters.

    Parameters
    ----------
    column : polars Series
        Of text.
    texts : sequence of str
        In small letters.

    Returns
    -------
    polars Series

    Examples
    --------
    >>> import polars as pl
    >>> without(pl.Series(["red", "None ", "nonesuch"]), UNKNOWN).to_list()
    ['red', None, 'nonesuch']
    """
    pl = need("polars", "cli", "Reading a table")
    there = ~column.str.strip_chars().str.to_lowercase().is_in(list(texts))
    return pl.select(pl.when(there).then(column)).to_series().alias(column.name)


def marked(given: Any, read: Any) -> dict[str, int]:
    """Return how many cells of a column were read as missing, by the text that stood there.

    Parameters
    ----------
    given, read : polars Series
        A column before and after :func:`meaning`.

    Returns
    -------
    dict
        Empty cells do not count.

    Examples
    --------
    >>> import polars as pl
    >>> texts = pl.Series(["1", "-", " NA", "", "-"])
    >>> marked(texts, meaning(texts))
    {'-': 2, 'NA': 1}
    """
    texts = given.filter(read.is_null()).drop_nulls()
    if not len(texts):
        return {}
    if str(texts.dtype) == "String":
        texts = texts.str.strip_chars()
    counts = texts.alias("text").value_counts(sort=True).rows()
    return {str(text): count for text, count in counts if text != "" and text == text}


def _typed(column: Any, decimal: str) -> Any:
    """Return a column as numbers or days, if it is one but for signs and words; else as text."""
    found = _looked_into(without(column, (*SIGNS, *UNKNOWN)), decimal)
    return without(column, SIGNS) if str(found.dtype) == "String" else found


def _looked_into(column: Any, decimal: str) -> Any:
    """Return a column of text as numbers or days, if it is one; as it was else."""
    pl = need("polars", "cli", "Reading a table")
    plain = column.str.strip_chars()
    if plain.null_count() == len(plain) or plain.str.contains(CODE).any():
        return column
    if plain.str.contains(WHOLE).all():
        whole = plain.str.strip_prefix("+").cast(pl.Int64, strict=False)
        if whole.null_count() == plain.null_count():
            return whole
    if plain.str.contains(DAY).all():
        days = plain.str.to_date("%Y-%m-%d", strict=False)
        return column if days.null_count() > plain.null_count() else days
    if decimal != ".":
        if plain.str.contains(".", literal=True).any():
            return column
        plain = plain.str.replace(decimal, ".", literal=True)
    numbers = plain.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column


def _number(marker: str) -> float | None:
    try:
        return float(marker)
    except ValueError:
        return None


def as_text(value: object, decimal: str = ".") -> str:
    """Return what a completed cell looks like in a text file.

    Ten digits of a number are written: far more than a completion is good for, and short.

    Parameters
    ----------
    value : object
        A number, text, or None.
    decimal : str
        What stands before the decimals.

    Returns
    -------
    str

    Examples
    --------
    >>> as_text(0.1 + 0.2), as_text(3.0), as_text("red"), as_text(0.5, ",")
    ('0.3', '3', 'red', '0,5')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}".replace(".", decimal)
    return str(value)
