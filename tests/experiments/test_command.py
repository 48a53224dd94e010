"""`python -m experiments`, as a program."""

import os
import subprocess
import sys
from pathlib import Path

from experiments.__main__ import main
from experiments.paper import EXPERIMENTS

ROOT = Path(__file__).parents[2]


def command(*arguments, **env):
    call = [sys.executable, "-m", "experiments", *arguments]
    env = os.environ | {"COLUMNS": "100"} | env
    return subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False, env=env)


def test_the_command_lists_runs_and_resumes(tmp_path):
    listed = command("list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [*EXPERIMENTS]
    asked = ("theory", "--quick", "--trials", "1", "--jobs", "2", "--out", str(tmp_path))
    first = command(*asked)
    assert (first.returncode, first.stdout) == (0, f"page: {tmp_path / 'index.html'}\n")
    assert "12 trials, 0 of them" in first.stderr
    assert "12 trials, 12 of them" in command(*asked).stderr


def test_the_page_is_made_anew_without_running_anything(tmp_path, capsys):
    main(["theory", "--trials", "1", "--out", str(tmp_path)])
    trials = (tmp_path / "trials.jsonl").read_text()
    (tmp_path / "index.html").unlink()
    assert main(["page", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").exists()
    assert (tmp_path / "trials.jsonl").read_text() == trials


def test_unknown_names_are_refused_with_those_there_are():
    wrong = command("mocop")
    assert wrong.returncode == 2
    assert "'mocop'" in wrong.stderr
    assert "'mocap'" in wrong.stderr
    wrong = command("mocap", "--methods", "pcm")
    assert wrong.returncode == 2
    assert "there is no method 'pcm'; there are" in wrong.stderr


def test_without_any_data_the_command_says_how_to_get_them(tmp_path):
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    empty = {"HOME": str(tmp_path), "POLYCOMPLETE_DATA": str(tmp_path)}
    done = command("mocap", "--out", str(tmp_path / "out"), **empty, **nowhere)
    assert done.returncode == 0
    assert "mocap was not run" in done.stderr
    assert "POLYCOMPLETE_DATA" in done.stderr
    assert "could not be downloaded" in (tmp_path / "out/index.html").read_text()


def test_a_failing_trial_ends_in_an_exit_code(tmp_path, monkeypatch, capsys):
    theory = EXPERIMENTS["theory"]
    monkeypatch.setattr("experiments.families.theory.polynomial_features", None)
    assert main([theory.name, "--trials", "1", "--out", str(tmp_path)]) == 1
    assert "failed: ranks" in capsys.readouterr().err


def test_a_missing_library_is_named_before_anything_is_run(tmp_path):
    code = "import sys; sys.modules['jinja2'] = None; import runpy; runpy.run_module('experiments')"
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "jinja2" in done.stderr
    assert "'.[reproduce]'" in done.stderr
