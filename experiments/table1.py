"""How Table 1 is shown: the printed errors, and ours as published and as recommended."""

from __future__ import annotations

import math

import pandas as pd

from experiments.labels import LOADERS
from experiments.methods import OURS, PUBLISHED, RECOMMENDED, short
from experiments.report import Report, Value, means, printed

#: The rows of Table 1, in the order of the paper's columns: as published, and as recommended.
CLASSES = {
    "published": (
        *("SVM (authors)", "lrmc-authors", "LRMC+SVM (authors)"),
        *(PUBLISHED[1], *PUBLISHED[3:]),
    ),
    "recommended": ("SVM", "lrmc", "LRMC+SVM", RECOMMENDED[1], *RECOMMENDED[3:]),
}
#: What a user would try today.
TREES = ("imputed + boosted", "boosted trees")
TABLE1 = printed("table1", ["data", "theta"])


def table1(report: Report, results: pd.DataFrame) -> None:
    """Show our classification errors beside the printed ones, for every size that was run."""
    lines = means(results, "error", ["data", "theta", "rows"])
    tables = [*LOADERS]
    lines = lines[sorted(lines, key=lambda c: (tables.index(c[0]), c[1], c[2] or math.inf))]
    errors = results.groupby(["data", "theta", "rows", "method"])["error"]
    spread = errors.std().unstack("method")
    rows: dict[tuple[str, str, str], list[Value]] = {}
    for data, theta, count in lines:
        where = data, f"{theta:.0%}"
        rows[*where, "paper"] = [f"{v:g}" for v in TABLE1.loc[(data, theta)]] + [None] * len(TREES)
        found = lines[data, theta, count], spread.loc[data, theta, count]
        for kind, cells in _by_form(*found).items():
            rows[*where, f"as {kind}, {count or 'all'} rows"] = cells
    header = ["data", "θ", "source", *map(short, CLASSES["recommended"]), *TREES]
    report.table(header, [[*where, *values] for where, values in rows.items()])
    _cells_won(report, lines)
    _goals(report, lines)


def _by_form(mean: pd.Series, deviation: pd.Series) -> dict[str, list[Value]]:
    """Return the cells of the forms that were run; trees are recommended ones."""
    shown = {}
    for kind, methods in CLASSES.items():
        trees = TREES if kind == "recommended" else ("none",) * len(TREES)
        wanted = [*methods, *trees]
        cells = [*map(with_deviation, mean.reindex(wanted), deviation.reindex(wanted))]
        if any(cells):
            shown[kind] = cells
    return shown


def with_deviation(mean: float, deviation: float) -> Value:
    """Return a mean and, if there were several trials, the standard deviation."""
    if math.isnan(mean):
        return None
    return f"{mean:.2f}" if math.isnan(deviation) else f"{mean:.2f} ({deviation:.2f})"


def _cells_won(report: Report, lines: pd.DataFrame) -> None:
    """Count, for each form, the cells in which PMC-S or PMC-W is lowest, or level."""
    for kind, methods in CLASSES.items():
        complete, ours = lines.reindex(methods).dropna(axis=1), [*methods[-2:]]
        won = (complete.loc[ours].min() <= complete.drop(ours).min()).sum()
        number = complete.shape[1]
        report.verdict("cells", won > number / 2 if number else None, kind, won=won, number=number)


def _goals(report: Report, lines: pd.DataFrame) -> None:
    """Say in which cells this library's default reaches the paper's best figure."""
    goals = TABLE1[[*PUBLISHED[-2:]]].min(axis=1)
    ours = lines.reindex([OURS]).loc[OURS].dropna()
    largest = {(data, theta): error for (data, theta, _), error in ours.items()}
    reached = [error <= goals[cell] for cell, error in largest.items()]
    told = [f"{d} {t:.0%}: {e:.2f} (paper {goals[d, t]:g})" for (d, t), e in largest.items()]
    facts = {"reached": sum(reached), "number": len(told), "errors": "; ".join(told)}
    if told:
        report.verdict("goals", all(reached), "beyond", **facts)
