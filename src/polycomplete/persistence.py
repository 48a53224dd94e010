"""Saving and loading fitted estimators, by skops: no pickle, so that a file cannot run code.

A model file is a zip archive as skops writes it, with a label of ours in it: the format, the
version of polycomplete that wrote it, and those of the libraries. It is read before anything else.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np

from polycomplete._optional import need
from polycomplete._version import __version__
from polycomplete.io.atomic import written_whole

__all__ = ["FORMAT", "ModelFileError", "dumps", "load", "save"]

#: Counted up whenever files of older versions can no longer be read.
FORMAT = 1
LABEL = "polycomplete.json"
#: Libraries on whose version the answers of a model depend.
SAME = ("numpy", "scikit-learn")
BEGINNING, ARRAY = b"PK", b"\x93NUMPY"  # of every zip archive, and of NumPy's arrays
#: The parts of the library whose classes may be in a file.
OWN = {
    "clustering",
    "completers",
    "kernels",
    "landmarks",
    "linear",
    "methods",
    "model",
    "penalties",
    "rows",
    "scaling",
    "solvers",
    "surface",
    "tables",
    "transduction",
    "model_selection",
}
#: What else may be in it, besides what skops itself takes for safe (NumPy's arrays, scikit-learn's
#: estimators).
OTHERS = {
    "numpy.dtype",
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
}


class ModelFileError(ValueError):
    """A file that is not, or no longer, a model that this version can load.

    Examples
    --------
    >>> issubclass(ModelFileError, ValueError)
    True
    """


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator into a file, whole or not at all.

    The file holds numbers and names, no code. Another process that loads it gets the same answers
    to the last bit.

    Parameters
    ----------
    estimator : estimator
        A completer, clusterer or any other estimator of this library, or a scikit-learn imputer.
    path : str or path
        Where; a file of that name is replaced.

    Returns
    -------
    None

    Examples
    --------
    >>> import tempfile
    >>> from polycomplete import LRMC
    >>> folder = tempfile.TemporaryDirectory()
    >>> save(LRMC().fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), f"{folder.name}/lines.skops")
    >>> load(f"{folder.name}/lines.skops").transform([[5.0, None]]).round(3)
    array([[ 5., 50.]])
    >>> folder.cleanup()
    """
    content = dumps(estimator)
    with written_whole(path, force=True) as file:
        file.write(content)


def dumps(estimator: Any) -> bytes:
    """Return the content of the file that :func:`save` writes.

    Parameters
    ----------
    estimator : estimator
        As for :func:`save`.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> dumps(LRMC())[:2]
    b'PK'
    """
    skops = _skops()
    try:
        data = skops.dumps(estimator)
        foreign = _foreign(skops.get_untrusted_types(data=data))
    except Exception as error:
        raise ModelFileError(
            f"This {type(estimator).__name__} holds something that cannot be saved ({error}); "
            "take out functions and objects of your own."
        ) from error
    if foreign:
        raise ModelFileError(
            f"This {type(estimator).__name__} holds {', '.join(foreign)}, which is not safe to "
            "load and is not saved; choose another method, or take out objects of your own."
        )
    content = io.BytesIO(data)
    with zipfile.ZipFile(content, "a") as archive:
        label = _label(estimator) | {"sha256": _digest(archive)}
        archive.writestr(LABEL, json.dumps(label, indent=1))
    return content.getvalue()


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that :func:`save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        As it was when it was saved.

    Raises
    ------
    ModelFileError
        Where the file is something else, damaged, of a newer version, or holds a type that is not
        on the list of those that are safe to load. Nothing of it has been run then.

    Warns
    -----
    UserWarning
        Where it was saved with another version (the first two numbers of it) of polycomplete, NumPy
        or scikit-learn.

    Examples
    --------
    >>> import tempfile
    >>> from polycomplete import LRMC
    >>> folder = tempfile.TemporaryDirectory()
    >>> LRMC().fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]).save(f"{folder.name}/lines.skops")
    >>> load(f"{folder.name}/lines.skops")
    LRMC()
    >>> folder.cleanup()
    """
    with open(path, "rb") as file:  # something else may be endless
        data = file.read(len(BEGINNING))
        data += file.read() if data == BEGINNING else b""
    label = _check_label(path, data)
    _warn_of_versions(path, label)
    skops = _skops()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_sizes(archive, len(data))
            unchanged = "sha256" not in label or label["sha256"] == _digest(archive)
        types = skops.get_untrusted_types(data=data)
        foreign = _foreign(types)
        if unchanged and not foreign:
            estimator = skops.loads(data, trusted=types)
            _probe(estimator, len(data))
            return estimator
    except Exception as error:
        raise ModelFileError(
            f"{path} is damaged, or does not fit this version {__version__} of polycomplete "
            f"({type(error).__name__}: {error}); make the model again."
        ) from error
    if not foreign:
        raise ModelFileError(f"{path} was changed after it was saved; make the model again.")
    raise ModelFileError(
        f"{path} holds {', '.join(foreign)}, which polycomplete does not load, because it might "
        "run code; was the file changed?"
    )


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Raise where reading an archive would take much more memory than its file has bytes."""
    members = archive.infolist()
    if sum(member.file_size for member in members) > size:
        raise ValueError("there is more in it than a file of this size holds")
    for member in members:
        with archive.open(member) as file:
            if file.read(len(ARRAY)) == ARRAY:
                _check_array(file, member.file_size)
    read = set(_references(json.loads(archive.read("schema.json"))))
    # What has no number of its own is read again for every mention.
    if not all(number for _, number in read) or len({name for name, _ in read}) < len(read):
        raise ValueError("an array is read several times")


def _check_array(file: Any, size: int) -> None:
    """Raise where an array claims another size than it has."""
    file.seek(0)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if math.prod(shape) * dtype.itemsize != size - file.tell():
        raise ValueError(f"an array of shape {shape} has another size")


def _references(state: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members that a description names, each with the number of its object."""
    if isinstance(state, dict) and isinstance(state.get("file"), str):
        yield state["file"], state.get("__id__")
    parts = state.values() if isinstance(state, dict) else state
    for part in parts if isinstance(state, dict | list) else ():
        yield from _references(part)


def _digest(archive: zipfile.ZipFile) -> str:
    """Return what stands for the content of an archive but for our label."""
    found = hashlib.sha256()
    for name in sorted(set(archive.namelist()) - {LABEL}):
        found.update(name.encode() + b"\0" + hashlib.sha256(archive.read(name)).digest())
    return found.hexdigest()


def _probe(estimator: Any, size: int) -> None:
    """Raise where the parts of a model do not fit together: let it complete a few cells."""
    columns = getattr(estimator, "n_features_in_", 0)
    if not 0 <= columns <= size:
        raise ValueError(f"it has {columns} columns")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if hasattr(estimator, "_probe"):
                estimator._probe()
            elif columns and hasattr(estimator, "transform"):  # an imputer of scikit-learn
                estimator.transform(np.where(np.arange(columns) > 0, np.nan, 0.0)[None])
    except (ImportError, RuntimeError) as error:
        # A device that this machine lacks is no fault of the file.
        if type(error) not in (ImportError, RuntimeError):
            raise


def _skops() -> ModuleType:
    return need("skops.io", "models", "Saving and loading models")


def _label(estimator: Any) -> dict[str, Any]:
    libraries = ["numpy", "scipy", "scikit-learn", "skops"]
    return {
        "format": FORMAT,
        "polycomplete": __version__,
        "estimator": type(estimator).__name__,
        "libraries": {name: version(name) for name in libraries},
    }


def _check_label(path: str | os.PathLike[str], data: bytes) -> dict[str, Any]:
    """Return the label of a file; raise where it is no model, or one that we do not know."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.getinfo(LABEL).file_size > len(data):
                raise zipfile.BadZipFile
            label: dict[str, Any] = json.loads(archive.read(LABEL))
        known, written = label["format"], str(label["polycomplete"])
        label["libraries"] = dict(label.get("libraries", {}))
    except (KeyError, ValueError, TypeError):
        raise ModelFileError(
            f"{path} is not a model of polycomplete; name a file that polycomplete saved."
        ) from None
    except Exception:  # each damage of an archive has an error of its own
        cut = data.startswith(BEGINNING)
        raise ModelFileError(
            f"{path} is {'damaged or cut short' if cut else 'not a model file'}; "
            "name a file that polycomplete saved."
        ) from None
    if not isinstance(known, int) or known > FORMAT or _number(written) > _number(__version__):
        raise ModelFileError(
            f"{path} was saved by polycomplete {written} (format {known}), which is newer than "
            f"this version {__version__} (format {FORMAT}); update polycomplete."
        )
    if known < FORMAT:
        raise ModelFileError(
            f"{path} was saved by polycomplete {written} in format {known}, which this version "
            f"{__version__} no longer reads; make the model again."
        )
    return label


def _warn_of_versions(path: str | os.PathLike[str], label: dict[str, Any]) -> None:
    """Warn where a model was saved with other versions of what its numbers depend on."""
    saved = {"polycomplete": label["polycomplete"], **label.get("libraries", {})}
    here = {"polycomplete": __version__, **{name: version(name) for name in SAME}}
    others = [
        name for name in here if name in saved and _release(saved[name]) != _release(here[name])
    ]
    if others:
        old = ", ".join(f"{name} {saved[name]}" for name in others)
        new = ", ".join(f"{name} {here[name]}" for name in others)
        warnings.warn(
            f"{path} was saved with {old}, and this is {new}: its answers may differ; fit the "
            f"model again, or install the {'version' if len(others) == 1 else 'versions'} that it "
            "was saved with.",
            UserWarning,
            stacklevel=3,
        )


def _release(written: str) -> tuple[int, int]:
    """Return the first two numbers of a version, between which answers may change."""
    found = _number(str(written))
    return found.major, found.minor


def _number(written: str) -> Any:
    from packaging.version import InvalidVersion, Version  # skops brings it

    try:
        return Version(written)
    except InvalidVersion:
        return Version("99999")  # nothing that we ever wrote: as good as newer


def _foreign(types: list[str]) -> list[str]:
    """Return the types that must not be loaded."""
    return sorted(name for name in types if name not in OTHERS and not _is_own(name))


def _is_own(name: str) -> bool:
    """Return whether a name is that of a class which this library defines, not merely imports."""
    module, _, short = name.rpartition(".")
    parts = module.split(".")
    if parts[0] != "polycomplete" or len(parts) < 2 or parts[1] not in OWN:
        return False
    try:
        found = getattr(import_module(module), short, None)
    except ImportError:
        return False
    return inspect.isclass(found) and (found.__module__, found.__qualname__) == (module, short)
