"""What a column is: told from its dtype and its cells, or said by the user."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.tables.cells import categories, present_cells

#: What may be said of a column; a list of levels in their order is "ordered" too.
KINDS = ("numeric", "integer", "bool", "categorical", "ordered", "datetime", "duration")

#: Which kind may be read as which other.
READABLE = {
    "numeric": {"numeric", "integer"},
    "integer": {"numeric", "integer"},
    "bool": {"bool"},
    "categorical": {"numeric", "integer", "bool", "categorical", "ordered"},
    "ordered": {"numeric", "integer", "categorical", "ordered"},
    "datetime": {"datetime"},
    "duration": {"duration"},
}


def kind_of(series: Any, there: np.ndarray, wanted: Any = None, whole: bool = False) -> str:
    """Return the kind of a column, as one of :data:`KINDS`, or "empty".

    Parameters
    ----------
    series : narwhals Series
        A column.
    there : ndarray of bool, shape (n,)
        Which of its cells are present.
    wanted : str or list, optional
        What the user says that it is; a list holds the levels of an ordered column.
    whole : bool
        Take floats without any fraction for integers.

    Returns
    -------
    str

    Raises
    ------
    TypeError, ValueError
        For columns that cannot be completed, or not as what the user says.

    Examples
    --------
    >>> import polars as pl
    >>> from polycomplete.tables.cells import present
    >>> series = nw.from_native(pl.Series("zip", [8001, 8002, None]), series_only=True)
    >>> kind_of(series, present(series)), kind_of(series, present(series), "categorical")
    ('integer', 'categorical')
    """
    if not there.any():
        return "empty"
    found = _told_by_dtype(series, there)
    if wanted is None:
        if found == "mixed":
            raise TypeError(
                f"Column {series.name!r} mixes numbers, text or other things; make it one dtype, "
                f'or say kinds={{{series.name!r}: "categorical"}}.'
            )
        whole = whole and found == "numeric" and _is_whole(series, there)
        return "integer" if whole else found
    kind = wanted if isinstance(wanted, str) else "ordered"
    if kind not in KINDS:
        raise ValueError(
            f"kinds[{series.name!r}] must be one of {', '.join(KINDS)} or a list of levels in "
            f"their order, got {wanted!r}."
        )
    if found not in READABLE[kind] and not (found == "mixed" and kind == "categorical"):
        raise ValueError(
            f"Column {series.name!r} is {found} ({series.dtype}) and cannot be read as {kind!r}; "
            "convert it first, or leave it out of kinds."
        )
    return kind


def _told_by_dtype(series: Any, there: np.ndarray) -> str:
    dtype, native = series.dtype, _native_dtype(series)
    if native == "string_view":
        raise _unsupported(series, native)  # pyarrow can do next to nothing with it
    for kind, fits in _BY_DTYPE.items():
        if fits(dtype):
            return kind
    if dtype in (nw.Categorical, nw.Enum):
        return "ordered" if _is_ordered(series) else "categorical"
    if dtype in (nw.String, nw.Object):
        return _told_by_objects(series, present_cells(series, there))
    raise _unsupported(series, native)


def _native_dtype(series: Any) -> str:
    """Return what the library itself calls the dtype."""
    native = series.to_native()
    return str(native.type if series.implementation.is_pyarrow() else native.dtype)


_BY_DTYPE = {
    "bool": lambda dtype: dtype == nw.Boolean,
    "integer": lambda dtype: dtype.is_integer(),
    "numeric": lambda dtype: dtype.is_float(),
    "datetime": lambda dtype: dtype in (nw.Datetime, nw.Date),
    "duration": lambda dtype: dtype == nw.Duration,
}


def _told_by_objects(series: Any, cells: list[Any]) -> str:
    types = {type(cell) for cell in cells}
    for kind, allowed in ("bool", bool), ("categorical", str), ("integer", int):
        if types == {allowed}:
            return kind
    if types <= {int, float}:
        return "numeric"
    if types <= {int, float, bool, str}:
        return "mixed"
    odd = next(kind for kind in types if kind not in (int, float, bool, str))
    raise _unsupported(series, f"Python objects of type {odd.__name__}")


def _unsupported(series: Any, what: str) -> TypeError:
    return TypeError(
        f"Column {series.name!r} holds {what}, which cannot be completed; convert it to numbers, "
        f"text or dates, or leave it alone by ids=[{series.name!r}]."
    )


def _is_whole(series: Any, there: np.ndarray) -> bool:
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)[there]
    return bool(np.all(values == np.rint(values)))


def _is_ordered(series: Any) -> bool:
    """Return whether a library says that levels are ordered.

    Not for polars' Enum: it compares by position whether or not the order means anything.
    """
    if categories(series) is None or series.implementation.is_polars():
        return False
    return bool(nw.is_ordered_categorical(series))


def suits(kind: str, levels: list[Any], series: Any) -> bool:
    """Return whether cells of a kind can be in a column as it is.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    levels : list
        What categories are called.
    series : narwhals Series
        A column.

    Returns
    -------
    bool

    Examples
    --------
    >>> import polars as pl
    >>> suits("categorical", ["a"], nw.from_native(pl.Series([None, 1.5]), series_only=True))
    False
    """
    dtype = series.dtype
    if dtype == nw.Object:
        return kind not in ("datetime", "duration")
    if kind in ("numeric", "integer"):
        return bool(dtype.is_integer() or dtype.is_float())
    if kind in ("bool", "datetime", "duration"):
        return bool(_BY_DTYPE[kind](dtype))
    if dtype in (nw.Categorical, nw.Enum):
        return True
    if dtype == nw.Boolean:
        return all(isinstance(level, bool) for level in levels)
    text = any(isinstance(level, str) for level in levels)
    return bool(dtype == nw.String if text else dtype.is_integer() or dtype.is_float())
