"""Heat maps: the error of every method over two settings, with the limits of theory drawn in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.figures.style import new_picture
from experiments.rows import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure as Picture
    from matplotlib.image import AxesImage

__all__ = ["Grid", "draw_heatmaps"]

#: A cell counts as recovered below this error.
RECOVERED = 0.01
LOWEST, HIGHEST = 1e-3, 1.0


class Grid(NamedTuple):
    """Errors by method, each an array (rates × sizes), and the limits as rates by size."""

    sizes: Sequence[float]
    rates: Sequence[float]
    errors: Mapping[str, NDArray[np.float64]]
    limits: Mapping[str, Sequence[float]]


def draw_heatmaps(grid: Grid, xlabel: str, ylabel: str, columns: int = 3) -> Picture:
    """Draw a map for each method.

    Parameters
    ----------
    grid : Grid
        What to draw.
    xlabel, ylabel : str
        Of the sizes and the rates.
    columns : int
        Maps in a row.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> grid = Grid([20, 40], [0.3, 0.5], {"srmc": np.array([[1, 0.1], [0.2, 0.004]])}, {})
    >>> len(draw_heatmaps(grid, "n", "rate").axes)  # the map and the scale of colours
    2
    """
    from matplotlib.colors import LogNorm

    columns = min(columns, len(grid.errors))
    height = -(-len(grid.errors) // columns)
    picture = new_picture(2.9 * columns + 1.4, 2.6 * height + 0.7)
    axes = picture.subplots(height, columns, squeeze=False, sharex=True, sharey=True)
    for ax, (method, errors) in zip(axes.flat, grid.errors.items(), strict=False):
        shown = _map(ax, grid, errors, LogNorm(LOWEST, HIGHEST, clip=True))
        ax.set_title(label(method), fontsize=10)
    for ax in axes.flat[len(grid.errors) :]:
        ax.set_axis_off()
    picture.colorbar(shown, ax=axes, label="RSE (logarithmic)", extend="min", shrink=0.8)
    picture.supxlabel(xlabel, fontsize=10)
    picture.supylabel(ylabel, fontsize=10)
    handles, names = axes.flat[0].get_legend_handles_labels()
    picture.legend(handles, names, loc="outside upper center", ncols=3, fontsize=9)
    return picture


def _map(ax: Axes, grid: Grid, errors: NDArray[np.float64], norm: LogNorm) -> AxesImage:
    """Draw one map; cells without trials are hatched, recovered ones have a dot."""
    columns, rows = np.arange(len(grid.sizes)), np.arange(len(grid.rates))
    ax.patch.set(facecolor="white", hatch="///", edgecolor="#bbbbbb")
    shown = ax.imshow(errors, origin="lower", aspect="auto", cmap="viridis", norm=norm)
    at_row, at_column = np.nonzero(np.nan_to_num(errors, nan=1.0) < RECOVERED)
    ax.plot(at_column, at_row, linestyle="none", marker="o", markersize=3, color="white",
            markeredgecolor="black", markeredgewidth=0.6,
            label=f"recovered: RSE < {RECOVERED:g}")  # fmt: skip
    for (name, limit), dash in zip(grid.limits.items(), ("-", ":"), strict=False):
        heights = _heights(np.asarray(limit), np.asarray(grid.rates))
        ax.plot(columns, heights, color="white", linewidth=3.4)
        ax.plot(columns, heights, color="#D55E00", linewidth=1.8, linestyle=dash, label=name)
    ax.set_xticks(columns, [f"{x:g}" for x in grid.sizes], fontsize=8)
    ax.set_yticks(rows, [f"{x:g}" for x in grid.rates], fontsize=8)
    ax.set_xlim(-0.5, len(grid.sizes) - 0.5)
    ax.set_ylim(-0.5, len(grid.rates) - 0.5)
    return shown


def _heights(limit: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where a rate lies on an axis with a row for every rate; beyond the ends goes on."""
    step = rates[1] - rates[0] if len(rates) > 1 else 1.0
    inside = np.interp(limit, rates, np.arange(len(rates)))
    beyond = np.where(limit > rates[-1], (limit - rates[-1]) / step, 0.0)
    return inside + beyond + np.where(limit < rates[0], (limit - rates[0]) / step, 0.0)
