"""Restarts of rows in the wrong place, judged by a model that does not contain them.

A row in the wrong place is part of what was learned, and supports itself. So it is judged by a
model without it, and starts again from its neighbors.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from polycomplete._arrays import Array, median
from polycomplete.rows.holes import Run
from polycomplete.rows.posterior import Posterior

# A row with so many times the median energy starts again, and moves where its own falls as much.
SUSPICIOUS = 2.0


def folds(n: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the numbers of n rows in so many random parts, none of them empty."""
    parts = np.array_split(rng.permutation(n), count)
    return [np.sort(part) for part in parts if len(part)]


def restart(
    posterior: Posterior,
    X: Array,
    mask: Array,
    floor: float,
    exclude: Array | None = None,
    run: Run = map,
) -> tuple[Array, int]:
    """Start suspicious rows again from their neighbors; return the rows and how many moved.

    ``exclude`` names the landmark each row takes the place of, if it is one; differences of the
    energy below ``floor`` mean nothing.
    """
    xp = array_namespace(X)
    now = xp.clip(posterior.energy.value(X, exclude), 0.0, None) + floor
    worst = (now > SUSPICIOUS * median(now)) & ~xp.all(mask, axis=1)
    who = xp.nonzero(worst)[0]
    if not who.shape[0]:
        return X, 0
    some, seen = xp.take(X, who, axis=0), xp.take(mask, who, axis=0)
    own = None if exclude is None else xp.take(exclude, who)
    found, energy = posterior.minima(some, seen, exclude=own, run=run).best()
    better = xp.clip(energy, 0.0, None) + floor < xp.take(now, who) / SUSPICIOUS
    X = xp.asarray(X, copy=True)
    X[who[better], :] = found[better, :]
    return X, int(xp.sum(xp.astype(better, xp.int64)))
