"""Is this the dataset? What its numbers must be, whatever form the file came in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polycomplete.datasets.home import Arrays


@dataclass(frozen=True)
class Content:
    """What is known of a dataset: shape, rows by class, missing entries, digest of its numbers."""

    shape: tuple[int, int]
    classes: tuple[int, ...] = ()
    missing: int = 0
    digest: str = ""

    def check(self, arrays: Arrays, path: Path) -> None:
        """Raise where the arrays are not those of the dataset."""
        found = _describe(arrays)
        for name in ("shape", "missing", "classes", "digest"):
            wanted = getattr(self, name)
            if wanted not in ((), "", getattr(found, name)):
                raise ValueError(
                    f"{path} is not the published file: its {name} is {getattr(found, name)}, not "
                    f"{wanted}; get the file again."
                )


def _describe(arrays: Arrays) -> Content:
    X = np.ascontiguousarray(arrays["X"], dtype="<f8")
    y = np.ascontiguousarray(arrays.get("y", ()), dtype="<i8")
    counts = np.unique(y, return_counts=True)[1]
    # NaN has many bit patterns; one of them stands for all.
    numbers = np.where(np.isnan(X), np.nan, X).tobytes() + y.tobytes()
    return Content(
        shape=X.shape,
        classes=tuple(int(count) for count in counts),
        missing=int(np.isnan(X).sum()),
        digest=hashlib.sha256(numbers).hexdigest()[:16],
    )
