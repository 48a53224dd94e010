"""The page: every figure and table is on it, with caption and words, and nothing from outside."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from experiments.figures import render
from experiments.methods import PRINTED, ROWS, label
from experiments.page import write_page
from experiments.paper import EXPERIMENTS, READING, curves_of_bounds
from experiments.settings import LISTED
from experiments.store import Store
from experiments.trials import results_of

MEASURES = ("rse", "rae", "error", "published", "default")
MACHINE = {"cpu": "<b>x</b>", "cores": 2, "system": "s", "python": "3", "versions": {"numpy": "1"},
           "blas": ["b"], "commit": "c0ffee"}  # fmt: skip


def invented(trial):
    """Return measures of any family, different for every trial."""
    rng = np.random.default_rng(list(repr(trial).encode()))
    values = {name: float(10 ** rng.uniform(-3, 0)) for name in MEASURES}
    return values | {"rank": 3, "part": 2, "rank_phi": 5, "seconds": 1.0}


def write_store(path, names, trials):
    """Write invented trials at once; bringing each to the disk takes its time."""
    asked = {"quick": True, "trials": 1, "methods": None, "jobs": 1}
    lines = [{"run": "r", "started": "2020-01-01", "names": names, "asked": asked, "lacking": {},
              "machine": MACHINE}]  # fmt: skip
    for trial in trials:
        setting = {"setting": json.loads(trial.setting)}
        lines.append({"run": "r", **trial._asdict(), **setting, "measures": invented(trial)})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Store(path)


def report_of(store, experiment):
    return experiment.report(experiment.own(results_of(store, experiment.family), store.runs()))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Give the folder of a run of everything with invented trials."""
    out = tmp_path_factory.mktemp("page")
    every = {trial for e in EXPERIMENTS.values() for trial in e.trials(number=1)}
    store = write_store(out / "trials.jsonl", [*EXPERIMENTS], every)
    write_page(store, EXPERIMENTS.values(), out)
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
    store = Store(written / "trials.jsonl")
    for name, experiment in EXPERIMENTS.items():
        assert name in page.ids
        report = report_of(store, experiment)
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
    store = Store(written / "trials.jsonl")
    [figure] = report_of(store, EXPERIMENTS["mocap"]).figures
    picture = figure.draw()
    for form in ("png", "svg"):
        again = render(picture, form, "mocap")
        assert (written / f"figures/mocap.{form}").read_bytes() == again
    names = {path.stem for path in (written / "figures").glob("*.svg")}
    assert names == {path.stem for path in (written / "figures").glob("*.png")}
    assert names == {*EXPERIMENTS} - {"table1", "theory", "sensitivity"}


def test_every_caption_tells_the_number_of_trials(written):
    store = Store(written / "trials.jsonl")
    for name, experiment in EXPERIMENTS.items():
        report = report_of(store, experiment)
        captions = [shown.caption for shown in (*report.figures, *report.tables)]
        told = [re.search(r"one trial|\d+ trials", caption) for caption in captions]
        assert all(told) or name == "theory", captions


def test_every_comparison_has_two_verdicts(written):
    store = Store(written / "trials.jsonl")
    for name in ("single-columns", "multi-manifolds", "single-grid", "multi-grid", "hopkins",
                 "mocap", "table1"):  # fmt: skip
        kinds = {verdict.kind for verdict in report_of(store, EXPERIMENTS[name]).verdicts}
        assert {"published", "recommended"} <= kinds, name


def test_the_page_has_settings_statements_and_commits(written):
    page = (written / "index.html").read_text()
    for words in ('id="table-settings"', 'id="table-statements"', "PMC-W, w₂ (paper)",
                  "moments not corrected", "Theorem 2", "Algorithm 1", "Corollary 2",
                  "trials by commit: unknown"):  # fmt: skip
        assert words in page, words
    settings = (written / "tables/settings.md").read_text().splitlines()
    forms = [line.split("|")[1].strip() for line in settings if line.startswith("|")][2:]
    assert len(forms) == len({*forms}) == sum(map(len, LISTED.values()))
    assert {label(name) for name in (*ROWS, *PRINTED)} <= {*forms}


def test_the_authors_own_runs_are_counted(written):
    table = (written / "tables/authors.md").read_text()
    for line in ("| one manifold | 24 | 30 |", "| several manifolds | 22 | 25 |",
                 "| motion capture | 4 | 4 |", "| hidden labels | 3 | 4 |",
                 "| feature trajectories | 3 | 6 |"):  # fmt: skip
        assert line in table


def test_figure_4_has_a_curve_marked_as_a_reading(written):
    store = Store(written / "trials.jsonl")
    report = report_of(store, EXPERIMENTS["multi-grid"])
    drawn = curves_of_bounds(pd.DataFrame({"n": [50] * 5, "k": range(1, 6)}))
    assert min(drawn["lower bound of the paper"]) > 1
    assert [round(min(drawn[READING]), 2), round(max(drawn[READING]), 2)] == [0.78, 0.95]
    [picture] = (figure.draw() for figure in report.figures)
    names = picture.legends[0].get_texts()
    assert "a reading of the bound: q = 2" in [name.get_text() for name in names]
    assert any("That is a reading" in verdict.sentence for verdict in report.verdicts)


def test_the_printed_table_stands_beside_ours(written):
    text = (written / "tables/table1.md").read_text()
    for value in ("0.39", "0.63", "2.66", "8.02", "2.84", "7.98", "13.06", "14.82"):
        assert value in text
    assert len(re.findall(r"\| paper \|", text)) == 8


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_run_of_few_methods_can_be_shown(name, tmp_path):
    experiment = EXPERIMENTS[name]
    trials = experiment.trials(number=1, asked=["polycomplete"])
    store = write_store(tmp_path / "trials.jsonl", [name], trials)
    report = report_of(store, experiment)
    assert all(table.markdown() for table in report.tables)
    assert all(figure.draw().axes for figure in report.figures)
    assert all(verdict.sentence.endswith(".") for verdict in report.verdicts)


def test_only_experiments_that_were_asked_for_are_shown(tmp_path):
    theory = EXPERIMENTS["theory"]
    store = write_store(tmp_path / "trials.jsonl", ["theory", "mocap"], theory.trials(number=1))
    page = write_page(store, EXPERIMENTS.values(), tmp_path).read_text()
    assert 'id="theory"' in page
    assert 'id="table1"' not in page
    assert "No trial of it has been run." in page
