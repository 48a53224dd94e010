"""From numbers to the paths of drawings: plain geometry, which the page's template puts in place.

Shapes are in small units of their own and are stretched to the page, so that a histogram of 500
columns stays light.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

__all__: list[str] = []

#: Shades of the map, from hardly any missing to all.
SHADES = 5


def missing_map(tiles: list[list[float]]) -> dict[str, Any]:
    """Return the map of what is missing, given the share of it by blocks of rows and columns.

    That is width and height; shades: levels and the paths of their tiles; columns and rows: the
    share missing of each; most: the largest of these.
    """
    paths: dict[int, list[str]] = {}
    for y, line in enumerate(tiles):
        x = 0
        for shade, run in groupby(math.ceil(share * SHADES - 1e-6) for share in line):
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


def steps(counts: list[int], height: float = 10.0) -> str:
    """Return the outline of a histogram, one unit for each bin, as high as its fullest bin."""
    most = max(counts, default=0)
    if not most:
        return ""
    tops = [f"V{_short(height - height * count / most)}H{x}" for x, count in enumerate(counts, 1)]
    return f"M0 {_short(height)}" + "".join(tops) + f"V{_short(height)}"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
