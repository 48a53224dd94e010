"""Arrays of any library that follows the array API, the devices that hold them, free memory.

Numerical code is written against the array API and runs where its arrays are. This module has what
differs between libraries and is not arithmetic: transfers to a GPU and back, free memory, and
blocks that are copied while others are computed.
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
ROUNDING = 1e-14  # relative rounding error of a sum of products in double precision


def median(values: Array) -> float:
    """Return the median of an array of any library."""
    xp, n = array_namespace(values), values.shape[0]
    middle = xp.sort(values)[(n - 1) // 2 : n // 2 + 1]
    return float(xp.mean(middle))


def eigenpairs(K: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns."""
    if not is_numpy_array(K):
        return tuple(array_namespace(K).linalg.eigh(K))
    # Divide and conquer is the fastest; SciPy 1.12 cannot apply it to a 1 × 1 matrix.
    return linalg.eigh(K, driver="evd" if len(K) > 1 else "ev", check_finite=False)


def free_memory() -> int:
    """Return the bytes that can be allocated without swapping, as far as the system says."""
    limits = []
    with suppress(OSError, IndexError):
        limits += [1024 * _numbers(Path("/proc/meminfo"), "MemAvailable:")[0]]
    with suppress(OSError, IndexError):  # the limit of a container, unless it is "max"
        folder = Path("/sys/fs/cgroup")
        left = _numbers(folder / "memory.max")[0] - _numbers(folder / "memory.current")[0]
        # Cached files are dropped from memory when it is needed.
        limits += [max(left + sum(_numbers(folder / "memory.stat", "^inactive_file")), 0)]
    with suppress(OSError, ValueError, AttributeError):
        limits += [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    return min(limits, default=4 * 2**30)  # unknown: assume a small machine


def _numbers(path: Path, name: str = "^") -> list[int]:
    """Return the numbers that follow a name in a system file."""
    return [int(found) for found in re.findall(rf"{name}\s*(\d+)", path.read_text(), re.MULTILINE)]


class Device:
    """The host, where arrays are NumPy's."""

    #: Whether arrays stay in the memory of the host.
    is_host = True
    #: Number of parts of the data that are computed or copied at the same time.
    at_once = 1

    def put(self, A: np.ndarray) -> Any:
        """Return an array on the device."""
        return A

    def get(self, A: Any) -> np.ndarray:
        """Return an array of the device as NumPy's."""
        return np.asarray(A)

    def copy(self, A: Any, into: np.ndarray) -> None:
        """Copy an array of the device into one of the host."""
        into[...] = self.get(A)

    def free_memory(self) -> int:
        """Return the free memory of the device in bytes."""
        return free_memory()

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Apply a function to the parts, one after the other."""
        return map(work, parts)


class TorchDevice(Device):
    """A device of PyTorch; parts of the data are copied while others are computed."""

    is_host = False
    at_once = 2

    def __init__(self, name: str):
        self.torch = import_module("torch")
        self.device = self.torch.device(name)
        # PyTorch loads its solvers with the first call, which is not safe in two threads.
        self.torch.linalg.inv(self.torch.eye(2, device=self.device))

    def put(self, A: np.ndarray) -> Any:
        """Return a tensor on the device."""
        return self.torch.asarray(np.ascontiguousarray(A), device=self.device, copy=True)

    def get(self, A: Any) -> np.ndarray:
        """Return a tensor as a NumPy array."""
        return A.cpu().numpy()

    def copy(self, A: Any, into: np.ndarray) -> None:
        """Copy a tensor into an array without a temporary one."""
        self.torch.from_numpy(into).copy_(A)

    def free_memory(self) -> int:
        """Return the free memory of the device in bytes."""
        cuda = self.device.type == "cuda"
        return self.torch.cuda.mem_get_info(self.device)[0] if cuda else free_memory()

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Apply a function to the parts by a few threads, each with its own stream on the GPU."""
        coming = iter(parts)
        with ThreadPoolExecutor(self.at_once, initializer=self._open_stream) as executor:
            running = [executor.submit(work, part) for part in islice(coming, self.at_once)]
            while running:
                yield running.pop(0).result()
                running += [executor.submit(work, part) for part in islice(coming, 1)]

    def _open_stream(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.set_stream(self.torch.cuda.Stream(self.device))


def find_device(name: str | None) -> Device:
    """Return a device: NumPy's for "cpu" and None, PyTorch's for "cuda" and "torch:cpu"."""
    if name is None or name == "cpu":
        return Device()
    found = re.fullmatch(r"(?:torch:)?(cpu|cuda(?::(\d+))?)", str(name))
    if found is None:
        raise ValueError(f'device must be "cpu", "cuda" or a GPU such as "cuda:1", got {name!r}.')
    if find_spec("torch") is None:
        raise ImportError(
            f"device={name!r} needs PyTorch; install it by python -m pip install torch."
        )
    if found[1] != "cpu" and int(found[2] or 0) >= gpu_count():
        raise RuntimeError(
            f"device={name!r}: PyTorch found {gpu_count()} GPUs here; use "
            'device="cpu", or a build of PyTorch and a driver that match the GPU.'
        )
    return TorchDevice("cuda:0" if found[1] == "cuda" else found[1])


def gpu_count() -> int:
    """Return the number of GPUs that PyTorch finds."""
    try:
        return import_module("torch").cuda.device_count()
    except Exception:  # no PyTorch, no driver, or an incompatible one
        return 0


def any_gpu() -> str | None:
    """Return the name of a GPU, or None if there is none."""
    return "cuda" if gpu_count() else None


def name_of(X: Any) -> str | None:
    """Return the name of the GPU that holds a tensor; None for the host."""
    return f"cuda:{X.get_device()}" if is_torch_array(X) and X.is_cuda else None


def to_host(X: Any) -> np.ndarray:
    """Return a tensor, or any array that NumPy can read, as NumPy's."""
    return X.detach().cpu().numpy() if is_torch_array(X) else np.asarray(X)


def from_host(A: np.ndarray, like: Any) -> Any:
    """Return a NumPy array in the library and on the device of another array."""
    return array_namespace(like).asarray(A, device=device(like))
