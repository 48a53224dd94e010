"""The framework of the experiments: tasks, trials on disk, resuming, reports in words."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import EXPERIMENTS, Plan, reproduce
from experiments.comparison import against_paper_methods, setting_by_setting
from experiments.experiment import Cell, Experiment, Family, Task, canonical
from experiments.progress import Progress, duration
from experiments.report import Report, Table, Verdict
from experiments.results import Results, Trial
from experiments.rows import OURS, PAPER, ROWS, label, make
from experiments.runner import in_order, run_tasks
from experiments.store import Store, read_csv


def toy(trial=lambda setting, method, seed: {"rse": setting["n"] + seed}, **parts):
    """Return an experiment that costs nothing."""

    def report(results):
        rows = [[n, results.mean("rse", "mean", n=n)] for n in results.levels("n")]
        return Report(tables=[Table("toy", "A toy.", ["n", "rse"], rows)])

    def cells(scale):
        return [Cell({"n": n}, 2 if scale == "quick" else 5) for n in (1, 2)]

    family = Family("toy", parts.pop("version", 1), trial, **parts)
    return Experiment("toy", "A toy", "Figure 9", "It plays.", family, cells, report, ("mean",))


def run(tmp_path, experiment, **plan):
    return reproduce(Plan(["toy"], out=tmp_path, **plan), {"toy": experiment})


def test_tasks_follow_the_cells_and_what_overrules_them():
    experiment = toy()
    assert len(experiment.tasks("quick")) == 4
    assert len(experiment.tasks("full")) == 10
    assert len(experiment.tasks("full", trials=1, methods=["a", "b", "c"])) == 6
    mocap = EXPERIMENTS["mocap"].tasks("quick", methods=["pmc-w-paper", "polycomplete", "knn"])
    long = {task.method for task in mocap if task.values["trial"] == "06"}
    assert long == {"polycomplete", "knn"}  # the first needs the cube of 1696
    assert canonical({"b": 1, "a": 0.5}) == '{"a": 0.5, "b": 1}'


def test_a_second_run_repeats_nothing(tmp_path):
    calls = []

    def trial(setting, method, seed):
        calls.append((setting["n"], seed))
        return {"rse": setting["n"] + seed}

    run(tmp_path, toy(trial))
    assert sorted(calls) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    run(tmp_path, toy(trial), resume=True)
    assert len(calls) == 4
    run(tmp_path, toy(trial), resume=True, scale="full")
    assert len(calls) == 10
    run(tmp_path, toy(trial, version=2), resume=True)
    assert len(calls) == 14


def test_old_trials_are_neither_lost_nor_mixed_in_silently(tmp_path):
    run(tmp_path, toy())
    with pytest.raises(ValueError, match=r"holds 4 trials of these experiments; add --resume"):
        run(tmp_path, toy())
    assert len(Store(tmp_path / "trials.sqlite").rows()) == 4


def test_what_a_run_leaves_behind(tmp_path):
    outcome = run(tmp_path, toy())
    assert outcome.failures == []
    assert (tmp_path / "tables/toy.csv").read_text() == "n,rse\n1,1.5\n2,2.5\n"
    assert (tmp_path / "tables/toy.md").read_text().startswith("A toy.\n\n| n | rse |\n")
    facts = json.loads((tmp_path / "machine.json").read_text())
    assert facts[0]["versions"]["numpy"]
    assert facts[0]["asked"] == {
        "names": ["toy"], "scale": "quick", "trials": None, "methods": None, "jobs": 1
    }  # fmt: skip
    assert {"cpu", "cores", "python", "commit", "blas", "seeds", "started"} <= set(facts[0])
    page = outcome.page.read_text()
    assert facts[0]["commit"] in page
    rows = read_csv(tmp_path / "trials.csv")
    assert [(t.values["n"], t.seed, m["rse"]) for t, m in rows] == [
        (1, 0, 1), (1, 1, 2), (2, 0, 2), (2, 1, 3)
    ]  # fmt: skip
    assert all(measures["seconds"] >= 0 for _, measures in rows)


def test_a_failing_trial_does_not_end_the_run_and_is_tried_again(tmp_path):
    broken = [True]

    def trial(setting, method, seed):
        if broken[0] and setting["n"] == 2 and seed == 1:
            raise RuntimeError("no luck")
        return {"rse": 1.0}

    outcome = run(tmp_path, toy(trial))
    assert outcome.failures == ['toy {"n": 2} mean 1: RuntimeError: no luck']
    assert "no luck" in outcome.page.read_text()
    assert len(Store(tmp_path / "trials.sqlite").rows()) == 3
    broken[0] = False
    assert run(tmp_path, toy(trial), resume=True).failures == []
    assert len(Store(tmp_path / "trials.sqlite").rows()) == 4


def test_without_data_the_page_says_how_to_get_them(tmp_path):
    def prepare():
        raise FileNotFoundError("x.mat is not there; set POLYCOMPLETE_DATA.")

    outcome = run(tmp_path, toy(prepare=prepare))
    assert outcome.without_data == {"toy": "x.mat is not there; set POLYCOMPLETE_DATA."}
    assert "set POLYCOMPLETE_DATA" in outcome.page.read_text()


def test_processes_give_what_one_process_gives(tmp_path):
    names = ["theory"]
    one = reproduce(Plan(names, trials=1, out=tmp_path / "one"))
    two = reproduce(Plan(names, trials=1, jobs=2, out=tmp_path / "two"))
    for table in ("theory-ranks.md", "theory-examples.csv"):
        first, second = (x.page.parent / "tables" / table for x in (one, two))
        assert first.read_text() == second.read_text()


def test_unknown_names_are_refused_with_those_there_are(tmp_path):
    with pytest.raises(ValueError, match=r"no experiment 'mocop'; there are manifolds, .* and all"):
        reproduce(Plan(["mocop"], out=tmp_path))
    with pytest.raises(ValueError, match=r"no method 'pcm'; there are .*pmc-w-paper"):
        reproduce(Plan(["mocap"], methods=["pcm"], out=tmp_path))


def test_a_file_that_holds_no_trials_is_named(tmp_path):
    (tmp_path / "trials.sqlite").write_bytes(b"something else entirely" * 100)
    with pytest.raises(ValueError, match=r"trials.sqlite is not a file of trials"):
        Store(tmp_path / "trials.sqlite")


def test_first_seeds_come_first_and_the_order_is_fixed():
    tasks = [Task("f", 1, f'{{"n": {n}}}', "m", seed) for seed in (1, 0) for n in range(20)]
    ordered = in_order(tasks)
    assert [task.seed for task in ordered] == [0] * 20 + [1] * 20
    assert ordered == in_order(tasks[::-1])
    assert sorted(ordered) == sorted(tasks)


def test_progress_tells_what_is_left():
    text = io.StringIO()
    progress = Progress(4, 1, text)
    progress.step("a")
    progress.began -= 60
    assert progress.line(progress.told) == "2/4 trials, 1 min so far, 2 min left"
    progress.step("b")
    progress.step("c")
    assert text.getvalue().splitlines()[-1].startswith("4/4 trials")
    assert [duration(s) for s in (5, 90, 7200)] == ["5 s", "2 min", "2.0 h"]


def test_tables_are_valid_csv_and_markdown():
    table = Table("t", "Two | three.", ["a|b", "c"], [["x,y", 0.123456], [None, float("nan")]])
    assert list(csv.reader(io.StringIO(table.csv()))) == [["a|b", "c"], ["x,y", "0.123"], ["–"] * 2]
    assert table.markdown().splitlines()[2] == "| a\\|b | c |"


def test_verdicts_follow_the_numbers():
    means = dict.fromkeys(ROWS, 0.5) | {"pmc-w-paper": 0.1, OURS: 0.2, "vmc-2": 0.15}
    paper, ours = against_paper_methods(means, "mean")
    assert (paper.holds, ours.holds) == (True, False)
    assert "PMC-W with 0.1" in paper.sentence
    assert "VMC-2 with 0.15" in paper.sentence
    paper, ours = against_paper_methods(means | {"lrmc-paper": 0.05, OURS: 0.01}, "mean")
    assert (paper.holds, ours.holds) == (False, True)
    assert against_paper_methods({OURS: 0.1}, "mean")[0].holds is None
    assert [Verdict(h, "", b).word for h, b in ((True, False), (False, False), (None, True))] == [
        "agrees", "does not agree", "not decided"
    ]  # fmt: skip
    assert [Verdict(h, "", beyond=True).word for h in (True, False)] == ["reached", "not reached"]


def test_settings_are_counted_one_by_one():
    errors = {1: dict.fromkeys(PAPER, 0.5) | {"pmc-s-paper": 0.4},
              2: dict.fromkeys(PAPER, 0.5) | {"vmc-3": 0.4},
              3: dict.fromkeys(PAPER[1:], 0.5)}  # fmt: skip
    trials = [Trial({"n": n}, m, 0, {"rse": e}) for n, by in errors.items() for m, e in by.items()]
    verdict = setting_by_setting(Results(trials), "rse", [{"n": n} for n in errors])
    assert "in 1 of 2; VMC-3 in 1." in verdict.sentence


def test_results_answer():
    trials = [Trial({"n": n, "k": 1}, m, s, {"rse": n + s})
              for n in (1, 2) for m in ("a", "b") for s in range(3)]  # fmt: skip
    results = Results([*trials[:-1]])  # "b" lacks the last seed at n = 2
    assert results.mean("rse", "a", n=2) == 3
    assert results.median("rse", "b", n=2) == 2.5
    assert results.mean("rse", "c") != results.mean("rse", "c")
    assert results.levels("n") == [1, 2]
    assert results.methods(["b"]) == ["b", "a"]
    assert results.only("n", [2]).levels("n") == [2]
    assert len(results.shared().trials) == 10
    assert results.counted() == "3 trials"
    assert results.where(n=1).only("k", [1]).shared().counted() == "3 trials"


@pytest.mark.parametrize("method", [*ROWS, "knn", "mean"])
def test_rows_make_estimators(method):
    assert hasattr(make(method, 0), "fit_transform")
    assert label(method)


def command(*arguments, **more):
    call = [sys.executable, "-m", "experiments", *arguments]
    root = Path(__file__).parents[1]
    return subprocess.run(call, cwd=root, capture_output=True, text=True, check=False, **more)


def test_the_command_lists_runs_refuses_and_resumes(tmp_path):
    listed = command("list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [*EXPERIMENTS, "all"]
    asked = ("theory", "--trials", "1", "--out", str(tmp_path))
    first = command(*asked)
    assert (first.returncode, first.stdout) == (0, f"page: {tmp_path / 'index.html'}\n")
    assert "12/12 trials" in first.stderr
    again = command(*asked)
    assert (again.returncode, "add --resume" in again.stderr) == (1, True)
    resumed = command(*asked, "--resume")
    assert (resumed.returncode, resumed.stderr) == (0, "")


def test_without_any_data_the_command_says_how_to_get_them(tmp_path):
    env = os.environ | {"HOME": str(tmp_path), "POLYCOMPLETE_DATA": str(tmp_path)}
    offline = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    done = command("mocap", "--out", str(tmp_path / "out"), env=env | offline)
    assert done.returncode == 0
    assert "mocap was not run" in done.stderr
    assert "POLYCOMPLETE_DATA" in done.stderr
    assert "could not be downloaded" in (tmp_path / "out/index.html").read_text()


def test_every_figure_and_table_of_the_paper_is_an_experiment():
    assert list(EXPERIMENTS) == [
        "manifolds", "single-columns", "multi-manifolds", "single-grid", "multi-grid", "hopkins",
        "mocap", "table1", "theory",
    ]  # fmt: skip
    full = {name: max(c.trials for c in e.cells("full")) for name, e in EXPERIMENTS.items()}
    assert full["single-grid"] == full["multi-grid"] == 50
    assert (full["hopkins"], full["mocap"], full["table1"]) == (20, 10, 20)


def test_a_trial_runs_on_one_thread(tmp_path):
    from threadpoolctl import threadpool_info

    def trial(setting, method, seed):
        return {"threads": max(info["num_threads"] for info in threadpool_info())}

    store = Store(tmp_path / "trials.sqlite")
    assert run_tasks(toy(trial).tasks("quick"), [toy(trial).family], store) == []
    assert {measures["threads"] for _, measures in store.rows()} == {1}


def test_a_missing_library_is_named_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"needs jinja2; .*polycomplete\[reproduce\]"):
        run(tmp_path, toy())
    assert not (tmp_path / "trials.sqlite").exists()


def test_the_list_needs_no_drawing_library():
    code = "import sys; sys.modules['matplotlib'] = None; sys.modules['jinja2'] = None\n"
    code += "from experiments import listing; listing()"
    root = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True)
