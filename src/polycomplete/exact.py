"""The exact engine: the n × n problem, its value and its gradient in the free entries.

Memory grows as n² and the time of a step as n³ (``eigen="full"``) or r n² (``"partial"``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator

from polycomplete._arrays import Array
from polycomplete._checks import check_numbers
from polycomplete._resources import Device, find_device, free_memory
from polycomplete.kernels import Kernel
from polycomplete.linear import eigenpairs
from polycomplete.penalties import Schatten

__all__ = ["Exact", "ExactProblem", "Spectrum"]

# Arrays of n × n numbers alive at once in a Newton step: Gram matrix, eigenvectors, the parts of
# the curvature and what a product with it passes through, 14 of them (tests/test_exact.py measures
# the peak).
ARRAYS = 15
# Bytes of the blocks in which rows are worked on, whatever their number.
BLOCKS = 1.5e8
# Columns up to which solvers also keep two m × m matrices for each row.
WIDEST = 256


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues (descending, not negative) and eigenvectors of a Gram matrix.

    ``tail`` is the sum of the eigenvalues that were not computed; 0 for a full decomposition.
    """

    eigenvalues: Array
    vectors: Array
    tail: float = 0.0


class Exact(BaseEstimator):
    """Work on the full Gram matrix of all rows.

    Parameters
    ----------
    max_memory : float, optional
        Bytes that may be taken; 60 % of what is free by default. A problem that needs more is
        refused before anything is allocated.
    eigen : {"full", "partial"}, default="full"
        "partial" computes the leading eigenpairs by a randomised subspace iteration and charges
        the rest through the trace: the paper's O(r n²) variant. It takes as many pairs as leave a
        tail that is negligible against the smoothing (all, where that is more than half of them),
        and so pays where the smoothing is large.
    device : str, optional
        Where the objective and its gradient are computed: "cpu", or "cuda" for a GPU, which pays
        from a few thousand rows on. Second chances and new rows stay on the CPU.

    Examples
    --------
    >>> Exact().memory_needed(10_000, 20) / 1e9  # GB
    12.214
    """

    def __init__(
        self,
        max_memory: float | None = None,
        eigen: str = "full",
        device: str | None = None,
    ):
        self.max_memory = max_memory
        self.eigen = eigen
        self.device = device

    def memory_needed(self, n_rows: int, n_columns: int) -> int:
        """Return the bytes a solve takes at its peak."""
        return int(BLOCKS + 8 * n_rows * (ARRAYS * n_rows + self._per_row(n_columns)))

    def _per_row(self, n_columns: int) -> int:
        return 2 * n_columns**2 if n_columns <= WIDEST else 0

    def pose(
        self,
        X: np.ndarray,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
    ) -> ExactProblem:
        """Return the problem of completing X with this engine; all parts must be resolved."""
        return ExactProblem(X, mask, kernel, penalty, self, noise)

    def check(self, n_rows: int, n_columns: int) -> None:
        """Raise where the parameters are wrong or the problem does not fit the memory."""
        if self.eigen not in ("full", "partial"):
            raise ValueError(f'Exact(eigen=...) must be "full" or "partial", got {self.eigen!r}.')
        find_device(self.device)
        if self.max_memory is not None:
            check_numbers(self, "max_memory")
        budget = 0.6 * free_memory() if self.max_memory is None else float(self.max_memory)
        need = self.memory_needed(n_rows, n_columns)
        if need > budget:
            raise MemoryError(
                f"The exact engine needs {need / 1e9:.2f} GB for {n_rows} rows, more than the "
                f"{budget / 1e9:.2f} GB it may take; {self._remedy(budget, n_columns)}, or raise "
                f"Exact(max_memory=...)."
            )

    def _remedy(self, budget: float, n_columns: int) -> str:
        """Return what to do in so much memory."""
        small = self._per_row(n_columns)
        room = max(budget - BLOCKS, 0)
        fits = int(((small**2 + ARRAYS * room / 2) ** 0.5 - small) / (2 * ARRAYS))
        if fits < 2:
            least = self.memory_needed(2, n_columns)
            return f'no two rows fit, which need {least / 1e9:.2f} GB, so use engine="landmark"'
        return f"fit on fewer rows (for example X[:{fits}]) and transform the others"

    def spectrum(self, K: Array, gamma: float, guess: Array | None = None) -> Spectrum:
        """Return the eigenpairs of K, all of them or the leading ones."""
        if self.eigen == "partial":
            leading = leading_pairs(K, gamma, guess)
            if leading is not None:
                return leading
        xp = array_namespace(K)
        values, vectors = eigenpairs(K)
        return Spectrum(xp.clip(xp.flip(values), 0.0, None), xp.flip(vectors, axis=1))


def leading_pairs(K: Array, gamma: float, guess: Array | None) -> Spectrum | None:
    """Return leading eigenpairs by randomised subspace iteration, warm-started where possible.

    Gram matrices of smooth data decay fast, so two products with K give eigenpairs to rounding;
    ``guess`` (the vectors of the last evaluation) makes the first of them count double. The
    block doubles until the sum of what is left is below 1 % of γ per kept pair; None where that
    would take more than half of all pairs, which the full solver does faster.
    """
    xp, n = array_namespace(K), K.shape[0]
    trace = float(xp.linalg.trace(K))
    size = 32 if guess is None else guess.shape[1]
    while 2 * size <= n:
        draws = np.random.default_rng(0).standard_normal((n, size))
        block = xp.asarray(draws, dtype=K.dtype, device=device(K))
        if guess is not None:
            width = min(size, guess.shape[1])
            block[:, :width] = guess[:, :width]
        basis = xp.linalg.qr(K @ block)[0]
        basis = xp.linalg.qr(K @ basis)[0]
        values, rotation = eigenpairs(basis.T @ (K @ basis))
        values = xp.clip(xp.flip(values), 0.0, None)
        tail = max(trace - float(xp.sum(values)), 0.0)
        vectors = basis @ xp.flip(rotation, axis=1)
        if tail <= 0.01 * gamma * size:
            return Spectrum(values, vectors, tail)
        guess, size = vectors, 2 * size
    return None


@dataclass
class ExactProblem:
    """The penalty of K(X) as a function of the entries that may move.

    Only the missing entries move; with ``noise`` all do, and the observed ones pay
    ``noise/2 · (x̂ − x)²``. ``kernel`` and ``penalty`` must be resolved.
    """

    X: np.ndarray
    mask: np.ndarray
    kernel: Kernel
    penalty: Schatten
    engine: Exact = field(default_factory=Exact)
    noise: float | None = None
    weights: np.ndarray | None = None
    _guess: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.free = ~self.mask if self.noise is None else np.ones_like(self.mask)

    @property
    def unit(self) -> float:
        """The mean of k(x, x): smoothing is counted in it, so that it means the same for all."""
        return float(np.mean(self.kernel.diagonal(self.X)))

    def pack(self, X: np.ndarray) -> np.ndarray:
        """Return the free entries of X as one vector."""
        return X[self.free]

    def unpack(self, z: np.ndarray) -> np.ndarray:
        """Return the whole matrix for a vector of free entries."""
        X = self.X.copy()
        X[self.free] = z
        return X

    def fresh(self) -> ExactProblem:
        """Return the same problem without what an earlier solve left in it."""
        return replace(self, weights=None, _guess=None)

    def with_kernel(self, kernel: Kernel) -> ExactProblem:
        """Return the same problem with another kernel."""
        return replace(self, kernel=kernel, _guess=None)

    @cached_property
    def device(self) -> Device:
        """Where the objective is computed."""
        return find_device(self.engine.device)

    def spectrum(self, z: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray, Spectrum]:
        """Return X, K(X) and the spectrum of K."""
        get, (X, K, found) = self.device.get, self._spectrum(z, gamma)
        return get(X), get(K), replace(found, vectors=get(found.vectors))

    def _spectrum(self, z: np.ndarray, gamma: float) -> tuple[Array, Array, Spectrum]:
        """Return the same where it is computed; the eigenvalues are NumPy's."""
        X = self.device.put(self.unpack(z))
        K = self.kernel.gram(X)
        spectrum = self.engine.spectrum(K, gamma, self._guess)
        if self.engine.eigen == "partial":
            self._guess = spectrum.vectors
        return X, K, replace(spectrum, eigenvalues=self.device.get(spectrum.eigenvalues))

    def reweigh(self, z: np.ndarray, gamma: float) -> None:
        """Freeze the weights of an adaptive rule at the current spectrum."""
        if self.penalty.adaptive:
            self.weights = self.penalty.weigh(self._padded(self.spectrum(z, gamma)[2]))

    def value_and_gradient(self, z: np.ndarray, gamma: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient in the free entries."""
        X, K, spectrum = self._spectrum(z, gamma)
        value, G = self._charge(spectrum, gamma)
        gradient = self.device.get(self.kernel.vjp(X, K, G))
        paid, pull = self.fidelity(self.unpack(z))
        return value + paid, (gradient + pull)[self.free]

    def fidelity(self, X: np.ndarray) -> tuple[float, np.ndarray | float]:
        """Return what observed entries pay for having moved, and its gradient; 0 without noise."""
        if self.noise is None:
            return 0.0, 0.0
        residual = np.where(self.mask, X - self.X, 0)
        return 0.5 * self.noise * float(np.sum(residual**2)), self.noise * residual

    def price(self, spectrum: Spectrum, gamma: float) -> tuple[float, np.ndarray, float]:
        """Return the penalty, its slope in each eigenvalue, and the slope of those left out."""
        lam = spectrum.eigenvalues
        every = self.weights
        if every is None:
            every = self.penalty.weigh(self._padded(spectrum))
            if self.penalty.adaptive:  # its first round, before there is a spectrum to follow
                every = np.ones_like(every)
        w = every[: len(lam)]
        # Far below γ the penalty is linear: the tail pays its slope at zero times its sum. The
        # first of the tail holds most of it, so that its weight stands for all.
        beyond = every[min(len(lam), len(every) - 1)]
        rest = float(self.penalty.slope(lam[:1] * 0, beyond, gamma)[0])
        value = self.penalty.value(lam, w, gamma) + rest * spectrum.tail
        return value, self.penalty.slope(lam, w, gamma), rest

    def _charge(self, spectrum: Spectrum, gamma: float) -> tuple[float, Array]:
        """Return the penalty and its gradient in K."""
        V = spectrum.vectors
        value, slope, rest = self.price(spectrum, gamma)
        if V.shape[0] == V.shape[1]:
            return value, (V * self.device.put(slope)) @ V.T
        xp = array_namespace(V)
        G = (V * self.device.put(slope - rest)) @ V.T
        return value, G + rest * xp.eye(V.shape[0], dtype=V.dtype, device=device(V))

    def _padded(self, spectrum: Spectrum) -> np.ndarray:
        """Return the eigenvalues, with zeros for those that were not computed."""
        lam = spectrum.eigenvalues
        return np.concatenate([lam, np.zeros(len(self.X) - len(lam), dtype=lam.dtype)])
