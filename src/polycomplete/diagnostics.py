"""Looking inside: gradients, spectra, and rows that cannot be determined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from polycomplete.completers import Completer

__all__ = ["GradientCheck", "check_gradient", "intrinsic_dimension", "row_notes", "spectrum"]


@dataclass(frozen=True)
class GradientCheck:
    """A Taylor test: the error of the linear model at each step size, and its slope.

    A right gradient leaves an error of second order: slope 2 on a log-log scale. A wrong one
    leaves one of first order: slope 1.
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
    largest : float
        The first step size; the others halve from there.
    random_state : int
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
    slope_along = float(np.sum(gradient.astype(np.float64) * direction))
    errors = np.abs(changes - steps * slope_along)
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


def spectrum(completer: Completer) -> np.ndarray:
    """Return the eigenvalues of the Gram matrix of a fitted completer, largest first.

    Few large ones and a steep fall mean that the rows lie close to a low-dimensional surface.

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
    surface = completer.model_
    if surface is None:
        raise ValueError("This completer learned no surface: no column of its data varies.")
    values = np.linalg.eigvalsh(surface.kernel.gram(surface.rows))
    return np.maximum(values[::-1], 0)


def intrinsic_dimension(X: np.ndarray) -> float:
    """Estimate the dimension of the surface from the two nearest neighbours of each row.

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
    share = np.arange(1, len(kept) + 1) / len(ratios)
    x, y = np.log(kept), -np.log1p(-share)
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
