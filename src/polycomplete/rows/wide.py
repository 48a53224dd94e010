"""Newton steps of rows with many holes, by conjugate gradients: no matrix of a row is formed.

The Gauss–Newton matrix of a row is ``H = 2 (a I − J Jᵀ + b x xᵀ)`` with the q columns of J given by
the landmarks. A product with it needs two products with the landmarks and two with their factor F,
or one with F Fᵀ where that is less, for all rows of a block at once. Most of its eigenvalues are a;
those along the surface are small and few, so that few iterations are enough.
"""

from __future__ import annotations

from collections.abc import Callable

from array_api_compat import array_namespace

from polycomplete._arrays import Array
from polycomplete.rows.energy import RowEnergy

ITERATIONS = 5  # of the conjugate gradients
COUNTED = 8  # ... that the matrices of rows are weighed against: rough steps take more sweeps
#: Rows with more holes than this have no matrices at all, not even to measure deviations.
WIDE = 128


def pays(energy: RowEnergy, holes: int, columns: int) -> bool:
    """Return whether conjugate gradients take clearly fewer operations than matrices of rows.

    Not counted is that a product with F Fᵀ may take fewer: at a tie, exact steps are better.
    """
    r, q = energy.factor.shape
    matrices = 2 * r * q * holes + 2 * q * holes**2 + holes**3
    return COUNTED * 4 * (r * columns + r * q) < matrices


def newton_step(
    energy: RowEnergy, X: Array, holes: Array, damping: Array, iterations: int = ITERATIONS
) -> tuple[Array, Array]:
    """Return the energy of each row, and the rows after a damped Newton step of their holes.

    Parameters
    ----------
    energy : RowEnergy
        The surface.
    X : array of shape (g, m)
        Complete rows.
    holes : array of bool, shape (g, m)
        What may move.
    damping : array of shape (g,)
        In units of the kernel's metric.
    iterations : int
        Of the conjugate gradients. Stopped early, they still point downwards.

    Returns
    -------
    E, moved : arrays of shape (g,) and (g, m)

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.rows import learn
    >>> t = np.linspace(0, 1, 20)
    >>> energy = learn(RBF(width=2.0), np.c_[t, t**2], gamma=1e-8)
    >>> row, holes = np.array([[0.5, 0.3]]), np.array([[False, True]])
    >>> newton_step(energy, row, holes, np.zeros(1))[1].round(2)
    array([[0.5 , 0.25]])
    """
    xp = array_namespace(X)
    kernel, L, F = energy.kernel, energy.landmarks, energy.factor
    K = kernel.gram(X, L)
    s, t = kernel.slopes(X, L, K)
    origin = xp.mean(L, axis=0) if s is t else xp.zeros_like(L[0, :])
    P, L, Y = K @ F, L - origin, X - origin
    Q = P * kernel.decay if kernel.decay else (K * 0 + t) @ F
    a, b = kernel.metric(X)
    free = xp.astype(holes, X.dtype)
    stiff = (xp.clip(a, energy.least, None) * (1 + damping))[:, None]
    pulled, length = Q @ F.T, xp.sum(Q * Q, axis=1)
    short = 2 * F.shape[1] > F.shape[0]

    def explained(V: Array) -> Array:
        """Return JJᵀv of each row, with Jᵀv = Fᵀ(s Lv) − (y·v) q."""
        W, along = s * (V @ L.T), xp.sum(V * Y, axis=1)
        back = W @ energy.inverse if short else (W @ F) @ F.T
        back = back - along[:, None] * pulled
        along = xp.sum(W * pulled, axis=1) - along * length
        return (s * back) @ L - along[:, None] * Y

    def product(V: Array) -> Array:
        along = (b * xp.sum(V * X, axis=1))[:, None] * X
        return free * (stiff * V - explained(V) + along)

    gradient = (s * (P @ F.T)) @ L - xp.sum(P * Q, axis=1)[:, None] * Y
    slope = free * (kernel.diagonal_slope(X)[:, None] * X - gradient)
    step = _conjugate_gradients(product, -slope, iterations)
    return kernel.diagonal(X) - xp.linalg.vecdot(P, P), X + step


def _conjugate_gradients(product: Callable[[Array], Array], right: Array, iterations: int) -> Array:
    """Solve for each row by itself; a row that is done, or not convex, stays where it is."""
    xp = array_namespace(right)
    x, residual, direction = xp.zeros_like(right), right, right
    size = xp.sum(residual * residual, axis=1)
    floor = size * 1e-12
    for _ in range(iterations):
        turned = product(direction)
        curvature = xp.sum(direction * turned, axis=1)
        going = (size > floor) & (curvature > 0)
        if not bool(xp.any(going)):
            break
        length = xp.where(going, size / xp.where(going, curvature, 1.0), 0.0)
        x = x + length[:, None] * direction
        residual = residual - length[:, None] * turned
        new = xp.sum(residual * residual, axis=1)
        ratio = xp.where(going, new / xp.where(going, size, 1.0), 0.0)
        direction = residual + ratio[:, None] * direction
        size = new
    return x
