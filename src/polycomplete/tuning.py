"""Choosing by hiding: settings are judged on observed entries that were set aside.

The one place where anything is chosen this way. A solver's path from coarse to fine shows the error
on the hidden entries at every smoothing, so that one pass chooses the smoothing, and one pass for
each candidate chooses anything else (the scaling of the columns, say) along with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from polycomplete import masks

#: Share of the observed entries that is set aside.
SHARE = 0.1
#: So many hidden entries are judged at least, and so many on rough data: small tables hide several
#: times over.
ENOUGH, CERTAIN = 100, 300
MOST_TIMES = 8
#: Fewer than this in all tell nothing.
TOO_FEW = 20
#: The smoothing where there is too little to judge: rather too smooth than too rough.
CAUTIOUS = 1e-2
#: Within this of the lowest error smoothings are as good as each other. On data without much noise
#: the finest of them wins, which follows the data most closely; on others the coarsest, which makes
#: the least of the noise.
SLACK = 0.01
#: An error, in units of a column's spread, that data without much noise stay below.
WELL = 0.05
#: Data are rough whose lowest error is larger than this, at a smoothing that is larger than that.
ROUGH, COARSE = 0.3, 2e-5
#: Shares of a Gaussian, and within how many standard deviations they are.
WITHIN = {0.6827: 1.0, 0.9: 1.645}
#: Most hidden entries: a few rows may be in the wrong place even where data have no noise.
MOST = 0.8
#: A larger share of rows that ran away somewhere on the path is no accident.
ACCIDENTS = 0.02
#: A path that has come this far above its lowest error is not followed further.
GIVE_UP = 1.05


@dataclass(frozen=True)
class Choice:
    """What a path showed: the chosen smoothing, its error, and error and completion at each.

    ``mosts`` are the errors that four fifths of the hidden entries stay below. Several paths that
    were judged together have as many completions.
    """

    smoothing: float
    error: float
    errors: dict[float, float]
    mosts: dict[float, float] = field(default_factory=dict, repr=False)
    completed: dict[float, list[np.ndarray]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def rough(self) -> bool:
        """Whether noise seems to set the error: then many smoothings are about as good."""
        return self.error > ROUGH and self.smoothing > COARSE

    @property
    def finest(self) -> float:
        """The finest smoothing whose error is not far above the lowest."""
        lowest = min(self.errors.values())
        return min(s for s, error in self.errors.items() if error <= GIVE_UP * lowest)

    @property
    def most(self) -> float:
        """The error that four fifths of the hidden entries stay below at the chosen smoothing."""
        return self.mosts.get(self.smoothing, np.inf)


class HeldOut(NamedTuple):
    """Observed entries that were hidden, and what came back for them, in the user's units.

    ``deviation`` is what would be said of the entry's uncertainty; NaN where that is not known.
    """

    rows: np.ndarray
    columns: np.ndarray
    truth: np.ndarray
    completed: np.ndarray
    deviation: np.ndarray


def hidings(
    mask: np.ndarray,
    seed: int,
    enough: int = ENOUGH,
    most_times: int = MOST_TIMES,
    groups: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return masks of visible and hidden entries, several where one hides too few.

    Columns that are always missing together are hidden together: what would tell of the one is
    not there when the other is missing. So are the columns of a group.

    Parameters
    ----------
    mask : ndarray of bool, shape (n, m)
        True where observed.
    seed : int
        Chooses the entries.
    enough, most_times : int
        Hide until so many entries can be judged, but not more often.
    groups : ndarray of int, shape (m,), optional
        Columns with the same number say one thing, as the indicators of a category do.

    Returns
    -------
    list of (visible, hidden)
        Empty where too little would be hidden to tell anything.

    Examples
    --------
    >>> import numpy as np
    >>> draws = hidings(np.ones((20, 10), dtype=bool), seed=0)
    >>> len(draws), int(draws[0][1].sum())
    (5, 20)
    """
    group = _missing_together(mask, np.arange(mask.shape[1]) if groups is None else groups)
    cells = mask[:, np.unique(group, return_index=True)[1]]
    count = int(masks.hide(cells, SHARE, random_state=seed)[1].sum())
    times = min(-(-enough // max(count, 1)), most_times)
    if times * count < TOO_FEW:
        return []
    draws = [masks.hide(cells, SHARE, random_state=seed + i)[1][:, group] for i in range(times)]
    return [(mask & ~hidden, hidden) for hidden in draws]


def _missing_together(mask: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return for each column a number: that of columns with the same holes, or of its group."""
    numbers: dict[bytes | int, int] = {}
    keys = [int(group) if mask[:, j].all() else np.packbits(mask[:, j]).tobytes()
            for j, group in enumerate(groups)]  # fmt: skip
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def hidden_error(
    X: np.ndarray,
    completed: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    groups: np.ndarray | None = None,
) -> float:
    """Return the error on hidden entries, in units of each column's spread.

    It is the geometric mean of the mean absolute and the root mean squared error. By the squared
    error alone a handful of rows that went astray would decide for all the others, by the
    absolute error alone many small gains would outweigh a few large losses.

    Parameters
    ----------
    X, completed : ndarrays of shape (n, m)
        The truth and the completion.
    hidden : ndarray of bool, shape (n, m)
        The entries that count.
    unit : ndarray of shape (m,)
        What an error is divided by.
    groups : ndarray of int, shape (m,), optional
        Columns with the same number count as one.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> X, hidden = np.zeros((1, 2)), np.array([[True, True]])
    >>> hidden_error(X, np.array([[3.0, 30.0]]), hidden, np.array([1.0, 10.0]))
    3.0
    """
    return _mean_error(_errors(X, completed, hidden, unit, groups))


def _mean_error(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors) * np.sqrt(np.mean(errors**2))))


def _errors(
    X: np.ndarray,
    completed: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    groups: np.ndarray | None,
) -> np.ndarray:
    """Return the size of the error of each hidden entry; of a group, that of all its columns."""
    errors = np.abs((completed - X) / unit)
    if groups is None:
        return errors[hidden]
    numbers, place = np.unique(groups, return_inverse=True)
    member = np.eye(len(numbers))[place]
    return np.sqrt((errors**2 * hidden) @ member)[(hidden @ member) > 0]


def follow(
    path: Iterable[tuple[float, np.ndarray]],
    X: np.ndarray,
    hidden: np.ndarray,
    unit: np.ndarray,
    end: float = 0.0,
    give_up: float = GIVE_UP,
    groups: np.ndarray | None = None,
    strays: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Choice:
    """Follow a path of (smoothing, completed matrix) and choose where to stop.

    Parameters
    ----------
    path : iterable
        From coarse to fine; a smoothing may come again with a better completion.
    X : ndarray of shape (n, m)
        The truth, in the units of the path.
    hidden : ndarray of bool, shape (n, m)
        Entries that the path did not see.
    unit : ndarray of shape (m,)
        What an error of a column is divided by.
    end : float
        Do not go below this smoothing.
    give_up : float
        Leave the path once the error is so many times the lowest.
    groups : ndarray of int, shape (m,), optional
        Columns with the same number count as one.
    strays : callable, optional
        Says which rows of a completion ran away. A fit starts them again, so that a few of them,
        wherever it was on the path, are not judged.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> truth, hidden = np.zeros((20, 1)), np.ones((20, 1), dtype=bool)
    >>> offsets = {0.1: 2.0, 0.01: 1.0, 0.001: 5.0}
    >>> path = [(smoothing, truth + offset) for smoothing, offset in offsets.items()]
    >>> follow(path, truth, hidden, np.ones(1)).smoothing
    0.01
    """
    errors: dict[float, float] = {}
    mosts: dict[float, float] = {}
    found: dict[float, list[np.ndarray]] = {}
    for smoothing, completed in path:
        if smoothing < end and errors:
            break
        off = _errors(X, completed, hidden, unit, groups)
        error = _mean_error(off)
        if error <= errors.get(smoothing, error):
            errors[smoothing], found[smoothing] = error, [completed]
            mosts[smoothing] = float(np.quantile(off, MOST))
        # A few stuck rows make an error rise while the others still gain.
        gains = mosts[smoothing] <= min(mosts.values())
        if errors[smoothing] > give_up * min(errors.values()) and not gains:
            break
    if strays is not None:
        astray = np.any([strays(completed[0]) for completed in found.values()], axis=0)
        if 0 < np.count_nonzero(astray) <= ACCIDENTS * len(X) and hidden[~astray].any():
            hidden = hidden & ~astray[:, None]
            offs = {s: _errors(X, rows[0], hidden, unit, groups) for s, rows in found.items()}
            errors = {s: _mean_error(off) for s, off in offs.items()}
            mosts = {s: float(np.quantile(off, MOST)) for s, off in offs.items()}
    return replace(choice_of(errors, mosts), completed=found)


def choice_of(errors: dict[float, float], mosts: dict[float, float] | None = None) -> Choice:
    """Choose among the errors at each smoothing.

    Parameters
    ----------
    errors : dict
        From smoothing to error.
    mosts : dict, optional
        From smoothing to the error that most entries stay below. It decides on data without much
        noise, where a few rows in the wrong place would decide otherwise.

    Returns
    -------
    Choice

    Examples
    --------
    >>> choice_of({0.1: 2.0, 0.01: 1.0, 0.001: 1.005}).smoothing
    0.01
    >>> choice_of({0.1: 0.02, 0.01: 0.01, 0.001: 0.01005}).smoothing
    0.001
    """
    quiet = min(errors.values()) < WELL
    judged = mosts if quiet and mosts else errors
    alike = [s for s, e in judged.items() if e <= (1 + SLACK) * min(judged.values())]
    chosen = min(alike) if quiet else max(alike)
    return Choice(chosen, errors[chosen], errors, mosts or {})


def calibration(errors: np.ndarray, deviations: np.ndarray) -> float:
    """Return the factor that makes deviations fit the errors as those of a Gaussian would.

    It is the geometric mean of what brings 68 % of the errors within one deviation and 90 % within
    1.645: errors have longer tails than a Gaussian, and one factor cannot do both.

    Parameters
    ----------
    errors, deviations : ndarrays of shape (k,)
        Of entries that were hidden, and what was said of them.

    Returns
    -------
    float
        1 where there is nothing to go by.

    Examples
    --------
    >>> calibration(np.array([-1.0, 0.5, 2.0, 3.0]), np.full(4, 0.5)) > 1
    True
    """
    usable = (deviations > 0) & np.isfinite(errors)
    if not usable.any():
        return 1.0
    ratios = np.quantile(np.abs(errors[usable]) / deviations[usable], list(WITHIN))
    return float(np.sqrt(np.prod(ratios / list(WITHIN.values())))) or 1.0


def together(choices: list[Choice]) -> Choice:
    """Choose by the geometric mean of the errors of several paths, where all of them came.

    Geometric, because with few hidden entries a single hopeless one makes up most of an error.

    Parameters
    ----------
    choices : list of Choice
        What each path showed.

    Returns
    -------
    Choice

    Examples
    --------
    >>> one, two = choice_of({0.1: 2.0, 0.01: 1.0}), choice_of({0.1: 2.0, 0.01: 4.0, 0.001: 9.0})
    >>> together([one, two]).errors
    {0.1: 2.0, 0.01: 2.0}
    """
    common = [s for s in choices[0].errors if all(s in c.errors for c in choices)]
    errors = {s: _mean([c.errors[s] for c in choices]) for s in common}
    known = all(c.mosts for c in choices)
    mosts = {s: _mean([c.mosts[s] for c in choices]) for s in common} if known else None
    completed = {s: [each for c in choices for each in c.completed.get(s, ())] for s in common}
    return replace(choice_of(errors, mosts), completed=completed)


def _mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-300)))))


def best_of(choices: dict[str | None, Choice]) -> str | None:
    """Return the name of the candidate whose path had the lowest error.

    Parameters
    ----------
    choices : dict
        A :class:`Choice` for each candidate, the preferred one first.

    Returns
    -------
    str or None

    Examples
    --------
    >>> best_of({"a": Choice(0.1, 2.0, {}), "b": Choice(0.1, 1.0, {})})
    'b'
    """
    return min(choices, key=lambda name: choices[name].error)
