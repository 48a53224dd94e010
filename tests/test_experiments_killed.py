"""Runs that are killed at any moment and taken up again end with the same tables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.store import Store

#: Kills a child that runs the toy experiment, again and again, then lets one come to its end.
DRIVER = """
import contextlib, os, random, signal, sys, time
from pathlib import Path
from experiments import Plan, reproduce
from experiments.experiment import Cell, Experiment, Family
from experiments.report import Report, Table

out, kills = Path(sys.argv[1]), int(sys.argv[2])


def trial(setting, method, seed):
    time.sleep(0.004)
    with open(out.with_suffix(".log"), "a") as log:
        log.write("x")
    return {"rse": (setting["n"] * 7 + seed * 3 + len(method)) % 11 / 11}


def done():
    return os.path.getsize(out.with_suffix(".log"))


def report(results):
    rows = [[n, *(results.mean("rse", m, n=n) for m in ("a", "bb"))] for n in results.levels("n")]
    return Report(tables=[Table("toy", "A toy.", ["n", "a", "bb"], rows)])


toy = Experiment("toy", "A toy", "Figure 9", "", Family("toy", 1, trial),
                 lambda scale: [Cell({"n": n}, 3) for n in range(8)], report, ("a", "bb"))
random.seed(0)
out.with_suffix(".log").touch()
for _ in range(kills):
    child = os.fork()
    if not child:
        reproduce(Plan(["toy"], out=out, resume=True), {"toy": toy})
        os._exit(0)
    aim = done() + random.randint(1, 4)
    while done() < aim and not os.waitpid(child, os.WNOHANG)[0]:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.01))
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
reproduce(Plan(["toy"], out=out, resume=True), {"toy": toy})
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ten_kills_change_nothing(tmp_path):
    for name, kills in (("unbroken", 0), ("killed", 10)):
        subprocess.run(
            [sys.executable, "-c", DRIVER, str(tmp_path / name), str(kills)],
            cwd=Path(__file__).parents[1],
            check=True,
            capture_output=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
    unbroken, killed = tmp_path / "unbroken", tmp_path / "killed"
    names = sorted(path.name for path in (unbroken / "tables").iterdir())
    assert names == ["toy.csv", "toy.md"]
    for name in names:
        assert (killed / "tables" / name).read_text() == (unbroken / "tables" / name).read_text()
    assert measured(killed) == measured(unbroken)
    # A kill costs at most the trial that was running: nothing that was stored is repeated.
    runs = len(killed.with_suffix(".log").read_text())
    assert 48 <= runs <= 58
    assert len(Store(killed / "trials.sqlite").sessions()) > 5  # it was really broken off
    assert not list(Path(killed).rglob("*.part")) or killed_in_writing(killed)


def measured(folder):
    rows = Store(folder / "trials.sqlite").rows()
    return [(task, measures["rse"]) for task, measures in rows]


def killed_in_writing(folder):
    """Leftovers of a killed write do not carry the name of a result."""
    return all(path.name.startswith(".") for path in Path(folder).rglob("*.part"))
