"""How a smoothing shrinks from stage to stage."""

from __future__ import annotations

import numpy as np


def stages(first: float, last: float, factor: float = 10.0) -> list[float]:
    """Return the smoothing of each stage: divided by ``factor`` each time, ending at ``last``.

    Parameters
    ----------
    first, last : float
        Where to begin and to end.
    factor : float, default=10.0
        Above 1.

    Returns
    -------
    list of float

    Examples
    --------
    >>> stages(1e-1, 2e-3)
    [0.1, 0.01, 0.002]
    >>> stages(1.0, 0.2, factor=2.0)
    [1.0, 0.5, 0.25, 0.2]
    >>> stages(1e-3, 1e-2)
    [0.01]
    """
    steps = max(0, int(np.ceil(np.log(first / last) / np.log(factor) - 1e-9)))
    return [float(f"{first / factor**i:.12g}") for i in range(steps)] + [last]
