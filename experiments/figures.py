"""The pictures: curves, heat maps and points in space, in colors that everybody can tell apart."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from experiments.methods import OURS, base, label, short

#: Colors of Okabe and Ito, which the color-blind can tell apart; markers and dashes say the same.
LOOKS: dict[str, tuple[Any, ...]] = {
    "lrmc": ("#999999", "v", ":"),
    "srmc": ("#E69F00", "^", ":"),
    "ladmc": ("#8C6D1F", "<", "-."),
    "vmc-2": ("#56B4E9", "s", "-."),
    "vmc-3": ("#0072B2", "D", "-."),
    "nlmc": ("#009E73", "P", "--"),
    "pmc-s": ("#CC79A7", "X", "--"),
    "pmc-w": ("#D55E00", "o", "--"),
    "pmc-w2": ("#A6420A", "o", ":"),
    "pmc-poly": ("#7F3F98", "*", "--"),
}
OTHER = ("#666666", "h", (0, (1, 3)))
#: A cell of a heat map counts as recovered below this error.
RECOVERED = 0.01


def render(picture: Figure, form: str, name: str) -> bytes:
    """Return a picture as PNG or SVG: the same bytes for the same picture."""
    file = io.BytesIO()
    # Without these a file would tell when, and by which version, it was made.
    metadata = {"Date": None} if form == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": name}):
        picture.savefig(file, format=form, dpi=140, metadata=metadata)
    return file.getvalue()


def curves(
    panels: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]],
    xlabel: str,
    ylabel: str,
    log: bool = True,
) -> Figure:
    """Draw panels of means with bars of their standard errors, a line for each method."""
    columns = min(2, len(panels))
    height = -(-len(panels) // columns)
    picture = Figure(figsize=(3.9 * columns + 1.7, 3.3 * height + 0.3), layout="constrained")
    axes = picture.subplots(height, columns, squeeze=False, sharey=True)
    for ax, (title, (lines, errors)) in zip(axes.flat, panels.items(), strict=False):
        for method, values in lines.iterrows():
            bars = errors.reindex([method], columns=lines.columns).loc[method].fillna(0.0)
            ax.errorbar(lines.columns, values, bars, capsize=2, **line_style(method))
        ax.set_title(title, fontsize=10)
        ax.grid(alpha=0.3, which="both", linewidth=0.5)
        ax.set_xticks(lines.columns, [f"{x:g}" for x in lines.columns])
    if log:
        _log_axis(axes.flat[0])
    else:
        axes.flat[0].set_ylim(bottom=0)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    picture.supxlabel(xlabel, fontsize=10)
    picture.supylabel(ylabel, fontsize=10)
    handles = {
        name: handle
        for ax in axes.flat
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    picture.legend(handles=list(handles.values()), loc="outside right center", fontsize=9)
    return picture


def line_style(method: str) -> dict[str, Any]:
    """Return how the line of a method is drawn."""
    color, marker, dash = LOOKS.get(base(method), OTHER)
    width, size, zorder = (2.2, 9, 5) if method == OURS else (1.4, 5.5, 3)
    return {"color": color, "marker": marker, "linestyle": dash, "linewidth": width,
            "markersize": size, "zorder": zorder, "label": short(method)}  # fmt: skip


def _log_axis(ax: Axes) -> None:
    """Make the axis that all panels share logarithmic, with plain numbers."""
    ax.set_yscale("log", nonpositive="clip")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def heat_maps(
    errors: Mapping[str, pd.DataFrame], limits: Mapping[str, Sequence[float]], xlabel: str
) -> Figure:
    """Draw a map for each method, rates × sizes, with limits as rates by size drawn in."""
    columns = min(4, len(errors))
    height = -(-len(errors) // columns)
    picture = Figure(figsize=(2.6 * columns + 1.4, 2.3 * height + 0.7), layout="constrained")
    axes = picture.subplots(height, columns, squeeze=False, sharex=True, sharey=True)
    for ax, (method, cells) in zip(axes.flat, errors.items(), strict=False):
        shown = _heat_map(ax, cells, limits)
        ax.set_title(label(method), fontsize=10)
    for ax in axes.flat[len(errors) :]:
        ax.set_axis_off()
    picture.colorbar(shown, ax=axes, label="RSE (logarithmic)", extend="min", shrink=0.8)
    picture.supxlabel(xlabel, fontsize=10)
    picture.supylabel("sampling rate ρ", fontsize=10)
    handles, names = axes.flat[0].get_legend_handles_labels()
    picture.legend(handles, names, loc="outside upper center", ncols=3, fontsize=9)
    return picture


def _heat_map(ax: Axes, cells: pd.DataFrame, limits: Mapping[str, Sequence[float]]) -> AxesImage:
    """Draw one map; cells without trials are hatched, recovered ones have a dot."""
    columns, rows = np.arange(cells.shape[1]), np.arange(cells.shape[0])
    ax.patch.set(facecolor="white", hatch="///", edgecolor="#bbbbbb")
    shown = ax.imshow(cells.to_numpy(), origin="lower", aspect="auto", cmap="viridis",
                      norm=LogNorm(1e-3, 1.0, clip=True))  # fmt: skip
    at_row, at_column = np.nonzero(cells.fillna(1.0) < RECOVERED)
    ax.plot(at_column, at_row, linestyle="none", marker="o", markersize=3, color="white",
            markeredgecolor="black", markeredgewidth=0.6,
            label=f"recovered: RSE < {RECOVERED:g}")  # fmt: skip
    for (name, limit), dash in zip(limits.items(), ("-", "--", ":"), strict=False):
        heights = _heights(np.asarray(limit), cells.index.to_numpy())
        ax.plot(columns, heights, color="white", linewidth=3.4)
        ax.plot(columns, heights, color="#D55E00", linewidth=1.8, linestyle=dash, label=name)
    ax.set_xticks(columns, [f"{x:g}" for x in cells.columns], fontsize=8)
    ax.set_yticks(rows, [f"{x:g}" for x in cells.index], fontsize=8)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(-0.5, len(rows) - 0.5)
    return shown


def _heights(limit: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where a rate lies on an axis with a row for every rate; beyond the ends goes on."""
    step = rates[1] - rates[0] if len(rates) > 1 else 1.0
    beyond = limit - np.clip(limit, rates[0], rates[-1])
    return np.interp(limit, rates, np.arange(len(rates))) + beyond / step


def against(
    points: Mapping[str, Sequence[tuple[float, float]]], xlabel: str, ylabel: str
) -> Figure:
    """Draw points of several kinds, and the line on which both numbers are the same."""
    picture = Figure(figsize=(5.6, 4.2), layout="constrained")
    ax = picture.subplots()
    for method, pairs in points.items():
        style = line_style(method) | {"linestyle": "none"}
        ax.plot(*np.array(pairs, dtype=float).reshape(-1, 2).T, **style)
    ends = [0, 1]
    ax.plot(ends, ends, color="#666666", linewidth=1, label="the same")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(alpha=0.3, linewidth=0.5)
    ax.legend(fontsize=9)
    return picture


def surfaces(panels: Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]]) -> Figure:
    """Draw points in space, colored by the part they belong to."""
    picture = Figure(figsize=(3.8 * len(panels), 4.0), layout="constrained")
    for place, (title, (points, part)) in enumerate(panels.items(), start=1):
        ax: Any = picture.add_subplot(1, len(panels), place, projection="3d")
        looks = zip(("#0072B2", "#D55E00", "#009E73"), "o^s", strict=True)
        for i, (color, marker) in zip(np.unique(part), looks, strict=False):
            ax.scatter(*points[part == i].T, s=6, color=color, marker=marker, rasterized=True)
        ax.set_title(title, fontsize=11, y=0.98)
        ax.view_init(elev=24, azim=-52)
        ax.set_box_aspect(None, zoom=0.88)
        for axis, name in zip((ax.xaxis, ax.yaxis, ax.zaxis), "xyz", strict=True):
            axis.set_ticklabels([])
            axis.set_label_text(f"${name}$")
            axis.labelpad = -10
    return picture
