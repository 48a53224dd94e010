"""Arrays of any library that follows the array API, the devices where they live, free memory.

The numerical code is written against the array API and runs wherever its arrays are. What differs
between libraries and is not arithmetic stands here: the way to a GPU and back, what is free
there, and how copies of one block overlap with the work on another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from scipy import linalg

Part = TypeVar("Part")
Done = TypeVar("Done")
Array = Any  # a NumPy array, or one of another library
ROUNDING = 1e-14  # relative error that a sum of products of 64 bits may have; more would mislead 32


def median(values: Array) -> float:
    """Return the median of some numbers, wherever they are."""
    xp, n = array_namespace(values), values.shape[0]
    middle = xp.sort(values)[(n - 1) // 2 : n // 2 + 1]
    return float(xp.mean(middle))


def eigenpairs(K: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, growing, and its eigenvectors as columns."""
    if not is_numpy_array(K):
        return tuple(array_namespace(K).linalg.eigh(K))
    # Divide and conquer is the fastest; SciPy 1.12 cannot take a 1 × 1 matrix to it.
    return linalg.eigh(K, driver="evd" if len(K) > 1 else "ev", check_finite=False)


def free_memory() -> int:
    """Return the bytes that can be taken without swapping, as far as the system tells."""
    limits = []
    with suppress(OSError, IndexError):
        limits += [1024 * _numbers(Path("/proc/meminfo"), "MemAvailable:")[0]]
    with suppress(OSError, IndexError):  # a container's own limit; "max" is none
        folder = Path("/sys/fs/cgroup")
        left = _numbers(folder / "memory.max")[0] - _numbers(folder / "memory.current")[0]
        # Files that were read stay in memory only as long as nobody needs it.
        limits += [max(left + sum(_numbers(folder / "memory.stat", "^inactive_file")), 0)]
    with suppress(OSError, ValueError, AttributeError):
        limits += [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    return min(limits, default=4 * 2**30)  # a system that does not tell: assume a small machine


def _numbers(path: Path, name: str = "^") -> list[int]:
    """Return the numbers after a name in a file of the system."""
    return [int(found) for found in re.findall(rf"{name}\s*(\d+)", path.read_text(), re.MULTILINE)]


class Device:
    """The host: arrays are NumPy's, and go nowhere."""

    #: Whether arrays leave the memory of the host.
    is_host = True
    #: Parts of the data that are worked on or travel at a time.
    at_once = 1

    def put(self, A: np.ndarray) -> Any:
        """Return the array where the work is done."""
        return A

    def get(self, A: Any) -> np.ndarray:
        """Return an array from there as NumPy's."""
        return np.asarray(A)

    def copy(self, A: Any, into: np.ndarray) -> None:
        """Write an array from there into one of the host."""
        into[...] = self.get(A)

    def free_memory(self) -> int:
        """Return the bytes that are free there."""
        return free_memory()

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Work on one part after the other, in their order."""
        return map(work, parts)


class TorchDevice(Device):
    """A device as PyTorch names it: a GPU, or the CPU by PyTorch's own routines.

    Parts of the data travel while others are worked on.
    """

    is_host = False
    at_once = 2

    def __init__(self, name: str):
        self.torch = import_module("torch")
        self.device = self.torch.device(name)
        # PyTorch loads its solvers when the first is called, which two threads must not do at once.
        self.torch.linalg.inv(self.torch.eye(2, device=self.device))

    def put(self, A: np.ndarray) -> Any:
        """Return a tensor on the device."""
        return self.torch.asarray(np.ascontiguousarray(A), device=self.device, copy=True)

    def get(self, A: Any) -> np.ndarray:
        """Return a tensor as a NumPy array."""
        return A.cpu().numpy()

    def copy(self, A: Any, into: np.ndarray) -> None:
        """Write a tensor into an array, without another one in between."""
        self.torch.from_numpy(into).copy_(A)

    def free_memory(self) -> int:
        """Return what the device has left."""
        cuda = self.device.type == "cuda"
        return self.torch.cuda.mem_get_info(self.device)[0] if cuda else free_memory()

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Work on parts by a few threads, each with a queue of its own on the GPU."""
        coming = iter(parts)
        with ThreadPoolExecutor(self.at_once, initializer=self._open_queue) as executor:
            running = [executor.submit(work, part) for part in islice(coming, self.at_once)]
            while running:
                yield running.pop(0).result()
                running += [executor.submit(work, part) for part in islice(coming, 1)]

    def _open_queue(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.set_stream(self.torch.cuda.Stream(self.device))


def find_device(name: str | None) -> Device:
    """Return the device of a name: "cpu" or None for NumPy's, "cuda" and "torch:cpu" by PyTorch."""
    if name is None or name == "cpu":
        return Device()
    found = re.fullmatch(r"(?:torch:)?(cpu|cuda(?::(\d+))?)", str(name))
    if found is None:
        raise ValueError(f'device must be "cpu", "cuda" or "cuda:1" and the like, got {name!r}.')
    if find_spec("torch") is None:
        raise ImportError(
            f"device={name!r} needs PyTorch; install it by python -m pip install torch."
        )
    if found[1] != "cpu" and int(found[2] or 0) >= gpu_count():
        raise RuntimeError(
            f"device={name!r}: PyTorch found {gpu_count()} GPUs here; use "
            'device="cpu", or a build of PyTorch and a driver that fit the GPU.'
        )
    return TorchDevice("cuda:0" if found[1] == "cuda" else found[1])


def gpu_count() -> int:
    """Return how many GPUs PyTorch sees."""
    try:
        return import_module("torch").cuda.device_count()
    except Exception:  # no PyTorch, no driver, or one that does not fit
        return 0


def any_gpu() -> str | None:
    """Return the name of a GPU that can be used; None where there is none."""
    return "cuda" if gpu_count() else None


def name_of(X: Any) -> str | None:
    """Return the name of the GPU a tensor lies on; None for the host."""
    return f"cuda:{X.get_device()}" if is_torch_array(X) and X.is_cuda else None


def to_host(X: Any) -> np.ndarray:
    """Return an array of PyTorch, or another library that NumPy can read, as NumPy's."""
    return X.detach().cpu().numpy() if is_torch_array(X) else np.asarray(X)


def from_host(A: np.ndarray, like: Any) -> Any:
    """Return a NumPy array as one of the library and on the device of another array."""
    return array_namespace(like).asarray(A, device=device(like))
