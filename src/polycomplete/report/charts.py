"""From numbers to the paths of drawings: plain geometry, which the page's template puts in place.

Shapes are in small units of their own and are stretched to the page, so that a histogram of 500
columns stays light.
"""

from __future__ import annotations

import math
from itertools import groupby, pairwise
from typing import Any

from polycomplete.report.curves import course

__all__ = ["Scale", "line_chart", "missing_map", "spectrum_chart", "steps"]

#: Shades of the map, from hardly any missing to all.
SHADES = 5
WIDE, HIGH = 520, 290
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 34, 40


def missing_map(tiles: list[list[float]]) -> dict[str, Any]:
    """Return the map of what is missing: for each shade the path of its tiles.

    Parameters
    ----------
    tiles : list of lists of float
        Share missing by blocks of rows and columns.

    Returns
    -------
    dict
        width, height, shades (a list of level and path), columns and rows (share missing of each),
        most (the largest of these).

    Examples
    --------
    >>> missing_map([[0.0, 1.0, 1.0]])["shades"]
    [{'level': 5, 'path': 'M1 0h2v1h-2z'}]
    """
    paths: dict[int, list[str]] = {}
    for y, line in enumerate(tiles):
        x = 0
        for shade, run in groupby(_shade(share) for share in line):
            length = len(list(run))
            if shade:
                paths.setdefault(shade, []).append(f"M{x} {y}h{length}v1h-{length}z")
            x += length
    width, height = len(tiles[0]), len(tiles)
    columns = [sum(line[x] for line in tiles) / height for x in range(width)]
    rows = [sum(line) / max(width, 1) for line in tiles]
    return {
        "width": width,
        "height": height,
        "shades": [{"level": shade, "path": "".join(paths[shade])} for shade in sorted(paths)],
        "columns": columns,
        "rows": rows,
        "most": max([*columns, *rows]) or 1.0,
    }


def _shade(share: float) -> int:
    return math.ceil(share * SHADES - 1e-6)


def steps(counts: list[int], height: float = 10.0) -> str:
    """Return the outline of a histogram, one unit for each bin, as high as its fullest bin.

    Parameters
    ----------
    counts : list of int
        What each bin holds.
    height : float
        Of the drawing.

    Returns
    -------
    str
        A path; empty where every bin is.

    Examples
    --------
    >>> steps([1, 2])
    'M0 10V5H1V0H2V10'
    """
    most = max(counts, default=0)
    if not most:
        return ""
    tops = [f"V{_short(height - height * count / most)}H{x}" for x, count in enumerate(counts, 1)]
    return f"M0 {_short(height)}" + "".join(tops) + f"V{_short(height)}"


class Scale:
    """From numbers to places on a drawing.

    Parameters
    ----------
    values : list of float
        What must be on it.
    begin, end : float
        Where it lies on the drawing.
    log : bool
        By orders of magnitude.
    whole : bool
        With marks at whole numbers only.

    Examples
    --------
    >>> scale = Scale([0.0, 10.0], begin=0, end=100)
    >>> scale(5.0), [label for _, label in scale.ticks()]
    (50.0, ['0', '2', '4', '6', '8', '10'])
    >>> [label for _, label in Scale([1e-8, 1.0], 0, 100, log=True).ticks()]
    ['1e−8', '1e−6', '1e−4', '0.01', '1']
    """

    def __init__(
        self, values: list[float], begin: float, end: float, log: bool = False, whole: bool = False
    ):
        self.log, self.whole, self.begin, self.end = log, whole, begin, end
        self.low, self.high = self._turn(min(values)), self._turn(max(values))
        if not self.high > self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def _turn(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        share = (self._turn(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round numbers on the scale: their place and how they are written."""
        step = self._step()
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        marks = [step * i for i in range(first, last + 1)]
        if self.log and step < 1:  # too narrow for whole orders of magnitude
            marks = [self.low, self.high]
        values = [10**mark if self.log else mark for mark in marks]
        return [(round(self(value), 1), _label(value)) for value in values]

    def _step(self) -> float:
        rough = max((self.high - self.low) / 5, 1e-12 * max(abs(self.high), 1e-12))
        size = 10 ** math.floor(math.log10(rough))
        step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough * 0.999)
        whole = self.whole or (self.log and self.high - self.low >= 1)
        return max(round(step), 1) if whole else step


def _label(value: float) -> str:
    if value == 0:
        return "0"
    if 1e-3 < abs(value) < 1e5:
        return f"{value:.4g}".replace("-", "−")
    mantissa, power = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(power)}".replace("-", "−")


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _frame(x: Scale, y: Scale) -> dict[str, Any]:
    return {
        "wide": WIDE, "high": HIGH,
        "left": LEFT, "right": WIDE - RIGHT, "top": TOP, "bottom": HIGH - BOTTOM,
        "xticks": x.ticks(), "yticks": y.ticks(),
    }  # fmt: skip


def line_chart(run: dict[str, Any]) -> dict[str, Any] | None:
    """Return the course of the objective, as :func:`~polycomplete.report.curves.course` has it.

    Parameters
    ----------
    run : dict
        The part "convergence" of a summary.

    Returns
    -------
    dict or None
        The frame, the line's path, the places where stages begin, label (what it shows) and log;
        None where there are fewer than two points to draw.

    Examples
    --------
    >>> run = {"iteration": [1, 2], "objective": [2.0, 1.0], "smoothing": [1.0, 0.5]}
    >>> line_chart(run)["path"]
    'M58 34L508 250'
    """
    stages, label = course(run)
    heights = [height for stage in stages for _, height in stage]
    if len(heights) < 2:
        return None
    log = min(heights) > 0 and max(heights) > 30 * min(heights)
    x = Scale([run["iteration"][0], run["iteration"][-1]], LEFT, WIDE - RIGHT, whole=True)
    y = Scale(heights, HIGH - BOTTOM, TOP, log)
    lines = [[(x(i), y(height)) for i, height in stage] for stage in stages if stage]
    begins = [round(line[0][0], 1) for line in lines[1:]]
    path = "".join(map(_line, lines))
    return {**_frame(x, y), "path": path, "stages": begins, "label": label, "log": log}


def _line(points: list[tuple[float, float]]) -> str:
    if len(points) == 1:  # a dot
        return f"M{_short(points[0][0])} {_short(points[0][1])}h0.1"
    return "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points)


def spectrum_chart(found: dict[str, Any]) -> dict[str, Any] | None:
    """Return the spectrum as a falling line on a logarithmic scale, with the rank and the level.

    Parameters
    ----------
    found : dict
        The part "spectrum" of a summary.

    Returns
    -------
    dict or None
        The frame, path, rank (its place), level (its place, or None); None for fewer than two.

    Examples
    --------
    >>> chart = spectrum_chart({"values": [1.0, 0.1, 0.01], "rank": 1, "level": None})
    >>> chart["rank"], chart["yticks"]
    (170.5, [(250.0, '0.01'), (142.0, '0.1'), (34.0, '1')])
    """
    values = [value for value in found["values"] if value and value > 0]
    if len(values) < 2:
        return None
    level = found["level"] if found["level"] and found["level"] > 0 else None
    x = Scale([1, len(values)], LEFT, WIDE - RIGHT, whole=True)
    y = Scale([*values, *([level] if level else [])], HIGH - BOTTOM, TOP, log=True)
    points = [(x(i), y(value)) for i, value in enumerate(values, 1)]
    kept = [points[0]] + [b for a, b in pairwise(points) if abs(b[0] - a[0]) > 0 or b[1] != a[1]]
    return {
        **_frame(x, y),
        "path": _line(kept),
        "rank": round(x(min(found["rank"] + 0.5, len(values))), 1) if found["rank"] else None,
        "level": round(y(level), 1) if level else None,
    }
