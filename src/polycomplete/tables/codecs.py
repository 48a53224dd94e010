"""Codecs: cells of a column become numbers, these a block of the matrix to complete, and back.

What a column is decides which codec it has, here and nowhere else. ``fit`` learns from the cells,
``encode`` and ``decode`` go from cells to numbers and back, ``spread`` and ``gather`` from numbers
to the block and back. Blocks weigh the same: numbers, times, orders and truth values become one
column of standard deviation 1, or stay as they are for a method that scales them itself; a category
becomes a column for each level, divided by one number, so that the whole block varies as much as
one such column. Cells that do not vary have a block without columns.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np

from polycomplete.scaling import column_spread, is_constant
from polycomplete.tables import cells
from polycomplete.tables.calibration import Calibration

NUMPY = {"datetime": "M8", "duration": "m8"}
#: Ticks of a day.
TICKS = {"ns": 86400 * 10**9, "us": 86400 * 10**6, "ms": 86400 * 10**3, "s": 86400, "D": 1}
#: The days from 1970, or of a duration, at which Python's own begin and end.
PYTHON = {"datetime": (-719_162, 2_932_897), "duration": (-999_999_999, 10**9)}


@dataclass
class Column:
    """A column: what it is, and how its cells are counted.

    Attributes
    ----------
    name : str
        Of the column; pandas allows other things too.
    kind : str
        "numeric", "integer", "bool", "categorical", "ordered", "datetime", "duration"; "empty"
        without any present cell; "id" where it is left alone.
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

    def fit(self, series: Any, there: np.ndarray, wanted: Any, most: int) -> None:
        """Learn from the present cells what encoding needs."""

    def encode(self, series: Any, unseen: str = "error") -> tuple[np.ndarray, np.ndarray]:
        """Return a number for each cell, NaN where it tells nothing, and which are present."""
        there = cells.present(series)
        numbers = np.full(len(there), np.nan)
        if not there.any():
            return numbers, there
        if not self.suits(series):
            raise ValueError(
                f"Column {self.name!r} was {self.kind} ({self.dtype}) when it was learned, and "
                f"is {series.dtype} now; convert it first."
            )
        numbers[there] = self._numbers(series, there, unseen)
        return numbers, there

    def decode(self, series: Any, rows: np.ndarray, numbers: np.ndarray) -> Any:
        """Return a column with the cells of some rows replaced, as :meth:`encode` counts them.

        Its dtype stays, unless it holds no cell and cannot hold one of this kind (as polars' Null).
        """
        if len(rows) == 0:
            return series
        if self.suits(series):
            return cells.put(series, rows, self._cells(numbers, series), self.levels)
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
        return numbers * cells.SECONDS.get(self.unit, 1.0)

    def fit_block(self, numbers: np.ndarray, weight: float = 1.0, scaled: bool = True) -> None:
        """Learn how numbers become the block; not ``scaled``, other than categories stay so."""
        seen = numbers[~np.isnan(numbers)]
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

    def gather(self, block: np.ndarray, falls_back: bool = False) -> np.ndarray:
        """Return a number for each row of a completed block, or the usual one."""
        if falls_back or not self.center:
            return np.full(len(block), self.fallback if falls_back else self.usual)
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


class Number(Column):
    """Numbers: the value, counted from the smallest where the dtype is of integers."""

    is_line = True

    def fit(self, series: Any, there: np.ndarray, wanted: Any, most: int) -> None:
        """Learn where to count from."""
        if self.kind == "integer" and series.dtype.is_integer():
            self.origin = min(cells.present_cells(series, there))

    def _held_by(self, dtype: Any) -> bool:
        return bool(dtype.is_integer() or dtype.is_float())

    def _bound(self, end: Any, rounded: Any) -> Any:
        end = end - self.origin
        return rounded(end) if self.kind == "integer" and math.isfinite(end) else end

    def _numbers(self, series: Any, there: np.ndarray, unseen: str) -> np.ndarray:
        if series.dtype.is_integer():  # as Python's, which have no largest one
            whole = np.array(cells.present_cells(series, there), dtype=object)
            return np.asarray((whole - self.origin).astype(np.float64))
        of_objects = series.dtype == nw.Object
        values = self._of_objects(series, there) if of_objects else cells.floats(series)[there]
        infinite = np.isinf(values)
        if infinite.any():
            raise ValueError(
                f"Column {self.name!r} contains infinity in row {cells.first(infinite, there)} "
                f"({infinite.sum()} in all); make it missing to have it completed, or a finite "
                "number."
            )
        return np.asarray(values - self.origin)

    def _of_objects(self, series: Any, there: np.ndarray) -> np.ndarray:
        found = cells.present_cells(series, there)
        allowed = bool if self.kind == "bool" else int | float
        odd = np.array([not isinstance(cell, allowed) for cell in found])
        if odd.any():
            raise ValueError(
                f"Column {self.name!r} was {self.kind} when it was learned, and holds "
                f"{found[odd.argmax()]!r:.60} in row {cells.first(odd, there)}; convert it first."
            )
        try:
            return np.array(found, dtype=np.float64)
        except OverflowError:
            odd = np.array([abs(cell) > sys.float_info.max for cell in found])
            raise ValueError(
                f"Column {self.name!r} holds a whole number of hundreds of digits in row "
                f"{cells.first(odd, there)}, which no float can hold; divide it by a power of ten, "
                "or make it missing to have it completed."
            ) from None

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        dtype = nw.Object() if series is None else series.dtype
        if self.kind == "integer" or dtype.is_integer():
            low, high = cells.limits(dtype if dtype.is_integer() else nw.Int64())
            whole = cells.within(numbers, self.origin, low, high)
            if not dtype.is_float():
                return whole
            numbers = np.array(whole, dtype=np.float64)
        else:
            numbers = numbers + self.origin
        if dtype == nw.Object:
            return numbers.tolist()
        kind = np.dtype(str(dtype).lower())
        largest = np.finfo(kind).max
        return np.clip(numbers, -largest, largest).astype(kind)


class Time(Column):
    """Dates and durations: ticks of the unit of the dtype, counted from the first."""

    is_line = True

    def fit(self, series: Any, there: np.ndarray, wanted: Any, most: int) -> None:
        """Learn the unit, and where to count from."""
        self.unit, self.aware = cells.unit_of(series), cells.zone_of(series) is not None
        self.origin = int(cells.ticks(series, there, self.unit).min())

    def suits(self, series: Any) -> bool:
        """Return whether times of this kind can be in a column; not among objects."""
        return bool(cells.BY_DTYPE[self.kind](series.dtype))

    def _bound(self, end: Any, rounded: Any) -> Any:
        time = np.array(end).astype(f"{NUMPY[self.kind]}[{self.unit}]")
        return int(time.astype(np.int64)) - self.origin

    def _numbers(self, series: Any, there: np.ndarray, unseen: str) -> np.ndarray:
        if (cells.zone_of(series) is not None) != self.aware:
            raise ValueError(
                f"Column {self.name!r} was learned {'with' if self.aware else 'without'} a time "
                f"zone, and is {series.dtype} now; convert it first."
            )
        exact = cells.ticks(series, there, self.unit).astype(object)
        return np.asarray((exact - self.origin).astype(np.float64))

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        unit = self.unit if series is None else cells.unit_of(series)
        counts = cells.within(numbers, self.origin, *self._limits(unit))
        own = np.array(counts, dtype=np.int64).astype(f"{NUMPY[self.kind]}[{self.unit}]")
        return own.astype(f"{NUMPY[self.kind]}[{unit}]")

    def _limits(self, unit: str) -> tuple[int, int]:
        """Return the first and the last tick that a unit and Python's own times can hold.

        Libraries hand out Python's times; a column that had others before is not held to them.
        """
        day = TICKS[self.unit]
        most = (2**63 - 1) * day // max(TICKS[unit], day)  # the next below the least is NaT
        first, last = (days * day for days in PYTHON[self.kind])
        if self.origin < first:
            return -most, most
        zone = day if self.aware else 0  # the day may be another one there
        return max(first + zone, -most), min(last - zone - 1, most)


class Order(Column):
    """Ordered levels: 0, 1, 2, … in their order, completed by the nearest."""

    def fit(self, series: Any, there: np.ndarray, wanted: Any, most: int) -> None:
        """Learn the levels; raise where there are more than ``most``."""
        found = {cells.key(cell) for cell in cells.present_cells(series, there)}
        self.levels = self._levels(found, cells.categories(series), wanted)
        if len(self.levels) > most:
            raise ValueError(
                f"Column {self.name!r} has {len(self.levels)} different levels, more than "
                f"max_categories={most}; leave it alone by ids=[{self.name!r}] if it is a name or "
                "a number of a record, group its rare levels, or raise max_categories."
            )

    def _levels(self, found: set[Any], own: list[Any] | None, wanted: Any) -> list[Any]:
        if wanted is not None and not isinstance(wanted, str):
            return self._checked_levels([cells.key(level) for level in wanted], found)
        if own is None and any(isinstance(level, str) for level in found):
            raise ValueError(
                f"Column {self.name!r} is text, whose order is not known; give its levels from low "
                f'to high: kinds={{{self.name!r}: ["low", "middle", "high"]}}.'
            )
        return sorted(found) if own is None else [cells.key(level) for level in own]

    def _checked_levels(self, levels: list[Any], found: set[Any]) -> list[Any]:
        if len(set(levels)) < len(levels):
            raise ValueError(f"kinds[{self.name!r}] names a level twice: {levels!r}.")
        odd = sorted(str(level) for level in found - set(levels))
        if odd:
            raise ValueError(
                f"Column {self.name!r} holds {odd[0]!r}, which is not among the levels that "
                f"kinds[{self.name!r}] gives ({len(odd)} such in all); add it."
            )
        return levels

    def _held_by(self, dtype: Any) -> bool:
        if dtype in (nw.Categorical, nw.Enum):
            return True
        if dtype == nw.Boolean:
            return all(isinstance(level, bool) for level in self.levels)
        if any(isinstance(level, str) for level in self.levels):
            return bool(dtype == nw.String)
        return bool(dtype.is_integer() or dtype.is_float())

    def _numbers(self, series: Any, there: np.ndarray, unseen: str) -> np.ndarray:
        codes = {level: code for code, level in enumerate(self.levels)}
        keys = [cells.key(cell) for cell in cells.present_cells(series, there)]
        found = np.array([codes.get(each, np.nan) for each in keys], dtype=np.float64)
        odd = np.isnan(found)
        if odd.any() and unseen == "error":
            raise ValueError(
                f"Column {self.name!r} holds {keys[odd.argmax()]!r} in row "
                f"{cells.first(odd, there)}, which did not occur when it was learned ({odd.sum()} "
                'such cells); correct it, or say unseen="missing" to go by the other columns of '
                "such rows."
            )
        return found

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        return [self.levels[int(number)] for number in numbers]

    def _settled(self, numbers: Any) -> Any:
        return np.clip(np.rint(numbers), 0, len(self.levels) - 1)


class _Classes(Column):
    """Completed by the likeliest class."""

    has_classes = True

    @property
    def classes(self) -> list[Any]:
        """What the classes are called."""
        return list(self.levels)

    def gather(self, block: np.ndarray, falls_back: bool = False) -> np.ndarray:
        """Return the code of the likeliest class, or of the most frequent."""
        if falls_back:
            return np.full(len(block), self.fallback)
        return self.probabilities(block).argmax(axis=1)

    def probabilities(self, block: np.ndarray, falls_back: bool = False) -> np.ndarray:
        """Return the probability of each class in each row of a completed block."""
        if not self.center:
            return np.tile(np.eye(len(self.classes))[int(self.usual)], (len(block), 1))
        assert self.calibration is not None
        if falls_back:
            return np.tile(self.calibration.shares, (len(block), 1))
        return self.calibration.apply(self.scores(block))

    def scores(self, block: np.ndarray) -> np.ndarray:
        """Return what a completed block says of each class; of truth values, false and true."""
        numbers = self._numbers_of(block)
        return numbers if numbers.shape[1] > 1 else np.hstack([1 - numbers, numbers])

    def _settled(self, numbers: Any) -> Any:
        return np.rint(numbers)


class Category(_Classes, Order):
    """Levels without an order: the code, in a block with a column for each level."""

    def _levels(self, found: set[Any], own: list[Any] | None, wanted: Any) -> list[Any]:
        if own is not None:
            return [cells.key(level) for level in own if cells.key(level) in found]
        # Text after numbers where both occur.
        return sorted(found, key=lambda level: (isinstance(level, str), level))

    def _fit_scale(self, seen: np.ndarray, scaled: bool) -> None:
        """Divide by the standard deviation of all indicators together."""
        shares = np.bincount(seen.astype(np.intp), minlength=len(self.levels)) / len(seen)
        self.usual, self.center = float(np.argmax(shares)), shares.tolist()
        self.scale = float(np.sqrt(1 - np.sum(shares**2)))

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """Return the block of the matrix: which level it is, scaled."""
        code = numbers[:, None]
        level = np.where(np.isnan(code), np.nan, code == np.arange(len(self.center)))
        return np.asarray((level - self.center) / self.scale)


class Truth(_Classes, Number):
    """Truth values: encoded as the numbers 0 and 1, completed as a category of two."""

    is_line = False

    @property
    def classes(self) -> list[Any]:
        """False and True."""
        return [False, True]

    def _held_by(self, dtype: Any) -> bool:
        return bool(dtype == nw.Boolean)

    def _cells(self, numbers: np.ndarray, series: Any) -> Any:
        return [bool(number) for number in numbers]


#: What may be said of a column; a list of levels in their order is "ordered" too.
CODECS = {"numeric": Number, "integer": Number, "bool": Truth, "categorical": Category,
          "ordered": Order, "datetime": Time, "duration": Time}  # fmt: skip
#: Which kind may be read as which other.
READABLE = {
    "numeric": {"numeric", "integer"},
    "integer": {"numeric", "integer"},
    "categorical": {"numeric", "integer", "bool", "categorical", "ordered"},
    "ordered": {"numeric", "integer", "categorical", "ordered"},
}


def codec_of(series: Any, wanted: Any = None, whole: bool = False, most: int = 50) -> Column:
    """Return the codec of a column (narwhals' series), fitted to its cells.

    ``wanted`` is what the user says that it is; with ``whole``, floats without any fraction are
    integers; more than ``most`` levels are refused.
    """
    there = cells.present(series)
    kind = _kind_of(series, there, wanted, whole) if there.any() else "empty"
    codec = CODECS.get(kind, Column)(series.name, kind, str(series.dtype))
    codec.fit(series, there, wanted, most)
    return codec


def _kind_of(series: Any, there: np.ndarray, wanted: Any, whole: bool) -> str:
    found = cells.kind_of(series, there)
    if wanted is None:
        if found == "mixed":
            raise TypeError(
                f"Column {series.name!r} mixes numbers, text or other things; make it one dtype, "
                f'or say kinds={{{series.name!r}: "categorical"}}.'
            )
        values = cells.floats(series)[there] if whole and found == "numeric" else 0.5
        return "integer" if np.all(values == np.rint(values)) else found
    kind = wanted if isinstance(wanted, str) else "ordered"
    if kind not in CODECS:
        raise ValueError(
            f"kinds[{series.name!r}] must be one of {', '.join(CODECS)} or a list of levels in "
            f"their order, got {wanted!r}."
        )
    if found not in READABLE.get(kind, {kind}) and (found, kind) != ("mixed", "categorical"):
        raise ValueError(
            f"Column {series.name!r} is {found} ({series.dtype}) and cannot be read as {kind!r}; "
            "convert it first, or leave it out of kinds."
        )
    return kind
