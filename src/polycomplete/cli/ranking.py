"""A ranking of methods as a table for people to read."""

from __future__ import annotations

from typing import Any

from rich.table import Table


def ranking(scores: list[dict[str, Any]]) -> Table:
    """Return a table of scores.

    Parameters
    ----------
    scores : list of dict
        Best first, as :meth:`~polycomplete.cli.holdout.Score.facts` gives them.

    Returns
    -------
    rich.table.Table

    Examples
    --------
    >>> from polycomplete.cli.holdout import Score
    >>> ranking([Score("mean", [1.0], [0.5], [0.1]).facts()]).row_count
    1
    """
    text = any(one["share_wrong"] is not None for one in scores)
    shown = Table("", "method", box=None, header_style="bold")
    for title in ("error", *(["wrong"] if text else []), "seconds"):
        shown.add_column(title, justify="right")
    shown.add_column("")
    for place, one in enumerate(scores, 1):
        error = _pair(one["error"], one["error_spread"], "{:.3f}")
        wrong = [_pair(one["share_wrong"], one["share_wrong_spread"], "{:.1%}")] if text else []
        seconds = "-" if one["seconds"] is None else f"{one['seconds']:.1f}"
        shown.add_row(str(place), one["method"], error, *wrong, seconds, one["failure"] or "")
    return shown


def _pair(value: float | None, spread: float | None, form: str) -> str:
    if value is None:
        return "-"
    return form.format(value) + ("" if spread is None else f" ± {form.format(spread)}")
