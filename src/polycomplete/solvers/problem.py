"""The exact problem: the penalty of the n × n Gram matrix as a function of the free entries.

Memory grows as n² and the time of a step as n³ (``eigen="full"``) or r n² (``"partial"``).

The feature space of a polynomial kernel has finite dimension N, the number of monomials, and is
spanned by N generic landmarks. With the n × N matrix Φ of features, the Gram matrix is K = Φ Φᵀ,
and the N × N matrix Φᵀ Φ has the same eigenvalues except for zeros, whose penalty is zero. So value
and gradient are those of the n × n problem, at a cost of n N² instead of n³.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._devices import Array, Device, eigenpairs, find_device
from polycomplete.kernels import Kernel, Polynomial
from polycomplete.penalties import Schatten
from polycomplete.rows import RowEnergy, learn


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues (descending, non-negative) and eigenvectors of a Gram matrix.

    ``tail`` is the sum of the eigenvalues that were not computed; 0 for a full decomposition.
    """

    eigenvalues: Array
    vectors: Array
    tail: float = 0.0


@dataclass(frozen=True)
class Point:
    """Completion with its Gram matrix (or features) and spectrum, for any smoothing."""

    problem: ExactProblem
    z: np.ndarray
    X: Array
    K: Array
    spectrum: Spectrum

    def value(self, gamma: float) -> float:
        """Return the objective."""
        return self.problem.price(self.spectrum, gamma)[0] + self.problem.fidelity(self.X)[0]


def leading_pairs(K: Array, gamma: float, guess: Array | None) -> Spectrum | None:
    """Return leading eigenpairs by randomized subspace iteration, with a warm start if possible.

    The spectrum of smooth data decays fast, so that two products with K give eigenpairs up to
    rounding; ``guess``, the vectors of the last evaluation, saves further ones. The block size is
    doubled until the sum of the other eigenvalues is at most 1 % of γ per computed pair. Returns
    None if that takes more than half of all pairs: then a full decomposition is faster.
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
    """Penalty of K(X) as a function of the free entries.

    These are the missing entries; with ``noise``, all entries, with the additional penalty
    ``noise/2 · (x̂ − x)²`` of the observed ones. ``kernel`` and ``penalty`` must be resolved.
    """

    X: np.ndarray
    mask: np.ndarray
    kernel: Kernel
    penalty: Schatten
    eigen: str = "full"
    where: str | None = None  # the name of the device
    noise: float | None = None
    weights: np.ndarray | None = None
    _guess: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.free = ~self.mask if self.noise is None else np.ones_like(self.mask)

    @property
    def features(self) -> PolynomialFeatures | None:
        """The features that replace the Gram matrix, or None."""
        return None

    @property
    def unit(self) -> float:
        """The mean of k(x, x), the unit of the smoothing."""
        return float(np.mean(self.kernel.diagonal(self.X)))

    def pack(self, X: np.ndarray) -> np.ndarray:
        """Return the free entries of X as one vector."""
        return X[self.free]

    def unpack(self, z: np.ndarray) -> np.ndarray:
        """Return the whole matrix, given the vector of free entries."""
        X = self.X.copy()
        X[self.free] = z
        return X

    def fresh(self) -> ExactProblem:
        """Return the same problem without the state of an earlier solve."""
        return replace(self, weights=None, _guess=None)

    def with_kernel(self, kernel: Kernel) -> ExactProblem:
        """Return the same problem with another kernel."""
        return replace(self, kernel=kernel, _guess=None)

    @cached_property
    def device(self) -> Device:
        """Where the objective is computed."""
        return find_device(self.where)

    def evaluate(self, z: np.ndarray, gamma: float) -> Point:
        """Return the point z, with its eigenvalues on the host and other arrays on the device."""
        X = self.device.put(self.unpack(z))
        K = self.kernel.gram(X)
        spectrum = None
        if self.eigen == "partial":
            spectrum = leading_pairs(K, gamma, self._guess)
        if spectrum is None:
            xp = array_namespace(K)
            values, vectors = eigenpairs(K)
            spectrum = Spectrum(xp.clip(xp.flip(values), 0.0, None), xp.flip(vectors, axis=1))
        if self.eigen == "partial":
            self._guess = spectrum.vectors
        eigenvalues = self.device.get(spectrum.eigenvalues)
        return Point(self, z, X, K, replace(spectrum, eigenvalues=eigenvalues))

    def reweigh(self, z: np.ndarray, gamma: float) -> None:
        """Fix the weights of an adaptive rule by the current spectrum."""
        if self.penalty.adaptive:
            self.weights = self.penalty.weigh(self._padded(self.evaluate(z, gamma).spectrum))

    def value_and_gradient(self, z: np.ndarray, gamma: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient in the free entries."""
        at = self.evaluate(z, gamma)
        value, G = self._charge(at.spectrum, gamma)
        gradient = self.device.get(self.kernel.vjp(at.X, at.K, G))
        paid, pull = self.fidelity(self.unpack(z))
        return value + paid, (gradient + pull)[self.free]

    def fidelity(self, X: np.ndarray) -> tuple[float, np.ndarray | float]:
        """Return the penalty of moved observed entries and its gradient; 0 without noise."""
        if self.noise is None:
            return 0.0, 0.0
        residual = np.where(self.mask, X - self.X, 0)
        return 0.5 * self.noise * float(np.sum(residual**2)), self.noise * residual

    def price(self, spectrum: Spectrum, gamma: float) -> tuple[float, np.ndarray, float]:
        """Return the penalty, its slope in each eigenvalue, and its slope in the tail."""
        lam = spectrum.eigenvalues
        every = self.weights
        if every is None:
            every = self.penalty.weigh(self._padded(spectrum))
            if self.penalty.adaptive:  # the first round, without an earlier spectrum
                every = np.ones_like(every)
        w = every[: len(lam)]
        # Far below γ the penalty is linear: that of the tail is its slope at zero times its sum.
        # The first eigenvalue of the tail is most of it, so that its weight is used for all.
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


#: Number of landmarks per feature; exactly one would be badly conditioned.
OVER = 1.25


@dataclass(frozen=True)
class PolynomialFeatures:
    """Features whose scalar product is a polynomial kernel: ``φ(x) = Tᵀ k(L, x)``.

    Attributes
    ----------
    kernel : Polynomial
        The resolved kernel.
    landmarks : ndarray of shape (r, m)
        Random points, at a distance from the origin that gives all degrees similar weight.
    turn : ndarray of shape (r, N)
        T, which makes the features orthonormal.
    """

    kernel: Polynomial
    landmarks: np.ndarray
    turn: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, n_columns: int) -> PolynomialFeatures:
        """Return the features of a kernel for rows of this length."""
        assert isinstance(kernel, Polynomial)
        size = kernel.n_features(n_columns)
        drawn = np.random.default_rng(0).standard_normal((int(OVER * size) + 1, n_columns))
        landmarks = drawn * np.sqrt((kernel.offset or n_columns) / n_columns)
        values, V = eigenpairs(kernel.gram(landmarks))
        return cls(kernel, landmarks, V[:, -size:] / np.sqrt(values[-size:]))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the features of each row, (n, N)."""
        return self.kernel.gram(X, self.landmarks) @ self.turn

    def push(self, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the derivative of the features along V, (n, N)."""
        return (self._slopes(X) * (V @ self.landmarks.T)) @ self.turn

    def pull(self, X: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return the gradient in X of ``Σ C ∘ φ(X)``: the transpose of :meth:`push`."""
        return ((C @ self.turn.T) * self._slopes(X)) @ self.landmarks

    def _slopes(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.kernel.slopes(X, self.landmarks, X)[0])

    def energy(self, factor: np.ndarray, own: np.ndarray | None = None) -> RowEnergy:
        """Return the row energy whose factor (and ``own``) act on the features."""
        own = None if own is None else own @ self.turn.T
        return RowEnergy(self.kernel, self.landmarks, self.turn @ factor, own)


def pays(kernel: Kernel, n_rows: int, n_columns: int) -> bool:
    """Return whether features are faster: fewer than half as many as rows."""
    size = kernel.n_features(n_columns)
    return size is not None and 2 * size < n_rows


@dataclass
class LiftProblem(ExactProblem):
    """Problem of :class:`ExactProblem`, computed from the features of a polynomial kernel."""

    @cached_property
    def features(self) -> PolynomialFeatures:
        """The features of the kernel."""
        return PolynomialFeatures.of(self.kernel, self.X.shape[1])

    def evaluate(self, z: np.ndarray, gamma: float) -> Point:
        """Return the point z, with its features (n × N) and the eigenpairs of their moments."""
        X = self.unpack(z)
        F = self.features(X)
        return Point(self, z, X, F, moment_spectrum(F))

    def value_and_gradient(self, z: np.ndarray, gamma: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient in the free entries."""
        at = self.evaluate(z, gamma)
        value, G = self._charge(at.spectrum, gamma)
        paid, pull = self.fidelity(at.X)
        return value + paid, (2 * self.features.pull(at.X, at.K @ G) + pull)[self.free]


def moment_spectrum(F: np.ndarray) -> Spectrum:
    """Return the eigenpairs of ``Fᵀ F``, at most as many as F has rows."""
    values, vectors = eigenpairs(F.T @ F)
    return Spectrum(np.maximum(values[::-1], 0)[: len(F)], vectors[:, ::-1][:, : len(F)])


def row_energy(kernel: Kernel, X: np.ndarray, gamma: float, in_place: bool = True) -> RowEnergy:
    """Learn the row energy of a surface from complete rows, in the cheaper of its two forms.

    ``in_place`` adds what is needed to leave each of these rows out.
    """
    if not pays(kernel, *X.shape):
        return learn(kernel, X, gamma, in_place)
    features = PolynomialFeatures.of(kernel, X.shape[1])
    F = features(X)
    spectrum = moment_spectrum(F)
    values, R = spectrum.eigenvalues, spectrum.vectors
    kept = values > 1e-3 * gamma
    factor = R[:, kept] * np.sqrt(values[kept] / (values[kept] + gamma))
    own = None
    if in_place:
        solved = (F @ R / (values + gamma)) @ R.T
        # The diagonal of γ(K + γI)⁻¹; for a row that only itself explains, it is rounding.
        left = np.maximum(1 - np.sum(F * solved, axis=1), 1e-15)
        own = solved / np.sqrt(left / gamma)[:, None]
    return features.energy(factor, own)
