"""One page that needs nothing besides itself: the paper and this run, side by side."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from experiments.experiment import Experiment
from experiments.progress import duration
from experiments.report import Report, Verdict

__all__ = ["Section", "page"]


@dataclass(frozen=True)
class Section:
    """What the page shows of an experiment: its report and pictures, or why there are none."""

    experiment: Experiment
    report: Report | None
    pictures: Mapping[str, bytes]
    lacking: str | None

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """Return what agrees and what does not."""
        return self.report.verdicts if self.report else ()

    def address(self, name: str) -> str:
        """Return a picture as part of the page."""
        return f"data:image/svg+xml;base64,{b64encode(self.pictures[name]).decode()}"

    def count(self, beyond: bool) -> str:
        """Return how many claims of the paper agree, or aims are reached: "2 of 3"."""
        known = [v.holds for v in self.verdicts if v.beyond == beyond and v.holds is not None]
        return f"{sum(known)} of {len(known)}" if known else "–"


def page(
    sections: Sequence[Section],
    sessions: Sequence[Mapping[str, Any]],
    failures: Sequence[str],
    seconds: float,
) -> str:
    """Return the page.

    Parameters
    ----------
    sections : sequence of Section
        The experiments.
    sessions : sequence of mapping
        The facts of the runs that the trials come from.
    failures : sequence of str
        Trials that failed.
    seconds : float
        Of the processor, in all trials.

    Returns
    -------
    str

    Examples
    --------
    >>> page([], [], [], 0.0)[:15]
    '<!doctype html>'
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("experiments", "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The looks are those of a completion report, with a few rules for figures and verdicts.
    shared = files("polycomplete.report") / "template" / "page.css"
    own = files("experiments") / "template" / "page.css"
    css = "\n".join(part.read_text("utf-8") for part in (shared, own))
    return environment.get_template("page.html").render(
        sections=sections,
        sessions=sessions,
        failures=failures,
        spent=duration(seconds),
        css=Markup(css),
    )
