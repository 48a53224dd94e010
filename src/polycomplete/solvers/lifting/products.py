"""The second-order lift of rows: from a row y to all products of two of its entries.

The lift is the symmetric matrix y yᵀ, whose inner product with that of another row is (x·y)². Up to
as many rows as there are products everything is computed from the Gram matrix of the lifts, and the
lifts are never written down; beyond that, from the covariance of the products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

#: Eigenpairs of matrices up to this size, or of more than a quarter of them, come from LAPACK.
SMALL = 160
#: Bytes of the products that are held for a block of rows.
BLOCK_BYTES = 32e6
#: What is lost in a difference, relative to what it is taken from.
ROUNDING = 1e-15


@dataclass(frozen=True)
class Lifter:
    """Brings rows to the form that is lifted: about unit length, and with a constant coordinate.

    By the length each row counts alike. The constant adds linear terms to the lift and settles
    the sign of a row.

    Attributes
    ----------
    unit : float
        Root mean square of the observed entries.
    offset : float
        Squared length of the constant coordinate relative to that of a typical row; 0 for none.

    Examples
    --------
    >>> lifter = Lifter(unit=1.0, offset=1.0)
    >>> Y, seen, length = lifter.prepare(np.array([[1.0, 7.0]]), np.array([[True, False]]))
    >>> Y.round(3), seen, length
    (array([[0.5  , 0.   , 0.707]]), array([[ True, False,  True]]), array([2.]))
    """

    unit: float
    offset: float

    @classmethod
    def fit(cls, X: np.ndarray, mask: np.ndarray, offset: float) -> Lifter:
        """Learn the unit from the observed entries, whose squares need not be numbers."""
        largest = float(np.max(np.abs(X[mask]))) or 1.0
        return cls(largest * (float(np.sqrt(np.mean((X[mask] / largest) ** 2))) or 1.0), offset)

    def prepare(self, X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows with zeros for missing entries, what is seen of them, their lengths."""
        known = np.where(mask, X, 0.0) / self.unit
        m = X.shape[1]
        # One more entry, of size one, keeps the length of hardly observed rows near the usual.
        square = m * ((np.sum(known**2, axis=1) + 1) / (mask.sum(axis=1) + 1) + self.offset)
        if self.offset > 0:
            known = np.column_stack([known, np.full(len(X), np.sqrt(self.offset * m))])
            mask = np.column_stack([mask, np.ones(len(X), dtype=bool)])
        length = np.sqrt(square)
        return known / length[:, None], mask, length * self.unit

    def restore(
        self, Y: np.ndarray, length: np.ndarray, X: np.ndarray, mask: np.ndarray
    ) -> np.ndarray:
        """Return completed rows in the units of X, whose observed entries stay as they are."""
        return np.where(mask, X, Y[:, : X.shape[1]] * length[:, None])


def misfit(basis: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the squared distance of the lift of each row from a space, with its gradient.

    With an orthonormal basis Z₁ … Z_R of the space it is E(y) = |y|⁴ − Σₖ (yᵀ Zₖ y)²; what rounding
    may have taken away from a difference of |y|⁴ is added.

    Parameters
    ----------
    basis : ndarray of shape (R, M, M)
        Symmetric matrices, orthonormal as vectors.
    Y : ndarray of shape (n, M)
        Complete rows.

    Returns
    -------
    E, gradient, B : ndarrays of shape (n,), (n, M) and (n, R, M)
        B holds Zₖ y, from which the curvature follows.

    Examples
    --------
    >>> line = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> misfit(line, np.array([[1.0, 1.0], [1.0, -1.0]]))[0].round(9)
    array([0., 4.])
    """
    size, M, _ = basis.shape
    B = (Y @ basis.transpose(1, 0, 2).reshape(M, size * M)).reshape(len(Y), size, M)
    P = (B @ Y[:, :, None])[:, :, 0]
    q = np.sum(Y**2, axis=1)
    gradient = 4 * (q[:, None] * Y - (P[:, None, :] @ B)[:, 0])
    return np.maximum(q**2 - np.sum(P**2, axis=1), 0) + ROUNDING * q**2, gradient, B


class Lifts:
    """The lifts of some rows: the space that explains most of them, and what it leaves.

    Eigenvectors of the last call serve as a start for the next one.

    Examples
    --------
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> lifts = Lifts()
    >>> [round(lifts.unexplained(Y, rank)[0], 3) for rank in (1, 2, 3)]
    [0.479, 0.146, 0.0]
    """

    def __init__(self) -> None:
        self._guess: np.ndarray | None = None

    def space(self, Y: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a basis (R, M, M) of the best space, and the mean square along each direction."""
        n, M = Y.shape
        if n <= M * (M + 1) // 2:
            values, V = self._leading((Y @ Y.T) ** 2, rank)
            kept = values > 1e-14 * max(float(values[-1]), 1e-300)
            W = (V[:, kept] / np.sqrt(values[kept])).T
            return (W[:, None] * Y.T) @ Y, values[kept] / n
        first, second = np.triu_indices(M)
        # Off the diagonal a product stands for two entries of the matrix.
        weight = np.where(first == second, 1.0, np.sqrt(2.0))
        products = Y[:, first] * Y[:, second] * weight
        values, V = self._leading(products.T @ products, rank)
        basis = np.empty((V.shape[1], M, M))
        basis[:, first, second] = basis[:, second, first] = (V / weight[:, None]).T
        return basis, values / n

    def unexplained(self, Y: np.ndarray, rank: int) -> tuple[float, np.ndarray]:
        """Return the mean squared distance of the lifts from their best space, and its gradient.

        The gradient is that for the space as it is: at its best, moving it changes nothing.
        """
        n, M = Y.shape
        if n <= M * (M + 1) // 2:
            G = Y @ Y.T
            q = np.diag(G)
            values, V = self._leading(G**2, rank)
            gradient = 4 * (q[:, None] * Y - ((V @ V.T) * G) @ Y)
            return max(float(np.sum(q**2) - np.sum(values)), 0.0) / n, gradient / n
        basis, _ = self.space(Y, rank)
        gradient, total = np.empty_like(Y), 0.0
        size = max(1, int(BLOCK_BYTES / (8 * len(basis) * M)))
        for begin in range(0, n, size):
            part = slice(begin, begin + size)
            E, gradient[part], _ = misfit(basis, Y[part])
            total += float(np.sum(E))
        return max(total, 0.0) / n, gradient / n

    def _leading(self, K: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues, ascending, and their vectors."""
        n = len(K)
        if n > SMALL and 4 * rank < n:
            found = _subspace_iteration(K, rank, self._guess)
            if found is not None:
                self._guess = found[1]
                return found[0][-rank:], found[1][:, -rank:]
        last = [max(n - rank, 0), n - 1]
        values, V = linalg.eigh(K, subset_by_index=last, check_finite=False)
        return np.maximum(values, 0), V


def _subspace_iteration(
    K: np.ndarray, rank: int, guess: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return leading eigenpairs, a few more than asked for; None where that does not converge.

    Converged when another iteration adds less than a thousandth of what the pairs leave
    unexplained: that is how well the objective has to be known.
    """
    n, size = len(K), rank + 8
    V = np.random.default_rng(0).standard_normal((n, size))
    if guess is not None and len(guess) == n:
        width = min(size, guess.shape[1])
        V[:, size - width :] = guess[:, guess.shape[1] - width :]
    trace, caught = float(np.trace(K)), -np.inf
    for _ in range(20):
        V = linalg.qr(K @ V, mode="economic", check_finite=False)[0]
        image = K @ V
        values, rotation = linalg.eigh(V.T @ image, check_finite=False)
        before, caught = caught, float(np.sum(values[-rank:]))
        if caught - before <= 1e-3 * (trace - caught) + 1e-15 * trace:
            return np.maximum(values, 0), V @ rotation
        V = image @ rotation
    return None
