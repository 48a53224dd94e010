"""The commands as users run them: on files, with pipes, and when things go wrong.

Three tests start the installed program; the others call it in this process.
"""

import json
import shlex
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from polycomplete.cli import app as program

PROGRAM = shutil.which("polycomplete", path=str(Path(sys.executable).parent))
TEXT = "id,a,b,c,kind\n" + "".join(
    f"r{i:03},{i / 10:.2f},{'NA' if i % 5 == 0 else f'{i / 5:.1f}'},{100 + i},"
    f"{'' if i % 9 == 4 else 'low' if i < 20 else 'high'}\n"
    for i in range(40)
)


def run(*arguments, given=None):
    """Run a command; return exit code, standard output and standard error."""
    done = CliRunner().invoke(program.app, list(arguments), input=given, env={"COLUMNS": "100"})
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give the folder in which commands run, with a table in it."""
    (tmp_path / "data.csv").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(path):
    return [line.split(",") for line in Path(path).read_text().splitlines()]


def test_complete_fills_what_is_missing_and_nothing_else(folder):
    command = ["complete", "data.csv", "--method", "lrmc", "--id", "id"]
    command += ["--save", "model.skops", "--report", "report.html"]
    code, out, err = run(*command)
    assert (code, out) == (0, ""), err
    assert "Completed 12 of 200 cells (6.0%) by lrmc" in err
    assert "Output: data-complete.csv" in err
    before, after = cells(folder / "data.csv"), cells(folder / "data-complete.csv")
    assert before[0] == after[0]
    for old, new in zip(before, after, strict=True):
        kept = [(x, y) for x, y in zip(old, new, strict=True) if x not in ("", "NA")]
        assert all(x == y for x, y in kept)
        assert "" not in new
        assert "NA" not in new
    assert {row[4] for row in after[1:]} == {"low", "high"}
    assert "<html" in (folder / "report.html").read_text()
    new = "id,kind,a,b,c,more\nx,low,1.5,,115,7\n"
    code, out, err = run("apply", "model.skops", "-", given=new)
    assert code == 0, err
    name, kind, a, b, c, more = out.splitlines()[1].split(",")
    assert (name, kind, a, c, more) == ("x", "low", "1.5", "115", "7")
    assert abs(float(b) - 3) < 0.5


def shell(line):
    """Run a line of bash in which POLYCOMPLETE is the installed program; return what it did."""
    assert PROGRAM, "install the package first: python -m pip install -e ."
    line = line.replace("POLYCOMPLETE", shlex.quote(PROGRAM))
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=300)


def test_complete_goes_through_pipes(folder):
    complete = "POLYCOMPLETE complete /dev/stdin --id id --method mean --quiet"
    done = shell(f"cat data.csv | {complete} | head -2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "id,a,b,c,kind"
    assert "NA" not in done.stdout


def test_the_interpreter_ends_in_silence_where_nothing_can_be_written(folder):
    line = "POLYCOMPLETE complete data.csv --id id --method mean"
    done = shell(f"{line} -o - >/dev/full; {line} -o x.csv >&- 2>&- <&-")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith("polycomplete: standard output: No space left on device")
    assert len(cells(folder / "x.csv")) == 41


def test_complete_says_what_it_did_as_json(folder):
    np.save(folder / "x.npy", np.array([[1.0, 2], [2, 4], [3, np.nan]]))
    arguments = ["--method", "mean", "-o", "y.parquet", "--json"]
    code, out, err = run("complete", "x.npy", *arguments)
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert (facts["completed"], facts["still_missing"], facts["output"]) == (1, 0, "y.parquet")
    assert pl.read_parquet(folder / "y.parquet").rows()[2] == (3.0, 3.0)


def test_without_missing_values_the_table_is_copied(folder):
    (folder / "full.csv").write_text("a,b\n1.0,x\n2,y\n")
    code, _, err = run("complete", "full.csv")
    assert code == 0
    assert "nothing is missing" in err
    assert (folder / "full-complete.csv").read_text() == "a,b\n1.0,x\n2,y\n"


@pytest.mark.parametrize(
    ("content", "arguments", "code", "says"),
    [
        (None, [], 3, "There is no file bad.csv."),
        (b"a,b\n1,\xe4\n", [], 3, "bad.csv, line 2: byte 0xe4 is not utf-8"),
        (b"a,b\n1,2\n1,2,3\n", [], 3, "bad.csv, line 3: 3 cells, but 2 columns"),
        (b"a,a\n1,2\n", [], 3, "bad.csv: columns 1 and 2 are both called 'a'"),
        (b"", [], 3, "bad.csv is empty"),
        (b"a\n1\n", ["-o", "taken.csv"], 4, "taken.csv exists already; choose another name or"),
        (b"a\n1\n", ["-o", "none/x.csv"], 4, "There is no folder none"),
        (b"a\n1\n", ["-o", "x.html"], 2, "x.html does not say what kind of table to write"),
        (b"a\n1\n", ["-o", "-", "--json"], 2, "--json and the table both go to standard output"),
        (b"a\n1\n", ["--id", "b"], 1, "bad.csv has no column 'b'; it has a."),
        (b"a\nNA\n", [], 1, "bad.csv has no column that can be completed"),
    ],
)
def test_failures_are_one_line_and_leave_nothing(folder, content, arguments, code, says):
    if content is not None:
        (folder / "bad.csv").write_bytes(content)
    (folder / "taken.csv").write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    found, out, err = run("complete", "bad.csv", *arguments)
    assert (found, out) == (code, "")
    *notes, line = err.splitlines()
    assert line.startswith("polycomplete: ")
    assert says in line
    assert all(note.startswith("note: ") for note in notes)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_wrong_command_lines_are_refused(folder):
    for arguments in (["complete"], ["complete", "data.csv", "--method", "magic"], ["dance"]):
        code, _, err = run(*arguments)
        assert code == 2
        assert "Usage: " in err


def test_force_replaces_a_file(folder):
    (folder / "out.csv").write_text("mine")
    arguments = ["--method", "mean", "--id", "kind", "-o", "out.csv", "--force"]
    assert run("complete", "data.csv", *arguments)[0] == 0
    assert len(cells(folder / "out.csv")) == 41


def test_an_interrupt_in_the_middle_leaves_nothing(folder):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 30))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    names = [f"x{j}" for j in range(30)]
    frame = pl.DataFrame(rows, schema=names).with_columns(nothing=pl.lit(None, pl.Float64))
    frame.fill_nan(None).write_parquet(folder / "large.parquet")
    command = [PROGRAM, "complete", "large.parquet", "--method", "srmc"]
    # Jobs in the background ignore interrupts, and so would the program.
    usual = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=usual) as process:
        # The note comes when the table is read and the work begins.
        assert process.stderr.readline().startswith("note: column 'nothing' has no value at all")
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert len(rest.splitlines()) == 1
    assert rest.startswith("Interrupted after")
    assert "nothing was written" in rest
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "large.parquet"]


def test_apply_refuses_what_is_not_a_model(folder):
    for arguments, code, says in [
        (["data.csv", "data.csv"], 3, "data.csv is not a model file"),
        (["none.skops", "data.csv"], 3, "none.skops cannot be read: No such file or directory."),
    ]:
        found, out, err = run("apply", *arguments)
        assert (found, out) == (code, "")
        assert says in err


def test_check_looks_at_a_table(folder):
    code, out, err = run("check", "data.csv", "--id", "id", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["rows"], facts["missing"]) == (40, 12)
    assert facts["by_column"][1]["missing"] == 8
    assert facts["by_row"]["complete"] == 28
    assert {"columns": ["b"], "rows": 8} in facts["patterns"]
    assert facts["recommended"]["worthwhile"]
    assert {one["method"] for one in facts["holdout"]} == {"pmc-w", "lrmc", "knn", "mean"}


def test_compare_ranks_methods(folder):
    arguments = ["--methods", "mean,knn", "--repeats", "2", "--id", "id"]
    code, out, err = run("compare", "data.csv", *arguments)
    assert code == 0, err
    assert out.split()[:4] == ["method", "error", "wrong", "seconds"]
    assert out.index("knn") < out.index("mean")


def test_classify_finds_labels(folder):
    arguments = ["--target", "kind", "--id", "id", "--method", "lrmc", "-o", "out.csv"]
    code, _, err = run("classify", "data.csv", *arguments)
    assert code == 0, err
    assert "Found 4 labels: " in err
    before, after = cells(folder / "data.csv"), cells(folder / "out.csv")
    assert [row[:4] for row in before] == [row[:4] for row in after]  # NA stays NA
    found = [new[4] for old, new in zip(before, after, strict=True) if old[4] == ""]
    assert sorted(found) == ["high", "high", "low", "low"]


def test_cluster_adds_a_column(folder):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(20, 1)) * rng.normal(size=5) for _ in range(2)])
    names = list("abcde")
    pl.DataFrame(points, schema=names).write_csv(folder / "points.csv")
    arguments = ["-k", "2", "--method", "lrmc", "-o", "out.tsv"]
    code, _, err = run("cluster", "points.csv", *arguments)
    assert code == 0, err
    assert "Found 2 clusters of 20, 20 rows." in err
    found = pl.read_csv(folder / "out.tsv", separator="\t")
    assert found.columns == [*names, "cluster"]
    assert sorted({*found["cluster"][:20]} | {*found["cluster"][20:]}) == [1, 2]
    assert len({*found["cluster"][:20]}) == 1


def test_versions(folder):
    code, out, _ = run("--version", "--verbose")
    assert code == 0
    assert dict(line.split()[:2] for line in out.splitlines())["numpy"] == np.__version__
    assert run("--version")[1].startswith("polycomplete ")


def test_a_folder_of_files_is_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.linspace(0, 1, 60)
    table = pl.DataFrame({"a": rows, "b": rows**2, "c": rows**3, "n": range(60)})
    holed = table.with_columns(b=pl.when(pl.int_range(60) % 5 == 0).then(None).otherwise("b"))
    (tmp_path / "parts").mkdir()
    for name, part in (("one", holed[:40]), ("two", holed[40:])):
        part.write_parquet(tmp_path / f"parts/{name}.parquet")
    command = ["complete", "parts", "-o", "done"]
    code, _, err = run(*command)
    assert code == 0, err
    found = pl.read_parquet(tmp_path / "done/*.parquet")
    assert found.schema == table.schema
    assert np.abs(found["b"].to_numpy() - rows**2).max() < 0.05
    code, _, err = run(*command)
    assert (code, "not empty" in err) == (4, True)
    (tmp_path / "nothing").mkdir()
    code, _, err = run("complete", "nothing")
    assert (code, err.count("\n"), "no .parquet file in nothing" in err) == (4, 1, True)


def test_options_that_would_be_ignored_are_refused(folder):
    code, _, err = run("complete", "data.csv", "--workers", "2")
    assert (code, err.count("\n"), "--workers" in err) == (2, 1, True)
    code, _, err = run("complete", ".", "--force")
    assert (code, err.count("\n"), "--force" in err) == (2, 1, True)
