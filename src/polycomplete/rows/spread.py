"""How far a missing entry may move: the curvature of the row energy as an uncertainty."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from polycomplete._arrays import Array
from polycomplete.rows.energy import Expansion, Quadratic, RowEnergy
from polycomplete.rows.holes import Block
from polycomplete.rows.wide import WIDE

WIDEST = 256  # columns up to which the landmarks have matrices
BLOCK_BYTES = 32e6  # of the largest array at a time
#: Of a typical distance of two rows: a row that may move this far is not determined.
LOOSE = 0.25
SOFT = 1e-3  # of the kernel's metric: a direction that is soft in itself
SOFTEST = 1e-9  # of the kernel's metric: bounds the deviation of an entry that nothing holds


def deviations(energy: RowEnergy, X: Array, block: Block, budget: float) -> tuple[Array, Array]:
    """Return the deviation of each hole of a block: with rows Gaussian in their energy, its σ.

    A row may be anywhere where its energy is not much above ``budget``, the usual energy of a row:
    a Gaussian with the covariance ``budget (H/2)⁻¹``, H the Gauss–Newton matrix of its holes.

    Parameters
    ----------
    energy : RowEnergy
        The surface.
    X : array of shape (n, m)
        Completed rows.
    block : Block
        Which of them, and their holes.
    budget : float
        The usual energy.

    Returns
    -------
    deviation : array of shape (g, k)
        Zero in the padding.
    reach : array of shape (g,)
        How far each row may move along a direction that is soft in itself; 0 where none is: on
        noisy data every row may move far, along directions that are not.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.rows import Holes, learn
    >>> t = np.linspace(0, 1, 20)
    >>> arc = np.c_[t, t**2, t**3]
    >>> mask = np.array([[True, True, False], [False, False, False]])
    >>> energy = learn(RBF(width=2.0), arc, 1e-8)
    >>> for block in Holes(mask).blocks:
    ...     found, reach = deviations(energy, arc[[10, 10]], block, 1e-8)
    >>> bool(found[0, 0] < 0.01 < 0.1 < found[1].min()), reach > LOOSE
    (True, array([False,  True]))
    """
    xp = array_namespace(X)
    rows = xp.take(X, block.rows, axis=0)
    if block.padding.shape[1] > WIDE:
        return _by_metric(energy, rows, block.padding, budget)
    return _deviations(block.expand(energy, rows), block.padding, budget)


def _by_metric(energy: RowEnergy, X: Array, mask: Array, budget: float) -> tuple[Array, Array]:
    """Return deviations of rows that are too wide for matrices: by the kernel's metric alone.

    They are the same for all holes of a row, and too small until they are calibrated.
    """
    xp = array_namespace(X)
    a = xp.clip(energy.kernel.metric(X)[0], energy.least, None)
    return xp.where(mask, 0.0, xp.sqrt(budget / a)[:, None]), a * 0


def _deviations(here: Expansion | Quadratic, mask: Array, budget: float) -> tuple[Array, Array]:
    xp = array_namespace(here.a)
    # Rounding may leave a slightly negative direction: the eigenvalues are floored, not the matrix.
    metric = here.a[:, None, None]
    H = here.hessian(mask, SOFTEST) / (2 * metric)
    H = xp.where((mask[:, :, None] & mask[:, None, :]), H * (2 * metric), H)  # ones stay ones
    variance, softest = _softness(H)
    reach = xp.where(softest < SOFT, xp.sqrt(budget / (here.a * softest)), 0.0)
    return xp.where(mask, 0.0, xp.sqrt(variance * (budget / here.a)[:, None])), reach


def _softness(H: Array) -> tuple[Array, Array]:
    """Return the diagonal of the inverse of each matrix, and its smallest eigenvalue if soft.

    The inverse is all that most rows need, and several times cheaper than eigenvalues.
    """
    xp = array_namespace(H)
    variance = xp.asarray(xp.linalg.diagonal(xp.linalg.inv(H)), copy=True)
    total = xp.sum(variance, axis=1)
    # No direction is softer than the inverse of the trace says; rounding leaves negative ones.
    soft = xp.nonzero(~(xp.all(variance > 0, axis=1) & (total < 1 / SOFT)))[0]
    softest = xp.ones_like(total)
    if soft.shape[0]:
        variance[soft, :], softest[soft] = _by_eigenvalues(xp.take(H, soft, axis=0))
    return variance, softest


def _by_eigenvalues(H: Array) -> tuple[Array, Array]:
    xp = array_namespace(H)
    values, V = xp.linalg.eigh(H)
    floored = xp.clip(values, SOFTEST, None)
    return xp.sum(V * V / floored[:, None, :], axis=2), floored[:, 0]


def deviations_in_place(
    energy: RowEnergy, X: np.ndarray, mask: np.ndarray, budget: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`deviations` does for the landmarks, each given the others.

    Parameters
    ----------
    energy : RowEnergy
        The surface through X, learned with ``in_place=True``.
    X, mask : ndarrays of shape (n, m)
        Its landmarks, and True where their entries were observed.
    budget : float
        The usual energy.

    Returns
    -------
    deviation, reach : ndarrays of shape (n, m) and (n,)
        Zero where observed, and for complete rows.

    Examples
    --------
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.rows import learn
    >>> t = np.linspace(0, 1, 20)
    >>> arc = np.c_[t, t**2, t**3]
    >>> mask = np.ones(arc.shape, dtype=bool)
    >>> mask[3, 1:], mask[5] = False, False
    >>> found, reach = deviations_in_place(learn(RBF(width=2.0), arc, 1e-8), arc, mask, 1e-8)
    >>> np.flatnonzero(found.any(axis=1)), np.flatnonzero(reach > LOOSE)
    (array([3, 5]), array([5]))
    """
    if X.shape[1] > WIDEST:
        return _by_metric(energy, X, mask, budget)
    found, reach = np.zeros_like(X), np.zeros(len(X), dtype=X.dtype)
    rows = np.flatnonzero(~mask.all(axis=1))
    size = max(1, int(BLOCK_BYTES / (8 * X.shape[1] * len(energy.landmarks))))
    for begin in range(0, len(rows), size):
        who = rows[begin : begin + size]
        here = energy.expand(X[who], who)
        found[who], reach[who] = _deviations(here, mask[who], budget)
    return found, reach
