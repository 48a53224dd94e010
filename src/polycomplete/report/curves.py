"""Two curves: how the run went, and the spectrum of what was learned."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

__all__ = ["convergence", "course", "spectrum"]

#: What the lines of a course show.
GAPS, GAINS, OBJECTIVE = "distance from the end", "share gained", "objective"

#: Points of a curve, at most.
POINTS = 300
#: Rows whose kernel matrix is taken apart, at most: it costs their cube.
ROWS = 500
#: Eigenvalues below this share of the largest are rounding.
ROUNDING = 1e-16


def convergence(result: Any) -> dict[str, Any]:
    """Return the course of a run, thinned to a few hundred points.

    Parameters
    ----------
    result : Result
        Of a fitted completer.

    Returns
    -------
    dict
        iterations, seconds, stop, converged, and the curve: iteration, objective, smoothing, and
        gain where there is one.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> course = convergence(LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]]).result_)
    >>> course["stop"], len(course["objective"]) == course["iterations"]
    ('converged', True)
    """
    count = len(result.objective)
    kept = np.unique(np.linspace(0, count - 1, min(count, POINTS)).astype(int))
    return {
        "iterations": int(result.iterations),
        "seconds": float(result.seconds),
        "stop": result.stop,
        "converged": bool(result.converged),
        "iteration": [int(i) + 1 for i in kept],
        "objective": [float(result.objective[i]) for i in kept],
        "smoothing": [float(result.smoothings[i]) for i in kept],
        "gain": [float(result.gains[i]) for i in kept] if result.gains else [],
    }


def course(run: dict[str, Any]) -> tuple[list[list[tuple[int, float]]], str]:
    """Return the lines that show how a run went.

    Where the smoothing shrinks in stages, the objective of one says nothing about that of the next:
    the lines, one for each stage, then show how far it still was from its last, relative to that.
    Where the smoothing moves all the time, there is one line: the share by which each iteration
    lowered the objective, if that is known, or the objective itself.

    Parameters
    ----------
    run : dict
        From :func:`convergence`.

    Returns
    -------
    stages : list of lists of (iteration, height)
    label : str
        What the heights are.

    Examples
    --------
    >>> run = {"iteration": [1, 2, 3, 4], "objective": [3.0, 2.0, 1.5, 1.0], "smoothing": [1.0] * 4}
    >>> course(run)
    ([[(1, 2.0), (2, 1.0), (3, 0.5)]], 'distance from the end')
    """
    known = zip(run["iteration"], run["objective"], run["smoothing"], strict=True)
    points = [point for point in known if point[1] is not None]
    parts = [[point[:2] for point in part] for _, part in groupby(points, lambda point: point[2])]
    if len(points) < 4 * len(parts):
        if run.get("gain"):
            gained = zip(run["iteration"], run["gain"], strict=True)
            return [[point for point in gained if point[1] > 0]], GAINS
        return [[point[:2] for point in points]], OBJECTIVE
    return [_gaps(part) for part in parts], GAPS


def _gaps(stage: list[tuple[int, float]]) -> list[tuple[int, float]]:
    end = stage[-1][1]
    unit = abs(end) or 1.0
    return [(i, abs(height - end) / unit) for i, height in stage if height != end]


def spectrum(model: Any) -> dict[str, Any] | None:
    """Return the spectrum of a learned model, largest first, and the rank in use.

    Parameters
    ----------
    model : object
        ``model_`` of a fitted completer.

    Returns
    -------
    dict or None
        matrix (what it is the spectrum of), values, rank, and level: values below it count as
        noise. None for models that have no spectrum.

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> fitted = LRMC(scale=None).fit([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> spectrum(fitted.model_)["rank"]
    1
    """
    inner = getattr(model, "model", model)  # below the scaling of the columns
    if hasattr(inner, "directions"):
        return _linear(inner)
    if hasattr(inner, "kernel") and hasattr(inner, "rows") and len(inner.rows):
        return _kernel(inner)
    return None


def _linear(model: Any) -> dict[str, Any]:
    return {
        "matrix": "the completed matrix (singular values)",
        "values": [float(value) for value in model.values[:ROWS]],
        "rank": model.rank if len(model.values) else 0,
        "level": None,
    }


def _kernel(model: Any) -> dict[str, Any]:
    rows = np.asarray(model.rows)
    at = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), ROWS)).astype(int))
    values = np.linalg.eigvalsh(model.kernel.gram(rows[at]))[::-1]
    values = np.maximum(values, ROUNDING * max(float(values[0]), 0.0))
    level = _level(model, rows[at], len(at) / len(rows))
    atoms = getattr(model, "atoms", None)
    rank = int(np.count_nonzero(values > (level or 0))) if atoms is None else len(atoms)
    return {
        "matrix": f"the kernel matrix of {len(at)} rows (eigenvalues)",
        "values": [float(value) for value in values],
        "rank": rank,
        "level": level,
    }


def _level(model: Any, rows: np.ndarray, share: float) -> float | None:
    """Return γ on the scale of the eigenvalues of these rows, which grow with their number."""
    if hasattr(model, "floor"):  # of the mean over rows
        return float(model.floor) * len(rows)
    if hasattr(model, "smoothing"):
        return float(model.smoothing) * float(np.mean(model.kernel.diagonal(rows))) * share
    return None
