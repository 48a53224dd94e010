"""What an experiment has to show: figures, tables, and sentences on what agrees with the paper."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

__all__ = ["Figure", "Report", "Table", "Verdict"]

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
    """A table with its caption; numbers are shown in `digits` significant digits."""

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Value]]
    digits: int = 3

    def cells(self) -> list[list[str]]:
        """Return the rows as text."""
        return [[self._shown(value) for value in row] for row in self.rows]

    def _shown(self, value: Value) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        if isinstance(value, float):
            return f"{value:.{self.digits}g}" if abs(value) < 1000 else f"{value:.0f}"
        return str(value)

    def markdown(self) -> str:
        """Return the table as Markdown, caption first."""
        lines = [self.header, ["---"] * len(self.header), *self.cells()]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        body = "\n".join(f"| {' | '.join(line)} |" for line in escaped)
        return f"{self.caption}\n\n{body}\n"

    def csv(self) -> str:
        """Return the table as comma-separated values."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(self.cells())
        return text.getvalue()


@dataclass(frozen=True)
class Verdict:
    """A sentence on one claim of the paper, or on what this library aims at beyond it.

    `holds` is None where the run does not decide it.
    """

    holds: bool | None
    sentence: str
    beyond: bool = False

    @property
    def word(self) -> str:
        """Return how the claim fared."""
        if self.holds is None:
            return "not decided"
        if self.beyond:
            return "reached" if self.holds else "not reached"
        return "agrees" if self.holds else "does not agree"


@dataclass(frozen=True)
class Report:
    """All that an experiment has to show."""

    figures: Sequence[Figure] = field(default=())
    tables: Sequence[Table] = field(default=())
    verdicts: Sequence[Verdict] = field(default=())
