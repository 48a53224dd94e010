"""The three kinds of data in three dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.figures.style import new_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

__all__ = ["draw_surfaces"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73")
_MARKERS = ("o", "^", "s")


def draw_surfaces(panels: Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]]) -> Picture:
    """Draw points in space, coloured by the part they belong to.

    Parameters
    ----------
    panels : mapping
        From a title to points (n × 3) and the number of the part of each.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> points, part = np.zeros((4, 3)), np.array([0, 0, 1, 1])
    >>> len(draw_surfaces({"toy": (points, part)}).axes)
    1
    """
    picture = new_picture(3.8 * len(panels), 4.0)
    for place, (title, (points, part)) in enumerate(panels.items(), start=1):
        ax = picture.add_subplot(1, len(panels), place, projection="3d")
        for i in np.unique(part):
            own = points[part == i].T
            ax.scatter(*own, s=6, color=_COLOURS[i % 3], marker=_MARKERS[i % 3], rasterized=True)
        ax.set_title(title, fontsize=11, y=0.98)
        ax.view_init(elev=24, azim=-52)
        ax.set_box_aspect(None, zoom=0.88)
        for axis, name in zip((ax.xaxis, ax.yaxis, ax.zaxis), "xyz", strict=True):
            axis.set_ticklabels([])
            axis.set_label_text(f"${name}$")
            axis.labelpad = -10
    return picture
