"""The problem that landmarks pose: linear in the number of rows, wherever these are."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral

import numpy as np
from array_api_compat import array_namespace, device

from polycomplete._arrays import Array
from polycomplete._resources import Device, any_card, blas_threads, cores, find_device
from polycomplete.kernels import Kernel
from polycomplete.landmarks.energy import EVEN, Spectrum
from polycomplete.landmarks.features import moments, whiten
from polycomplete.penalties import Schatten
from polycomplete.rows import PLAIN, Packing, Run, pivots
from polycomplete.solvers.base import stages

CANDIDATES = 3  # rows that are drawn for each landmark; the landmarks are the pivots among them
FEWEST, MOST = 104, 400  # landmarks
SPARE = 1.5  # landmarks for each direction of the surface
CLOSE = 0.75  # more directions than this for each landmark: there may be more of them
SMALL = 0.02  # of γ: what landmarks need not express
COARSE = 0.2  # smoothing at which a row begins to look for its place
JUDGE = 1e-5  # ... and at which it is judged: below, only the nearest place counts
LEAST_WEIGHT = 1e-6  # of a row with hardly any observed entry
MANY, MANY_JOINT = 2000, 1000  # rows from which on a card gains: one by one, and jointly
MANY_HERE = 100_000  # rows from which on processes gain, which take seconds to start
WORKER = 1.5e8  # bytes of a process with the libraries that it loads
WORKER_ROOM = 5e7  # ... and what it should have at least to work with
THREADS = 4  # more of them wait for each other
LARGE, SMALL_CARD = 1_300_000, 20_000  # rows × columns of a block on a card
FULL = 16_384  # rows that keep a card busy
PER_LANDMARK = 100  # bytes for each entry of a block and each landmark there


@dataclass(frozen=True)
class Resources:
    """Where rows are worked on, and what that may take.

    Attributes
    ----------
    n_jobs : int
        Cores; −1 for all of them, −2 for all but one.
    device : str or None
        A device by name; "auto" for a GPU where there is one and enough rows; None for the host.
    max_memory : float or None
        Bytes beyond the data; a quarter of the free memory by default.
    mapping : callable
        Maps over blocks of rows: by threads inside :meth:`pool`.
    """

    n_jobs: int = -1
    device: str | None = None
    max_memory: float | None = None
    mapping: Run = map

    def __post_init__(self) -> None:
        """Refuse what there is not."""
        if not isinstance(self.n_jobs, Integral) or not self.n_jobs:
            raise ValueError(f"n_jobs must be a whole number from 1, or -1, got {self.n_jobs!r}.")
        if self.device != "auto":
            find_device(self.device)

    def name_for(self, n_rows: int) -> str | None:
        """Return the name of the device for so many rows; None for the host."""
        if self.device == "auto":
            return any_card() if n_rows >= MANY else None
        return self.device

    def device_for(self, n_rows: int, joint: bool = True) -> Device:
        """Return where so many rows are worked on: all at once, or one by one."""
        return find_device(None if joint and n_rows < MANY_JOINT else self.name_for(n_rows))

    def bytes_for_blocks(self, device: Device) -> float:
        """Return what the blocks that are worked on at a time may take."""
        most = device.free_memory() / 4 if self.max_memory is None else float(self.max_memory)
        return most / device.at_once

    def packing(self, device: Device, landmarks: int) -> Packing:
        """Return how rows are put into blocks on a device.

        On the host small enough for the cache; on a card large ones.
        """
        if device.is_host:
            return PLAIN
        entries = self.bytes_for_blocks(device) / (PER_LANDMARK * landmarks)
        return Packing(entries=int(min(LARGE, max(SMALL_CARD, entries))), smallest=FULL)

    @property
    def jobs(self) -> int:
        """How many cores to use."""
        return cores() + 1 + int(self.n_jobs) if self.n_jobs < 0 else int(self.n_jobs)

    def workers(self, n_rows: int, device: Device) -> int:
        """Return how many processes complete so many rows: as the memory allows; 1 for this one."""
        if not device.is_host or n_rows < MANY_HERE:
            return 1
        most = int(self.bytes_for_blocks(device) / (WORKER + WORKER_ROOM))
        return max(1, min(self.jobs, most))

    @contextmanager
    def pool(self) -> Iterator[Resources]:
        """Give the same with threads that map over blocks, with one BLAS thread each."""
        jobs = min(self.jobs, THREADS)
        with blas_threads(1):
            if jobs == 1:
                yield self
                return
            rules = partial(np.seterr, **np.geterr())  # threads have their own otherwise
            with ThreadPoolExecutor(jobs, initializer=rules) as executor:
                yield replace(self, mapping=executor.map)


def ladder(smoothing: float) -> list[float]:
    """Return the smoothings that a row walks down to find its place.

    Examples
    --------
    >>> ladder(1e-7)
    [0.2, 0.002, 2e-05, 1e-05]
    """
    last = max(smoothing, JUDGE)
    return stages(max(COARSE, last), last, factor=100.0)


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
