"""What docs/results shows is what the trials beside it say."""

from pathlib import Path

from experiments.page import about
from experiments.paper import EXPERIMENTS
from experiments.store import Store
from experiments.trials import results_of

RESULTS = Path(__file__).parents[1] / "docs/results"
STORE = Store(RESULTS / "trials.jsonl")


def published():
    """Return the experiments that the published page shows."""
    names = {name for run in STORE.runs() for name in run["names"]}
    return [e for e in EXPERIMENTS.values() if e.name in names]


def test_every_published_trial_tells_its_commit():
    commits = {run["machine"]["commit"] for run in STORE.runs()}
    assert {result["commit"] for result in STORE.results()} <= commits


def test_published_tables_match_the_stored_trials():
    shown, expected = about(), {}
    for experiment in published():
        shown += report(experiment).tables
    for table in shown:
        expected[f"{table.name}.md"] = table.markdown()
        expected[f"{table.name}.csv"] = table.csv()
    found = {path.name: path.read_text() for path in (RESULTS / "tables").iterdir()}
    assert found == expected


def report(experiment):
    """Return the report of an experiment that was run."""
    results = experiment.own(results_of(STORE, experiment.family), STORE.runs())
    return experiment.report(results)


def test_every_published_figure_is_there_in_both_forms():
    page = (RESULTS / "index.html").read_text()
    for experiment in published():
        assert f'id="{experiment.name}"' in page
    stems = {form: {path.stem for path in (RESULTS / "figures").glob(f"*.{form}")}
             for form in ("png", "svg")}  # fmt: skip
    assert stems["png"] == stems["svg"]
    assert stems["png"] == {f.name for each in published() for f in report(each).figures}
