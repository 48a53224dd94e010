"""How far a missing entry may move: the curvature of the row energy as an uncertainty."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from polycomplete.kernels import Array
from polycomplete.rows.energy import Expansion, RowEnergy
from polycomplete.rows.holes import Block
from polycomplete.rows.wide import WIDE

__all__ = ["deviations", "deviations_in_place"]

BLOCK_BYTES = 32e6  # of the largest array at a time
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
    softest : array of shape (g,)
        The smallest curvature of each row, in units of the kernel's metric.

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
    ...     found, softest = deviations(energy, arc[[10, 10]], block, 1e-8)
    >>> bool(found[0, 0] < 0.01 < 0.1 < found[1].min()), bool(softest[1] < 1e-3 < softest[0])
    (True, True)
    """
    xp = array_namespace(X)
    rows = xp.take(X, block.rows, axis=0)
    if block.padding.shape[1] > WIDE:  # without matrices there is the metric alone
        a = energy.kernel.metric(rows)[0]
        return xp.where(block.padding, 0.0, xp.sqrt(budget / a)[:, None]), a * 0 + 1
    return _deviations(block.expand(energy, rows), block.padding, budget)


def _deviations(here: Expansion, mask: Array, budget: float) -> tuple[Array, Array]:
    xp = array_namespace(here.J)
    # Rounding may leave a slightly negative direction: the eigenvalues are floored, not the matrix.
    metric = here.a[:, None, None]
    H = here.hessian(mask, SOFTEST) / (2 * metric)
    H = xp.where((mask[:, :, None] & mask[:, None, :]), H * (2 * metric), H)  # ones stay ones
    values, V = xp.linalg.eigh(H)
    floored = xp.clip(values, SOFTEST, None)
    variance = xp.sum(V * V / floored[:, None, :], axis=2) * (budget / here.a)[:, None]
    return xp.where(mask, 0.0, xp.sqrt(variance)), floored[:, 0]


def deviations_in_place(
    energy: RowEnergy, X: np.ndarray, mask: np.ndarray, budget: float
) -> np.ndarray:
    """Return the deviation of each missing entry of the landmarks, given the other landmarks.

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
    ndarray of shape (n, m)
        Zero where observed.

    Examples
    --------
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.rows import learn
    >>> t = np.linspace(0, 1, 20)
    >>> arc = np.c_[t, t**2]
    >>> mask = np.ones(arc.shape, dtype=bool)
    >>> mask[3, 1] = False
    >>> found = deviations_in_place(learn(RBF(width=2.0), arc, 1e-8), arc, mask, 1e-8)
    >>> np.argwhere(found > 0)
    array([[3, 1]])
    """
    found = np.zeros_like(X)
    rows = np.flatnonzero(~mask.all(axis=1))
    size = max(1, int(BLOCK_BYTES / (8 * X.shape[1] * len(energy.landmarks))))
    for begin in range(0, len(rows), size):
        who = rows[begin : begin + size]
        found[who] = _deviations(energy.expand(X[who], who), mask[who], budget)[0]
    return found
