"""Pictures of data with holes and of what a completer made of them.

Every function draws on the axes that it is given, or on new ones, and returns them. matplotlib is
loaded when the first picture is drawn (``pip install "polycomplete[plots]"``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from polycomplete._optional import need
from polycomplete.report.columns import BINS, Cells, cells_of, columns_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_before_after",
    "plot_convergence",
    "plot_missingness",
    "plot_phase_diagram",
    "plot_spectrum",
]

#: Colors that people with any color vision tell apart.
SEEN, NEW = "#0072b2", "#d55e00"
STYLES: list[dict[str, Any]] = [{"color": SEEN, "alpha": 0.45},
                                {"color": NEW, "histtype": "step", "linewidth": 1.8}]  # fmt: skip
#: Maximum number of columns that are named below a map, and of rows whose kernel matrix is
#: decomposed, which costs their cube.
NAMES, ROWS = 40, 500


def plot_missingness(X: Any, ax: Axes | None = None) -> Axes:
    """Draw which cells of a table are missing: a line for each row, dark where missing.

    Parameters
    ----------
    X : array-like or data frame
        NaN, None or null where missing; columns may hold anything.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_missingness([[1.0, None], [2.0, 3.0]])
    >>> ax.get_title()
    '25.0 % missing'
    """
    ax = _axes(ax)
    columns = columns_of(X)
    missing = ~np.column_stack([cells_of(column).seen for column in columns.values()])
    cmap = need("matplotlib.colors", "plots", "A picture").ListedColormap(["#e9edf2", NEW])
    ax.imshow(missing, aspect="auto", interpolation="none", cmap=cmap, vmin=0, vmax=1)
    if len(columns) <= NAMES:
        names = [name if len(name) <= 20 else name[:19] + "…" for name in columns]
        ax.set_xticks(range(len(names)), names, rotation=90, parse_math=False)
    ax.set(xlabel="column", ylabel="row", title=f"{100 * missing.mean():.1f} % missing")
    return ax


def plot_convergence(completer: Any, ax: Axes | None = None) -> Axes:
    """Draw how the objective came down.

    Where the smoothing shrinks in stages: how far it still was from the end of its stage; where it
    shrinks all the time: the share that each iteration gained, both on a logarithmic scale;
    otherwise the objective itself.

    Parameters
    ----------
    completer : estimator or Result
        A fitted completer, or its ``result_``.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]])
    >>> plot_convergence(fitted).get_xlabel()
    'iteration'
    """
    result = getattr(completer, "result_", completer)
    if result is None:
        raise ValueError("Nothing was iterated in this fit: no column of its data varies.")
    ax = _axes(ax)
    stages, label = _course(result)
    for i, stage in enumerate(stages):
        ax.plot(*zip(*stage, strict=True), color=SEEN)
        if i:
            ax.axvline(stage[0][0] - 0.5, color="#c8d0d9", linewidth=0.8, zorder=0)
    ax.set(xlabel="iteration", ylabel=label, title=f"{result.stop}, {result.seconds:.1f} s")
    ax.set_yscale("linear" if label == "objective" else "log")
    return ax


def _course(result: Any) -> tuple[list[list[tuple[int, float]]], str]:
    """Return lines that show how a run went, and what their heights are.

    Where the smoothing shrinks in stages, the objective of one says nothing about that of the next.
    """
    points = list(zip(result.objective, result.smoothings, strict=True))
    numbered = groupby(enumerate(points, 1), lambda point: point[1][1])
    stages = [[(i, height) for i, (height, _) in stage] for _, stage in numbered]
    if len(points) >= 4 * len(stages):
        ends = [stage[-1][1] for stage in stages]
        gaps = [[(i, abs(height - end) / (abs(end) or 1.0)) for i, height in stage if height != end]
                for stage, end in zip(stages, ends, strict=True)]  # fmt: skip
        return [stage for stage in gaps if stage], "distance from the end"
    if result.gains:
        return [[(i, gain) for i, gain in enumerate(result.gains, 1) if gain > 0]], "share gained"
    return [[point for stage in stages for point in stage]], "objective"


def plot_spectrum(completer: Any, ax: Axes | None = None) -> Axes:
    """Draw the spectrum of what was learned, with the rank in use and the level of the smoothing.

    Parameters
    ----------
    completer : estimator
        A fitted completer.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC(scale=None).fit([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> plot_spectrum(fitted).get_title()
    'rank 1'
    """
    model = getattr(completer.model_, "model", completer.model_)  # below the scaling of the columns
    if hasattr(model, "directions"):
        values, rank, level = model.values[:ROWS], model.rank if len(model.values) else 0, None
    elif hasattr(model, "kernel") and len(getattr(model, "rows", ())):
        values, rank, level = _kernel_spectrum(model)
    else:
        raise ValueError(f"{type(completer).__name__} has no spectrum to draw.")
    ax = _axes(ax)
    ax.semilogy(np.arange(1, len(values) + 1), values, color=SEEN, marker=".", markersize=3)
    ax.axvline(rank + 0.5, color=NEW, linestyle="--", label="rank")
    if level:
        ax.axhline(level, color=NEW, linestyle=":", label="smoothing")
        ax.legend()
    ax.set(xlabel="number", ylabel="value", title=f"rank {rank}")
    return ax


def _kernel_spectrum(model: Any) -> tuple[np.ndarray, int, float | None]:
    """Return eigenvalues of the kernel matrix, the rank in use, and the level of the smoothing."""
    at = np.unique(np.linspace(0, len(model.rows) - 1, min(len(model.rows), ROWS)).astype(int))
    rows, level = np.asarray(model.rows)[at], None
    values = np.linalg.eigvalsh(model.kernel.gram(rows))[::-1]
    values = np.maximum(values, 1e-16 * max(float(values[0]), 0.0))  # what is below is rounding
    if hasattr(model, "floor"):  # of the mean over rows
        level = float(model.floor) * len(rows)
    elif hasattr(model, "smoothing"):  # eigenvalues grow with the number of rows
        share = len(rows) / len(model.rows)
        level = float(model.smoothing) * float(np.mean(model.kernel.diagonal(rows))) * share
    atoms = getattr(model, "atoms", None)
    rank = int(np.count_nonzero(values > (level or 0))) if atoms is None else len(atoms)
    return values, rank, level


def plot_before_after(given: Any, completed: Any, column: Any = 0, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the observed and of the completed cells of a column.

    Parameters
    ----------
    given, completed : array-like or data frame
        The table before and after.
    column : int or str
        Its place or its name.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> before, after = np.array([[1.0], [np.nan], [3.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> [text.get_text() for text in plot_before_after(before, after).get_legend().get_texts()]
    ['observed (2)', 'completed (1)']
    """
    (name, before), (_, after) = (_pick(table, column) for table in (given, completed))
    old, new = before.entries[before.seen], after.entries[after.seen & ~before.seen]
    ax = _axes(ax)
    draw = _draw_labels if before.kind == "text" else _draw_numbers
    draw(ax, [(f"observed ({len(old)})", old), (f"completed ({len(new)})", new)])
    ax.set(xlabel=name, ylabel="share of the cells")
    ax.legend()
    return ax


def _pick(table: Any, column: Any) -> tuple[str, Cells]:
    columns = columns_of(table)
    name = list(columns)[column] if isinstance(column, int | np.integer) else str(column)
    if name not in columns:
        known = ", ".join(list(columns)[:20])
        raise ValueError(f"There is no column {column!r}; there are {known}.")
    return name, cells_of(columns[name])


def _draw_numbers(ax: Axes, parts: list[tuple[str, np.ndarray]]) -> None:
    edges = np.histogram_bin_edges(np.concatenate([part for _, part in parts]), BINS)
    for (label, part), style in zip(parts, STYLES, strict=True):
        share = np.full(len(part), 1 / max(len(part), 1))
        ax.hist(part, edges.tolist(), weights=share, label=label, **style)


def _draw_labels(ax: Axes, parts: list[tuple[str, np.ndarray]]) -> None:
    names = sorted({str(entry) for _, part in parts for entry in part})
    for offset, color, (label, part) in zip((-0.2, 0.2), (SEEN, NEW), parts, strict=True):
        shares = [np.mean(part.astype(str) == name) if len(part) else 0.0 for name in names]
        ax.bar(np.arange(len(names)) + offset, shares, 0.4, color=color, label=label)
    ax.set_xticks(range(len(names)), names, parse_math=False)


def plot_phase_diagram(
    shares: Any,
    rates: Sequence[float],
    rows: Sequence[int],
    *,
    bounds: Mapping[str, Sequence[float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much is recovered, over the share observed and the number of rows.

    Parameters
    ----------
    shares : array-like of shape (len(rows), len(rates))
        What share is recovered, between 0 and 1.
    rates : sequence of float
        Shares of observed entries, ascending.
    rows : sequence of int
        Numbers of rows.
    bounds : mapping, optional
        Lines to draw into it: a name and the rate for each number of rows.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_phase_diagram([[0.1, 0.9]], [0.2, 0.4], [100])
    >>> [text.get_text() for text in ax.texts]
    ['10', '90']
    """
    ax, shares = _axes(ax), np.asarray(shares, dtype=float)
    image = ax.imshow(shares, origin="lower", aspect="auto", cmap="cividis", vmin=0, vmax=1)
    ax.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    ax.set_yticks(range(len(rows)), [str(n) for n in rows])
    for (i, j), share in np.ndenumerate(shares):
        color = "black" if share > 0.5 else "white"
        ax.text(j, i, f"{100 * share:.0f}", ha="center", va="center", color=color, fontsize=8)
    for (name, found), style in zip((bounds or {}).items(), ("-", ":", "--", "-."), strict=False):
        at = np.interp(found, rates, range(len(rates)), np.nan, np.nan)
        ax.plot(at, range(len(rows)), style, color="tab:red", linewidth=2.5, label=name)
    ax.set(xlabel="share of observed entries ρ", ylabel="rows n")
    ax.figure.colorbar(image, ax=ax, label="share recovered")
    if bounds:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.01), ncols=2, frameon=False)
    return ax


def _axes(ax: Axes | None) -> Axes:
    """Return the axes to draw on: new ones where none are given."""
    if ax is not None:
        return ax
    return need("matplotlib.pyplot", "plots", "A picture").subplots(layout="constrained")[1]
