"""The completion problem with landmarks, whose cost is linear in the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._devices import ROUNDING, Array, Device
from polycomplete._resources import Resources, Run
from polycomplete.kernels import Kernel
from polycomplete.penalties import Schatten
from polycomplete.rows import PLAIN, Posterior, RowEnergy, pivots

CANDIDATES = 3  # rows drawn per landmark; the landmarks are the pivots among them
FEWEST, MOST = 100, 400  # initial and maximum number of landmarks
SPARE = 1.5  # landmarks per direction of the surface
JUDGE = 1e-5  # smallest smoothing at which restarts are judged
CUT = 100 * ROUNDING  # eigenvalues of the landmarks below this share of the largest are rounding
DROP = 0.03  # directions that explain less than this share of a row's component are dropped


@dataclass(frozen=True)
class Features:
    """Map ``φ(x) = Tᵀ k(L, x)`` from rows to whitened features; T is ``turn``, (r, q)."""

    kernel: Kernel
    landmarks: Array
    turn: Array

    def of(self, X: Array) -> Array:
        """Return the features of each row, (n, q)."""
        return self.kernel.gram(X, self.landmarks) @ self.turn


def whiten(kernel: Kernel, landmarks: Array) -> Features:
    """Return the whitened features of landmarks."""
    xp = array_namespace(landmarks)
    values, V = xp.linalg.eigh(kernel.gram(landmarks))
    kept = int(xp.sum(xp.astype(values > CUT * float(values[-1]), xp.int64)))
    values, V = values[-kept:], V[:, -kept:]
    return Features(kernel, landmarks, V / xp.sqrt(values))


@dataclass(frozen=True)
class Moments:
    """Sums over rows: ``total``, of their weights aⱼ, and ``covariance``, ``Σ aⱼ φⱼφⱼᵀ``."""

    total: float
    covariance: Array

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.total + other.total, self.covariance + other.covariance)


def moments(
    features: Features, X: Array, weights: Array, run: Run = map, split: bool = True
) -> Moments:
    """Return the weighted moments of the features of rows."""
    size = PLAIN.rows(X.shape[1]) if split else len(X)
    parts = [(X[at : at + size, :], weights[at : at + size]) for at in range(0, len(X), size)]
    return reduce(Moments.__add__, run(partial(_moments, features), parts))


def _moments(features: Features, part: tuple[Array, Array]) -> Moments:
    X, weights = part
    phi = features.of(X)
    return Moments(float(array_namespace(X).sum(weights)), (phi * weights[:, None]).T @ phi)


class FeatureSpectrum:
    """Eigenpairs of the mean covariance of features, which give the row energy at any smoothing.

    Parameters
    ----------
    features : Features
        The map from rows to features.
    moments : Moments
        The moments of the rows to learn from.
    penalty : Schatten
        The resolved penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.landmarks.landmark_problem import moments, whiten
    >>> t = np.linspace(0, 1, 50)
    >>> arc = np.c_[t, t**2]
    >>> features = whiten(RBF(width=2.0), arc[::5])
    >>> spectrum = FeatureSpectrum(features, moments(features, arc, np.ones(50)), Schatten())
    >>> on, off = spectrum.energy(1e-9).value(np.array([[0.5, 0.25], [0.5, 0.6]]))
    >>> bool(on < 1e-6 < 1e-3 < off)
    True
    """

    def __init__(self, features: Features, moments: Moments, penalty: Schatten):
        xp = array_namespace(moments.covariance)
        values, U = xp.linalg.eigh(moments.covariance / moments.total)
        self.features, self.penalty = features, penalty
        self.values: Array = xp.flip(xp.clip(values, 0.0, None))
        self.vectors: Array = xp.flip(U, axis=1)

    def slopes(self, gamma: float) -> Array:
        """Return ĝ of each eigenvalue that is not small compared with γ, in descending order.

        The weights depend on these only: the other directions are practically unused.
        """
        xp = array_namespace(self.values)
        power = 1 - self.penalty.p / 2
        plain = (gamma / (self.values + gamma)) ** power
        kept = int(xp.sum(xp.astype(1 - plain > DROP, xp.int64)))
        return plain[:kept] * self.penalty.weigh(self.values[:kept]) if kept else plain[:0]

    def energy(self, gamma: float) -> RowEnergy:
        """Return the row energy at γ, in the units of the mean covariance."""
        xp = array_namespace(self.values)
        slopes = self.slopes(gamma)
        turned = self.features.turn @ self.vectors[:, : slopes.shape[0]]
        factor = turned * xp.sqrt(1 - slopes)
        return RowEnergy(self.features.kernel, self.features.landmarks, factor, None)


@dataclass(frozen=True)
class LandmarkProblem:
    """Scaled rows to be completed with landmarks.

    Attributes
    ----------
    X : array of shape (n, m)
        Scaled rows, with any finite number for missing entries.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    kernel, penalty : Kernel and Schatten
        The resolved kernel and penalty.
    n_landmarks : int or None
        The number of landmarks, or None for "auto".
    resources : Resources
        Threads, memory and device.
    seed : int
        Seed for drawing landmarks.
    """

    X: Array
    mask: np.ndarray
    kernel: Kernel
    penalty: Schatten
    n_landmarks: int | None
    resources: Resources
    seed: int

    def with_kernel(self, kernel: Kernel) -> LandmarkProblem:
        """Return the same problem with another kernel."""
        return replace(self, kernel=kernel)

    @cached_property
    def unit(self) -> float:
        """The mean of k(x, x)."""
        xp = array_namespace(self.X)
        return float(xp.mean(self.kernel.diagonal(self.X))) or 1.0

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of each row: its observed share, squared."""
        return np.asarray(self.mask.mean(axis=1) ** 2)

    @cached_property
    def device(self) -> Device:
        """The device that completes rows."""
        return self.resources.device_for(len(self.mask))

    @property
    def run(self) -> Run:
        """Map over blocks: by threads on the host, one at a time on a GPU."""
        return self.resources.mapping if self.device.is_host else map

    def gamma(self, smoothing: float) -> float:
        """Return γ for the mean covariance: 1/n of that of the exact problem, which has a sum."""
        return smoothing * self.unit / len(self.mask)

    @property
    def fewest(self) -> int:
        """Initial number of landmarks."""
        return min(len(self.mask), self.n_landmarks or FEWEST)

    @property
    def most(self) -> int:
        """Maximum number of landmarks; with wide rows, as many as columns are cheap."""
        return min(len(self.mask), max(MOST, self.mask.shape[1]))

    def more(self, count: int, spectrum: FeatureSpectrum, gamma: float) -> int:
        """Return the next number of landmarks: more if these do not represent the surface."""
        if self.n_landmarks is not None:
            return count
        wanted = int(SPARE * int(spectrum.slopes(gamma).shape[0]))
        return max(count, min(wanted, self.most))

    def enough(
        self, X: Array, gamma: float, rng: np.random.Generator, rows: np.ndarray | None = None
    ) -> FeatureSpectrum:
        """Learn from (some of) the rows X with as many landmarks as this γ needs."""
        count = min(self.fewest, len(X))
        while True:
            spectrum = self.spectrum(X, count, rng, rows)
            more = self.more(count, spectrum, gamma)
            if more == count:
                return spectrum
            count = more

    def spectrum(
        self,
        X: Array,
        count: int,
        rng: np.random.Generator,
        rows: np.ndarray | None = None,
    ) -> FeatureSpectrum:
        """Choose landmarks among (some of) the rows X and learn from all these rows."""
        xp = array_namespace(X)
        weights = self.weights if rows is None else self.weights[rows]
        drawn = min(CANDIDATES * count, len(weights))
        at = rng.choice(len(weights), drawn, replace=False, p=weights / weights.sum())
        where = device(X)
        candidates = xp.take(X, xp.asarray(at, device=where), axis=0)
        chosen = xp.asarray(pivots(self.kernel, candidates, count), device=where)
        features = whiten(self.kernel, xp.take(candidates, chosen, axis=0))
        counting = xp.asarray(weights, dtype=X.dtype, device=where)
        weighed = moments(features, X, counting, self.run, self.device.is_host)
        return FeatureSpectrum(features, weighed, self.penalty)

    def learn(self, X: np.ndarray, smoothing: float, rows: np.ndarray) -> Posterior:
        """Return the posterior learned from some of the completed rows."""
        gamma, X, mask = self.gamma(smoothing), X[rows], self.mask[rows]
        energy = self.enough(X, gamma, np.random.default_rng(self.seed), rows).energy(gamma)
        return Posterior.learned(energy, X, mask, energy.value(X))
