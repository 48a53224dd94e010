"""Saving and loading fitted estimators by skops, without pickle: loading a file runs no code.

A model file is a zip archive of skops with a label, which is read before anything else: the format,
and the versions of polycomplete, NumPy and scikit-learn that wrote it.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import warnings
import zipfile
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

from polycomplete._optional import need
from polycomplete._version import __version__
from polycomplete.io.atomic import written_whole

__all__ = ["FORMAT", "ModelFileError", "dumps", "load", "save"]

#: Incremented when older files can no longer be read.
FORMAT = 2
LABEL = "polycomplete.json"
#: Types that are safe to load, in addition to the classes of this library and those of skops.
OTHERS = {
    "numpy.dtype",
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
}


class ModelFileError(ValueError):
    """A file is not a model that this version can load.

    Examples
    --------
    >>> issubclass(ModelFileError, ValueError)
    True
    """


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator into a file.

    The file holds numbers and names, no code. A loaded estimator gives bit-identical results.

    Parameters
    ----------
    estimator : estimator
        A completer, clusterer or any other estimator of this library, or a scikit-learn imputer.
    path : str or path
        Name of the file; an existing file is replaced.

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
    skops, name = _skops(), type(estimator).__name__
    try:
        data = skops.dumps(estimator)
        foreign = _foreign(skops.get_untrusted_types(data=data))
    except Exception as error:
        raise ModelFileError(
            f"This {name} holds something that cannot be saved ({error}); remove functions and "
            "objects of your own."
        ) from error
    if foreign:
        raise ModelFileError(
            f"This {name} holds {', '.join(foreign)}, which is not safe to load and is not saved; "
            "choose another method, or remove objects of your own."
        )
    content = io.BytesIO(data)
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(LABEL, json.dumps(_label(estimator), indent=1))
    return content.getvalue()


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator that :func:`save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The estimator that was saved.

    Raises
    ------
    ModelFileError
        If the file is not a model, damaged, of another format, or holds a type that is not safe to
        load. No code of it has been run.

    Warns
    -----
    UserWarning
        If it was saved with another release (the first two numbers) of polycomplete, NumPy or
        scikit-learn.

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
    with open(path, "rb") as file:  # other files may be endless
        start = file.read(2)
        data = start + file.read() if start == b"PK" else b""
    _warn_of_versions(path, _checked_label(path, data))
    skops = _skops()
    try:
        types = skops.get_untrusted_types(data=data)
        foreign = _foreign(types)
        if not foreign:
            estimator = skops.loads(data, trusted=types)
            _probe(estimator, len(data))
            return estimator
    except Exception as error:
        raise ModelFileError(
            f"{path} is damaged, or does not fit this version {__version__} of polycomplete "
            f"({type(error).__name__}: {error}); make the model again."
        ) from error
    raise ModelFileError(
        f"{path} holds {', '.join(foreign)}, which polycomplete does not load, because it might "
        "run code; was the file changed?"
    )


def _skops() -> ModuleType:
    return need("skops.io", "models", "Saving and loading models")


def _versions() -> dict[str, str]:
    """Return the versions that the results of a model depend on."""
    libraries = {name: version(name) for name in ("numpy", "scikit-learn")}
    return {"polycomplete": __version__} | libraries


def _label(estimator: Any) -> dict[str, Any]:
    return {"format": FORMAT, "estimator": type(estimator).__name__, "versions": _versions()}


def _checked_label(path: str | os.PathLike[str], data: bytes) -> dict[str, str]:
    """Return the versions that wrote a file; raise if it is not a model of this format."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > len(data):
                raise zipfile.BadZipFile  # a zip bomb
            label = json.loads(archive.read(LABEL))
        known = int(label["format"])
        versions = {name: str(found) for name, found in label.get("versions", {}).items()}
    except Exception as error:  # damaged archives raise all kinds of errors
        fault = "damaged or cut short" if data else "not a model file"
        if isinstance(error, KeyError | ValueError | TypeError | AttributeError):
            fault = "not a model of polycomplete"
        message = f"{path} is {fault}; name a file that polycomplete saved."
        raise ModelFileError(message) from None
    if known != FORMAT:
        remedy = "make the model again" if known < FORMAT else "update polycomplete"
        raise ModelFileError(
            f"{path} was saved by another version of polycomplete in format {known}, and this "
            f"version {__version__} reads format {FORMAT}; {remedy}."
        )
    return versions


def _warn_of_versions(path: str | os.PathLike[str], saved: dict[str, str]) -> None:
    """Warn if a release differs from that of this installation."""
    here = _versions()
    others = [name for name, version in here.items()
              if saved.get(name, "").split(".")[:2] != version.split(".")[:2]]  # fmt: skip
    if others:
        old = ", ".join(f"{name} {saved.get(name, '?')}" for name in others)
        new = ", ".join(f"{name} {here[name]}" for name in others)
        message = (
            f"{path} was saved with {old}, and this is {new}: its results may differ; refit the "
            "model, or install what it was saved with."
        )
        warnings.warn(message, UserWarning, stacklevel=3)


def _probe(estimator: Any, size: int) -> None:
    """Raise if the parts of a model do not fit together, by completing a few cells."""
    columns = getattr(estimator, "n_features_in_", 0)
    if not 0 <= columns <= size:
        raise ValueError(f"it has {columns} columns")
    # This machine may lack the device of the model.
    with warnings.catch_warnings(), suppress(ImportError, RuntimeError):
        warnings.simplefilter("ignore")
        if hasattr(estimator, "_probe"):
            estimator._probe()


def _foreign(types: list[str]) -> list[str]:
    """Return the types that must not be loaded."""
    return sorted(name for name in types if name not in OTHERS and not _is_own(name))


def _is_own(name: str) -> bool:
    """Return whether this library defines, and not only imports, a class of this name."""
    module, _, short = name.rpartition(".")
    if module.partition(".")[0] != "polycomplete":
        return False
    with suppress(ImportError):
        found = getattr(import_module(module), short, None)
        return inspect.isclass(found) and (found.__module__, found.__qualname__) == (module, short)
    return False


class Savable:
    """An estimator that can be saved."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the estimator into a file, which :func:`polycomplete.load` reads.

        Parameters
        ----------
        path : str or path
            Name of the file; an existing file is replaced.
        """
        save(self, path)
