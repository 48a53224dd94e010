"""Weight of the target, width of the kernel and smoothing, chosen by hiding known targets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polycomplete._resources import in_processes
from polycomplete.completers import checked
from polycomplete.kernels import RBF
from polycomplete.solvers.base import logger

LONG = 5000  # features of all rows from which on a fit takes a second
WEIGHTS = (1.0, 0.3, 3.0)  # of the target; one feature has 1
LESS = 0.1  # ... tried where 0.3 was the best of them
MULTIPLES = (1.0, 2.0)  # of a typical distance: classes have finer borders than surfaces
FINEST = 1e-5  # smoothing: below, a target with noise is not followed
GIVE_UP = 1.2  # a path that has come this far above its lowest loss is not followed further
HOPE = 1.5  # settings with more than so many times the lowest loss are left aside
STEADY = 0.02  # a candidate must be better by this share to replace one before it
ENOUGH, MOST_DRAWS = 100, 3  # hidden targets to judge by, and draws of them


@dataclass(frozen=True)
class Target:
    """What stands beside the features: columns, centered, with a total variance of one."""

    centre: np.ndarray
    unit: float

    def columns(self, y: np.ndarray) -> np.ndarray:
        """Return the columns of known values in their own units."""
        raise NotImplementedError

    def loss(self, answers: np.ndarray, y: np.ndarray) -> float:
        """Return how wrong decoded rows are on the mean."""
        raise NotImplementedError

    def groups(self, y: np.ndarray) -> np.ndarray:
        """Return the number of the group that each row belongs to where some are drawn."""
        return np.zeros(len(y), dtype=int)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the columns of known values."""
        return (self.columns(y) - self.centre) / self.unit

    def decode(self, block: np.ndarray) -> np.ndarray:
        """Return what completed columns say in their own units."""
        return block * self.unit + self.centre


@dataclass(frozen=True)
class Member:
    """A method, and what the target weighs in it."""

    weight: float
    method: Any

    def answer(self, features: np.ndarray, target: Target) -> np.ndarray:
        """Return the target of rows without one, decoded."""
        joint = self.joint(features, np.full((len(features), len(target.centre)), np.nan))
        return self.decode(joint, self.method.transform(joint), target)

    def fit_answer(self, features: np.ndarray, block: np.ndarray, target: Target) -> np.ndarray:
        """Learn the surface from features and target side by side; return the targets, decoded."""
        joint = self.joint(features, block)
        return self.decode(joint, self.method.fit_transform(joint), target)

    def joint(self, features: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Return features and the target's columns side by side, these weighted."""
        return np.hstack([features, block * self.weight])

    def decode(self, joint: np.ndarray, completed: Any, target: Target) -> np.ndarray:
        """Return the targets that a completion of these rows says."""
        block = checked(self.method, joint, completed)[:, -len(target.centre) :]
        return target.decode(block / self.weight)

    def fitted(
        self, features: np.ndarray, block: np.ndarray, target: Target
    ) -> tuple[Member, np.ndarray, list[tuple[str, type[Warning]]]]:
        """Return the fitted member, which may come from another process, answers and warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = self.fit_answer(features, block, target)
        return self, answer, [(str(each.message), each.category) for each in caught]


class Settings(NamedTuple):
    """What was chosen, and the loss on hidden targets; None leaves the method's own."""

    weight: float
    multiple: float | None
    smoothing: float | None = None
    loss: float = np.inf

    def member(self, method: Any) -> Member:
        """Return a copy of the method with these settings, and the weight that goes with it."""
        method = clone(method)
        if self.multiple is not None:
            method.set_params(kernel=RBF(multiple=self.multiple))
        if self.smoothing is not None:
            method.set_params(smoothing=self.smoothing)
        return Member(self.weight, method)


@dataclass(frozen=True)
class Search:
    """A search over settings on rows whose target is known.

    ``hidden`` are the draws of targets to hide; their losses are averaged. With ``apart`` rows with
    a hidden target are completed one by one after a fit of the others, instead of with them.
    ``known`` remembers what fits gave.
    """

    method: Any
    features: np.ndarray
    target: Target
    y: np.ndarray
    hidden: list[np.ndarray]
    apart: bool = False
    known: dict[tuple[Any, ...], np.ndarray] = field(default_factory=dict, repr=False)

    def best(
        self, weights: list[float], multiples: list[float | None], most: int
    ) -> list[Settings]:
        """Return the settings with the lowest loss, best first: `most` of them or fewer.

        One alone is looked for along lines: the weight with the first multiple, then the multiple
        with that weight. For more of them every weight is tried with every multiple.

        The smoothing is chosen along a path. So is the rest where hidden rows take part in the fit,
        too; rows that come later may fare otherwise, and are judged by fits.
        """
        lines = multiples if most > 1 else multiples[:1]
        found = self._judged(self._each(self.settings, [(w, m) for m in lines for w in weights]))
        if found[0].weight == min(weights) < 1 and len(weights) > 1:
            found = self._judged([*found, self.settings(LESS, found[0].multiple)])
        for multiple in multiples[len(lines) :]:
            found = self._judged([*found, self.settings(found[0].weight, multiple)])
        for chosen in found[:most]:
            logger.info("chose target weight %g, width %s, smoothing %s: loss %.3f", *chosen)
        return found[:most]

    def settings(self, weight: float, multiple: float | None) -> Settings:
        """Return the smoothing with the lowest loss for this weight and width."""
        start = Settings(weight, multiple)
        draws = [self._follow(start.member(self.method), hidden) for hidden in self.hidden]
        common = [s for s in draws[0] if all(s in draw for draw in draws)]
        losses = {s: float(np.mean([draw[s] for draw in draws])) for s in common}
        smoothing = min(losses, key=losses.__getitem__)
        own = None if np.isnan(smoothing) else smoothing
        return start._replace(smoothing=own, loss=losses[smoothing])

    def answers(self, chosen: list[Settings]) -> tuple[np.ndarray, np.ndarray]:
        """Return what fits with these settings give for the hidden targets, and their truth.

        Along a path, rows are still on their way: what it gives is more timid than a fit, and
        probabilities that were calibrated on it are too bold.
        """
        new = [each for each in chosen if each[:-1] not in self.known]
        for each, fit in zip(new, self._each(self._fits, [(e,) for e in new]), strict=True):
            self.known[each[:-1]] = fit
        mean = np.mean([self.known[each[:-1]] for each in chosen], axis=0)
        return mean, np.concatenate([self.y[hidden] for hidden in self.hidden])

    def _judged(self, found: list[Settings]) -> list[Settings]:
        """Return the settings that are worth a fit, by their loss; of fits where these differ."""
        found = _hopeful(found)
        if len(found) < 2 or not self.apart:
            return found
        self.answers(found)  # all at once, by processes
        losses = [self.target.loss(*self.answers([each])) for each in found]
        return _hopeful([each._replace(loss=E) for each, E in zip(found, losses, strict=True)])

    def _each(self, work: Callable[..., Any], cases: list[tuple[Any, ...]]) -> list[Any]:
        return in_processes(work, cases, self.features.size >= LONG)

    def _fits(self, settings: Settings) -> np.ndarray:
        """Return what fits give for the hidden targets."""
        member = settings.member(self.method)
        return np.concatenate([self._fit(member, hidden, self.apart) for hidden in self.hidden])

    def _fit(self, member: Member, hidden: np.ndarray, apart: bool) -> np.ndarray:
        """Return what one fit gives for the hidden targets, these rows being part of it or not."""
        features, block = self.features, self._block(hidden)
        # The fit on all rows will say what did not converge.
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            if not apart:
                return member.fit_answer(features, block, self.target)[hidden]
            member.fit_answer(features[~hidden], block[~hidden], self.target)
            return member.answer(features[hidden], self.target)

    def _follow(self, member: Member, hidden: np.ndarray) -> dict[float, float]:
        """Return the loss on hidden targets at each smoothing."""
        losses: dict[float, float] = {}
        for smoothing, answers in self._path(member, hidden):
            losses[smoothing] = loss = self.target.loss(answers, self.y[hidden])
            if smoothing < FINEST or loss > GIVE_UP * min(losses.values()):
                break
        return losses

    def _path(self, member: Member, hidden: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield answers with decreasing smoothing; a single one where there is no such path."""
        method = member.method
        if getattr(method, "smoothing", None) == "auto" and hasattr(method, "path"):
            joint = member.joint(self.features, self._block(hidden))
            for smoothing, completed in method.path(joint):
                yield smoothing, member.decode(joint, completed, self.target)[hidden]
        else:
            yield np.nan, self._fit(member, hidden, apart=False)

    def _block(self, hidden: np.ndarray) -> np.ndarray:
        """Return the target's columns, NaN where hidden."""
        return np.where(hidden[:, None], np.nan, self.target.encode(self.y))


def hiding(groups: np.ndarray, share: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Return which known targets are hidden, several times where they are few."""
    hidden: list[np.ndarray] = []
    while len(hidden) < MOST_DRAWS and sum(map(np.count_nonzero, hidden)) < ENOUGH:
        draw = np.zeros(len(groups), dtype=bool)
        for group in np.unique(groups):
            rows = rng.permutation(np.flatnonzero(groups == group))
            draw[rows[: int(share * len(rows) + rng.random() * (len(rows) > 1))]] = True
        if not draw.any():
            break
        hidden.append(draw)
    return hidden


def _hopeful(found: list[Settings]) -> list[Settings]:
    """Return settings by their loss, without those far above the lowest.

    The first one found stays first unless another is better by a clear share.
    """
    lowest = min(each.loss for each in found)
    order = sorted(found, key=lambda each: each.loss)
    first = next(each for each in found if each.loss * (1 - STEADY) <= lowest)
    rest = [each for each in order if each is not first and each.loss <= HOPE * lowest]
    return [first, *rest]
