"""Where arrays live while rows are completed: NumPy on the host, PyTorch or CuPy on a card.

The numerical code is written against the array API and runs wherever its arrays are. What differs
between libraries and is not arithmetic stands here: the way to the card and back, what is free
there, and how copies of one block overlap with the work on another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from threading import local
from typing import Any, TypeVar

import numpy as np
from array_api_compat import array_namespace, device, is_cupy_array, is_torch_array

from polycomplete._machine import free_memory

__all__ = ["Device", "find_device", "from_host", "is_foreign", "name_of", "to_host"]

NAME = re.compile(r"(?:(torch|cupy):)?((?<!cupy:)cpu|cuda(?::(\d+))?)")

Part = TypeVar("Part")
Done = TypeVar("Done")


class Device:
    """The host: arrays are NumPy's, and go nowhere.

    Examples
    --------
    >>> Device().put(np.ones(2))
    array([1., 1.])
    """

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

    def stream(self) -> AbstractContextManager[Any]:
        """Return a queue of work of its own, to be entered."""
        return nullcontext()

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Work on one part after the other, in their order."""
        return map(work, parts)


class Card(Device):
    """A device with memory of its own: parts of the data travel while others are worked on."""

    is_host = False
    at_once = 2

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Work on parts by a few threads, each with a queue of its own on the card."""
        own = local()

        def queued(part: Part) -> Done:
            if not hasattr(own, "stream"):
                own.stream = self.stream()
            with own.stream:
                return work(part)

        coming = iter(parts)
        with ThreadPoolExecutor(self.at_once) as executor:
            running = [executor.submit(queued, part) for part in islice(coming, self.at_once)]
            while running:
                yield running.pop(0).result()
                running += [executor.submit(queued, part) for part in islice(coming, 1)]


class TorchDevice(Card):
    """A device of PyTorch: a GPU, or the CPU by PyTorch's own routines.

    Parameters
    ----------
    name : str
        As PyTorch names it.
    """

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

    def stream(self) -> AbstractContextManager[Any]:
        """Return a CUDA stream."""
        if self.device.type != "cuda":
            return nullcontext()
        return self.torch.cuda.stream(self.torch.cuda.Stream(self.device))


class CupyDevice(Card):
    """A GPU through CuPy.

    Parameters
    ----------
    number : int
        Which one.
    """

    def __init__(self, number: int = 0):
        self.cupy = import_module("cupy")
        self.device = self.cupy.cuda.Device(number)

    def put(self, A: np.ndarray) -> Any:
        """Return an array on the device."""
        with self.device:
            return self.cupy.array(A)

    def get(self, A: Any) -> np.ndarray:
        """Return an array of the device as NumPy's."""
        return self.cupy.asnumpy(A)

    def free_memory(self) -> int:
        """Return what the device has left."""
        return self.device.mem_info[0]

    def stream(self) -> AbstractContextManager[Any]:
        """Return a CUDA stream."""
        with self.device:
            return self.cupy.cuda.Stream(non_blocking=True)


def find_device(name: str | None) -> Device:
    """Return the device of a name.

    Parameters
    ----------
    name : str or None
        "cpu" or None for NumPy; "cuda" or "cuda:1" for a GPU, by PyTorch, or by CuPy where PyTorch
        is not installed. "torch:" or "cupy:" before it choose the library: "torch:cpu",
        "cupy:cuda:0".

    Returns
    -------
    Device

    Examples
    --------
    >>> find_device("cpu").is_host
    True
    >>> find_device("tpu")
    Traceback (most recent call last):
        ...
    ValueError: device must be "cpu", "cuda" or "cuda:1" and the like, got 'tpu'.
    """
    if name is None or name == "cpu":
        return Device()
    found = NAME.fullmatch(str(name))
    if found is None:
        raise ValueError(f'device must be "cpu", "cuda" or "cuda:1" and the like, got {name!r}.')
    library, kind, number = found.groups()
    return _find(library, kind, int(number or 0))


def _find(library: str | None, kind: str, number: int) -> Device:
    """Return a device, or say what is missing."""
    wanted = [library] if library else ["torch", "cupy"]
    there = [each for each in wanted if find_spec(each) is not None]
    if not there:
        raise ImportError(
            f"device={kind!r} needs {' or '.join(wanted)}; install it by python -m pip install "
            f"{'torch' if 'torch' in wanted else 'cupy-cuda12x'}."
        )
    if kind == "cpu" and "torch" in there:
        return TorchDevice("cpu")
    counts = {each: _count(each) for each in there}
    for each, count in counts.items():
        if number < count:
            return TorchDevice(f"cuda:{number}") if each == "torch" else CupyDevice(number)
    raise RuntimeError(
        f"device={kind!r}: {' and '.join(counts)} found {max(counts.values())} GPUs here; use "
        'device="cpu", or a build of the library and a driver that fit the card.'
    )


def _count(library: str) -> int:
    """Return how many GPUs a library sees."""
    try:
        if library == "torch":
            return import_module("torch").cuda.device_count()
        return import_module("cupy").cuda.runtime.getDeviceCount()
    except Exception:  # no driver, or one that does not fit: each library has errors of its own
        return 0


def any_card() -> str | None:
    """Return the name of a GPU that can be used, None where there is none."""
    for library in ("torch", "cupy"):
        if find_spec(library) is not None and _count(library):
            return f"{library}:cuda"
    return None


def is_foreign(X: Any) -> bool:
    """Return whether X is a tensor of PyTorch or an array of CuPy.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_foreign(np.ones(2)), is_foreign([1.0])
    (False, False)
    """
    return is_torch_array(X) or is_cupy_array(X)


def name_of(X: Any) -> str | None:
    """Return the name of the card an array lies on; None for the host.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    str or None

    Examples
    --------
    >>> name_of(np.ones(2)) is None
    True
    """
    if is_torch_array(X) and X.is_cuda:
        return f"torch:cuda:{X.get_device()}"
    return f"cupy:cuda:{X.device.id}" if is_cupy_array(X) else None


def to_host(X: Any) -> np.ndarray:
    """Return an array of another library as NumPy's.

    Parameters
    ----------
    X : array
        Of PyTorch, CuPy, or another library that NumPy can read.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> to_host(np.ones(2))
    array([1., 1.])
    """
    if is_torch_array(X):
        return X.detach().cpu().numpy()
    return X.get() if is_cupy_array(X) else np.asarray(X)


def from_host(A: np.ndarray, like: Any) -> Any:
    """Return a NumPy array as one of the library and on the device of another array.

    Parameters
    ----------
    A : ndarray
        The numbers.
    like : array
        The example.

    Returns
    -------
    array

    Examples
    --------
    >>> from_host(np.ones(2), like=np.zeros(3))
    array([1., 1.])
    """
    return array_namespace(like).asarray(A, device=device(like))
