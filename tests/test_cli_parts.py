"""The parts of the command line, without starting it anew each time."""

import importlib
import io
import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from polycomplete import LRMC, SparseSubspaceClustering, cli, methods, persistence
from polycomplete.cli import app as program
from polycomplete.cli import commands, holdout, options, talk
from polycomplete.cli.failures import code_of, one_line
from polycomplete.cli.missingness import by_column, by_row, patterns

NAMES = ["complete", "apply", "check", "compare", "classify", "cluster", "info"]


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Load the commands, as the program does when it starts."""
    for name in NAMES:
        importlib.import_module(f"{commands.__name__}.{name}")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a function that runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments, given=None):
        return CliRunner().invoke(program.app, [str(one) for one in arguments], input=given)

    return call


def test_the_names_of_methods_are_those_of_the_library():
    assert list(options.METHODS) == methods.names()


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_examples(run, name):
    done = run(name, "--help")
    assert done.exit_code == 0
    assert f"$ polycomplete {name}" in done.output
    assert "--json" in done.output


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_the_manual_names_what_there_is(run, page):
    shown = (Path(__file__).parent.parent / page).read_text()
    typed = "\n".join(line for line in shown.splitlines() if "$ " in line)
    lines = re.findall(r"polycomplete (\w+) ([^\n|>]*)", typed)
    assert lines
    for name, arguments in lines:
        known = run(name, "--help").output
        options = [word for word in shlex.split(arguments) if word.startswith("-") and word != "-"]
        assert [option for option in options if option not in known] == []


def test_method_names_are_completed_and_checked(run):
    assert options._beginning_so("VMC") == ["vmc-2", "vmc-3"]
    assert run("compare", "a.csv", "--methods", "mean,magic").exit_code == 2


def test_the_shell_gets_its_completion(run, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    done = run("--show-completion", "bash")
    assert done.exit_code == 0
    assert "_POLYCOMPLETE_COMPLETE" in done.output.upper()


def test_without_typer_it_is_said_what_to_install(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "polycomplete.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    expected = "The command line needs typer; install it by python -m pip install"
    assert capsys.readouterr().err.startswith(expected)


def test_an_interrupt_outside_of_a_command_has_its_code(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "run", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130


class Terminal(io.StringIO):
    """Something that says it is a terminal."""

    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    shown, hidden = Terminal(), io.StringIO()
    for stream in shown, hidden:
        monkeypatch.setattr(sys, "stderr", stream)
        talking = talk.Talk()
        with talking.working("counting [to two]", total=2) as step:
            step("one")
            step("")
        assert talking.stage == "counting [to two]"
    assert "counting [to two]" in shown.getvalue()
    assert hidden.getvalue() == ""


def test_the_library_tells_how_far_it_is(monkeypatch):
    talking = talk.Talk(quiet=True)
    with talking.working("completing"):
        LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]])
    assert talking.stage.startswith("completing: 0.")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    talking.wrote("output", "a.csv")
    talking.interrupted()
    said = sys.stderr.getvalue()
    assert "while completing: 0." in said
    assert said.endswith("; a.csv was written.\n")


def test_an_interrupted_comparison_shows_what_is_known(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(30)))
    tried = holdout._try

    def once(one, *rest):
        if one.method == "knn":
            raise KeyboardInterrupt
        tried(one, *rest)

    monkeypatch.setattr(holdout, "_try", once)
    done = run("compare", "a.csv", "--methods", "mean,knn")
    assert done.exit_code == 130
    assert "1  mean" in done.stdout
    assert "Interrupted after" in done.stderr


def test_a_method_that_fails_is_ranked_last_with_its_reason(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(30)))
    real = holdout.make

    def make(method, *rest):
        if method == "knn":
            raise ValueError("no neighbours")
        return real(method, *rest)

    monkeypatch.setattr(holdout, "make", make)
    done = run("compare", "a.csv", "--methods", "knn,mean", "--repeats", "2", "--json")
    ranking = json.loads(done.stdout)["ranking"]
    assert [one["method"] for one in ranking] == ["mean", "knn"]
    assert ranking[1]["failure"] == "no neighbours"


def test_a_hostile_table_is_shown_as_it_is(run, tmp_path):
    frame = pl.DataFrame({"[red]x[/red]": [1.0, 2, 3, 4, None] * 4, ":smile:": list("ab") * 10})
    frame.write_csv(tmp_path / "a.csv")
    done = run("check", "a.csv", "--rows", "10", "--seed", "1")
    assert done.exit_code == 0, done.output
    assert "[red]x[/red]" in done.stdout
    assert ":smile:" in done.stdout


def test_columns_that_cannot_be_used_are_named(run, tmp_path):
    frame = pl.DataFrame({
        "name": [f"n{i}" for i in range(60)],
        "empty": [None] * 60,
        "list": [[i] for i in range(60)],
        "x": [None, *range(59)],
    })  # fmt: skip
    frame.write_parquet(tmp_path / "a.parquet")
    done = run("complete", "a.parquet", "--method", "mean", "-o", "b.parquet")
    assert done.exit_code == 0, done.output
    for part in ("'name' holds 60 different texts", "'empty' has no value", "'list' holds List"):
        assert part in done.stderr
    found = pl.read_parquet(tmp_path / "b.parquet")
    assert found.drop("x").equals(frame.drop("x"))
    assert found["x"][0] == 29


def test_a_decimal_comma_is_noticed(run, tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,5;2\n2,5;\n;4\n")
    done = run("complete", "a.csv", "--method", "mean")
    assert "column 'a' is taken for text; is --decimal , missing?" in done.stderr
    done = run("complete", "a.csv", "--method", "mean", "--decimal", ",", "-o", "b.csv")
    assert (done.exit_code, done.stderr.count("note")) == (0, 0)
    assert (tmp_path / "b.csv").read_text() == "a;b\n1,5;2\n2,5;3\n2;4\n"


def test_dates_and_truth_values_are_completed_too(run, tmp_path):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 30), eager=True)
    frame = pl.DataFrame({"day": days, "n": range(30), "late": [i > 14 for i in range(30)]})
    holes = frame.with_columns(
        pl.when(pl.col("n") % 7 != 3).then(pl.col("day")),
        pl.when(pl.col("n") % 5 != 1).then(pl.col("late")),
    )
    holes.write_parquet(tmp_path / "a.parquet")
    done = run("complete", "a.parquet", "--method", "lrmc")
    assert done.exit_code == 0, done.output
    found = pl.read_parquet(tmp_path / "a-complete.parquet")
    assert found.schema == holes.schema
    assert sum(found.null_count().row(0)) == 0


def test_apply_takes_columns_as_the_model_knows_them(run, tmp_path):
    rows = "".join(f"{i},{'1' if i < 15 else '2x'}\n" for i in range(30))
    (tmp_path / "a.csv").write_text("x,kind\n" + rows)
    assert run("complete", "a.csv", "--method", "lrmc", "--save", "m.skops").exit_code == 0
    # Here the kinds look like numbers, and a number is missing in every row.
    (tmp_path / "b.csv").write_text("kind,x\n1,\n1,\n")
    done = run("apply", "m.skops", "b.csv", "-o", "-")
    assert done.exit_code == 0, done.output
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == ["kind", "1", "1"]
    (tmp_path / "c.csv").write_text("kind,x\n1,3\n1,three\n")
    done = run("apply", "m.skops", "c.csv", "-o", "-")
    assert done.exit_code == 3
    assert "c.csv, line 3, column 'x': 'three' is not a number" in done.stderr
    (tmp_path / "d.csv").write_text("kind,y\n1,3\n")
    assert "no column 'x'" in run("apply", "m.skops", "d.csv", "-o", "-").stderr


def test_apply_takes_models_from_python(run, tmp_path):
    X = np.arange(12.0).reshape(6, 2)
    persistence.save(LRMC().fit(X), tmp_path / "m.skops")
    np.save(tmp_path / "new.npy", np.array([[4.0, np.nan]]))
    done = run("apply", "m.skops", "new.npy", "--json", "-o", "out.npy")
    assert json.loads(done.stdout)["completed"] == 1
    assert not np.isnan(np.load(tmp_path / "out.npy")).any()
    np.save(tmp_path / "new.npy", np.zeros((1, 3)))
    done = run("apply", "m.skops", "new.npy", "-o", "out2.npy")
    assert "has 3 columns, and m.skops was fitted to 2 without names" in done.stderr
    persistence.save(SparseSubspaceClustering(2).fit(np.eye(6)), tmp_path / "s.skops")
    assert "does not complete rows" in run("apply", "s.skops", "new.npy", "-o", "o.npy").stderr


def test_what_could_not_be_made_in_the_end_is_refused_at_once(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a\n1\n\nNA\n")
    done = run("complete", "a.csv", "--method", "forest", "--save", "m.skops")
    assert (done.exit_code, "trees of forest cannot be saved" in done.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "skops", None)
    for arguments in (["--report", "r.html"], ["--save", "m.skops"]):
        done = run("complete", "a.csv", *arguments)
        assert done.exit_code == 1
        assert "install it by python -m pip install" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_clusters_of_text_are_refused(run, tmp_path):
    (tmp_path / "a.csv").write_text("kind,cluster\nx,1\ny,2\n")
    assert "a.csv has a column 'cluster' already" in run("cluster", "a.csv").stderr
    (tmp_path / "b.csv").write_text("kind\nx\ny\n")
    done = run("cluster", "b.csv")
    assert done.exit_code == 1
    assert "b.csv has no column of numbers." in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_labels_keep_their_type(run, tmp_path, suffix):
    rng = np.random.default_rng(0)
    kind = np.repeat([1, 2], 20)
    given = [None if i % 4 == 0 else int(k) for i, k in enumerate(kind)]
    frame = pl.DataFrame(
        {"a": kind * 3 + rng.normal(size=40), "b": -kind + rng.normal(size=40) / 9}
    )
    frame = frame.with_columns(pl.Series("kind", given))
    write = {"csv": frame.write_csv, "parquet": frame.write_parquet}[suffix]
    write(tmp_path / f"a.{suffix}")
    arguments = ["--target", "kind", "--method", "lrmc", "--confidence", "sure", "--json"]
    done = run("classify", f"a.{suffix}", *arguments)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["found"] == 10
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet}[suffix]
    found = read(tmp_path / f"a-classify.{suffix}")
    assert found["kind"].dtype == pl.Int64
    assert (found["kind"].to_numpy() == kind).mean() > 0.9
    assert found["sure"].null_count() == 30
    assert found["sure"].drop_nulls().is_between(0.3, 1).all()


def test_labels_that_make_no_sense(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,a\n3,\n")
    done = run("classify", "a.csv", "--target", "y")
    assert "Column 'y' of a.csv holds 1 label; it needs two." in done.stderr
    assert "no column 'z'" in run("classify", "a.csv", "--target", "z").stderr
    done = run("classify", "a.csv", "--target", "y", "--confidence", "x")
    assert "a.csv has a column 'x' already" in done.stderr


def test_debug_shows_where_an_error_arose(run):
    done = run("complete", "none.csv", "--debug")
    assert type(done.exception).__name__ == "TableFileError"


def test_errors_become_one_line():
    assert one_line(OSError(28, "No space left on device", "a.csv")) == (
        "a.csv: No space left on device."
    )
    assert one_line(KeyError()) == "KeyError."
    assert code_of(MemoryError()) == 1


def test_hiding_keeps_what_must_stay():
    frame = pl.DataFrame({"a": [1, 2, None, 4], "b": ["x", None, "y", "z"]})
    holes, hidden = holdout.hide(frame, 0.9, seed=0)
    assert not (hidden & ~np.column_stack([c.is_not_null() for c in frame])).any()
    assert all(column.is_not_null().any() for column in holes)
    same = holdout.score(frame, frame, np.ones((4, 2), dtype=bool) & hidden)
    assert same == (0.0, 0.0) or np.isnan(same).any()


def test_missing_cells_are_counted():
    frame = pl.DataFrame({"a": [1, None, None], "b": [True, None, True], "c": [None] * 3})
    assert [one["kind"] for one in by_column(frame)] == ["whole number", "truth value", "empty"]
    assert [one["holds"] for one in by_column(frame)] == ["1", "only True", "nothing"]
    assert patterns(frame, most=1) == [{"columns": ["c"], "rows": 1}]
    mask = np.array([[True, True, False], [False, False, False], [False, True, False]])
    counted = by_row(mask, needed=2)
    assert (counted["complete"], counted["empty"], counted["first_too_empty"]) == (0, 1, [1, 2])
