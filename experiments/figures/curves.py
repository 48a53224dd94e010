"""Curves: an error over a size or a rate, a line for every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.figures.style import line_style, new_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

__all__ = ["Panel", "draw_curves", "ends"]


class Panel(NamedTuple):
    """One pair of axes: its title, where the values stand, and a line for each method."""

    title: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[float]]


def draw_curves(
    panels: Sequence[Panel], xlabel: str, ylabel: str, *, log: bool = True, columns: int = 2
) -> Picture:
    """Draw panels side by side, with one legend for all of them.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw.
    xlabel, ylabel : str
        The axes, with units.
    log : bool
        A logarithmic vertical axis.
    columns : int
        Panels in a row.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> picture = draw_curves([Panel("toy", [1, 2], {"srmc": [0.5, 0.1]})], "n", "RSE")
    >>> len(picture.axes)
    1
    """
    columns = min(columns, len(panels))
    height = -(-len(panels) // columns)
    picture = new_picture(3.9 * columns + 1.7, 3.3 * height + 0.3)
    axes = picture.subplots(height, columns, squeeze=False, sharey=True)
    for ax, panel in zip(axes.flat, panels, strict=False):
        _draw(ax, panel)
    if log:
        _log_axis(axes.flat[0])
    else:
        axes.flat[0].set_ylim(bottom=0)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    picture.supxlabel(xlabel, fontsize=10)
    picture.supylabel(ylabel, fontsize=10)
    handles = {h.get_label(): h for ax in axes.flat for h in ax.get_lines()}
    picture.legend(handles=list(handles.values()), loc="outside right center", fontsize=9)
    return picture


def ends(panels: Sequence[Panel], unit: str = "") -> str:
    """Say in words where the curves begin and end, in mean over panels and lines.

    Parameters
    ----------
    panels : sequence of Panel
        The curves.
    unit : str
        Of the values.

    Returns
    -------
    str

    Examples
    --------
    >>> ends([Panel("toy", [0.1, 0.7], {"srmc": [2.0, 20.0], "ladmc": [1.0, 11.0]})], "%")
    'from 1.5 % at 0.1 to 15.5 % at 0.7'
    """
    told = []
    for place in (0, -1):
        values = [line[place] for panel in panels for line in panel.lines.values()]
        spaced = f" {unit}" if unit else ""
        told.append(f"{np.nanmean(values):.3g}{spaced} at {panels[0].x[place]:g}")
    return f"from {told[0]} to {told[1]}"


def _draw(ax: Axes, panel: Panel) -> None:
    for method, values in panel.lines.items():
        ax.plot(panel.x, values, **line_style(method))
    ax.set_title(panel.title, fontsize=10)
    ax.grid(alpha=0.3, which="both", linewidth=0.5)
    ax.set_xticks(panel.x, [f"{x:g}" for x in panel.x])


def _log_axis(ax: Axes) -> None:
    """Make the axis that all panels share logarithmic, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
