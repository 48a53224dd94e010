"""The experiments in short: a run is killed and taken up again, and ends with its page.

`make test-experiments` runs the longer tests.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.store import Store

ROOT = Path(__file__).parents[1]
#: An experiment of twelve trials of a tenth of a second; each leaves a mark when it is run.
PROGRAM = """
import sys, time
from pathlib import Path
from experiments.page import write_page
from experiments.report import means
from experiments.store import Store
from experiments.trials import Experiment, Family, run

out = Path(sys.argv[1])


def measure(setting, method, seed):
    time.sleep(0.1)
    with open(out / "marks", "a") as marks:
        marks.write("x")
    return {"rse": setting["n"] + seed}


def show(report, results):
    report.lines(means(results, "rse", "n"), "n = {}")


toy = Experiment("toy", Family("toy", 1, measure), show, methods=["mean", "knn"],
                 grids=[{"n": [1, 2, 3], "trials": {"quick": 2}}],
                 title="A toy", place="Figure 9", claim="It plays.", words={"table": "All of it."})
out.mkdir(exist_ok=True)
store = Store(out / "trials.jsonl")
run([toy], store)
write_page(store, [toy], out)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs kill -9")
def test_a_run_that_is_killed_goes_on_where_it_stood(tmp_path):
    out = tmp_path / "out"
    call = [sys.executable, "-c", PROGRAM, str(out)]
    paths = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    options = {"env": os.environ | {"PYTHONPATH": paths}, "stderr": subprocess.DEVNULL}
    store = Store(out / "trials.jsonl")
    with subprocess.Popen(call, **options) as killed:
        while len(store.results()) < 3:
            assert killed.poll() is None
            time.sleep(0.01)
        killed.kill()
    kept = store.results()
    assert len(kept) < 12
    assert not (out / "index.html").exists()
    subprocess.run(call, check=True, **options)
    results = store.results()
    assert results[: len(kept)] == kept
    assert len({str((r["setting"], r["method"], r["seed"])) for r in results}) == len(results) == 12
    assert len((out / "marks").read_text()) <= 13  # but for the one that was running, none twice
    assert (out / "tables/toy.csv").read_text() == (
        "method,n = 1,n = 2,n = 3\nKNN,1.5,2.5,3.5\nmean,1.5,2.5,3.5\n"
    )
    page = (out / "index.html").read_text()
    assert all(words in page for words in ("A toy", "Figure 9", "It plays.", "All of it.", "3.5"))
    assert all(run["run"] and run["machine"]["commit"] in page for run in store.runs())
    assert len(store.runs()) == 2
