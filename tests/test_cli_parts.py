"""The parts of the command line, without starting it anew each time."""

import io
import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from polycomplete import LRMC, SparseSubspaceClustering, cli, methods, persistence
from polycomplete.cli import app as program
from polycomplete.cli import commands, trials
from polycomplete.cli.console import Console, code_of, one_line

NAMES = ["complete", "apply", "check", "compare", "classify", "cluster"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a function that runs a command in a folder of its own; ``run.well`` expects success."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments, given=None, **options):
        words = [str(one) for one in arguments]
        return CliRunner().invoke(program.app, words, input=given, **options)

    def well(*arguments, **options):
        done = call(*arguments, **options)
        assert done.exit_code == 0, done.output
        return done

    call.well = well
    return call


def test_the_names_of_methods_are_those_of_the_library():
    assert list(commands.METHODS) == [
        name for name, method in methods.METHODS.items() if method.kind != "rival"
    ]


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


def test_method_names_are_completed_and_checked(run, monkeypatch):
    with monkeypatch.context() as shell:
        shell.setenv("_POLYCOMPLETE_COMPLETE", "complete_bash")
        shell.setenv("COMP_WORDS", "polycomplete complete --method vmc")
        shell.setenv("COMP_CWORD", "3")
        assert run(prog_name="polycomplete").output.split() == ["vmc-2", "vmc-3"]
    assert run("compare", "a.csv", "--methods", "mean,magic").exit_code == 2
    done = run("complete", "none.csv", "--method", "LRMC")
    assert (done.exit_code, "no file none.csv" in done.stderr) == (3, True)


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

    monkeypatch.setattr(program, "app", interrupted)
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
        console = Console()
        with console.working("counting [to two]", total=2) as step:
            step("one")
            step("")
        assert console.stage == "counting [to two]"
    assert "counting [to two]" in shown.getvalue()
    assert hidden.getvalue() == ""


def test_the_library_tells_how_far_it_is(monkeypatch):
    console = Console(quiet=True)
    with console.working("completing"):
        LRMC().fit([[1.0, 2.0], [2.0, 4.1], [3.0, None]])
    assert console.stage.startswith("completing: 0.")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    console.wrote("output", "a.csv")
    console.interrupted()
    said = sys.stderr.getvalue()
    assert "while completing: 0." in said
    assert said.endswith("; a.csv was written.\n")


def test_an_interrupted_comparison_shows_what_is_known(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(30)))
    tried = trials._trial

    def once(method, *rest):
        if method == "knn":
            raise KeyboardInterrupt
        return tried(method, *rest)

    monkeypatch.setattr(trials, "_trial", once)
    done = run("compare", "a.csv", "--methods", "mean,knn")
    assert done.exit_code == 130
    assert "1  mean" in done.stdout
    assert "Interrupted after" in done.stderr


def test_a_method_that_fails_is_ranked_last_with_its_reason(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(30)))
    real = trials.completer_of

    def make(method, *rest):
        if method == "knn":
            raise ValueError("no neighbours")
        return real(method, *rest)

    monkeypatch.setattr(trials, "completer_of", make)
    done = run("compare", "a.csv", "--methods", "knn,mean", "--repeats", "2", "--json")
    ranking = json.loads(done.stdout)["ranking"]
    assert [one["method"] for one in ranking] == ["mean", "knn"]
    assert ranking[1]["failure"] == "no neighbours"


def test_a_hostile_table_is_shown_as_it_is(run, tmp_path):
    frame = pl.DataFrame({"[red]x[/red]": [1.0, 2, 3, 4, None] * 4, ":smile:": list("ab") * 10})
    frame.write_csv(tmp_path / "a.csv")
    done = run.well("check", "a.csv", "--rows", "10", "--seed", "1")
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
    done = run.well("complete", "a.parquet", "--method", "mean", "-o", "b.parquet")
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


def test_a_text_among_numbers_is_noticed(run, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n,no data\n3,4\n5,\n6,7\n")
    done = run("complete", "a.csv", "--method", "mean")
    said = "column 'b' is taken for text because of 'no data'; if that stands for a missing cell, "
    assert said + "add --missing 'no data'." in done.stderr
    done = run("complete", "a.csv", "--method", "mean", "--missing", "no data", "-o", "b.csv")
    assert (done.exit_code, done.stderr.count("taken for text")) == (0, 0)


def test_nothing_to_compare_is_said(run, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    done = run("compare", "a.csv")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "a.csv has too few observed cells to hold some out and compare methods" in done.stderr


def test_apply_takes_columns_as_the_model_knows_them(run, tmp_path):
    rows = "".join(f"{i},{'1' if i < 15 else '2x'}\n" for i in range(30))
    (tmp_path / "a.csv").write_text("x,kind\n" + rows)
    run.well("complete", "a.csv", "--method", "lrmc", "--save", "m.skops")
    # Here the kinds look like numbers, and a number is missing in every row.
    (tmp_path / "b.csv").write_text("kind,x\n1,\n1,\n")
    done = run.well("apply", "m.skops", "b.csv", "-o", "-")
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


#: Two columns that hang together, a kind, and what people write where they know nothing.
TYPED = "id,x,y,kind\n" + "".join(
    f"r{i},{'-' if i == 3 else i},{'None' if i == 5 else 2 * i},{kind}\n"
    for i, kind in enumerate(["a", "unknown", "-", "a", "unknown", "", "b", "unknown", "b", "."])
)


def test_what_people_type_for_nothing_is_not_filled_in(run, tmp_path):
    (tmp_path / "a.csv").write_text(TYPED)
    arguments = ["--id", "id", "--method", "mean", "--report", "r.txt", "--json"]
    done = run.well("complete", "a.csv", *arguments)
    facts = json.loads(done.stdout)
    assert (facts["completed"], facts["still_missing"]) == (5, 0)
    assert facts["read_as_missing"] == {"-": 2, "None": 1, ".": 1}
    assert "read as missing: '-' (2), 'None' (1), '.' (1); in x, y, kind" in done.stderr
    assert "no cell is completed with 'unknown', and such cells (3) are kept" in done.stderr
    found = pl.read_csv(tmp_path / "a-complete.csv")
    assert found["x"].dtype.is_numeric()
    assert found["kind"].to_list()[:2] == ["a", "unknown"]
    assert found["kind"].value_counts().filter(kind="unknown")["count"].item() == 3
    assert {found["kind"][i] for i in (2, 5, 9)} <= {"a", "b"}
    said = (tmp_path / "r.txt").read_text()
    assert said.startswith("Completed 5 of 40 cells (12.5%) by mean in ")
    assert "Labels that were not learned stay as they are: 3 cells in column “kind”." in said


def test_new_rows_know_the_same_words(run, tmp_path):
    (tmp_path / "a.csv").write_text(TYPED)
    arguments = ["--id", "id", "--method", "mean", "--save", "m.skops"]
    run.well("complete", "a.csv", *arguments)
    (tmp_path / "new.csv").write_text("x,y,kind,more\nnone,4,unknown,\n")
    done = run.well("apply", "m.skops", "new.csv", "-o", "out.csv")
    assert "Completed 1 cells of 1 rows in " in done.stderr
    assert "; 1 are still missing, in more." in done.stderr
    x, y, kind, more = (tmp_path / "out.csv").read_text().splitlines()[1].split(",")
    assert (y, kind, more) == ("4", "unknown", "")
    assert float(x) == pytest.approx(5, abs=1)


def test_unknown_is_no_label(run, tmp_path):
    labels = [*["a"] * 8, *["b"] * 8, *["unknown"] * 16, ""]
    rows = "".join(f"{i},{i + 1},{2 * i},{label}\n" for i, label in enumerate(labels))
    (tmp_path / "a.csv").write_text(f"x,y,z,kind\n{rows}")
    run.well("classify", "a.csv", "--target", "kind", "--method", "lrmc", "--confidence", "p")
    lines = (tmp_path / "a-classify.csv").read_text().splitlines()
    assert lines[-2] == "31,32,62,unknown,"
    found, sure = lines[-1].split(",")[3:]
    assert found in ("a", "b")
    assert sure != ""


def test_a_column_of_such_words_only_is_left_alone(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,none\n,unknown\n3,\n")
    done = run("complete", "a.csv", "--method", "mean")
    assert "column 'y' holds no text but none or unknown or missing" in done.stderr
    assert "Completed 1 of 6 cells (16.7%) by mean" in done.stderr
    assert "Still missing: 1 cell, in excluded columns (y)." in done.stderr


def test_where_only_columns_that_are_left_alone_lack_cells_nothing_else_is_said(run, tmp_path):
    (tmp_path / "a.csv").write_text("who,x,y\n,1,2\nBo,2,4\nCy,3,6\n")
    done = run("complete", "a.csv", "--id", "who")
    said = done.stderr.splitlines()
    assert said[0].startswith("note: nothing is missing in the columns used")
    assert said[1].startswith("Completed 0 of 9 cells (0.0%) by pmc-w in ")
    assert said[2:] == [
        "Still missing: 1 cell, in excluded columns (who).",
        "Output: a-complete.csv",
    ]
    facts = json.loads(run("complete", "a.csv", "--id", "who", "--json", "--force").stdout)
    assert (facts["used_columns"], facts["still_missing"], facts["method"]) == (2, 1, "pmc-w")
    assert facts["missing_where_left_alone"] == {"who": 1}


def test_the_answer_is_the_text_of_the_report(run, tmp_path):
    t = np.linspace(0, 1, 40)
    rows = [f"{a:.3f},{'' if i % 4 == 0 else f'{a * a:.3f}'}\n" for i, a in enumerate(t)]
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(rows))
    done = run("complete", "a.csv", "--method", "lrmc", "--report", "r.txt")
    text = (tmp_path / "r.txt").read_text()
    assert text.startswith("Completed 10 of 80 cells (12.5%) by lrmc in ")
    assert done.stderr == f"{text}Output: a-complete.csv\nReport: r.txt\n"


def test_every_command_takes_a_column_without_a_name(run, tmp_path):
    rows = "".join(f"{i},{i},{'' if i % 5 == 0 else 2 * i},{'ab'[i > 9]}\n" for i in range(20))
    (tmp_path / "a.csv").write_text(f",x,y,kind\n{rows}")
    for command in (
        ["check", "a.csv"],
        ["compare", "a.csv", "--methods", "mean,knn", "--repeats", "1"],
        ["complete", "a.csv", "--method", "mean", "--save", "m.skops"],
        ["classify", "a.csv", "--target", "kind", "--method", "mean"],
        ["cluster", "a.csv", "-k", "2", "--method", "mean"],
    ):
        done = run(*command)
        assert done.exit_code == 0, (command, done.output)
        assert done.stderr.count("the first column has no name and numbers the rows") == 1
    done = run("apply", "m.skops", "a.csv", "-o", "b.csv")
    assert (done.exit_code, (tmp_path / "b.csv").read_text()[:8]) == (0, ",x,y,kin")
    # One that does not number the rows is a column like others.
    rows = "".join(f"{i % 4},{i},{'' if i % 5 == 0 else 2 * i}\n" for i in range(20))
    (tmp_path / "c.csv").write_text(f",x,y\n{rows}")
    done = run("compare", "c.csv", "--methods", "mean,knn")
    assert (done.exit_code, "numbers the rows" in done.stderr) == (0, False), done.output


def test_columns_may_be_called_like_a_pattern_or_a_count(run, tmp_path):
    (tmp_path / "a.csv").write_text("*,x,count\n1,3,a\n,,b\n5,6,\n8,9,a\n")
    done = run.well("complete", "a.csv", "--method", "mean", "--id", "x", "--json")
    facts = json.loads(done.stdout)
    assert (facts["used_columns"], facts["missing_where_left_alone"]) == (2, {"x": 1})
    done = run.well("classify", "a.csv", "--target", "count", "--method", "mean")


def test_the_recommended_command_reads_the_same_table(run, tmp_path):
    rows = "".join(f"r{i}\t{i},5\t{-9 if i % 5 == 0 else i}\n" for i in range(20))
    (tmp_path / "a b.csv").write_bytes(f"who\tgr\u00f6\u00dfe\ty\n{rows}".encode("latin-1"))
    options = ["--id", "who", "--missing", "-9", "--missing", "not known", "--delimiter", "tab"]
    options += ["--encoding", "latin-1", "--decimal", ","]
    done = run.well("check", "a b.csv", *options, "--json")
    facts = json.loads(done.stdout)
    words = shlex.split(facts["recommended"]["command"])
    assert words[:3] == ["polycomplete", "complete", "a b.csv"]
    assert words[3:-2] == options
    assert trials.shown_check(facts)[-1] == f"  $ {facts['recommended']['command']}"
    run.well(*words[1:], "--method", "mean")
    given = "1;2\n3;\n4;5\n6;7\n8;9\n10;11\n"
    found = run("check", "-", "--no-header", "--json", given=given)
    best = json.loads(found.stdout)["recommended"]["command"]
    assert best.startswith("polycomplete complete - --no-header --method ")


def test_sheets_are_chosen_and_those_left_out_named(run, tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx", engine="xlsxwriter") as book:
        for name in ("May", "June 2"):
            cells = {"a": range(20), "b": [None if i % 6 == 2 else i for i in range(20)]}
            pd.DataFrame(cells).to_excel(book, sheet_name=name, index=False)
    done = run("complete", "a.xlsx", "--method", "mean", "--sheet", "June 2", "--json")
    assert json.loads(done.stdout)["sheet"] == "June 2"
    assert "sheet 'June 2' is used, and not 'May'; --sheet takes another" in done.stderr
    again = run("check", "a-complete.xlsx", "--sheet", "June 2", "--json")
    assert json.loads(again.stdout)["missing"] == 0
    done = run("check", "a.xlsx", "--sheet", "June 2")
    assert "complete a.xlsx --sheet 'June 2' --method" in done.stdout
    done = run("complete", "a.xlsx", "--sheet", "July", "-o", "b.xlsx")
    assert (done.exit_code, "no sheet 'July'; it has 'May', 'June 2'" in done.stderr) == (3, True)


def test_nothing_is_recommended_where_nothing_is_missing(run, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(20)))
    done = run.well("check", "a.csv")
    assert "Nothing is missing in these columns: there is nothing to complete." in done.stdout
    assert "Recommended" not in done.stdout
    assert "dimensions" in done.stdout
    facts = json.loads(run("check", "a.csv", "--json").stdout)
    assert (facts["recommended"], facts["holdout"]) == (None, [])


def test_rows_cannot_have_more_dimensions_than_columns(run, tmp_path):
    rows = "".join(f"{i}.5,{'' if i % 5 == 0 else i * i}\n" for i in range(30))
    (tmp_path / "a.csv").write_text(f"a,b\n{rows}")
    facts = json.loads(run("check", "a.csv", "--json").stdout)
    assert facts["intrinsic_dimension"] <= 2


def test_rows_without_a_number_get_no_cluster(run, tmp_path):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(10, 1)) * rng.normal(size=3) for _ in range(2)])
    lines = ["who,a,b,c", *(f"p{i},{x},{y},{z}" for i, (x, y, z) in enumerate(points))]
    lines[4] = "p3,,-,NA"
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    done = run.well("cluster", "a.csv", "-k", "2", "--method", "lrmc", "--id", "who", "--json")
    facts = json.loads(done.stdout)
    assert (sum(facts["sizes"]), facts["not_clustered"]) == (19, 1)
    assert "rows without any number get no cluster: 1 (who p3)." in done.stderr
    assert "of X" not in done.stderr
    found = pl.read_csv(tmp_path / "a-cluster.csv")["cluster"]
    assert found[3] is None
    assert set(found.drop_nulls()) == {1, 2}
    done = run("cluster", "a.csv", "-k", "2", "--method", "lrmc", "--id", "who", "--id", "a", "-f")
    assert "get no cluster: 1 (line 5)." in done.stderr
    (tmp_path / "b.csv").write_text("a,b\n1,2\n,\n")
    assert "b.csv: 1 rows have a number; clustering needs two." in run("cluster", "b.csv").stderr


def test_rows_are_named_by_id_or_by_line(run, tmp_path):
    t = np.linspace(0, 1, 40)
    cells = [[f"{value:.3f}" for value in row] for row in np.c_[t, t**2, t**3]]
    for i in range(0, 40, 4):
        cells[i][i % 3] = ""
    cells[7] = ["", "", "0.3"]
    said = {}
    for word, names in {"who": [f"w{i}" for i in range(40)], "line": ["w"] * 40}.items():
        lines = [f"{name},{','.join(row)}\n" for name, row in zip(names, cells, strict=True)]
        lines.insert(5, "\n")  # rows from the fifth on are two and not one line below their number
        (tmp_path / "a.csv").write_text("who,a,b,c\n" + "".join(lines))
        for suffix in ("json", "html"):
            arguments = ["--id", "who", "--report", f"r.{suffix}", "--force"]
            run.well("complete", "a.csv", *arguments)
        said[word] = json.loads((tmp_path / "r.json").read_text())
        first = said[word]["uncertain_cells"][0]["row"]
        assert said[word]["rows_by"] == word
        page = (tmp_path / "r.html").read_text()
        assert f"<td><bdi>{first}</bdi></td>" in page
        assert "count from 0" not in page
        assert ("Lines count from 1." in page) == (word == "line")
        rows = json.loads(run("check", "a.csv", "--id", "who", "--json").stdout)["by_row"]
        assert rows["rows_by"] == word
        assert {"who": "w7", "line": 10}[word] in rows["first_too_empty"]
    ids, lines = ([one["row"] for one in said[word]["uncertain_cells"]] for word in said)
    assert lines == [i + 2 + (i >= 5) for i in (int(one[1:]) for one in ids)]


def test_a_report_that_cannot_be_made_fails_nothing_else(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n2,\n3,6\n")
    files = ["-o", "out.csv", "--save", "m.skops", "--report", "r.html"]

    def broken(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("polycomplete.report.Report.html", broken)
    done = run("complete", "a.csv", "--method", "mean", *files)
    assert "Completed 1 of 6 cells (16.7%) by mean in " in done.stderr
    monkeypatch.setattr("polycomplete.report.summarize", broken)
    files.append("--force")
    done = run("complete", "a.csv", "--method", "mean", *files, "--quiet")
    assert done.exit_code == 0
    assert done.stderr.startswith("note: the report could not be made (division by zero); ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "m.skops", "out.csv"]
    done = run("complete", "a.csv", "--method", "mean", *files)
    assert "Completed a.csv by mean in " in done.stderr
    done = run("complete", "a.csv", "--method", "mean", *files, "--json")
    assert "report could not be made" in json.loads(done.stdout)["notes"][0]


def test_a_run_that_fails_leaves_nothing_in_the_way(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n2,\n3,6\n")
    command = ["complete", "a.csv", "--method", "mean", "-o", "out.csv", "--save", "m.skops"]

    def broken(*_, **__):
        raise persistence.ModelFileError("no")

    with monkeypatch.context() as patch:
        patch.setattr(persistence, "_label", broken)
        assert run(*command).exit_code == 3
    with monkeypatch.context() as patch:
        patch.setattr("polycomplete.io._write", broken)
        assert run(*command).exit_code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    run.well(*command)


def test_models_of_other_versions_are_noted(run, tmp_path):
    model = LRMC().fit(np.arange(12.0).reshape(6, 2))
    label = persistence._label(model)
    label["versions"]["scikit-learn"] = "0.1.2"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistence, "_label", lambda _: label)
        persistence.save(model, tmp_path / "m.skops")
    np.save(tmp_path / "new.npy", np.array([[4.0, np.nan]]))
    done = run.well("apply", "m.skops", "new.npy")
    assert "note: m.skops was saved with scikit-learn 0.1.2, and this is" in done.stderr


def test_clusters_of_text_are_refused(run, tmp_path):
    (tmp_path / "a.csv").write_text("kind,cluster\nx,1\ny,2\n")
    assert "a.csv has a column 'cluster' already" in run("cluster", "a.csv").stderr
    (tmp_path / "b.csv").write_text("kind\nx\ny\n")
    done = run("cluster", "b.csv")
    assert done.exit_code == 1
    assert "b.csv has no column of numbers." in done.stderr


def test_labels_and_their_type_stay(run, tmp_path):
    rng = np.random.default_rng(0)
    kind = np.repeat([1, 2], 20)
    given = [None if i % 4 == 0 else int(k) for i, k in enumerate(kind)]
    frame = pl.DataFrame(
        {"a": kind * 3 + rng.normal(size=40), "b": -kind + rng.normal(size=40) / 9}
    )
    frame = frame.with_columns(pl.Series("kind", given))
    frame.write_parquet(tmp_path / "a.parquet")
    arguments = ["--target", "kind", "--method", "lrmc", "--confidence", "sure", "--json"]
    done = run.well("classify", "a.parquet", *arguments)
    assert json.loads(done.stdout)["found"] == 10
    found = pl.read_parquet(tmp_path / "a-classify.parquet")
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
    holes, hidden = trials.hold_out_cells(frame, 0.9, seed=0)
    assert not (hidden & ~np.column_stack([c.is_not_null() for c in frame])).any()
    assert all(column.is_not_null().any() for column in holes)
    same = trials.score(frame, frame, np.ones((4, 2), dtype=bool) & hidden)
    assert same in ((0.0, 0.0), (None, 0.0), (0.0, None))


def test_missing_cells_are_counted():
    frame = pl.DataFrame({"a": [1, None, None], "b": [True, None, True], "c": [None] * 3})
    assert [one["kind"] for one in trials.by_column(frame)] == [
        "whole number",
        "boolean",
        "empty",
    ]
    assert [one["holds"] for one in trials.by_column(frame)] == ["1", "only True", "nothing"]
    assert trials.patterns(frame, most=1) == [{"columns": ["c"], "rows": 1}]
    mask = np.array([[True, True, False], [False, False, False], [False, True, False]])
    counted = trials.by_row(mask, 2, "line", [2, 3, 4])
    assert (counted["complete"], counted["empty"], counted["first_too_empty"]) == (0, 1, [3, 4])
