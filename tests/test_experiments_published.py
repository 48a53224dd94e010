"""What docs/results shows is what the trials beside it say."""

from pathlib import Path

from experiments.paper import EXPERIMENTS
from experiments.store import Store
from experiments.trials import results_of

RESULTS = Path(__file__).parents[1] / "docs/results"
STORE = Store(RESULTS / "trials.jsonl")


def published():
    """Return the experiments that the published page shows."""
    names = {name for run in STORE.runs() for name in run["names"]}
    return [e for e in EXPERIMENTS.values() if e.name in names]


def test_published_tables_match_the_stored_trials():
    expected = {}
    for experiment in published():
        results = experiment.own(results_of(STORE, experiment.family), STORE.runs())
        for table in experiment.report(results).tables:
            expected[f"{table.name}.md"] = table.markdown()
            expected[f"{table.name}.csv"] = table.csv()
    found = {path.name: path.read_text() for path in (RESULTS / "tables").iterdir()}
    assert len(found) == 26
    assert found == expected


def test_every_published_figure_is_there_in_both_forms():
    page = (RESULTS / "index.html").read_text()
    for experiment in published():
        assert f'id="{experiment.name}"' in page
    stems = {form: {path.stem for path in (RESULTS / "figures").glob(f"*.{form}")}
             for form in ("png", "svg")}  # fmt: skip
    assert stems["png"] == stems["svg"]
    assert len(stems["png"]) == 7
