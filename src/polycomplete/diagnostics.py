"""Diagnostics of data and fits: gradients, spectra, dimensions, undetermined rows; and plots.

Every ``plot_`` function draws on the given axes, or on new ones, and returns them. matplotlib is
imported by the first plot (``pip install "polycomplete[plots]"``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from polycomplete._optional import need
from polycomplete.masks import as_mask
from polycomplete.methods.base import Scaled
from polycomplete.methods.completer import Completer
from polycomplete.report.columns import BINS, Cells, cells_of, columns_of
from polycomplete.solvers.low_rank import LinearModel
from polycomplete.surface import SurfaceModel

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

#: Colors that are safe for color blindness.
SEEN, NEW = "#0072b2", "#d55e00"
STYLES: list[dict[str, Any]] = [{"color": SEEN, "alpha": 0.45},
                                {"color": NEW, "histtype": "step", "linewidth": 1.8}]  # fmt: skip
#: Maximum number of columns with labels, and of rows whose spectrum is drawn.
NAMES, ROWS = 40, 500


@dataclass(frozen=True)
class GradientCheck:
    """Result of a Taylor test: the error is of second order if the gradient is right.

    Attributes
    ----------
    steps : ndarray
        Step sizes.
    errors : ndarray
        The error of the linear model at each of them.
    slope : float
        Slope of the errors on a log-log scale: 2 for a right gradient, 1 for a wrong one.

    Examples
    --------
    >>> GradientCheck(np.array([1.0, 0.5]), np.array([1.0, 0.25]), 2.0).passed
    True
    """

    steps: np.ndarray
    errors: np.ndarray
    slope: float

    @property
    def passed(self) -> bool:
        """Whether the slope is that of a right gradient, or there is no error."""
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
        A function from a point to its value and gradient.
    x : ndarray
        The point.
    largest : float, default=0.1
        The largest step size; each of the others is half of the one before.
    random_state : int, default=0
        Seed of the direction.

    Returns
    -------
    GradientCheck
        The errors, and whether the gradient passed.

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
    # Of the errors above rounding, small steps show an error of first order best.
    eps = float(np.finfo(x.dtype).eps)
    shaken = [(x * (1 + 4 * eps * rng.standard_normal(x.shape))).astype(x.dtype) for _ in range(4)]
    rounding = max(abs(objective(y)[0] - value) for y in shaken)
    noise = 16 * rounding + 64 * eps * max(abs(value), 1e-300)
    clear = np.flatnonzero(errors > noise)[-4:]
    if len(clear) >= 3:
        slope = float(np.polyfit(np.log(steps[clear]), np.log(errors[clear]), 1)[0])
    else:  # of a linear function, or of one that does not change beyond rounding
        slope = np.inf if np.any(np.abs(changes) > noise) else np.nan
    return GradientCheck(steps, errors, slope)


def intrinsic_dimension(X: np.ndarray) -> float:
    """Estimate the dimension of the surface from the two nearest neighbors of each row.

    The distribution of the ratio of their distances depends on the dimension alone [1]_. Duplicate
    rows are left out; rows on a regular grid, whose distances are all equal, give NaN.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Complete rows, at least four different ones.

    Returns
    -------
    float
        The dimension, usually not an integer.

    References
    ----------
    .. [1] E. Facco, M. d'Errico, A. Rodriguez and A. Laio (2017). Estimating the intrinsic
       dimension of datasets by a minimal neighborhood information. Scientific Reports 7.

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
    ratios = ratios[ratios > 1 + 1e-9]  # equal distances, as on a grid
    if len(ratios) < 4:
        return float("nan")
    # The tail is noisy in small samples: the estimator leaves out the largest tenth.
    kept = ratios[: int(0.9 * len(ratios))]
    x, y = np.log(kept), -np.log1p(-np.arange(1, len(kept) + 1) / len(ratios))
    return float(np.sum(x * y) / np.sum(x * x))


def row_notes(completer: Completer, mask: np.ndarray) -> dict[int, str]:
    """Return which training rows are not determined by their observed entries, and why.

    Parameters
    ----------
    completer : Completer
        A fitted completer.
    mask : ndarray of bool, shape (n_samples, n_features)
        True where the training data were observed.

    Returns
    -------
    dict
        From the numbers of undetermined rows to a sentence each.

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
    counts, why = as_mask(mask).sum(axis=1), "no observed entry: filled with the column means"
    notes = dict.fromkeys(np.flatnonzero(counts == 0).tolist(), why)
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
    """Return the spectrum of a fitted completer, largest values first.

    With a kernel these are the eigenvalues of the Gram matrix of the rows, for ``LRMC`` the
    singular values of the matrix. A few large ones and a steep decay mean that the rows are close
    to a low-dimensional surface.

    Parameters
    ----------
    completer : Completer
        A fitted completer.

    Returns
    -------
    ndarray of shape (n_rows,)
        Eigenvalues or singular values.

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
    """Return a spectrum (of ``most`` rows at most), its rank, and the level of the smoothing."""
    match completer.model_:
        case None:
            raise ValueError("This completer learned no surface: no column of its data varies.")
        case Scaled(model=LinearModel() as model):
            return model.values[:most], model.rank if len(model.values) else 0, None
        case SurfaceModel() as model if len(model.rows):
            count = len(model.rows)
            kept = np.linspace(0, count - 1, min(count, most or count)).astype(int)
            rows = np.asarray(model.rows)[kept]
            values = np.maximum(np.linalg.eigvalsh(model.kernel.gram(rows))[::-1], 0)
            # Eigenvalues grow with the number of rows.
            size = float(np.mean(model.kernel.diagonal(rows))) * len(rows)
            level = float(model.smoothing) * size / count
            return values, int(np.count_nonzero(values > level)), level
    raise ValueError(f"{type(completer).__name__} has no spectrum.")


def plot_missingness(X: Any, ax: Axes | None = None) -> Axes:
    """Plot which cells of a table are missing: a line for each row, dark where missing.

    Parameters
    ----------
    X : array-like or data frame
        A table with cells of any kind; NaN, None or null where missing.
    ax : Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

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
    """Plot the convergence of the objective.

    If the smoothing shrinks in stages, the plot shows the distance from the end of each stage; if
    it shrinks all the time, the share gained by each iteration, both on a logarithmic scale;
    otherwise the objective itself.

    Parameters
    ----------
    completer : estimator or Result
        A fitted completer, or its ``result_``.
    ax : Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

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
    """Return lines that show the course of a run, and the label of their values.

    Objectives of stages with different smoothings cannot be compared.
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
    """Plot the spectrum of a fitted completer, with its rank and the level of the smoothing.

    Of more than 500 rows, 500 are used.

    Parameters
    ----------
    completer : estimator
        A fitted completer.
    ax : Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC(scale=None).fit([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> plot_spectrum(fitted).get_title()
    'rank 1'
    """
    values, rank, level = _spectrum(completer, ROWS)
    ax = _axes(ax)
    heights = np.maximum(values, 1e-16 * max(values, default=0))  # below is rounding
    ax.semilogy(np.arange(1, len(values) + 1), heights, color=SEEN, marker=".", markersize=3)
    ax.axvline(rank + 0.5, color=NEW, linestyle="--", label="rank")
    if level:
        ax.axhline(level, color=NEW, linestyle=":", label="smoothing")
        ax.legend()
    ax.set(xlabel="number", ylabel="value", title=f"rank {rank}")
    return ax


def plot_before_after(given: Any, completed: Any, column: Any = 0, ax: Axes | None = None) -> Axes:
    """Plot the distributions of the observed and of the completed cells of a column.

    Parameters
    ----------
    given, completed : array-like or data frame
        The table before and after.
    column : int or str, default=0
        Position or name of the column.
    ax : Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

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
    """Plot a phase diagram: the share recovered by observed share and number of rows.

    Parameters
    ----------
    shares : array-like of shape (len(rows), len(rates))
        Share recovered, between 0 and 1.
    rates : sequence of float
        Shares of observed entries, ascending.
    rows : sequence of int
        Numbers of rows.
    bounds : mapping, optional
        Lines in the diagram: from names to the rate for each number of rows.
    ax : Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

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
    """Return the given axes, or new ones."""
    if ax is not None:
        return ax
    return need("matplotlib.pyplot", "plots", "A picture").subplots(layout="constrained")[1]
