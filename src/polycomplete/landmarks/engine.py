"""The landmark engine: linear in the number of rows, and the problem it poses."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator

from polycomplete._arrays import Array
from polycomplete._checks import check_numbers
from polycomplete._machine import blas_threads, cores
from polycomplete.devices import Device, any_card, find_device
from polycomplete.kernels import Kernel
from polycomplete.landmarks.energy import EVEN, Spectrum
from polycomplete.landmarks.features import moments, whiten
from polycomplete.penalties import Schatten
from polycomplete.rows import PLAIN, Packing, Run, pivots

CANDIDATES = 3  # rows that are drawn for each landmark; the landmarks are the pivots among them
FEWEST, MOST = 104, 400  # landmarks
SPARE = 1.5  # landmarks for each direction of the surface
CLOSE = 0.75  # more directions than this for each landmark: there may be more of them
SMALL = 0.02  # of γ: what landmarks need not express
JUDGE = 1e-5  # smoothing at which a restart is judged: below, only the nearest place counts
LEAST_WEIGHT = 1e-6  # of a row with hardly any observed entry
MANY, MANY_JOINT = 2000, 1000  # rows from which on a card gains: one by one, and jointly
MANY_HERE = 100_000  # rows from which on processes gain, which take seconds to start
WORKER = 1.5e8  # bytes of a process with the libraries that it loads
WORKER_ROOM = 5e7  # ... and what it should have at least to work with
THREADS = 4  # more of them wait for each other
LARGE, SMALL_CARD = 1_300_000, 20_000  # rows × columns of a block on a card
FULL = 16_384  # rows that keep a card busy
PER_LANDMARK = 100  # bytes for each entry of a block and each landmark there


class Landmark(BaseEstimator):
    """Express the surface by a few of the rows, and complete every row by itself.

    Cost and memory grow linearly with the number of rows. The surface is learned jointly from
    ``max_rows`` rows, half of them the best-observed ones; where there are more, every row is then
    completed by the learned row energy.

    Parameters
    ----------
    n_landmarks : "auto" or int, default="auto"
        How many rows express the surface: among rows that are drawn at random, those with many
        observed entries more often, the ones that the others explain least. "auto" lets their
        number grow until what they cannot express is small against the smoothing, up to 400, or
        to the number of columns.
    max_rows : int, default=3000
        The surface is learned from at most so many rows.
    n_jobs : "auto" or int, default="auto"
        Cores to use: by up to four threads, and from 100 000 rows on by processes. "auto" takes
        all of them. The result does not depend on it.
    max_memory : float, optional
        Bytes that completing may take beyond the data; a quarter of the free memory by default.
        Processes share it: there are no more of them than one for every 200 MB.
    device : str, optional
        Where rows are completed: "cpu", "cuda" (or "cuda:1" and so on), or "auto" for a GPU where
        there is one and there are enough rows. By default where the rows are: on the GPU for a
        tensor that lies there.

    Examples
    --------
    >>> Landmark(n_landmarks=200)
    Landmark(n_landmarks=200)
    """

    def __init__(
        self,
        n_landmarks: int | str = "auto",
        max_rows: int = 3000,
        n_jobs: int | str = "auto",
        max_memory: float | None = None,
        device: str | None = None,
    ):
        self.n_landmarks = n_landmarks
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.device = device

    def check_params(self) -> None:
        """Refuse what makes no sense."""
        check_numbers(self, "max_rows")
        for name in ("n_landmarks", "n_jobs"):
            if getattr(self, name) != "auto":
                check_numbers(self, name)
        if self.max_memory is not None:
            check_numbers(self, "max_memory")
        if self.device != "auto":
            find_device(self.device)

    def device_for(self, n_rows: int, joint: bool = True) -> Device:
        """Return where so many rows are worked on: all at once, or one by one."""
        name = self.device
        if name == "auto":
            name = any_card() if n_rows >= MANY else None
        if joint and n_rows < MANY_JOINT:
            name = None
        return find_device(name)

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
        return cores() if isinstance(self.n_jobs, str) else int(self.n_jobs)

    def workers(self, n_rows: int, device: Device) -> int:
        """Return how many processes complete so many rows: as the memory allows; 1 for this one."""
        if not device.is_host or n_rows < MANY_HERE:
            return 1
        most = int(self.bytes_for_blocks(device) / (WORKER + WORKER_ROOM))
        return max(1, min(self.jobs, most))

    #: Maps over blocks; that of a pool of threads inside :meth:`pool`.
    run: Run = staticmethod(map)

    @contextmanager
    def pool(self) -> Iterator[Landmark]:
        """Give a copy of the engine that maps over blocks by threads, with one BLAS thread each."""
        engine = copy(self)
        jobs = min(self.jobs, THREADS)
        with blas_threads(1):
            if jobs == 1:
                yield engine
                return
            rules = partial(np.seterr, **np.geterr())  # threads have their own otherwise
            with ThreadPoolExecutor(jobs, initializer=rules) as executor:
                engine.run = executor.map
                yield engine

    def pose(
        self,
        X: Array,
        mask: np.ndarray,
        kernel: Kernel,
        penalty: Schatten,
        noise: float | None = None,
    ) -> LandmarkProblem:
        """Return the problem of completing these rows; kernel and penalty are resolved."""
        if noise is not None:
            raise ValueError(
                'The landmark engine keeps observed entries; for noise=... use engine="exact", or '
                "leave noise out and let the smoothing account for it."
            )
        self.check_params()
        return LandmarkProblem(X, mask, kernel, penalty, self)


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
    engine : Landmark
        Its settings.
    """

    X: Array
    mask: np.ndarray
    kernel: Kernel
    penalty: Schatten
    engine: Landmark

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
        return self.engine.device_for(len(self.mask))

    @property
    def run(self) -> Run:
        """Maps over blocks: by threads on the host; a card is busy with one at a time."""
        return self.engine.run if self.device.is_host else map

    def gamma(self, smoothing: float) -> float:
        """Return γ of the mean covariance; the exact engine has n times as much on a sum."""
        return smoothing * self.unit / len(self.mask)

    @property
    def fewest(self) -> int:
        """How many landmarks to begin with: what the user said, or few."""
        given = self.engine.n_landmarks
        return min(len(self.mask), FEWEST if isinstance(given, str) else int(given))

    @property
    def most(self) -> int:
        """How many landmarks there may be: beside wide rows, as many as columns cost little."""
        return min(len(self.mask), max(MOST, self.mask.shape[1]))

    def more(self, count: int, spectrum: Spectrum, gamma: float, growth: float) -> int:
        """Return how many landmarks to take next: more where these do not express the surface."""
        q = int(spectrum.slopes(gamma).shape[0])
        enough = spectrum.outside <= SMALL * gamma and q <= CLOSE * count
        if enough or not isinstance(self.engine.n_landmarks, str):
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
