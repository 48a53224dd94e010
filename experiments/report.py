"""What an experiment shows: figures, tables, and verdicts on what agrees with the paper."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.methods import FORMS, POLYNOMIAL, ROWS, label, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Value = str | int | float | None


@dataclass(frozen=True)
class Figure:
    """A picture with its caption, and in words for those who cannot see it."""

    name: str
    caption: str
    alt: str
    draw: Callable[[], Picture]


@dataclass(frozen=True)
class Table:
    """A table with its caption; numbers are shown with three digits."""

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Value]]

    def cells(self) -> list[list[str]]:
        """Return the rows as text."""
        return [[_shown(value) for value in row] for row in self.rows]

    def markdown(self) -> str:
        """Return the table as Markdown, caption first."""
        lines = [self.header, ["---"] * len(self.header), *self.cells()]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        body = "\n".join(f"| {' | '.join(line)} |" for line in escaped)
        return f"{self.caption}\n\n{body}\n"

    def csv(self) -> str:
        """Return the table as comma-separated values."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.cells()])
        return text.getvalue()


def _shown(value: Value) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


#: Kinds of verdicts: the published methods among themselves, the recommended ones among
#: themselves, aims beyond the paper, and notes that decide nothing.
KINDS = ("published", "recommended", "beyond", "note")


@dataclass(frozen=True)
class Verdict:
    """A sentence on a claim of the paper, or on an aim beyond it; None: the run is undecided."""

    holds: bool | None
    sentence: str
    kind: str = "published"

    @property
    def word(self) -> str:
        """Return how the claim fared."""
        if self.kind == "note":
            return "note"
        reached = ("not reached", "reached")
        words = reached if self.kind == "beyond" else ("does not agree", "agrees")
        return "not decided" if self.holds is None else words[self.holds]


class Report:
    """All that an experiment shows, in the words of paper.toml, where facts are filled in."""

    def __init__(self, name: str, words: Mapping[str, str], **facts: Any):
        self.name, self.words, self.facts = name, words, facts
        self.figures: list[Figure] = []
        self.tables: list[Table] = []
        self.verdicts: list[Verdict] = []

    def say(self, key: str, **facts: Any) -> str:
        """Return words with the facts filled in."""
        return self.words[key].format(**self.facts, **facts)

    def figure(self, draw: Callable[[], Picture], alt: str = "alt", **facts: Any) -> None:
        """Add a picture."""
        words = self.say("figure"), self.say(alt, **facts)
        self.figures.append(Figure(self.name, *words, draw))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Value]], part: str = "") -> None:
        """Add a table; `part` tells it from others of the same experiment."""
        self.tables.append(Table(f"{self.name}{part}", self.say(f"table{part}"), header, rows))

    def verdict(self, key: str, holds: Any, kind: str = "published", **facts: Any) -> None:
        """Add a verdict."""
        decided = None if holds is None else bool(holds)
        self.verdicts.append(Verdict(decided, self.say(key, form=kind, **facts), kind))

    def lines(self, lines: pd.DataFrame, title: str, part: str = "") -> None:
        """Add a table with a line for each method; `title` formats the settings."""
        self.table(["method", *map(title.format, lines)], labelled(lines), part)

    def authors(self, authors: pd.DataFrame, lines: pd.DataFrame, title: str) -> None:
        """Add a table with the authors' code and this run side by side."""
        both = [x for x in authors.index if x in lines]
        rows = [
            [label(m), *(v for x in both for v in (authors.loc[x].get(m), lines.loc[m, x]))]
            for m in lines.index
            if m in authors
        ]
        header = [f"{title.format(x)}, {who}" for x in both for who in ("authors", "here")]
        self.table(["method", *header], rows, "-authors")

    def order(self, found: pd.Series, what: str) -> None:
        """Say, for each form, whether one of the paper's two methods is lowest."""
        for kind, rows in FORMS.items():
            theirs, rivals = (found.reindex(part).dropna() for part in (rows[-2:], rows[:-2]))
            if theirs.empty or rivals.empty:
                self.verdict("undecided", None, kind, what=what)
                continue
            holds = theirs.min() <= rivals.min()
            absent = ", ".join(short(m) for m in rows if m not in found)
            self.verdict(
                "order",
                holds,
                kind,
                best=lowest(theirs),
                rival=lowest(rivals),
                what=what,
                verb="holds" if holds else "does not hold",
                among=f" among those that were run (not {absent})" if absent else "",
            )

        known = found.reindex(POLYNOMIAL).dropna()
        if len(known):
            told = ", ".join(f"{value:.3g} ({label(m)})" for m, value in known.items())
            self.verdict("polynomial", None, "note", errors=told, what=what)

    def settings(self, lines: pd.DataFrame) -> None:
        """Count, for each form, the settings in which PMC-S or PMC-W is lowest, or level."""
        for kind, rows in FORMS.items():
            complete = lines.reindex(rows[::-1]).dropna(axis=1)
            winners = [complete[setting].idxmin() for setting in complete]
            won, number = sum(method in rows[-2:] for method in winners), len(winners)
            others = [f"{short(m)} in {winners.count(m)}" for m in rows[:-2] if m in winners]
            told = f"; {', '.join(others)}" if others else ""
            holds = won > number / 2 if winners else None
            self.verdict("settings", holds, kind, won=won, number=number, others=told)


def by_form(lines: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the lines of the published and of the recommended methods, those that were run."""
    forms = zip(FORMS.items(), POLYNOMIAL, strict=True)
    rows = {f"as {kind}": [*methods, polynomial] for (kind, methods), polynomial in forms}
    found = {kind: lines.reindex(own).dropna(how="all") for kind, own in rows.items()}
    return {kind: own for kind, own in found.items() if len(own)} or {"all": lines}


def printed(name: str, index: str | list[str]) -> pd.DataFrame:
    """Return numbers of the paper, or of its authors' code: a column for each method."""
    return pd.read_csv(Path(__file__).parent / "printed" / f"{name}.csv").set_index(index)


def means(
    results: pd.DataFrame, measure: str, over: str | list[str], order: Sequence[str] = ROWS
) -> pd.DataFrame:
    """Return means over trials: a line for each method in this order, a column for each setting."""
    found = results.pivot_table(measure, "method", over)
    others = sorted(set(found.index) - set(order))
    return found.reindex([*(m for m in order if m in found.index), *others])


def standard_errors(results: pd.DataFrame, measure: str, over: str | list[str]) -> pd.DataFrame:
    """Return the standard errors of the means; NaN where there is one trial."""
    return results.pivot_table(measure, "method", over, aggfunc="sem", dropna=False)


def overall(lines: pd.DataFrame) -> pd.Series:
    """Return the means over all settings, of the methods that ran on all of them."""
    return lines.dropna().mean(axis=1)


def shared(results: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    """Return the trials that every method has run, for a fair comparison of means."""
    ran = results.groupby([*setting, "seed"])["method"].transform("nunique")
    return results[ran == results["method"].nunique()]


def counted(results: pd.DataFrame) -> str:
    """Return the largest number of trials of a setting: "one trial", "3 trials"."""
    number = results["seed"].nunique()
    return "one trial" if number == 1 else f"{number} trials"


def labelled(lines: pd.DataFrame) -> list[list[Value]]:
    """Return the lines of a table, each with the name of its method."""
    return [[label(method), *values.tolist()] for method, values in lines.iterrows()]


def spoken(method: str, value: float) -> str:
    """Return a method with its value, as in a sentence."""
    return f"{short(method)} with {value:.3g}"


def lowest(found: pd.Series) -> str:
    """Return the best method, as in a sentence."""
    return spoken(found.idxmin(), found.min())
