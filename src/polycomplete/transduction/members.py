"""Fitted methods whose answers are averaged: hidden targets could not tell their settings apart."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycomplete._machine import in_processes
from polycomplete.tables.method import checked
from polycomplete.transduction.search import LONG, Settings
from polycomplete.transduction.targets import Target

__all__ = ["Member", "fit_members"]


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
        joint = self._joint(features, np.full((len(features), target.width), np.nan))
        return self._decode(joint, self.method.transform(joint), target)

    def fit_answer(self, features: np.ndarray, block: np.ndarray, target: Target) -> np.ndarray:
        """Learn the surface from features and target side by side; return the targets, decoded."""
        joint = self._joint(features, block)
        return self._decode(joint, self.method.fit_transform(joint), target)

    def _joint(self, features: np.ndarray, block: np.ndarray) -> np.ndarray:
        return np.hstack([features, block * self.weight])

    def _decode(self, joint: np.ndarray, completed: Any, target: Target) -> np.ndarray:
        block = checked(self.method, joint, completed)[:, -target.width :]
        return target.decode(block / self.weight)


def fit_members(
    method: Any, chosen: list[Settings], features: np.ndarray, block: np.ndarray, target: Target
) -> tuple[list[Member], np.ndarray]:
    """Return a member for each setting, and the mean of what they answer for these rows.

    Parameters
    ----------
    method : estimator
        What completes.
    chosen : list of Settings
        The weight, width and smoothing of each member.
    features : ndarray of shape (n, m)
        Scaled, NaN where missing.
    block : ndarray of shape (n, width)
        The target's columns, NaN where unknown.
    target : Target
        Their meaning.

    Returns
    -------
    members : list of Member
    answers : ndarray
        Decoded, for all rows.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> from polycomplete.transduction.targets import Number
    >>> t, target = np.linspace(0, 1, 20)[:, None], Number(0.0, 1.0)
    >>> block = np.where(t < 0.5, np.nan, t)
    >>> settings = [Settings(1.0, None, None, 0.0), Settings(2.0, None, None, 0.0)]
    >>> members, answers = fit_members(PMC(random_state=0), settings, t, block, target)
    >>> len(members), answers.shape
    (2, (20,))
    """
    cases = [
        (Member(each.weight, each.prepare(method)), features, block, target) for each in chosen
    ]
    long = features.size >= LONG
    done = in_processes(_fitted, cases) if long else [_fitted(*case) for case in cases]
    for each in done[0][2]:  # of the best alone: one that did not converge is one of several
        warnings.warn(each, stacklevel=2)
    return [member for member, _, _ in done], np.mean([answer for _, answer, _ in done], axis=0)


def _fitted(
    member: Member, features: np.ndarray, block: np.ndarray, target: Target
) -> tuple[Member, np.ndarray, list[Warning | str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = member.fit_answer(features, block, target)
    return member, answer, [each.message for each in caught]
