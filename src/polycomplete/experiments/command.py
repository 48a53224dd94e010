"""What the command line says of experiments: the list, and how a run went."""

from __future__ import annotations

from collections.abc import Callable

from polycomplete.experiments.paper import EXPERIMENTS
from polycomplete.experiments.reproduce import Plan, reproduce

__all__ = ["listing", "perform"]


def listing() -> str:
    """Return the experiments, a line each.

    Returns
    -------
    str
        Name, place in the paper, title.

    Examples
    --------
    >>> "single-grid" in listing()
    True
    """
    lines = [(e.name, e.printed_as, e.title) for e in EXPERIMENTS.values()]
    lines.append(("all", "", "All of these"))
    widths = [max(len(line[i]) for line in lines) for i in (0, 1)]
    return "".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c}\n" for a, b, c in lines)


def perform(plan: Plan, say: Callable[[str], object]) -> int:
    """Run experiments and tell how it went.

    Parameters
    ----------
    plan : Plan
        What to run.
    say : callable
        Is given what there is to say, line by line.

    Returns
    -------
    int
        The exit code: 0, 1 where trials failed, 2 where the plan cannot be carried out.

    Examples
    --------
    >>> perform(Plan(["no such thing"]), say=lambda line: None)
    2
    """
    try:
        outcome = reproduce(plan)
    except ValueError as error:
        say(f"{error}\n")
        return 2
    for name, reason in outcome.without_data.items():
        say(f"{name} was not run: {reason}\n")
    for failure in outcome.failures:
        say(f"failed: {failure}\n")
    say(f"{outcome.page}\n")
    return 1 if outcome.failures else 0
