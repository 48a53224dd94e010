"""Codecs: cells of a column become numbers, these a block of the matrix to complete, and back.

What a column is decides which codec it has, here and nowhere else. ``fit`` learns from the cells,
``encode`` and ``decode`` go from cells to numbers and back, ``spread`` and ``gather`` from numbers
to the block and back. Blocks weigh the same: numbers, times, orders and truth values become one
column of standard deviation 1, or stay as they are for a method that scales them itself; a category
becomes a column for each level, divided by one number, so that the whole block varies as much as
one such column. Cells that do not vary have a block without columns.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.frames import floats, present
from polycomplete.scaling import column_spread, is_constant
from polycomplete.tables.calibration import Calibration

EPOCH = dt.date(1970, 1, 1)
#: NumPy's letters for a kind of time, and the days at which Python's own begin and end.
TIMES = {
    "datetime": ("M8", (dt.date.min - EPOCH).days, (dt.date.max - EPOCH).days + 1),
    "duration": ("m8", dt.timedelta.min.days, dt.timedelta.max.days + 1),
}
#: Units in which libraries count time: how many are a day, and how many seconds one is.
TICKS = {unit: int(np.timedelta64(1, "D").astype(f"m8[{unit}]").astype(np.int64))
         for unit in ("ns", "us", "ms", "s", "D")}  # fmt: skip
SECONDS = {unit: TICKS["s"] / count for unit, count in TICKS.items()}
#: Kinds of columns that their dtype tells, and that the types of Python objects tell.
BY_DTYPE = {
    "bool": lambda dtype: dtype == nw.Boolean,
    "integer": lambda dtype: dtype.is_integer(),
    "numeric": lambda dtype: dtype.is_float(),
    "datetime": lambda dtype: dtype in (nw.Datetime, nw.Date),
    "duration": lambda dtype: dtype == nw.Duration,
    "categorical": lambda dtype: dtype in (nw.Categorical, nw.Enum),
}
BY_TYPES = {
    frozenset({bool}): "bool",
    frozenset({str}): "categorical",
    frozenset({int}): "integer",
    frozenset({float}): "numeric",
    frozenset({int, float}): "numeric",
}


@dataclass
class Column:
    """A column: what it is, and how its cells are counted.

    Attributes
    ----------
    name : str
        Of the column; pandas allows other things too.
    kind : str
        "numeric", "integer", "bool", "categorical", "ordered", "datetime", "duration"; "empty"
        without any present cell; "id" where it is passed through.
    dtype : str
        What the library calls it.
    levels : list
        What categories are called: those that occur, or all of an ordered column.
    origin : int
        Integers and dates are counted from here, which keeps all of their digits.
    unit, aware : str, bool
        Of times: "ns", "us", "ms", "s" or "D", and whether dates have a time zone.
    low, high : float
        The lowest and the highest number that a completed cell may be.
    usual : float
        The mean, or the most frequent code.
    center, scale : list of float, float
        The block of the matrix is (number − center) / scale; no center where cells do not vary.
    calibration : Calibration or None
        How scores become probabilities of classes.
    falls_back : bool
        Whether cells are filled with the mean or the most frequent level.

    Examples
    --------
    >>> Column("who", "id", "String").is_completed
    False
    """

    name: Any
    kind: str
    dtype: str
    levels: list[Any] = field(default_factory=list)
    origin: int = 0
    unit: str = ""
    aware: bool = False
    low: float = field(default=-math.inf, repr=False)
    high: float = field(default=math.inf, repr=False)
    usual: float = field(default=0.0, repr=False)
    center: list[float] = field(default_factory=list, repr=False)
    scale: float = field(default=1.0, repr=False)
    calibration: Calibration | None = field(default=None, repr=False, compare=False)
    falls_back: bool = field(default=False, repr=False)

    #: What only subclasses know: whether a dtype can hold such cells, numbers of present cells,
    #: cells of numbers, and a bound as a number.
    _held_by: ClassVar[Any]
    _numbers: ClassVar[Any]
    _cells: ClassVar[Any]
    _bound: ClassVar[Any]
    #: Whether its cells are numbers or times, which have distances and may have bounds.
    is_line: ClassVar[bool] = False
    #: Whether its cells are completed by class, with probabilities.
    has_classes: ClassVar[bool] = False

    @property
    def is_completed(self) -> bool:
        """Whether its cells are completed at all."""
        return self.kind in CODECS

    def fit(self, series: Any, there: np.ndarray) -> None:
        """Learn from the present cells what encoding needs."""

    def encode(self, series: Any, handle_unknown: str = "error") -> tuple[np.ndarray, np.ndarray]:
        """Return a number for each cell, NaN where it tells nothing, and which are present."""
        there = present(series)
        numbers = np.full(len(there), np.nan)
        if there.any():
            if not self.suits(series):
                raise ValueError(
                    f"Column {self.name!r} was {self.kind} ({self.dtype}) when it was learned, and "
                    f"is {series.dtype} now; convert it first."
                )
            numbers[there] = self._numbers(series, there, handle_unknown)
        return numbers, there

    def decode(self, series: Any, rows: np.ndarray, numbers: np.ndarray) -> Any:
        """Return a column with the cells of some rows replaced, as :meth:`encode` counts them.

        Its dtype stays, unless it holds no cell and cannot hold one of this kind (as polars' Null).
        """
        if len(rows) == 0:
            return series
        if self.suits(series):
            return _put(series, rows, self._cells(numbers, series))
        values, library = self._cells(numbers, None), nw.get_native_namespace(series)
        fresh = nw.new_series(series.name, values, backend=library)
        return fresh.dt.replace_time_zone("UTC") if self.aware else fresh

    def suits(self, series: Any) -> bool:
        """Return whether cells of this kind can be in a column as it is."""
        return bool(series.dtype == nw.Object or self._held_by(series.dtype))

    def bounds(self, clip: Any, seen: np.ndarray) -> tuple[float, float]:
        """Return the lowest and the highest number that a completed cell may be.

        ``clip`` is None (no bounds), "observed", or (low, high) in the user's units, where None is
        no bound; times may be in any form that NumPy reads, dates in UTC.
        """
        if clip is None:
            return -np.inf, np.inf
        if isinstance(clip, str) and clip == "observed":
            return float(seen.min()), float(seen.max())
        if self.is_line and not isinstance(clip, str):
            try:
                low, high = clip
                low = -np.inf if low is None else self._bound(low, math.ceil)
                high = np.inf if high is None else self._bound(high, math.floor)
                if low <= high:
                    return float(low), float(high)
            except (TypeError, ValueError):
                pass
        raise ValueError(
            f'clip of column {self.name!r} must be "observed" or a pair (low, high) with low <= '
            f"high that fits a column of kind {self.kind!r}, got {clip!r}."
        )

    def show(self, numbers: Any) -> Any:
        """Return differences of numbers in the user's units: seconds of times."""
        return numbers * SECONDS.get(self.unit, 1.0)

    def fit_block(
        self, numbers: np.ndarray, weight: float = 1.0, scaled: bool = True, clip: Any = None
    ) -> None:
        """Learn bounds, and how numbers become the block; not ``scaled``, numbers stay so."""
        seen = numbers[~np.isnan(numbers)]
        self.low, self.high = self.bounds(clip, seen)
        self.usual, self.center, self.scale = float(seen[0]), [], 1.0
        if not is_constant(seen[:, None], np.ones((len(seen), 1), dtype=bool))[0]:
            self._fit_scale(seen, scaled)
            self.scale /= weight

    def _fit_scale(self, seen: np.ndarray, scaled: bool) -> None:
        mean, std = column_spread(seen[:, None], np.ones((len(seen), 1), dtype=bool))
        self.usual = float(mean[0])
        self.center, self.scale = ([self.usual], float(std[0])) if scaled else ([0.0], 1.0)

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """Return the block of the matrix, of shape (n, len(center))."""
        return np.asarray((numbers[:, None] - self.center) / self.scale)

    def gather(self, block: np.ndarray) -> np.ndarray:
        """Return a number for each row of a completed block, or the usual one."""
        if self.falls_back or not self.center:
            return np.full(len(block), self.fallback if self.falls_back else self.usual)
        return np.asarray(self._settled(self._numbers_of(block)[:, 0]))

    @property
    def fallback(self) -> float:
        """The usual number, as a cell can be."""
        return float(self._settled(self.usual))

    def loss(self, found: Any, truth: np.ndarray) -> np.ndarray:
        """Return how wrong each number is: squares of differences, or which codes are wrong."""
        return np.asarray((found - truth) ** 2 if self.is_line else (found != truth).astype(float))

    def _numbers_of(self, block: np.ndarray) -> np.ndarray:
        # In this order in memory, however it came: that sets the last bits of sums over classes.
        return np.asarray(np.asfortranarray(block) * self.scale + self.center)

    def _settled(self, numbers: Any) -> Any:
        """Return numbers that cells can be."""
        return np.clip(numbers, self.low, self.high)

    def _whole(self, numbers: np.ndarray, low: int, high: int) -> list[int]:
        """Return whole numbers, counted from the origin, that are neither too low nor too high."""
        far = np.clip(numbers, -(2.0**200), 2.0**200)  # what is infinite cannot be rounded
        return [min(max(self.origin + round(number), low), high) for number in far]


class Number(Column):
    """Numbers: the value, counted from the smallest where the dtype is of integers."""

    is_line = True

    def fit(self, series: Any, there: np.ndarray) -> None:
        """Learn where to count from."""
        if self.kind == "integer" and series.dtype.is_integer():
            self.origin = min(_entries(series, there))

    def _held_by(self, dtype: Any) -> bool:
        return bool(dtype.is_integer() or dtype.is_float())

    def _bound(self, end: Any, rounded: Any) -> Any:
        end = end - self.origin
        return rounded(end) if self.kind == "integer" and math.isfinite(end) else end

    def _numbers(self, series: Any, there: np.ndarray, handle_unknown: str) -> np.ndarray:
        if series.dtype.is_integer():  # as Python's, which have no largest one
            whole = np.array(_entries(series, there), dtype=object)
            return np.asarray((whole - self.origin).astype(np.float64))
        of_objects = series.dtype == nw.Object
        values = self._of_objects(series, there) if of_objects else floats(series)[there]
        infinite = np.isinf(values)
        if infinite.any():
            raise ValueError(
                f"Column {self.name!r} contains infinity in row {_first(infinite, there)} "
                f"({infinite.sum()} in all); make it missing to have it completed, or a finite "
                "number."
            )
        return np.asarray(values - self.origin)

    def _of_objects(self, series: Any, there: np.ndarray) -> np.ndarray:
        found = _entries(series, there)
        odd = np.array([not isinstance(cell, int | float) for cell in found])
        if odd.any():
            raise ValueError(
                f"Column {self.name!r} was {self.kind} when it was learned, and holds "
                f"{found[odd.argmax()]!r:.60} in row {_first(odd, there)}; convert it first."
            )
        try:
            return np.array(found, dtype=np.float64)
        except OverflowError:
            odd = np.array([abs(cell) > sys.float_info.max for cell in found])
            raise ValueError(
                f"Column {self.name!r} holds a whole number of hundreds of digits in row "
                f"{_first(odd, there)}, which no float can hold; divide it by a power of ten, "
                "or make it missing to have it completed."
            ) from None

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        dtype = nw.Object() if series is None else series.dtype
        values: Any = (numbers + self.origin).tolist()
        if self.kind == "integer" or dtype.is_integer():
            values = self._whole(numbers, *_limits(dtype if dtype.is_integer() else nw.Int64()))
        if dtype.is_float():
            kind = np.dtype(str(dtype).lower())
            largest = np.finfo(kind).max
            values = np.clip(np.array(values, dtype=np.float64), -largest, largest).astype(kind)
        return values


class Time(Column):
    """Dates and durations: ticks of the unit of the dtype, counted from the first."""

    is_line = True

    def fit(self, series: Any, there: np.ndarray) -> None:
        """Learn the unit, and where to count from."""
        self.unit, self.aware = unit_of(series), _zone_of(series) is not None
        self.origin = int(ticks(series, there, self.unit).min())

    def suits(self, series: Any) -> bool:
        """Return whether times of this kind can be in a column; not among objects."""
        return bool(BY_DTYPE[self.kind](series.dtype))

    def _bound(self, end: Any, rounded: Any) -> Any:
        time = np.array(end).astype(f"{TIMES[self.kind][0]}[{self.unit}]")
        return int(time.astype(np.int64)) - self.origin

    def _numbers(self, series: Any, there: np.ndarray, handle_unknown: str) -> np.ndarray:
        if (_zone_of(series) is not None) != self.aware:
            raise ValueError(
                f"Column {self.name!r} was learned {'with' if self.aware else 'without'} a time "
                f"zone, and is {series.dtype} now; convert it first."
            )
        exact = ticks(series, there, self.unit).astype(object)
        return np.asarray((exact - self.origin).astype(np.float64))

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        unit = self.unit if series is None else unit_of(series)
        letters, first, last = TIMES[self.kind]
        counts = np.array(self._whole(numbers, *self._ends(unit, first, last)), dtype=np.int64)
        own = counts.astype(f"{letters}[{self.unit}]").astype(f"{letters}[{unit}]")
        # Only as ticks are dates those of a zone.
        ticked = series is not None and self.kind == "datetime"
        return own.astype(np.int64).tolist() if ticked else own

    def _ends(self, unit: str, first: int, last: int) -> tuple[int, int]:
        """Return the first and the last tick that a unit and Python's own times can hold.

        Libraries hand out Python's times; a column that had others before is not held to them.
        """
        day = TICKS[self.unit]
        most = (2**63 - 1) * day // max(TICKS[unit], day)  # the next below the least is NaT
        if self.origin < first * day:
            return -most, most
        zone = day if self.aware else 0  # the day may be another one there
        return max(first * day + zone, -most), min(last * day - zone - 1, most)


class Order(Column):
    """Ordered levels: 0, 1, 2, … in their order, completed by the nearest."""

    def fit(self, series: Any, there: np.ndarray) -> None:
        """Learn the levels, or check those that were given."""
        found = {key(cell) for cell in _entries(series, there)}
        self.levels = self._all_levels(found, _categories(series))

    def _all_levels(self, found: set[Any], own: list[Any] | None) -> list[Any]:
        if self.levels:
            return self._checked([key(level) for level in self.levels], found)
        if own is None and any(isinstance(level, str) for level in found):
            raise ValueError(
                f"Column {self.name!r} is text, whose order is not known; give its levels from low "
                f'to high: column_types={{{self.name!r}: ["low", "middle", "high"]}}.'
            )
        return sorted(found) if own is None else [key(level) for level in own]

    def _checked(self, levels: list[Any], found: set[Any]) -> list[Any]:
        if len(set(levels)) < len(levels):
            raise ValueError(f"column_types[{self.name!r}] names a level twice: {levels!r}.")
        odd = sorted(str(level) for level in found - set(levels))
        if odd:
            raise ValueError(
                f"Column {self.name!r} holds {odd[0]!r}, which is not among the levels that "
                f"column_types[{self.name!r}] gives ({len(odd)} such in all); add it."
            )
        return levels

    def _held_by(self, dtype: Any) -> bool:
        types = {type(level) for level in self.levels}
        if dtype == nw.Boolean:
            return types == {bool}
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return dtype != nw.String or str in types
        return str not in types and self.kind != "bool" and bool(dtype.is_numeric())

    def _numbers(self, series: Any, there: np.ndarray, handle_unknown: str) -> np.ndarray:
        codes = {level: code for code, level in enumerate(self.levels)}
        keys = [key(cell) for cell in _entries(series, there)]
        found = np.array([codes.get(each, np.nan) for each in keys], dtype=np.float64)
        odd = np.isnan(found)
        if odd.any() and handle_unknown == "error":
            raise ValueError(
                f"Column {self.name!r} holds {keys[odd.argmax()]!r} in row "
                f"{_first(odd, there)}, which did not occur when it was learned ({odd.sum()} "
                'such cells); correct it, or say handle_unknown="missing" to go by the other '
                "columns of such rows."
            )
        return found

    def decode(self, series: Any, rows: np.ndarray, numbers: np.ndarray) -> Any:
        """Return a column with the cells of some rows replaced; its dtype may gain categories."""
        codes = sorted(set(numbers.astype(int).tolist()))
        series = _with_categories(series, [self.levels[code] for code in codes])
        return super().decode(series, rows, numbers)

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        own = None if series is None else _categories(series)
        known = {key(level): level for level in own or ()}
        levels = [known.get(level, level) for level in self.levels]
        return [levels[int(number)] for number in numbers]

    def _settled(self, numbers: Any) -> Any:
        return np.clip(np.rint(numbers), 0, len(self.levels) - 1)


class Category(Order):
    """Levels without an order, completed by the likeliest.

    The block has a column for each level; of truth values it is the number 0 or 1.
    """

    has_classes = True

    def _all_levels(self, found: set[Any], own: list[Any] | None) -> list[Any]:
        if self.kind == "bool":
            return [False, True]
        if own is not None:
            return [key(level) for level in own if key(level) in found]
        # Text after numbers where both occur.
        return sorted(found, key=lambda level: (isinstance(level, str), level))

    def _fit_scale(self, seen: np.ndarray, scaled: bool) -> None:
        """Divide by the standard deviation of all indicators together."""
        if self.kind == "bool":
            super()._fit_scale(seen, scaled)
            return
        shares = np.bincount(seen.astype(np.intp), minlength=len(self.levels)) / len(seen)
        self.usual, self.center = float(np.argmax(shares)), shares.tolist()
        self.scale = float(np.sqrt(1 - np.sum(shares**2)))

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """Return the block of the matrix: which level it is, scaled."""
        code = numbers[:, None]
        if len(self.center) > 1:
            code = np.where(np.isnan(code), np.nan, code == np.arange(len(self.center)))
        return np.asarray((code - self.center) / self.scale)

    def gather(self, block: np.ndarray) -> np.ndarray:
        """Return the code of the likeliest class, or of the most frequent."""
        if self.falls_back:
            return np.full(len(block), self.fallback)
        return self.probabilities(block).argmax(axis=1)

    def probabilities(self, block: np.ndarray) -> np.ndarray:
        """Return the probability of each class in each row of a completed block."""
        if not self.center:
            return np.tile(np.eye(len(self.levels))[int(self.usual)], (len(block), 1))
        assert self.calibration is not None
        if self.falls_back:
            return np.tile(self.calibration.shares, (len(block), 1))
        return self.calibration.apply(self.scores(block))

    def scores(self, block: np.ndarray) -> np.ndarray:
        """Return what a completed block says of each class; of truth values, false and true."""
        numbers = self._numbers_of(block)
        return numbers if numbers.shape[1] > 1 else np.hstack([1 - numbers, numbers])

    def _settled(self, numbers: Any) -> Any:
        return np.rint(numbers)


#: What may be said of a column; a list of levels in their order is "ordered" too.
CODECS = {"numeric": Number, "integer": Number, "bool": Category, "categorical": Category,
          "ordered": Order, "datetime": Time, "duration": Time}  # fmt: skip
#: Which kind may be read as which other.
READABLE = {
    "numeric": {"numeric", "integer"},
    "integer": {"numeric", "integer"},
    "categorical": {"numeric", "integer", "bool", "categorical", "ordered", "mixed"},
    "ordered": {"numeric", "integer", "categorical", "ordered"},
}


def codec_of(series: Any, wanted: Any = None, whole: bool = False, most: int = 50) -> Column:
    """Return the codec of a column (narwhals' series), fitted to its cells.

    ``wanted`` is what the user says that it is; with ``whole``, floats without any fraction are
    integers; more than ``most`` levels are refused.
    """
    there = present(series)
    kind = _kind_of(series, there, wanted, whole) if there.any() else "empty"
    levels = [] if wanted is None or isinstance(wanted, str) else list(wanted)
    codec = CODECS.get(kind, Column)(series.name, kind, str(series.dtype), levels)
    codec.fit(series, there)
    if len(codec.levels) > most:
        raise ValueError(
            f"Column {codec.name!r} has {len(codec.levels)} different levels, more than "
            f"max_categories={most}; leave it alone by passthrough=[{codec.name!r}] if it is a "
            "name or a number of a record, group its rare levels, or raise max_categories."
        )
    return codec


def _kind_of(series: Any, there: np.ndarray, wanted: Any, whole: bool) -> str:
    found = _found_kind(series, there)
    if wanted is None:
        if found == "mixed":
            raise TypeError(
                f"Column {series.name!r} mixes numbers, text or other things; make it one dtype, "
                f'or say column_types={{{series.name!r}: "categorical"}}.'
            )
        values = floats(series)[there] if whole and found == "numeric" else 0.5
        return "integer" if np.all(values == np.rint(values)) else found
    kind = wanted if isinstance(wanted, str) else "ordered"
    if kind not in CODECS:
        raise ValueError(
            f"column_types[{series.name!r}] must be one of {', '.join(CODECS)} or a list of levels "
            f"in their order, got {wanted!r}."
        )
    if found not in READABLE.get(kind, {kind}):
        raise ValueError(
            f"Column {series.name!r} is {found} ({series.dtype}) and cannot be read as {kind!r}; "
            "convert it first, or leave it out of column_types."
        )
    return kind


def _found_kind(series: Any, there: np.ndarray) -> str:
    """Return what dtype and cells say of a column: a kind, or "mixed"; raise for other things."""
    native = series.to_native()
    odd = str(native.type if series.implementation.is_pyarrow() else native.dtype)
    found = next((kind for kind, fits in BY_DTYPE.items() if fits(series.dtype)), None)
    if found is not None:
        return "ordered" if found == "categorical" and _is_ordered(series) else found
    if series.dtype in (nw.String, nw.Object) and odd != "string_view":  # pyarrow cannot write it
        types = {type(cell) for cell in _entries(series, there)}
        others = [each.__name__ for each in types - {int, float, bool, str}]
        if not others:
            return BY_TYPES.get(frozenset(types), "mixed")
        odd = f"Python objects of type {others[0]}"
    raise TypeError(
        f"Column {series.name!r} holds {odd}, which cannot be completed; convert it to numbers, "
        f"text or dates, or leave it alone by passthrough=[{series.name!r}]."
    )


def is_measured(dtype: Any) -> bool:
    """Return whether cells of a dtype are numbers or times rather than labels."""
    return bool(dtype.is_numeric() or dtype.is_temporal())


def key(level: Any) -> Any:
    """Return what a level is remembered by: itself where it is plain, else how it is written.

    >>> import pandas as pd
    >>> key("a"), key(np.int64(3)), key(pd.Interval(0, 1))
    ('a', 3, '(0, 1]')
    """
    if isinstance(level, np.generic):
        level = level.item()
    return level if isinstance(level, str | int | float | bool) else str(level)


def ticks(series: Any, there: np.ndarray, unit: str) -> np.ndarray:
    """Return present dates (in UTC) or durations as whole numbers of a unit.

    >>> import polars as pl
    >>> series = pl.Series(["1970-01-03"]).str.to_date()
    >>> ticks(nw.from_native(series, series_only=True), np.array([True]), "D")
    array([2])
    """
    letters = "m8" if series.dtype == nw.Duration else "M8"
    own = series[np.flatnonzero(there).tolist()].to_numpy()
    exact = np.asarray(own).astype(f"{letters}[{unit_of(series)}]")
    return exact.astype(f"{letters}[{unit}]").astype(np.int64)


def unit_of(series: Any) -> str:
    """Return the unit in which a column counts dates or durations."""
    return "D" if series.dtype == nw.Date else str(series.dtype.time_unit)


def _zone_of(series: Any) -> str | None:
    return getattr(series.dtype, "time_zone", None)


def _entries(series: Any, there: np.ndarray) -> list[Any]:
    """Return the present cells as Python objects."""
    return [cell for cell, ok in zip(series.to_list(), there, strict=True) if ok]


def _first(odd: np.ndarray, there: np.ndarray) -> int:
    """Return the row of the first odd one among the present cells."""
    return int(np.flatnonzero(there)[odd.argmax()])


def _limits(dtype: Any) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer dtype."""
    bits = int("".join(filter(str.isdigit, str(dtype))))
    if dtype.is_signed_integer():
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return 0, 2**bits - 1


def _categories(series: Any) -> list[Any] | None:
    """Return the categories that belong to a column's dtype, in their order; None without any."""
    if not BY_DTYPE["categorical"](series.dtype):
        return None
    if series.implementation.is_polars() and series.dtype == nw.Categorical:
        return None  # they belong to the process, not to the column
    if series.implementation.is_pandas_like() and not hasattr(series.to_native(), "cat"):
        return None  # a dictionary of pyarrow inside of pandas
    return list(series.cat.get_categories().to_list())


def _is_ordered(series: Any) -> bool:
    """Return whether a library says that levels are ordered.

    Not for polars' Enum: it compares by position whether or not the order means anything.
    """
    if _categories(series) is None or series.implementation.is_polars():
        return False
    return bool(nw.is_ordered_categorical(series))


def _with_categories(series: Any, levels: list[Any]) -> Any:
    """Return a column whose dtype has these categories, too, if it lists its categories."""
    own = _categories(series)
    lacking = [] if own is None else [each for each in levels if each not in map(key, own)]
    if lacking and series.implementation.is_polars():
        raise ValueError(
            f"Column {series.name!r} has to be completed by {lacking[0]!r}, which is not among the "
            "categories of its Enum; give it those of the table that was fitted."
        )
    if lacking and series.implementation.is_pandas_like():  # a dictionary of pyarrow just grows
        return nw.from_native(series.to_native().cat.add_categories(lacking), series_only=True)
    return series


def _put(series: Any, rows: np.ndarray, values: Any) -> Any:
    """Return a series with other cells in some rows, taken from one with these cells behind it."""
    native, library = series.to_native(), nw.get_native_namespace(series)
    if series.implementation.is_pyarrow():
        made = library.array(values, type=native.type)
        if made.type != native.type:  # old versions forget the order of a dictionary
            parts = made.indices, made.dictionary
            made = library.DictionaryArray.from_arrays(*parts, ordered=native.type.ordered)
        made = library.chunked_array([made])
    else:
        made = library.Series(values, dtype=native.dtype)
    parts = [each.alias("x").to_frame()
             for each in (series, nw.from_native(made, series_only=True))]  # fmt: skip
    source = np.arange(len(series))
    source[rows] = len(series) + np.arange(len(rows))
    return nw.concat(parts)["x"][source.tolist()].alias(series.name)
