"""Runs that are killed at any moment and taken up again end with the same tables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.store import Store
from experiments.trials import finished

ROOT = Path(__file__).parents[2]
#: Kills a child that runs the toy experiment, again and again, then lets one come to its end.
DRIVER = """
import contextlib, os, random, signal, sys, time
from pathlib import Path
from experiments.page import write_page
from experiments.report import means
from experiments.store import Store
from experiments.trials import Experiment, Family, run

out, kills = Path(sys.argv[1]), int(sys.argv[2])


def measure(setting, method, seed):
    time.sleep(0.004)
    with open(out.with_suffix(".log"), "a") as log:
        log.write("x")
    return {"rse": (setting["n"] * 7 + seed * 3 + len(method)) % 11 / 11}


def done():
    return os.path.getsize(out.with_suffix(".log"))


def show(report, results):
    report.lines(means(results, "rse", "n"), "n = {}")


def reproduce():
    store = Store(out / "trials.jsonl")
    run([toy], store)
    write_page(store, [toy], out)


toy = Experiment("toy", Family("toy", 1, measure), show, methods=["a", "bb"],
                 grids=[{"n": [*range(8)], "trials": {"quick": 3}}], words={"table": "A toy."})
random.seed(0)
out.with_suffix(".log").touch()
for _ in range(kills):
    child = os.fork()
    if not child:
        reproduce()
        os._exit(0)
    aim = done() + random.randint(1, 4)
    while done() < aim and not os.waitpid(child, os.WNOHANG)[0]:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.01))
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
reproduce()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ten_kills_change_nothing(tmp_path):
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    for name, kills in (("unbroken", 0), ("killed", 10)):
        subprocess.run(
            [sys.executable, "-c", DRIVER, str(tmp_path / name), str(kills)],
            check=True,
            capture_output=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": paths},
        )
    unbroken, killed = tmp_path / "unbroken", tmp_path / "killed"
    names = sorted(path.name for path in (unbroken / "tables").iterdir())
    assert {"toy.csv", "toy.md"} <= {*names}
    for name in names:
        assert (killed / "tables" / name).read_text() == (unbroken / "tables" / name).read_text()
    assert measured(killed) == measured(unbroken)
    # A kill costs at most the trial that was running: nothing that was stored is repeated.
    runs = len(killed.with_suffix(".log").read_text())
    assert 48 <= runs <= 58
    assert len(Store(killed / "trials.jsonl").runs()) == 11  # it was really broken off


def measured(folder):
    found = finished(Store(folder / "trials.jsonl"))
    return {trial: result["measures"]["rse"] for trial, result in found.items()}
