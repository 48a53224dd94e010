"""The report of a curve of the relative error over n or k, at one sampling rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from experiments.comparison import (
    against_paper_methods,
    overall,
    setting_by_setting,
)
from experiments.figures.curves import Panel, draw_curves
from experiments.report import Figure, Report, Table, Verdict
from experiments.results import Results
from experiments.rows import OURS, ROWS, label


class Curve(NamedTuple):
    """What is drawn: the part of the setting on the axis, its name, the place in the paper."""

    name: str
    over: str
    axis: str
    printed_as: str
    heading: str


def curve_report(
    own: Results, curve: Curve, tables: Sequence[Table] = (), claims: Sequence[Verdict] = ()
) -> Report:
    """Show the curves, the numbers, who is lowest, and what else there is."""
    levels = own.levels(curve.over)
    settings = [{curve.over: x} for x in levels]
    lines = {m: [own.mean("rse", m, **setting) for setting in settings] for m in own.methods(ROWS)}
    means = overall(own, "rse", lines, settings)
    numbers = Table(
        curve.name,
        f"RSE by {curve.axis}. {curve.heading}; mean of {own.counted()}.",
        ["method", *(f"{curve.over} = {x}" for x in levels)],
        [[label(m), *values] for m, values in lines.items()],
    )
    return Report(
        figures=[_figure(own, curve, lines, means)],
        tables=[numbers, *tables],
        verdicts=[
            *against_paper_methods(means, f"mean RSE over all {curve.over}"),
            setting_by_setting(own, "rse", settings),
            *claims,
        ],
    )


def _figure(
    own: Results,
    curve: Curve,
    lines: Mapping[str, Sequence[float]],
    means: Mapping[str, float],
) -> Figure:
    best = min(means, key=means.__getitem__, default=OURS)
    panel = Panel(curve.heading, own.levels(curve.over), lines)
    return Figure(
        curve.name,
        f"{curve.printed_as}. Relative error by {curve.axis}. {curve.heading}; mean of "
        f"{own.counted()}.",
        f"Curves of the relative error by {curve.axis}, one for each of {len(lines)} methods; the "
        f"lowest in mean is {label(best)}.",
        lambda: draw_curves([panel], curve.axis, "RSE"),
    )
