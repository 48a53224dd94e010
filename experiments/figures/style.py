"""One look for all pictures: colour, marker and dash of every row, and how they are saved."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from experiments.rows import OURS, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

__all__ = ["line_style", "new_picture", "render"]

#: Colours of Okabe and Ito, which those who are colour-blind can tell apart; markers and dashes
#: say the same again.
_LOOK = {
    "lrmc-paper": ("#999999", "v", ":"),
    "srmc": ("#E69F00", "^", ":"),
    "ladmc": ("#8C6D1F", "<", "-."),
    "vmc-2": ("#56B4E9", "s", "-."),
    "vmc-3": ("#0072B2", "D", "-."),
    "nlmc-paper": ("#009E73", "P", "--"),
    "pmc-s-paper": ("#CC79A7", "X", "--"),
    "pmc-w-paper": ("#D55E00", "o", "--"),
    OURS: ("#000000", "*", "-"),
}
_OTHER = ("#666666", "h", (0, (1, 3)))


def new_picture(width: float, height: float) -> Picture:
    """Return an empty picture, in inches.

    Parameters
    ----------
    width, height : float
        Size in inches.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window and needs no backend.

    Examples
    --------
    >>> float(new_picture(4, 3).get_figwidth())
    4.0
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def line_style(method: str) -> dict[str, Any]:
    """Return how the line of a row is drawn.

    Parameters
    ----------
    method : str
        The row.

    Returns
    -------
    dict
        Arguments of ``Axes.plot``.

    Examples
    --------
    >>> line_style("pmc-w-paper")["marker"]
    'o'
    """
    colour, marker, dash = _LOOK.get(method, _OTHER)
    ours = method == OURS
    return {
        "color": colour,
        "marker": marker,
        "linestyle": dash,
        "linewidth": 2.2 if ours else 1.4,
        "markersize": 9 if ours else 5.5,
        "zorder": 5 if ours else 3,
        "label": label(method),
    }


def render(picture: Picture, form: str, name: str) -> bytes:
    """Return a picture as the bytes of a file: the same bytes for the same picture.

    Parameters
    ----------
    picture : matplotlib.figure.Figure
        What to save.
    form : {"png", "svg"}
        Which kind of file.
    name : str
        Of the picture.

    Returns
    -------
    bytes

    Examples
    --------
    >>> render(new_picture(1, 1), "png", "empty")[1:4]
    b'PNG'
    """
    from matplotlib import rc_context

    file = io.BytesIO()
    with rc_context({"svg.hashsalt": name}):
        # Without these a file would tell when, and by which version, it was made.
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        picture.savefig(file, format=form, dpi=140, metadata=metadata)
    return file.getvalue()
