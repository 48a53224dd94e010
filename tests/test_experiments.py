"""The experiments in short: a run is broken off and taken up again, and ends with its page.

`make test-experiments` runs the longer tests, in which runs are killed.
"""

import pytest

from experiments import families, labels
from experiments.methods import make
from experiments.page import write_page
from experiments.report import means
from experiments.store import Store
from experiments.trials import Experiment, Family, run


@pytest.mark.parametrize("published", [families.MOTION_PUBLISHED, labels.PUBLISHED])
def test_the_settings_of_an_experiment_are_parameters_of_its_methods(published):
    for method, settings in published.items():
        params = make(method, 3, published).get_params()
        assert settings.items() <= params.items()
        assert params["random_state"] == 3


def show(report, results):
    report.lines(means(results, "rse", "n"), "n = {}")


def test_a_run_that_is_broken_off_goes_on_where_it_stood(tmp_path):
    done = []

    def measure(setting, method, seed):
        done.append((setting["n"], method, seed))
        if len(done) == 5:
            raise KeyboardInterrupt
        return {"rse": setting["n"] + seed}

    toy = Experiment(
        "toy",
        Family("toy", 1, measure),
        show,
        methods=["mean", "knn"],
        grids=[{"n": [1, 2, 3], "trials": {"quick": 2}}],
        title="A toy",
        place="Figure 9",
        claim="It plays.",
        words={"table": "All of it."},
    )
    store = Store(tmp_path / "trials.jsonl")
    with pytest.raises(KeyboardInterrupt):
        run([toy], store)
    kept = store.results()
    assert len(kept) == 4
    run([toy], store)
    write_page(store, [toy], tmp_path)
    assert store.results()[:4] == kept
    assert (len(done), len(set(done))) == (13, 12)  # only what was running is run again
    assert (tmp_path / "tables/toy.csv").read_text() == (
        "method,n = 1,n = 2,n = 3\nKNN,1.5,2.5,3.5\nmean,1.5,2.5,3.5\n"
    )
    page = (tmp_path / "index.html").read_text()
    assert all(words in page for words in ("A toy", "Figure 9", "It plays.", "All of it.", "3.5"))
    assert all(run["run"] and run["machine"]["commit"] in page for run in store.runs())
    assert len(store.runs()) == 2
