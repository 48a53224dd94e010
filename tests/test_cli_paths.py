"""The command line and what lies around it: paths with two roles, pipes, full disks, signals."""

import datetime as dt
import errno
import io
import json
import os
import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import polars as pl
import pytest
from typer.testing import CliRunner

from polycomplete import cli
from polycomplete import io as files
from polycomplete.cli import app as program
from polycomplete.io import Table, write_table, written_whole

FULL_DISK = "full"

TABLE = "a,b\n" + "".join(f"{i},{'NA' if i % 5 == 0 else 2 * i}\n" for i in range(20))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a function that runs a command in a folder with a table of its own."""
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


@contextmanager
def streams(**given):
    """Replace standard streams, as those that start a program may: FULL_DISK, or None if closed."""
    with pytest.MonkeyPatch.context() as patch, open("/dev/full", "w") as full:
        for name, stream in given.items():
            patch.setattr(sys, name, full if stream is FULL_DISK else stream)
        yield
        with suppress(OSError):  # what could not be written
            full.close()


def called(*arguments):
    """Run the program from its entry point; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["polycomplete", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return ended.value.code


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "xlsx", "npy", "npz"])
def test_a_full_disk_is_called_so_with_the_name_of_the_file(run, tmp_path, monkeypatch, suffix):
    real = files.written_whole

    class Full:
        """A file on a full disk."""

        def __init__(self, file):
            self.file = file

        def write(self, data):
            raise FULL

        def __getattr__(self, name):
            return getattr(self.file, name)

    @contextmanager
    def full(*arguments, **options):
        with real(*arguments, **options) as file:
            yield Full(file)

    monkeypatch.setattr(files, "written_whole", full)
    done = run("complete", "in.csv", "--method", "mean", "-o", f"x.{suffix}")
    assert done.exit_code == 4
    assert done.stderr == f"polycomplete: x.{suffix}: No space left on device.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_large_files_that_are_not_allowed_are_named(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    frame = pl.DataFrame({"a": [float(i) for i in range(5000)]})
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        for suffix in ("parquet", "arrow", "xlsx", "npy", "npz"):
            with pytest.raises(OSError, match="File too large") as caught:
                write_table(Table("a", frame), str(tmp_path / f"a.{suffix}"))
            assert caught.value.filename == str(tmp_path / f"a.{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_that_is_told_to_end_leaves_nothing(run, tmp_path, monkeypatch, number):
    """As after an error, unless it ignores the signal, as under nohup."""

    def work():
        with written_whole("out.csv"):
            assert any(path.suffix == ".part" for path in tmp_path.iterdir())
            os.kill(os.getpid(), number)

    monkeypatch.setattr(program, "app", work)
    before, usual = content(tmp_path), signal.signal(number, signal.SIG_DFL)
    try:
        assert called() == 128 + number
        assert content(tmp_path) == before
        signal.signal(number, signal.SIG_IGN)
        cli.main()
        assert content(tmp_path) == before | {"out.csv": b""}
    finally:
        signal.signal(number, usual)


@pytest.mark.parametrize("kind", ["fifo", "descriptor"])
def test_a_pipe_goes_to_standard_output(run, tmp_path, kind):
    def fill(end):
        with open(end, "w") as file:
            file.write(TABLE)

    if kind == "fifo":
        name = end = str(tmp_path / "p")
        os.mkfifo(name)
    else:  # as of <(...) in a shell
        number, end = os.pipe()
        name = f"/dev/fd/{number}"
    with ThreadPoolExecutor() as pool:
        pool.submit(fill, end)
        done = run("complete", name, "--method", "mean", "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == ["a,b", "0,20"]
    if kind == "descriptor":
        os.close(number)


@pytest.mark.parametrize(
    "given", [{"stderr": FULL_DISK}, dict.fromkeys(["stdin", "stdout", "stderr"])]
)
def test_notes_that_cannot_be_written_are_dropped(run, tmp_path, given):
    with streams(**given):
        assert called("complete", "in.csv", "--method", "mean", "-o", "x.csv") == 0
    assert (tmp_path / "x.csv").read_text().startswith("a,b\n0,20\n")


@pytest.mark.parametrize("stdout", [FULL_DISK, None])
@pytest.mark.parametrize(
    "arguments", ["complete in.csv --method mean -o -", "compare in.csv --methods mean --json"]
)
def test_results_that_cannot_be_written_are_an_error(run, arguments, stdout):
    said = io.StringIO()
    with streams(stdout=stdout, stderr=said):
        assert called(*arguments.split()) == 4
    assert said.getvalue().startswith("polycomplete: standard output: ")
    assert said.getvalue().count("\n") == 1


def test_letters_that_the_terminal_lacks_are_replaced(run, tmp_path):
    (tmp_path / "größe.csv").write_text(TABLE.replace("a,", "größe,", 1))
    for option in ("--quiet", "--json"):
        shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        with streams(stdout=shown):
            assert called("compare", "größe.csv", "--methods", "mean", option) == 0
        text = shown.buffer.getvalue().decode("ascii")
    assert json.loads(text)["input"] == "größe.csv"
    assert run("complete", "größe.csv", "--method", "mean", "-o", "-").exit_code == 0


def test_decimals_are_completed_and_times_of_the_day_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = pl.Series("x", [None if i % 4 == 0 else i for i in range(20)], dtype=pl.Float64)
    frame = pl.DataFrame({
        "price": whole.cast(pl.Decimal(10, 2)),
        "n": range(20),
        "at": [dt.time(i) for i in range(20)],
    })  # fmt: skip
    frame.write_parquet("a.parquet")
    words = ["complete", "a.parquet", "--method", "mean", "-o", "b.parquet", "--report", "r.json"]
    done = CliRunner().invoke(program.app, words)
    assert done.exit_code == 0, done.output
    assert "column 'at' holds Time, which cannot be completed, and is excluded." in done.stderr
    found = pl.read_parquet("b.parquet")
    assert found.schema == frame.schema
    assert found["price"].null_count() == 0
    assert found["at"].equals(frame["at"])
