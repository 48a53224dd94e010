"""The files that show a store: figures, tables, and a page that needs nothing besides itself."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

from experiments import authors
from experiments.figures import render
from experiments.paper import ABOUT
from experiments.report import Report, Table
from experiments.settings import side_by_side, statements
from experiments.store import Store
from experiments.trials import Experiment, failures, finished, results_of

TEMPLATE = Path(__file__).parent / "template"


@dataclass
class Section:
    """What the page shows of an experiment, or why there is nothing to show."""

    experiment: Experiment
    report: Report | None = None
    lacking: str | None = None
    pictures: dict[str, str] = field(default_factory=dict)

    def count(self, kind: str) -> str:
        """Return how many claims of a kind agree, or are reached: "2 of 3"."""
        verdicts = self.report.verdicts if self.report else []
        known = [v.holds for v in verdicts if v.kind == kind and v.holds is not None]
        return f"{sum(known)} of {len(known)}" if known else "–"


def write_page(store: Store, experiments: Iterable[Experiment], out: Path) -> Path:
    """Write all that the store shows of the experiments that were asked for; return the page."""
    runs = store.runs()
    asked = {name for run in runs for name in run["names"]}
    lacking = {name: reason for run in runs for name, reason in run["lacking"].items()}
    sections = [
        _section(store, experiment, out, lacking) for experiment in experiments
        if experiment.name in asked
    ]  # fmt: skip
    done = finished(store).values()
    used = {result["run"] for result in done}
    spent = sum(result["measures"]["seconds"] for result in done)
    commits = Counter(result.get("commit", "unknown") for result in done)
    tables = about()
    for table in tables:
        _write_table(table, out)
    # It looks like a completion report, with a few rules for figures and verdicts.
    shared = files("polycomplete.report") / "template" / "page.css"
    css = "\n".join(part.read_text("utf-8") for part in (shared, TEMPLATE / "page.css"))
    template = jinja2.Template(
        (TEMPLATE / "page.html").read_text("utf-8"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    text = template.render(
        sections=sections,
        runs=[run for run in runs if run["run"] in used],
        failures=failures(store),
        spent=timedelta(seconds=round(spent)),
        commits=", ".join(f"{commit} ({count})" for commit, count in commits.most_common()),
        about=tables,
        css=Markup(css),
    )
    return _write(out / "index.html", text.encode())


def about() -> list[Table]:
    """Return the tables that do not depend on trials."""
    words = ABOUT["words"]
    return [
        authors.table(words["authors"]),
        side_by_side(ABOUT["assumed"], words["settings"]),
        statements(words["statements"]),
    ]


def _section(store: Store, experiment: Experiment, out: Path, lacking: dict[str, str]) -> Section:
    """Write the figures and tables of an experiment; return what the page shows of it."""
    results = experiment.own(results_of(store, experiment.family), store.runs())
    if results.empty:
        reason = lacking.get(experiment.name, "No trial of it has been run.")
        return Section(experiment, lacking=reason)
    section = Section(experiment, report := experiment.report(results))
    for figure in report.figures:
        picture = figure.draw()
        for form in ("png", "svg"):
            content = render(picture, form, figure.name)
            _write(out / "figures" / f"{figure.name}.{form}", content)
        address = f"data:image/svg+xml;base64,{b64encode(content).decode()}"
        section.pictures[figure.name] = address
    for table in report.tables:
        _write_table(table, out)
    return section


def _write_table(table: Table, out: Path) -> None:
    _write(out / "tables" / f"{table.name}.md", table.markdown().encode())
    _write(out / "tables" / f"{table.name}.csv", table.csv().encode())


def _write(path: Path, content: bytes) -> Path:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    return part.replace(path)
