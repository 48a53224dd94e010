"""Looking inside: gradients, spectra, rows that cannot be determined; and pictures of them.

Every ``plot_`` function draws on the axes that it is given, or on new ones, and returns them.
matplotlib is loaded when the first picture is drawn (``pip install "polycomplete[plots]"``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from polycomplete._optional import need
from polycomplete.methods.completer import Completer
from polycomplete.report.columns import BINS, Cells, cells_of, columns_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GradientCheck",
    "check_gradient",
    "intrinsic_dimension",
    "plot_before_after",
    "plot_convergence",
    "plot_missingness",
    "plot_phase_diagram",
    "plot_spectrum",
    "row_notes",
    "spectrum",
]

#: Colors that people with any color vision tell apart.
SEEN, NEW = "#0072b2", "#d55e00"
STYLES: list[dict[str, Any]] = [{"color": SEEN, "alpha": 0.45},
                                {"color": NEW, "histtype": "step", "linewidth": 1.8}]  # fmt: skip
#: Maximum number of columns that are named below a map, and of rows whose spectrum is drawn.
NAMES, ROWS = 40, 500


@dataclass(frozen=True)
class GradientCheck:
    """A Taylor test: a right gradient leaves an error of second order, a wrong one of first.

    Attributes
    ----------
    steps, errors : ndarray
        Step sizes, and the error of the linear model at each.
    slope : float
        Of the errors on a log-log scale: 2 for a right gradient, 1 for a wrong one.
    """

    steps: np.ndarray
    errors: np.ndarray
    slope: float

    @property
    def passed(self) -> bool:
        """Whether the slope is that of a right gradient (or the error nil)."""
        return self.slope > 1.8


def check_gradient(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    *,
    largest: float = 1e-1,
    random_state: int = 0,
) -> GradientCheck:
    """Check a gradient by the order of the error of its linear model.

    Parameters
    ----------
    objective : callable
        Returns value and gradient at a point.
    x : ndarray
        The point.
    largest : float, default=0.1
        The first step size; the others halve from there.
    random_state : int, default=0
        Seed of the direction.

    Returns
    -------
    GradientCheck

    Examples
    --------
    >>> import numpy as np
    >>> check_gradient(lambda x: (float(np.sum(x**3)), 3 * x**2), np.ones(4)).passed
    True
    >>> check_gradient(lambda x: (float(np.sum(x**3)), 2 * x**2), np.ones(4)).passed
    False
    """
    rng = np.random.default_rng(random_state)
    direction = rng.standard_normal(x.shape)
    direction /= np.linalg.norm(direction)
    value, gradient = objective(x)
    steps = largest * 0.5 ** np.arange(14)
    changes = np.array([objective(x + (h * direction).astype(x.dtype))[0] for h in steps]) - value
    errors = np.abs(changes - steps * float(np.sum(gradient.astype(np.float64) * direction)))
    # Rounding ends the descent of the error: only what stands clear of it counts, and of that
    # the finest steps, where a small first-order error shows.
    eps = float(np.finfo(x.dtype).eps)
    shaken = [(x * (1 + 4 * eps * rng.standard_normal(x.shape))).astype(x.dtype) for _ in range(4)]
    rounding = max(abs(objective(y)[0] - value) for y in shaken)
    noise = 16 * rounding + 64 * eps * max(abs(value), 1e-300)
    clear = np.flatnonzero(errors > noise)[-4:]
    if len(clear) >= 3:
        slope = float(np.polyfit(np.log(steps[clear]), np.log(errors[clear]), 1)[0])
    else:  # a linear function has no error; one that does not change beyond rounding shows nothing
        slope = np.inf if np.any(np.abs(changes) > noise) else np.nan
    return GradientCheck(steps, errors, slope)


def intrinsic_dimension(X: np.ndarray) -> float:
    """Estimate the dimension of the surface from the two nearest neighbors of each row.

    The ratio of their distances follows a law that depends on the dimension alone (Facco et al.,
    2017). Duplicated rows are left out; rows on a regular grid, all of whose distances are equal,
    give NaN.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Complete rows, at least four different ones.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> flat = np.random.default_rng(0).uniform(size=(500, 2)) @ np.ones((2, 6)) ** 0.5
    >>> round(intrinsic_dimension(flat))
    1
    """
    rows = np.unique(X, axis=0)
    if len(rows) < 4:
        raise ValueError(f"At least four different rows are needed, got {len(rows)}.")
    distances = cKDTree(rows).query(rows, k=3)[0]
    ratios = np.sort(distances[:, 2] / distances[:, 1])
    ratios = ratios[ratios > 1 + 1e-9]  # equal distances, as on a grid, tell nothing
    if len(ratios) < 4:
        return float("nan")
    # The far tail is noisy in small samples; the usual estimator leaves out the top tenth.
    kept = ratios[: int(0.9 * len(ratios))]
    x, y = np.log(kept), -np.log1p(-np.arange(1, len(kept) + 1) / len(ratios))
    return float(np.sum(x * y) / np.sum(x * x))


def row_notes(completer: Completer, mask: np.ndarray) -> dict[int, str]:
    """Say which training rows are not determined by their observed entries, and why.

    Parameters
    ----------
    completer : Completer
        Fitted.
    mask : ndarray of bool, shape (n_samples, n_features)
        True where the training data were observed.

    Returns
    -------
    dict
        From row number to a sentence; rows that are fine are not in it.

    Examples
    --------
    >>> from polycomplete import PMC, datasets, masks
    >>> X = datasets.make_polynomial_manifold(80, 10, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.7, random_state=0)
    >>> mask[5] = False
    >>> notes = row_notes(PMC(random_state=0).fit(masks.apply(X, mask)), mask)
    >>> notes[5]
    'no observed entry: filled with the column means'
    """
    counts = np.asarray(mask).sum(axis=1)
    empty = np.flatnonzero(counts == 0).tolist()
    notes = dict.fromkeys(empty, "no observed entry: filled with the column means")
    if completer.model_ is None:
        return notes
    rows = np.unique(completer.model_.rows, axis=0)
    estimate = intrinsic_dimension(rows) if len(rows) >= 4 else float("nan")
    dimension = 1 if np.isnan(estimate) else round(estimate)
    needed = f"but a surface of about {dimension} dimensions needs at least {dimension + 1}"
    for i in np.flatnonzero((counts > 0) & ~completer.row_determined_):
        why = "and several completions fit them about equally well"
        if counts[i] <= dimension:
            why = f"{needed}: many completions fit"
        notes[int(i)] = f"{counts[i]} observed, {why}"
    return notes


def spectrum(completer: Completer) -> np.ndarray:
    """Return the spectrum of what a fitted completer learned, largest first.

    Of a completer with a kernel these are the eigenvalues of the Gram matrix of its rows, of
    ``LRMC`` the singular values of the matrix. Few large ones and a steep fall mean that the rows
    lie close to a low-dimensional surface.

    Parameters
    ----------
    completer : Completer
        Fitted.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> from polycomplete import PMC, datasets
    >>> X = datasets.make_polynomial_manifold(60, 10, random_state=0)
    >>> values = spectrum(PMC(random_state=0).fit(X))
    >>> values.shape, bool(values[20] < 1e-3 * values[0])
    ((60,), True)
    """
    return _spectrum(completer)[0]


def _spectrum(completer: Any, most: int | None = None) -> tuple[np.ndarray, int, float | None]:
    """Return a spectrum (of ``most`` rows at most), the rank in use, the level of the smoothing."""
    model = getattr(completer.model_, "model", completer.model_)  # below the scaling of the columns
    if model is None:
        raise ValueError("This completer learned no surface: no column of its data varies.")
    if hasattr(model, "directions"):
        return model.values[:most], model.rank if len(model.values) else 0, None
    if not hasattr(model, "kernel") or not len(getattr(model, "rows", ())):
        raise ValueError(f"{type(completer).__name__} has no spectrum.")
    count, level = len(model.rows), None
    rows = np.asarray(model.rows)[np.linspace(0, count - 1, min(count, most or count)).astype(int)]
    values = np.maximum(np.linalg.eigvalsh(model.kernel.gram(rows))[::-1], 0)
    if hasattr(model, "floor"):  # of the mean over rows
        level = float(model.floor) * len(rows)
    elif hasattr(model, "smoothing"):  # eigenvalues grow with the number of rows
        size = float(np.mean(model.kernel.diagonal(rows))) * len(rows)
        level = float(model.smoothing) * size / count
    return values, int(np.count_nonzero(values > (level or 0))), level


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

    Of more than 500 rows, 500 are taken.

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
    values, rank, level = _spectrum(completer, ROWS)
    ax = _axes(ax)
    heights = np.maximum(values, 1e-16 * max(values, default=0))  # what is below is rounding
    ax.semilogy(np.arange(1, len(values) + 1), heights, color=SEEN, marker=".", markersize=3)
    ax.axvline(rank + 0.5, color=NEW, linestyle="--", label="rank")
    if level:
        ax.axhline(level, color=NEW, linestyle=":", label="smoothing")
        ax.legend()
    ax.set(xlabel="number", ylabel="value", title=f"rank {rank}")
    return ax


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
