"""Codecs: the cells of a column become numbers, these become columns of a matrix, and back.

This is the only module that tells kinds of columns apart. ``fit`` learns from the cells, ``encode``
and ``decode`` convert cells to numbers and back, ``spread`` and ``gather`` convert numbers to a
block of columns of the matrix and back. Blocks have equal weight: a number, time, ordered level or
boolean becomes one column of standard deviation 1, or stays as it is for a method that scales
columns itself; a category becomes an indicator for each level, and these have variance 1 together.
The block of a constant column has no columns.
"""

from __future__ import annotations

import datetime as dt
import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete import frames
from polycomplete.scaling import column_spread, is_constant
from polycomplete.tables.calibration import Calibration

EPOCH = dt.date(1970, 1, 1)
#: NumPy's code for a kind of time, and the first and last day of Python's own type.
TIMES = {
    "datetime": ("M8", (dt.date.min - EPOCH).days, (dt.date.max - EPOCH).days + 1),
    "duration": ("m8", dt.timedelta.min.days, dt.timedelta.max.days + 1),
}
#: Kinds of columns by dtype, and by the type of Python objects.
BY_DTYPE = {
    "bool": lambda dtype: dtype == nw.Boolean,
    "integer": lambda dtype: dtype.is_integer(),
    "numeric": lambda dtype: dtype.is_float(),
    "datetime": lambda dtype: dtype in (nw.Datetime, nw.Date),
    "duration": lambda dtype: dtype == nw.Duration,
    "categorical": lambda dtype: dtype in (nw.Categorical, nw.Enum),
}
BY_TYPE = {bool: "bool", str: "categorical", int: "integer", float: "numeric"}


@dataclass
class Column:
    """A column: its kind, and how its cells become numbers.

    Attributes
    ----------
    name : object
        Its name; in pandas not always a text.
    kind : str
        "numeric", "integer", "bool", "categorical", "ordered", "datetime" or "duration"; "empty"
        if no cell is observed; "id" if the column is passed through.
    dtype : str
        The name of its dtype in narwhals.
    levels : list
        Levels of a category: those that occur, or all levels of an ordered column.
    origin : int
        Integers and times are counted from here, which keeps all of their digits.
    unit, aware : str, bool
        Of times: "ns", "us", "ms", "s" or "D", and whether they have a time zone.
    low, high : float
        Bounds of completed cells, as numbers.
    usual : float
        The mean, or the code of the most frequent level.
    center, scale : list of float, float
        The block of the matrix is (number − center) / scale; a constant column has no center.
    calibration : Calibration or None
        How scores become probabilities of levels.
    falls_back : bool
        Whether cells are filled in with the mean or the most frequent level.
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

    #: Whether a series can hold such cells; numbers of cells, and back; a bound as a number.
    suits: ClassVar[Any]
    _numbers: ClassVar[Any]
    _cells: ClassVar[Any]
    _bound: ClassVar[Any]
    #: Whether cells are numbers; numbers or times; levels that are completed with probabilities.
    is_number: ClassVar[bool] = False
    is_measured: ClassVar[bool] = False
    has_classes: ClassVar[bool] = False

    @property
    def is_completed(self) -> bool:
        """Whether cells are completed: the column is neither empty nor passed through."""
        return self.kind in CODECS

    @property
    def is_labels(self) -> bool:
        """Whether cells are labels, which may be text."""
        return self.kind in ("categorical", "ordered")

    def fit(self, series: Any, present: np.ndarray) -> None:
        """Learn from the observed cells what encoding needs."""

    def encode(self, series: Any, handle_unknown: str = "error") -> tuple[np.ndarray, np.ndarray]:
        """Return a number for each cell, NaN if unknown, and the mask of observed cells."""
        present = frames.present(series)
        numbers = np.full(len(present), np.nan)
        if present.any():
            if not self.suits(series):
                raise ValueError(
                    f"Column {self.name!r} was {self.kind} ({self.dtype}) when it was learned, and "
                    f"is {series.dtype} now; convert it first."
                )
            numbers[present] = self._numbers(series, present, handle_unknown)
        return numbers, present

    def decode(self, series: Any, rows: np.ndarray, numbers: np.ndarray) -> Any:
        """Return a series with the cells of some rows replaced, given their numbers.

        The dtype stays, unless it cannot hold such cells and the series is empty (polars' Null).
        """
        if len(rows) == 0:
            return series
        if self.suits(series):
            return frames.with_cells(series, rows, self._cells(numbers, series))
        values, library = self._cells(numbers, None), nw.get_native_namespace(series)
        fresh = nw.new_series(series.name, values, backend=library)
        return fresh.dt.replace_time_zone("UTC") if self.aware else fresh

    def bounds(self, clip: Any, seen: np.ndarray) -> tuple[float, float]:
        """Return the bounds of completed cells as numbers.

        ``clip`` is None (no bounds), "observed", or (low, high) in the user's units with None for
        no bound; times have any form that NumPy reads, dates in UTC.
        """
        if clip is None:
            return -np.inf, np.inf
        if isinstance(clip, str) and clip == "observed":
            return float(seen.min()), float(seen.max())
        if self.is_measured and not isinstance(clip, str):
            with suppress(TypeError, ValueError):
                low, high = clip
                low = -np.inf if low is None else self._bound(low, math.ceil)
                high = np.inf if high is None else self._bound(high, math.floor)
                if low <= high:
                    return float(low), float(high)
        raise ValueError(
            f'clip of column {self.name!r} must be "observed" or a pair (low, high) with low <= '
            f"high that fits a column of kind {self.kind!r}, got {clip!r}."
        )

    def show(self, numbers: Any) -> Any:
        """Return differences of numbers in the user's units, of times in seconds."""
        return numbers * frames.SECONDS.get(self.unit, 1.0)

    def fit_block(
        self, numbers: np.ndarray, weight: float = 1.0, scaled: bool = True, clip: Any = None
    ) -> None:
        """Learn bounds, and how numbers become the block; unless ``scaled``, numbers stay as is."""
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
        """Return a number for each row of a completed block."""
        if self.falls_back or not self.center:
            return np.full(len(block), self.fallback if self.falls_back else self.usual)
        return np.asarray(self._settled(self._numbers_of(block)[:, 0]))

    @property
    def fallback(self) -> float:
        """The usual number, as a number that cells can have."""
        return float(self._settled(self.usual))

    def _numbers_of(self, block: np.ndarray) -> np.ndarray:
        # The order in memory decides on the last bits of sums over levels.
        return np.asarray(np.asfortranarray(block) * self.scale + self.center)

    def _settled(self, numbers: Any) -> Any:
        """Return the nearest numbers that cells can have."""
        return np.clip(numbers, self.low, self.high)

    def _whole(self, numbers: np.ndarray, low: int, high: int) -> list[int]:
        """Return integers, counted from zero, within bounds."""
        finite = np.clip(numbers, -(2.0**200), 2.0**200)
        return [min(max(self.origin + round(number), low), high) for number in finite]


class Number(Column):
    """Numbers: their value, of integers counted from the smallest."""

    is_number = is_measured = True

    def fit(self, series: Any, present: np.ndarray) -> None:
        """Learn the origin."""
        if self.kind == "integer" and series.dtype.is_integer():
            self.origin = min(frames.entries(series, present))

    def suits(self, series: Any) -> bool:
        """Return whether a series can hold numbers."""
        dtype = series.dtype
        return bool(dtype.is_integer() or dtype.is_float() or dtype == nw.Object)

    def _bound(self, end: Any, rounded: Any) -> Any:
        end = end - self.origin
        return rounded(end) if self.kind == "integer" and math.isfinite(end) else end

    def _numbers(self, series: Any, present: np.ndarray, handle_unknown: str) -> np.ndarray:
        if series.dtype.is_integer():  # Python's integers have no largest one
            whole = np.array(frames.entries(series, present), dtype=object)
            return np.asarray((whole - self.origin).astype(np.float64))
        values = frames.floats(series)[present]
        infinite = np.flatnonzero(present)[np.isinf(values)]
        if len(infinite):
            raise ValueError(
                f"Column {self.name!r} contains infinity in row {infinite[0]} ({len(infinite)} in "
                "all); make it missing to have it completed, or a finite number."
            )
        return np.asarray(values, dtype=np.float64) - self.origin

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        dtype = nw.Object() if series is None else series.dtype
        values: Any = (numbers + self.origin).tolist()
        if self.kind == "integer" or dtype.is_integer():
            whole = dtype if dtype.is_integer() else nw.Int64()
            bits = int(str(whole).strip("UInt"))
            low = -(2 ** (bits - 1)) if whole.is_signed_integer() else 0
            values = self._whole(numbers, low, low + 2**bits - 1)
        if dtype.is_float():
            kind = np.dtype(str(dtype).lower())
            largest = np.finfo(kind).max
            values = np.clip(np.array(values, dtype=np.float64), -largest, largest).astype(kind)
        return values


class Time(Column):
    """Dates and durations: ticks of the unit of the dtype, counted from the first cell."""

    is_measured = True

    def fit(self, series: Any, present: np.ndarray) -> None:
        """Learn the unit and the origin."""
        self.unit, self.aware = frames.unit_of(series), bool(frames.zone_of(series))
        self.origin = int(frames.ticks(series, present, self.unit).min())

    def suits(self, series: Any) -> bool:
        """Return whether a series can hold times of this kind."""
        return bool(BY_DTYPE[self.kind](series.dtype))

    def _bound(self, end: Any, rounded: Any) -> Any:
        time = np.array(end).astype(f"{TIMES[self.kind][0]}[{self.unit}]")
        return int(time.astype(np.int64)) - self.origin

    def _numbers(self, series: Any, present: np.ndarray, handle_unknown: str) -> np.ndarray:
        if bool(frames.zone_of(series)) != self.aware:
            raise ValueError(
                f"Column {self.name!r} was learned {'with' if self.aware else 'without'} a time "
                f"zone, and is {series.dtype} now; convert it first."
            )
        exact = frames.ticks(series, present, self.unit).astype(object)
        return np.asarray((exact - self.origin).astype(np.float64))

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        unit = self.unit if series is None else frames.unit_of(series)
        day, (letters, first, last) = frames.TICKS[self.unit], TIMES[self.kind]
        high = (2**63 - 1) * day // max(frames.TICKS[unit], day)
        low = -high  # the next lower one is NaT
        # Libraries return Python's times, whose range is smaller; the column may be outside of it.
        if self.origin >= first * day:
            zone = day if self.aware else 0  # the local day may differ
            low, high = max(first * day + zone, low), min(last * day - zone - 1, high)
        counts = np.array(self._whole(numbers, low, high), dtype=np.int64)
        own = counts.astype(f"{letters}[{self.unit}]").astype(f"{letters}[{unit}]")
        # Dates with a time zone must be given as ticks.
        return own if series is None or letters == "m8" else own.astype(np.int64).tolist()


class Order(Column):
    """Ordered levels: 0, 1, 2, …, completed by the nearest level."""

    def fit(self, series: Any, present: np.ndarray) -> None:
        """Learn the levels, or check those that were given."""
        found = {frames.key(cell) for cell in frames.entries(series, present)}
        self.levels = self._all_levels(found, frames.categories(series))

    def _all_levels(self, found: set[Any], own: list[Any] | None) -> list[Any]:
        levels = [frames.key(level) for level in self.levels or own or ()]
        if self.levels:
            self._check_levels(levels, found)
        elif own is None and any(isinstance(level, str) for level in found):
            raise ValueError(
                f"Column {self.name!r} is text, whose order is not known; give its levels from low "
                f'to high: column_types={{{self.name!r}: ["low", "middle", "high"]}}.'
            )
        return levels or sorted(found)

    def _check_levels(self, levels: list[Any], found: set[Any]) -> None:
        if len(set(levels)) < len(levels):
            raise ValueError(f"column_types[{self.name!r}] names a level twice: {levels!r}.")
        if odd := sorted(str(level) for level in found - set(levels)):
            raise ValueError(
                f"Column {self.name!r} holds {odd[0]!r}, which is not among the levels that "
                f"column_types[{self.name!r}] gives ({len(odd)} in all); add it."
            )

    def suits(self, series: Any) -> bool:
        """Return whether a series can hold these levels."""
        dtype, types = series.dtype, {type(level) for level in self.levels}
        if dtype in (nw.Boolean, nw.String):
            return types == {bool} if dtype == nw.Boolean else str in types
        if dtype.is_integer() or dtype.is_float():
            return str not in types and self.kind != "bool"
        return dtype in (nw.Object, nw.Categorical, nw.Enum)

    def _numbers(self, series: Any, present: np.ndarray, handle_unknown: str) -> np.ndarray:
        codes = {level: code for code, level in enumerate(self.levels)}
        keys = [frames.key(cell) for cell in frames.entries(series, present)]
        found = np.array([codes.get(each, np.nan) for each in keys], dtype=np.float64)
        odd = np.flatnonzero(np.isnan(found))
        if len(odd) and handle_unknown == "error":
            raise ValueError(
                f"Column {self.name!r} holds {keys[odd[0]]!r} in row "
                f"{np.flatnonzero(present)[odd[0]]}, which did not occur in the fitted table "
                f'({len(odd)} cells in all); correct it, or set handle_unknown="missing" to '
                "complete such rows from their other columns."
            )
        return found

    def decode(self, series: Any, rows: np.ndarray, numbers: np.ndarray) -> Any:
        """Return a series with the cells of some rows replaced; its dtype may gain categories."""
        own, needed = frames.categories(series), np.unique(numbers).astype(int)
        if own is not None:
            levels, known = [self.levels[code] for code in needed], set(map(frames.key, own))
            series = frames.with_categories(
                series, [level for level in levels if level not in known]
            )
        return super().decode(series, rows, numbers)

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        own = None if series is None else frames.categories(series)
        known = {frames.key(level): level for level in own or ()}
        levels = [known.get(level, level) for level in self.levels]
        return [levels[int(number)] for number in numbers]

    def _settled(self, numbers: Any) -> Any:
        return np.clip(np.rint(numbers), 0, len(self.levels) - 1)


class Category(Order):
    """Unordered levels, completed by the most probable; of booleans the block is 0 or 1."""

    has_classes = True

    def _all_levels(self, found: set[Any], own: list[Any] | None) -> list[Any]:
        if self.kind == "bool":
            return [False, True]
        if own is not None:
            return [frames.key(level) for level in own if frames.key(level) in found]
        # Numbers come before text.
        return sorted(found, key=lambda level: (isinstance(level, str), level))

    def _fit_scale(self, seen: np.ndarray, scaled: bool) -> None:
        """Scale all indicators by their common standard deviation."""
        if self.kind == "bool":
            super()._fit_scale(seen, scaled)
            return
        shares = np.bincount(seen.astype(np.intp), minlength=len(self.levels)) / len(seen)
        self.usual, self.center = float(np.argmax(shares)), shares.tolist()
        self.scale = float(np.sqrt(1 - np.sum(shares**2)))

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """Return the block of the matrix: scaled indicators."""
        code = numbers[:, None]
        if len(self.center) > 1:
            code = np.where(np.isnan(code), np.nan, code == np.arange(len(self.center)))
        return np.asarray((code - self.center) / self.scale)

    def gather(self, block: np.ndarray) -> np.ndarray:
        """Return the code of the most probable level of each row of a completed block."""
        return self.probabilities(block).argmax(axis=1)

    def probabilities(self, block: np.ndarray) -> np.ndarray:
        """Return the probability of each level for each row of a completed block."""
        if not self.center:
            return np.tile(np.eye(len(self.levels))[int(self.usual)], (len(block), 1))
        assert self.calibration is not None
        if self.falls_back:
            return np.tile(self.calibration.shares, (len(block), 1))
        return self.calibration.apply(self.scores(block))

    def scores(self, block: np.ndarray) -> np.ndarray:
        """Return the scores of the levels in a completed block; of booleans, false and true."""
        numbers = self._numbers_of(block)
        return numbers if numbers.shape[1] > 1 else np.hstack([1 - numbers, numbers])


#: The kinds of columns, as in ``column_types``, where a list of levels means "ordered" too.
CODECS = {"numeric": Number, "integer": Number, "bool": Category, "categorical": Category,
          "ordered": Order, "datetime": Time, "duration": Time}  # fmt: skip
#: Kinds that may be read as another kind.
READABLE = {
    "numeric": {"numeric", "integer"},
    "integer": {"numeric", "integer"},
    "categorical": {"numeric", "integer", "bool", "categorical", "ordered", "mixed"},
    "ordered": {"numeric", "integer", "categorical", "ordered"},
}


def codec_of(series: Any, wanted: Any = None, whole: bool = False, most: int = 50) -> Column:
    """Return the codec of a column (narwhals' series), fitted to its cells.

    ``wanted`` is the kind that the user gives; with ``whole``, floats without any fraction are
    integers; more than ``most`` levels are refused.
    """
    present = frames.present(series)
    kind = _kind_of(series, present, wanted, whole) if present.any() else "empty"
    levels = [] if wanted is None or isinstance(wanted, str) else list(wanted)
    codec = CODECS.get(kind, Column)(series.name, kind, str(series.dtype), levels)
    codec.fit(series, present)
    if len(codec.levels) > most:
        raise ValueError(
            f"Column {codec.name!r} has {len(codec.levels)} different levels, more than "
            f"max_categories={most}; exclude it by passthrough=[{codec.name!r}] if it "
            "identifies rows, group its rare levels, or raise max_categories."
        )
    return codec


def _kind_of(series: Any, present: np.ndarray, wanted: Any, whole: bool) -> str:
    found = _found_kind(series, present)
    if wanted is None:
        if found == "mixed":
            raise TypeError(
                f"Column {series.name!r} mixes numbers, text or other things; make it one dtype, "
                f'or set column_types={{{series.name!r}: "categorical"}}.'
            )
        values = frames.floats(series)[present] if whole and found == "numeric" else 0.5
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


def _found_kind(series: Any, present: np.ndarray) -> str:
    """Return the kind of a column by its dtype and cells, or "mixed"; raise for other objects."""
    native = series.to_native()
    odd = str(native.type if series.implementation.is_pyarrow() else native.dtype)
    found = next((kind for kind, fits in BY_DTYPE.items() if fits(series.dtype)), None)
    if found is not None:
        # polars' Enum always has an order, which may mean nothing.
        own = None if series.implementation.is_polars() else frames.categories(series)
        return "ordered" if own is not None and nw.is_ordered_categorical(series) else found
    if series.dtype in (nw.String, nw.Object) and odd != "string_view":  # pyarrow lacks support
        types = {type(cell) for cell in frames.entries(series, present)}
        if types <= set(BY_TYPE):
            many = "numeric" if types == {int, float} else "mixed"
            return BY_TYPE[types.pop()] if len(types) == 1 else many
        odd = f"Python objects of type {(types - set(BY_TYPE)).pop().__name__}"
    raise TypeError(
        f"Column {series.name!r} holds {odd}, which cannot be completed; convert it to numbers, "
        f"text or dates, or exclude it by passthrough=[{series.name!r}]."
    )


def is_measured(dtype: Any) -> bool:
    """Return whether the cells of a dtype are numbers or times rather than labels."""
    return bool(dtype.is_numeric() or dtype.is_temporal())
