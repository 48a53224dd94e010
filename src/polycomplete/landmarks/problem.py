"""The problem that landmarks pose: linear in the number of rows, wherever these are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._arrays import Array
from polycomplete._resources import Device
from polycomplete.kernels import Kernel
from polycomplete.landmarks.energy import EVEN, Spectrum
from polycomplete.landmarks.features import moments, whiten
from polycomplete.penalties import Schatten
from polycomplete.rows import PLAIN, Posterior, Resources, Run, pivots, spreads

CANDIDATES = 3  # rows that are drawn for each landmark; the landmarks are the pivots among them
FEWEST, MOST = 104, 400  # landmarks
SPARE = 1.5  # landmarks for each direction of the surface
CLOSE = 0.75  # more directions than this for each landmark: there may be more of them
SMALL = 0.02  # of γ: what landmarks need not express
JUDGE = 1e-5  # smoothing at which a restart is judged: below, only the nearest place counts
LEAST_WEIGHT = 1e-6  # of a row with hardly any observed entry


@dataclass(frozen=True)
class LandmarkProblem:
    """Rows to be completed jointly.

    Attributes
    ----------
    X : array of shape (n, m)
        Scaled rows; holes hold anything finite.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    kernel, penalty : Kernel and Schatten
        Resolved.
    n_landmarks : int or None
        Where they are given.
    resources : Resources
        Where rows are worked on.
    seed : int
        Draws landmarks.
    """

    X: Array
    mask: np.ndarray
    kernel: Kernel
    penalty: Schatten
    n_landmarks: int | None
    resources: Resources
    seed: int

    @cached_property
    def unit(self) -> float:
        """The mean of k(x, x)."""
        xp = array_namespace(self.X)
        return float(xp.mean(self.kernel.diagonal(self.X))) or 1.0

    @cached_property
    def weights(self) -> np.ndarray:
        """How much each row counts in what is learned: by its observed share, squared."""
        return np.maximum(self.mask.mean(axis=1) ** 2, LEAST_WEIGHT)

    @cached_property
    def device(self) -> Device:
        """Where the rows are worked on."""
        return self.resources.device_for(len(self.mask))

    @property
    def run(self) -> Run:
        """Maps over blocks: by threads on the host; a card is busy with one at a time."""
        return self.resources.mapping if self.device.is_host else map

    def gamma(self, smoothing: float) -> float:
        """Return γ of the mean covariance; the exact problem has n times as much on a sum."""
        return smoothing * self.unit / len(self.mask)

    @property
    def fewest(self) -> int:
        """How many landmarks to begin with: what the user said, or few."""
        return min(len(self.mask), self.n_landmarks or FEWEST)

    @property
    def most(self) -> int:
        """How many landmarks there may be: beside wide rows, as many as columns cost little."""
        return min(len(self.mask), max(MOST, self.mask.shape[1]))

    def more(self, count: int, spectrum: Spectrum, gamma: float, growth: float) -> int:
        """Return how many landmarks to take next: more where these do not express the surface."""
        q = int(spectrum.slopes(gamma).shape[0])
        enough = spectrum.outside <= SMALL * gamma and q <= CLOSE * count
        if enough or self.n_landmarks is not None:
            return count
        most = min(self.most, max(FEWEST, int(SPARE * q)))
        wanted = -(-int(np.ceil(growth * count)) // EVEN) * EVEN
        return max(count, min(wanted, most))

    def enough(
        self, X: Array, gamma: float, rng: np.random.Generator, rows: np.ndarray | None = None
    ) -> Spectrum:
        """Learn from (some of) the rows X with as many landmarks as they need at this γ."""
        count = min(self.fewest, len(X))
        while True:
            spectrum = self.spectrum(X, count, rng, rows)
            more = self.more(count, spectrum, gamma, growth=1.5)
            if more == count:
                return spectrum
            count = more

    def spectrum(
        self,
        X: Array,
        count: int,
        rng: np.random.Generator,
        rows: np.ndarray | None = None,
    ) -> Spectrum:
        """Choose landmarks among (some of) the rows X and learn from all of these."""
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
        return Spectrum(features, weighed, self.penalty)

    def learn(self, X: np.ndarray, smoothing: float, rows: np.ndarray) -> Posterior:
        """Return what some of the completed rows show, with as many landmarks as they need."""
        gamma, X, mask = self.gamma(smoothing), X[rows], self.mask[rows]
        energy = self.enough(X, gamma, np.random.default_rng(self.seed), rows).energy(gamma)
        usual = max(float(np.median(energy.value(X))), gamma)
        return Posterior(energy, X, spreads(X, mask), usual, packing=PLAIN)
