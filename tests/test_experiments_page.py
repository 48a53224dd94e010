"""The page: every figure and table is on it, with caption and words, and nothing from outside."""

import json
import re
import sqlite3
from contextlib import closing
from html.parser import HTMLParser

import numpy as np
import pytest

from experiments import EXPERIMENTS
from experiments.figures.curves import Panel, draw_curves
from experiments.output import draw, write_output
from experiments.store import Store

MEASURES = ("rse", "rae", "error", "published", "default")


def invented(task):
    """Return measures of any family, different for every trial."""
    rng = np.random.default_rng(list(repr(task).encode()))
    values = {name: float(10 ** rng.uniform(-3, 0)) for name in MEASURES}
    return values | {"rank": 3, "part": 2, "rank_phi": 5, "seconds": 1.0}


def add_at_once(store, tasks, session=0):
    """Write many trials in one go: bringing each to the disk takes its time."""
    with closing(sqlite3.connect(store.path)) as base, base:
        rows = [(*task, json.dumps(invented(task)), session) for task in tasks]
        base.executemany("INSERT INTO trial VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Give the folder of a run of everything with invented trials."""
    out = tmp_path_factory.mktemp("page")
    store = Store(out / "trials.sqlite")
    session = store.begin("2020-01-01", {
        "cpu": "<b>x</b>", "cores": 2, "system": "s", "python": "3", "versions": {"numpy": "1"},
        "blas": ["b"], "commit": "c0ffee", "seeds": "0",
        "asked": {"names": ["all"], "scale": "quick", "trials": 1, "methods": None, "jobs": 1},
    })  # fmt: skip
    every = {task for e in EXPERIMENTS.values() for task in e.tasks("quick", trials=1)}
    add_at_once(store, every, session)
    write_output(store, list(EXPERIMENTS.values()), EXPERIMENTS.values(), out, {}, [])
    return out


class Page(HTMLParser):
    """Collects what the page shows."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.images, self.addresses, self.captions, self.open = set(), {}, [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in ("meta", "link", "img"):
            self.open.append((tag, attrs.get("id", "")))
        self.ids.add(attrs.get("id"))
        self.addresses += [attrs[key] for key in ("src", "href") if key in attrs]
        if tag == "img":
            self.images[self.open[-1][1]] = attrs["alt"]

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, f"{tag} is not closed in order"

    def handle_data(self, data):
        if self.open and self.open[-1][0] in ("caption", "figcaption"):
            self.captions[self.open[-2][1]] = data.strip()


def test_every_figure_and_table_stands_on_the_page(written):
    page = Page((written / "index.html").read_text())
    assert page.open == []
    store = Store(written / "trials.sqlite")
    for name, experiment in EXPERIMENTS.items():
        assert name in page.ids
        report = experiment.report(store.results(experiment.family))
        assert report.figures or report.tables
        assert report.verdicts
        for figure in report.figures:
            assert len(page.images[f"figure-{figure.name}"]) > 40
            assert page.captions[f"figure-{figure.name}"] == figure.caption
        for table in report.tables:
            assert page.captions[f"table-{table.name}"] == table.caption
    shown = " ".join(page.captions.values())
    for part in ("Figure 1", "Figure 2 (a)", "Figure 2 (b)", "Figure 3", "Figure 4", "Figure 5",
                 "Figure 6", "Table 1"):  # fmt: skip
        assert part in shown


def test_the_page_needs_nothing_from_outside(written):
    text = (written / "index.html").read_text()
    page = Page(text)
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert "<script" not in text
    assert "url(" not in text
    targets = {address[1:] for address in page.addresses if address.startswith("#")}
    assert targets <= page.ids
    assert "&lt;b&gt;x&lt;/b&gt;" in text  # what comes from the machine is escaped


def test_pictures_come_as_png_and_svg_and_never_change(written):
    store = Store(written / "trials.sqlite")
    mocap = EXPERIMENTS["mocap"]
    again = draw(mocap.report(store.results(mocap.family))).pictures["mocap"]
    for form, content in again.items():
        assert (written / f"figures/mocap.{form}").read_bytes() == content
    names = {path.stem for path in (written / "figures").glob("*.svg")}
    assert names == {path.stem for path in (written / "figures").glob("*.png")}
    assert names == {"manifolds", "single-columns", "multi-manifolds", "single-grid",
                     "multi-grid", "hopkins", "mocap"}  # fmt: skip


def test_the_printed_table_stands_beside_ours(written):
    text = (written / "tables/table1.md").read_text()
    for value in ("0.39", "0.63", "2.66", "8.02", "2.84", "7.98", "13.06", "14.82"):
        assert value in text
    assert len(re.findall(r"\| paper \|", text)) == 8


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_run_of_few_methods_can_be_shown(name, tmp_path):
    experiment = EXPERIMENTS[name]
    store = Store(tmp_path / "trials.sqlite")
    methods = ["polycomplete"] if "polycomplete" in experiment.methods else None
    add_at_once(store, experiment.tasks("quick", 1, methods))
    report = experiment.report(store.results(experiment.family))
    assert all(table.markdown() for table in report.tables)
    assert all(figure.draw().axes for figure in report.figures)
    assert all(verdict.sentence.endswith(".") for verdict in report.verdicts)


def test_panels_show_all_of_their_lines():
    panels = [Panel("a", [0, 1], {"srmc": [1.0, 2.0]}), Panel("b", [0, 1], {"srmc": [5.0, 90.0]})]
    for log in (True, False):
        axes = draw_curves(panels, "x", "y", log=log).axes
        assert len({ax.get_ylim() for ax in axes}) == 1
        low, high = axes[0].get_ylim()
        assert low < 1
        assert high > 90
        assert {ax.get_yscale() for ax in axes} == {"log" if log else "linear"}
