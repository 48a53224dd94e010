"""What docs/results shows is what the trials beside it say."""

import json
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from experiments.store import read_csv, results_of

RESULTS = Path(__file__).parents[1] / "docs/results"


def published():
    """Return the experiments that the published page shows."""
    sessions = json.loads((RESULTS / "machine.json").read_text())
    names = {name for session in sessions for name in session["asked"]["names"]}
    return [e for e in EXPERIMENTS.values() if "all" in names or e.name in names]


@pytest.mark.skipif(not (RESULTS / "trials.csv").is_file(), reason="nothing is published here")
def test_published_tables_match_the_stored_trials():
    rows = read_csv(RESULTS / "trials.csv")
    expected = {}
    for experiment in published():
        results = results_of(rows, experiment.family)
        if results.trials:
            for table in experiment.report(results).tables:
                expected[f"{table.name}.md"] = table.markdown()
                expected[f"{table.name}.csv"] = table.csv()
    found = {path.name: path.read_text() for path in (RESULTS / "tables").iterdir()}
    assert found == expected


@pytest.mark.skipif(not (RESULTS / "trials.csv").is_file(), reason="nothing is published here")
def test_every_published_figure_is_there_in_both_forms():
    page = (RESULTS / "index.html").read_text()
    for experiment in published():
        assert f'id="{experiment.name}"' in page
    stems = {form: {path.stem for path in (RESULTS / "figures").glob(f"*.{form}")}
             for form in ("png", "svg")}  # fmt: skip
    assert stems["png"] == stems["svg"]
    assert stems["png"]
