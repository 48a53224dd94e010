"""Fitted methods whose answers are averaged: hidden targets could not tell their settings apart."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycomplete._messages import warn
from polycomplete._resources import in_processes
from polycomplete.tables.method import checked
from polycomplete.transduction.targets import Target

LONG = 5000  # features of all rows from which on a fit takes a second


@dataclass(frozen=True)
class Member:
    """A fitted method, and what the target weighed in it.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> from polycomplete.transduction.targets import Number
    >>> t = np.linspace(0, 1, 20)[:, None]
    >>> target, member = Number(0.0, 1.0), Member(2.0, PMC(random_state=0))
    >>> known = np.where(t < 0.1, np.nan, t**2)
    >>> bool(np.abs(member.fit_answer(t, known, target) - t[:, 0] ** 2).max() < 0.02)
    True
    >>> bool(abs(member.answer(np.array([[0.52]]), target)[0] - 0.52**2) < 0.02)
    True
    """

    weight: float
    method: Any

    def answer(self, features: np.ndarray, target: Target) -> np.ndarray:
        """Return the target of rows without one, decoded."""
        joint = self.joint(features, np.full((len(features), target.width), np.nan))
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
        block = checked(self.method, joint, completed)[:, -target.width :]
        return target.decode(block / self.weight)


def fit_members(
    members: Sequence[Member], features: np.ndarray, block: np.ndarray, target: Target
) -> tuple[list[Member], np.ndarray]:
    """Fit members; return them, and the mean of what they answer for these rows.

    Parameters
    ----------
    members : sequence of Member
        The best first. Its warnings are shown, of the others none: they are some of several.
    features : ndarray of shape (n, m)
        Scaled, NaN where missing.
    block : ndarray of shape (n, width)
        The target's columns, NaN where unknown.
    target : Target
        Their meaning.

    Returns
    -------
    members : list of Member
        Fitted.
    answers : ndarray
        Decoded, for all rows.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> from polycomplete.transduction.targets import Number
    >>> t, target = np.linspace(0, 1, 20)[:, None], Number(0.0, 1.0)
    >>> block = np.where(t < 0.5, np.nan, t)
    >>> members = [Member(weight, PMC(random_state=0)) for weight in (1.0, 2.0)]
    >>> members, answers = fit_members(members, t, block, target)
    >>> len(members), answers.shape
    (2, (20,))
    """
    cases = [(member, features, block, target) for member in members]
    done = in_processes(_fitted, cases, features.size >= LONG)
    for message, kind in done[0][2]:
        warn(message, kind)
    return [member for member, _, _ in done], np.mean([answer for _, answer, _ in done], axis=0)


def _fitted(
    member: Member, features: np.ndarray, block: np.ndarray, target: Target
) -> tuple[Member, np.ndarray, list[tuple[str, type[Warning]]]]:
    """Return the fitted member, which may come from another process, its answers and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = member.fit_answer(features, block, target)
    return member, answer, [(str(each.message), each.category) for each in caught]
