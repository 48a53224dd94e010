"""Who is lowest: the sentences of a report, computed from the results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.report import Verdict
from experiments.results import Results
from experiments.rows import OURS, PAPER, PMC, label

__all__ = ["against_paper_methods", "overall", "setting_by_setting", "spoken"]


def overall(
    results: Results, measure: str, methods: Iterable[str], settings: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """Return the mean over settings of the mean over trials, for methods that ran on all of them.

    Parameters
    ----------
    results : Results
        The trials.
    measure : str
        What was measured.
    methods : iterable of str
        The rows.
    settings : sequence of mapping
        Over which to take the mean.

    Returns
    -------
    dict
        From row to mean.

    Examples
    --------
    >>> from experiments.results import Trial
    >>> toy = Results([Trial({"n": n}, "srmc", 0, {"rse": n / 10}) for n in (1, 3)])
    >>> overall(toy, "rse", ["srmc", "ladmc"], [{"n": 1}, {"n": 3}])
    {'srmc': 0.2}
    """
    found = {}
    for method in methods:
        values = [results.mean(measure, method, **setting) for setting in settings]
        if values and not any(map(math.isnan, values)):
            found[method] = sum(values) / len(values)
    return found


def against_paper_methods(means: Mapping[str, float], what: str) -> list[Verdict]:
    """Say whether the paper's two methods are lowest, and whether this library's default is.

    Parameters
    ----------
    means : mapping
        From row to mean error.
    what : str
        Over what the means were taken, such as "mean RSE over n".

    Returns
    -------
    list of Verdict

    Examples
    --------
    >>> means = {"srmc": 0.5, "pmc-w-paper": 0.2, "polycomplete": 0.1}
    >>> [verdict.holds for verdict in against_paper_methods(means, "mean RSE")]
    [True, True]
    """
    theirs = {m: means[m] for m in PMC if m in means}
    rivals = {m: means[m] for m in PAPER if m in means and m not in PMC}
    if not theirs or not rivals:
        return [Verdict(None, f"Not decided: PMC and its rivals were not all run ({what}).")]
    ours, rival = min(theirs, key=theirs.__getitem__), min(rivals, key=rivals.__getitem__)
    holds = theirs[ours] <= rivals[rival]
    absent = ", ".join(label(m) for m in PAPER if m not in means)
    verdicts = [
        Verdict(
            holds,
            f"The paper's methods with its settings: the better is {spoken(ours, means)}, the best "
            f"of the others {spoken(rival, means)} ({what}), so the order of the paper "
            f"{'holds' if holds else 'does not hold'}"
            + (f" among those that were run (not {absent})." if absent else "."),
        )
    ]
    if OURS in means:
        best = min((m for m in means if m != OURS), key=means.__getitem__)
        verdicts.append(
            Verdict(
                means[OURS] <= means[best],
                f"This library's default reaches {means[OURS]:.3g}; the best of the other rows is "
                f"{spoken(best, means)} ({what}).",
                beyond=True,
            )
        )
    return verdicts


def setting_by_setting(
    results: Results, measure: str, settings: Sequence[Mapping[str, Any]]
) -> Verdict:
    """Count the settings in which PMC-S or PMC-W is lowest, or level, among the paper's methods.

    Parameters
    ----------
    results : Results
        The trials.
    measure : str
        What was measured.
    settings : sequence of mapping
        The settings; those in which not all of the paper's methods ran are left out.

    Returns
    -------
    Verdict
        It holds where that is the case in most of the settings.

    Examples
    --------
    >>> setting_by_setting(Results([]), "rse", []).word
    'not decided'
    """
    winners = []
    for setting in settings:
        means = {m: results.mean(measure, m, **setting) for m in PAPER}
        if not any(map(math.isnan, means.values())):
            winners.append(min(PAPER[::-1], key=means.__getitem__))
    won = sum(method in PMC for method in winners)
    often = {label(m): winners.count(m) for m in PAPER if m in winners and m not in PMC}
    told = ", ".join(f"{name} in {count}" for name, count in often.items())
    return Verdict(
        won > len(winners) / 2 if winners else None,
        f"Setting by setting, PMC-S or PMC-W is lowest among the paper's methods in {won} of "
        f"{len(winners)}" + (f"; {told}." if told else "."),
    )


def spoken(method: str, means: Mapping[str, float]) -> str:
    """Return a row with its value, as in a sentence.

    Parameters
    ----------
    method : str
        The row.
    means : mapping
        From row to value.

    Returns
    -------
    str

    Examples
    --------
    >>> spoken("vmc-2", {"vmc-2": 0.12345})
    'VMC-2 with 0.123'
    """
    return f"{label(method)} with {means[method]:.3g}"
