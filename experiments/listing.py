"""The experiments as a list for people to read."""

from __future__ import annotations

from experiments.paper import EXPERIMENTS

__all__ = ["listing"]


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
    return "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c}" for a, b, c in lines)
