"""Where arrays live while rows are completed: NumPy on the host, PyTorch on a GPU.

The numerical code is written against the array API and runs wherever its arrays are. What differs
between libraries and is not arithmetic stands here: the way to the GPU and back, what is free
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
from array_api_compat import array_namespace, device, is_torch_array

from polycomplete._machine import free_memory

NAME = re.compile(r"(?:torch:)?(cpu|cuda(?::(\d+))?)")

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

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Work on one part after the other, in their order."""
        return map(work, parts)


class TorchDevice(Device):
    """A device of PyTorch: a GPU, or the CPU by PyTorch's own routines.

    Parts of the data travel while others are worked on.

    Parameters
    ----------
    name : str
        As PyTorch names it.
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

    def stream(self) -> AbstractContextManager[Any]:
        """Return a CUDA stream."""
        if self.device.type != "cuda":
            return nullcontext()
        return self.torch.cuda.stream(self.torch.cuda.Stream(self.device))

    def each(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Work on parts by a few threads, each with a queue of its own on the GPU."""
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


def find_device(name: str | None) -> Device:
    """Return the device of a name.

    Parameters
    ----------
    name : str or None
        "cpu" or None for NumPy; "cuda" or "cuda:1" for a GPU, by PyTorch; "torch:cpu" for the CPU
        by PyTorch.

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
    if find_spec("torch") is None:
        raise ImportError(
            f"device={name!r} needs PyTorch; install it by python -m pip install torch."
        )
    kind, number = found[1], int(found[2] or 0)
    if kind == "cpu":
        return TorchDevice("cpu")
    if number >= _count():
        raise RuntimeError(
            f"device={name!r}: PyTorch found {_count()} GPUs here; use "
            'device="cpu", or a build of PyTorch and a driver that fit the GPU.'
        )
    return TorchDevice(f"cuda:{number}")


def _count() -> int:
    """Return how many GPUs PyTorch sees."""
    try:
        return import_module("torch").cuda.device_count()
    except Exception:  # no driver, or one that does not fit
        return 0


def any_card() -> str | None:
    """Return the name of a GPU that can be used, None where there is none."""
    return "cuda" if find_spec("torch") is not None and _count() else None


def name_of(X: Any) -> str | None:
    """Return the name of the GPU a tensor lies on; None for the host.

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
    return f"cuda:{X.get_device()}" if is_torch_array(X) and X.is_cuda else None


def to_host(X: Any) -> np.ndarray:
    """Return an array of another library as NumPy's.

    Parameters
    ----------
    X : array
        Of PyTorch, or another library that NumPy can read.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> to_host(np.ones(2))
    array([1., 1.])
    """
    return X.detach().cpu().numpy() if is_torch_array(X) else np.asarray(X)


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
