"""The command line and what lies around it: paths with two roles, pipes, full disks, signals."""

import importlib
import os

import polars as pl
import pytest
from typer.testing import CliRunner

from polycomplete.cli import app as program
from polycomplete.cli import commands

TABLE = "a,b\n" + "".join(f"{i},{'NA' if i % 5 == 0 else 2 * i}\n" for i in range(20))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a function that runs a command in a folder with a table of its own."""
    for name in ("complete", "apply", "check", "classify", "cluster"):
        importlib.import_module(f"{commands.__name__}.{name}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text(TABLE)

    def call(*arguments, given=None):
        return CliRunner().invoke(program.app, [str(one) for one in arguments], input=given)

    return call


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "arguments",
    [
        ["-o", "x.csv", "--save", "x.csv"],
        ["-o", "x.csv", "--save", "./x.csv"],
        ["-o", "x.csv", "--save", "symbolic.csv"],
        ["-o", "there.csv", "--save", "hard.csv", "--force"],
        ["-o", "y.txt", "--report", "y.txt"],
        ["--report", "r.json", "--save", "r.json"],
        ["--save", "in-complete.csv"],
        ["-o", "w.csv", "--save", "in.csv", "--force"],
        ["-o", "w.csv", "--save", "to-in.csv", "--force"],
        ["-o", "w.csv", "--report", "in.txt", "--force"],
    ],
)
def test_a_path_with_two_roles_is_refused(run, tmp_path, arguments):
    (tmp_path / "there.csv").write_text("something else")
    os.link(tmp_path / "there.csv", tmp_path / "hard.csv")
    os.link(tmp_path / "in.csv", tmp_path / "in.txt")
    (tmp_path / "symbolic.csv").symlink_to("x.csv")
    (tmp_path / "to-in.csv").symlink_to("in.csv")
    before = content(tmp_path)
    done = run("complete", "in.csv", "--method", "mean", *arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    assert "file" in done.stderr
    assert content(tmp_path) == before


def test_standard_streams_count_as_the_files_behind_them(run, tmp_path):
    with open(tmp_path / "in.csv", "rb") as file:
        kept = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            done = run("complete", "-", "-o", "w.csv", "--save", "in.csv", "--force", given=TABLE)
        finally:
            os.dup2(kept, 0)
            os.close(kept)
    assert (done.exit_code, "is the file that is read" in done.stderr) == (2, True)
    assert (tmp_path / "in.csv").read_text() == TABLE


def test_the_output_may_replace_the_input_but_not_the_model(run, tmp_path):
    assert run("complete", "in.csv", "--method", "mean", "--save", "model.csv").exit_code == 0
    model = (tmp_path / "model.csv").read_bytes()
    done = run("apply", "model.csv", "in.csv", "-o", "model.csv", "--force")
    assert (done.exit_code, "is the file that is read" in done.stderr) == (2, True)
    assert (tmp_path / "model.csv").read_bytes() == model
    assert run("apply", "model.csv", "in.csv", "-o", "in.csv", "--force").exit_code == 0
    assert "NA" not in (tmp_path / "in.csv").read_text()


def test_a_model_does_not_come_among_the_tables_of_a_folder(run, tmp_path):
    (tmp_path / "parts").mkdir()
    pl.DataFrame({"a": [1.0, 2.0, None]}).write_parquet(tmp_path / "parts/one.parquet")
    before = content(tmp_path / "parts")
    for name in ("parts/one.parquet", "done/one.parquet", "in.csv"):
        done = run("complete", "parts", "-o", "done", "--backend", "dask", "--save", name)
        assert done.exit_code in (2, 4), done.output
    assert content(tmp_path / "parts") == before
    assert not (tmp_path / "done").exists()
    assert (tmp_path / "in.csv").read_text() == TABLE
