"""The second-order lift of rows, from a row y to all products of two of its entries, and back.

The lift is the symmetric matrix y yᵀ, whose inner product with that of another row is (x·y)². Up to
as many rows as there are products everything is computed from the Gram matrix of the lifts, and the
lifts are never written down; beyond that, from the covariance of the products.

The misfit of a row, its lift's squared distance from a space, is a polynomial of degree four in its
missing entries and may have several minima, so that rows are completed from several starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from polycomplete._resources import TILE

Matrix = np.ndarray

#: Eigenpairs of matrices up to this size, or of more than a quarter of them, come from LAPACK.
SMALL = 160
#: Bytes of the products that are held for a block of rows.
BLOCK_BYTES = 32e6
#: What is lost in a difference, relative to what it is taken from.
ROUNDING = 1e-15
#: Bytes of the largest array of rows that are worked on together.
LARGE_BYTES = 256e6
#: How much the linear starts doubt the observed products, from hardly to much.
DOUBT = (1e-8, 1e-4, 1e-2)
#: Starts from other rows, for rows that the linear starts do not settle.
NEIGHBOURS = 16
#: Misfits of typical rows below this are not told apart.
NOTHING = 1e-12
#: A direction with less curvature than this (4 without any space) is soft.
SOFT = 4e-3


@dataclass(frozen=True)
class Lifter:
    """Brings rows to the form that is lifted: about unit length, and with a constant coordinate.

    By the length each row counts alike. The constant adds linear terms to the lift and settles
    the sign of a row.
    """

    unit: float
    offset: float

    @classmethod
    def fit(cls, X: Matrix, mask: Matrix, offset: float) -> Lifter:
        """Learn the unit from the observed entries, whose squares need not be numbers."""
        largest = float(np.max(np.abs(X[mask]))) or 1.0
        return cls(largest * (float(np.sqrt(np.mean((X[mask] / largest) ** 2))) or 1.0), offset)

    def prepare(self, X: Matrix, mask: Matrix) -> tuple[Matrix, Matrix, Matrix]:
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

    def restore(self, Y: Matrix, length: Matrix, X: Matrix, mask: Matrix) -> Matrix:
        """Return completed rows in the units of X, whose observed entries stay as they are."""
        return np.where(mask, X, Y[:, : X.shape[1]] * length[:, None])


def misfit(basis: Matrix, Y: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return the squared distance of the lift of each row from a space, with its gradient.

    With an orthonormal basis Z₁ … Z_R of the space it is E(y) = |y|⁴ − Σₖ (yᵀ Zₖ y)²; what rounding
    may have taken away from a difference of |y|⁴ is added.
    """
    size, M, _ = basis.shape
    B = (Y @ basis.transpose(1, 0, 2).reshape(M, size * M)).reshape(len(Y), size, M)
    P = (B @ Y[:, :, None])[:, :, 0]
    q = np.sum(Y**2, axis=1)
    gradient = 4 * (q[:, None] * Y - (P[:, None, :] @ B)[:, 0])
    return np.maximum(q**2 - np.sum(P**2, axis=1), 0) + ROUNDING * q**2, gradient, B


def parts(n: int, basis: Matrix) -> list[slice]:
    """Return parts of n rows whose products with a basis do not take too much memory."""
    size = max(1, int(BLOCK_BYTES / (8 * basis.shape[0] * basis.shape[1])))
    return [slice(begin, begin + size) for begin in range(0, n, size)]


class Lifts:
    """The lifts of some rows: the space that explains most of them, and what it leaves.

    Eigenvectors of the last call serve as a start for the next one.
    """

    def __init__(self) -> None:
        self._guess: Matrix | None = None

    def space(self, Y: Matrix, rank: int) -> tuple[Matrix, Matrix]:
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

    def unexplained(self, Y: Matrix, rank: int) -> tuple[float, Matrix]:
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
        for part in parts(n, basis):
            E, gradient[part], _ = misfit(basis, Y[part])
            total += float(np.sum(E))
        return max(total, 0.0) / n, gradient / n

    def _leading(self, K: Matrix, rank: int) -> tuple[Matrix, Matrix]:
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


def _subspace_iteration(K: Matrix, rank: int, guess: Matrix | None) -> tuple[Matrix, Matrix] | None:
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


def curvature(Y: Matrix, B: Matrix, seen: Matrix, damping: float | Matrix) -> Matrix:
    """Return the Gauss–Newton matrix of the missing entries; a one for each observed entry."""
    q = np.maximum(np.sum(Y**2, axis=1), 1e-6)  # nothing is curved around a row of zeros
    y, B = np.where(seen, 0, Y), np.where(seen[:, None], 0, B)
    H = 4 * y[:, :, None] * y[:, None] - 8 * (B.transpose(0, 2, 1) @ B)
    at = np.arange(Y.shape[1])
    H[:, at, at] += np.where(seen, 1.0, (4 * q * (1 + damping))[:, None])
    return np.asarray(H)


def settle(basis: Matrix, Y: Matrix, seen: Matrix, steps: int = 15) -> tuple[Matrix, Matrix]:
    """Take Levenberg–Marquardt steps on the missing entries of each row by itself."""
    E, gradient, B = misfit(basis, Y)
    damping = np.full(len(Y), 0.1)
    for _ in range(steps):
        H, g = curvature(Y, B, seen, damping), np.where(seen, 0, gradient)
        tried = Y - np.where(seen, 0, np.linalg.solve(H, g[:, :, None])[:, :, 0])
        found = misfit(basis, tried)
        good = found[0] <= E  # False for NaN, so that a wild step is never taken
        Y, E = np.where(good[:, None], tried, Y), np.where(good, found[0], E)
        gradient = np.where(good[:, None], found[1], gradient)
        B = np.where(good[:, None, None], found[2], B)
        damping = np.where(good, np.maximum(damping * 0.2, 1e-9), np.minimum(damping * 10, 1e3))
    return Y, E


def linear_starts(basis: Matrix, shares: Matrix, Y: Matrix, seen: Matrix) -> Matrix:
    """Return completions that need no start of their own, one for each degree of doubt.

    In the lift the problem is linear: the coefficients are a ridge regression of the products that
    are observed. The lifted row is then a symmetric matrix; its observed entries are put back, and
    its leading eigenvector is the row up to the sign, which the largest observed entry decides.
    """
    n, M = Y.shape
    both = (seen[:, :, None] & seen[:, None]).reshape(n, M * M)
    products = (Y[:, :, None] * Y[:, None]).reshape(n, M * M)
    flat = basis.reshape(len(basis), M * M)
    normal = np.where(both[:, None], flat, 0) @ flat.T
    aim = products[:, None] @ flat.T
    ridge = np.diag(np.max(shares) / np.maximum(shares, 1e-12 * np.max(shares)))
    at = np.arange(n), np.argmax(np.abs(Y), axis=1)
    found = np.empty((n, len(DOUBT), M))
    for i, doubt in enumerate(DOUBT):
        z = np.linalg.solve(normal + doubt * ridge, aim.transpose(0, 2, 1))
        lifted = np.where(both, products, (z.transpose(0, 2, 1) @ flat)[:, 0])
        values, vectors = np.linalg.eigh(lifted.reshape(n, M, M))
        lead = vectors[:, :, -1] * np.sqrt(np.maximum(values[:, -1:], 0))
        sign = np.where(lead[at] * Y[at] < 0, -1.0, 1.0)
        found[:, i] = np.where(seen, Y, lead * sign[:, None])
    return found


def _neighbours(pool: Matrix, Y: Matrix, seen: Matrix, own: Matrix) -> Matrix:
    """Return completions by multiples of those rows of the pool that come nearest.

    ``own`` tells where a row itself stands in the pool (-1: nowhere).
    """
    along, square = Y @ pool.T, seen @ (pool**2).T
    explained = along**2 / np.maximum(square, 1e-12)
    inside = np.flatnonzero(own >= 0)
    explained[inside, own[inside]] = -1.0
    near = np.argsort(-explained, axis=1, kind="stable")[:, :NEIGHBOURS]
    factor = np.take_along_axis(along / np.maximum(square, 1e-12), near, axis=1)
    return np.where(seen[:, None], Y[:, None], factor[:, :, None] * pool[near])


@dataclass(frozen=True)
class Candidates:
    """Several completions of each row and their energies, (n, k, m) and (n, k)."""

    rows: np.ndarray
    energy: np.ndarray

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the completion with the lowest energy of each row, and that energy."""
        n = len(self.rows)
        at = np.arange(n), np.argmin(self.energy, axis=1)
        return self.rows[at], self.energy[at]

    def blend(self, typical: float, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """Return one completion of each row, and whether the row is ambiguous.

        A row whose plausible completions agree keeps the best one. Where they lie more than a few
        per cent of ``unit`` apart the observed entries do not determine the row; then their mean
        has the smallest expected squared error. Plausible is an energy that is not far above the
        row's best, or above ``typical``, the usual energy of a row that is well determined.
        """
        best, lowest = self.best()
        scale = np.clip(lowest, max(typical, 1e-300), None)[:, None]
        weight = np.exp(-(self.energy - lowest[:, None]) / scale)
        weight = (weight / np.sum(weight, axis=1)[:, None])[:, :, None]
        mean = np.sum(weight * self.rows, axis=1)
        spread = np.sum(weight * (self.rows - mean[:, None]) ** 2, axis=(1, 2)) ** 0.5
        ambiguous = spread > 0.05 * unit
        return np.where(ambiguous[:, None], mean, best), ambiguous


def even_block(row_bytes: float, budget: float) -> int:
    """Return how many rows of so many bytes go together: whole tiles, or one by one."""
    return min(2, int(budget / (TILE * row_bytes))) * TILE or 1


@dataclass(frozen=True)
class LiftedModel:
    """The space in which the lifts of rows lie: what completes further rows."""

    lifter: Lifter
    basis: Matrix
    shares: Matrix
    pool: Matrix
    typical: float

    def complete(self, X: Matrix, mask: Matrix) -> tuple[Matrix, Matrix]:
        """Complete each row by itself; return the rows and which of them are not determined."""
        Y, seen, length = self.lifter.prepare(X, mask)
        rows = np.flatnonzero(~mask.all(axis=1))
        loose = np.zeros(len(X), dtype=bool)
        Y[rows], loose[rows] = self.decide(Y[rows], seen[rows])
        return self.lifter.restore(Y, length, X, mask), loose

    def decide(
        self, Y: Matrix, seen: Matrix, first: Matrix | None = None, own: Matrix | None = None
    ) -> tuple[Matrix, Matrix]:
        """Complete prepared rows; return them and which are not determined.

        A row is not determined where its plausible completions differ (it gets their mean), or
        where it may move by a quarter of its length at hardly any cost.
        """
        found = self.candidates(Y, seen, first, own)
        typical = max(self.typical, NOTHING)
        # Of two that fit alike the shorter one is the likelier, though both are possible.
        long = typical * np.sum(found.rows**2, axis=2)
        rows, _ = Candidates(found.rows, found.energy + 2 * long).blend(typical, 1.0)
        found = Candidates(found.rows, found.energy + long / 25)
        several, best = found.blend(typical, 1.0)[1], found.best()[0]
        softest = np.empty(len(Y))
        for part in self._blocks(len(Y)):
            H = curvature(best[part], misfit(self.basis, best[part])[2], seen[part], 0.0)
            softest[part] = np.linalg.eigvalsh(H)[:, 0]
        soft = (softest < SOFT) & (softest / 2 * 0.25**2 < typical)
        return np.where(seen, Y, rows), several | soft

    def candidates(
        self,
        Y: Matrix,
        seen: Matrix,
        first: Matrix | None = None,
        own: Matrix | None = None,
        steps: int = 15,
    ) -> Candidates:
        """Complete prepared rows, zero where missing, from several starts.

        The starts are ``first`` (or the zeros), the linear ones and, where those may fail, the
        nearest training rows; ``own`` tells which of these a row itself is (-1: none).
        """
        n, k = len(Y), 1 + len(DOUBT)
        first = Y if first is None else first
        own = np.full(n, -1) if own is None else own
        extra = min(NEIGHBOURS, len(self.pool))
        rows = np.repeat(Y[:, None], k + extra, axis=1)
        E = np.full((n, k + extra), np.inf)
        for part in self._blocks(n):
            linear = linear_starts(self.basis, self.shares, Y[part], seen[part])
            starts = np.concatenate([first[part][:, None], linear], axis=1)
            rows[part, :k], E[part, :k] = self._settle(starts, seen[part], steps)
        high = E.min(axis=1) > 10 * max(self.typical, NOTHING)
        hard = np.flatnonzero(high | self.scarce(seen))
        for block in self._blocks(len(hard)):
            part = hard[block]
            starts = _neighbours(self.pool, Y[part], seen[part], own[part])
            rows[part, k:], E[part, k:] = self._settle(starts, seen[part], steps)
        return Candidates(rows, E)

    def scarce(self, seen: Matrix) -> Matrix:
        """Return which rows have too few observed products to settle all directions."""
        count = seen.sum(axis=1)
        return np.asarray(count * (count + 1) < 3 * len(self.basis))

    def _settle(self, starts: Matrix, seen: Matrix, steps: int) -> tuple[Matrix, Matrix]:
        n, k, M = starts.shape
        rows, E = settle(self.basis, starts.reshape(n * k, M), np.repeat(seen, k, axis=0), steps)
        return rows.reshape(n, k, M), E.reshape(n, k)

    def _blocks(self, n: int) -> list[Matrix]:
        """Return the numbers of n rows in blocks, the last one padded with rows done before.

        All blocks have one size, which depends on the model alone: other shapes take other paths
        through BLAS, and what comes back for a row must not depend on its company.
        """
        size, M, _ = self.basis.shape
        starts = max(NEIGHBOURS, 1 + len(DOUBT))
        largest = max(starts * M * max(M, size), size * M * M)
        block = even_block(8 * largest, LARGE_BYTES)
        return [np.arange(begin, begin + block) % n for begin in range(0, n, block)]
