"""Random arrays, tables and damaged files against the promises of the library: `make fuzz`.

Each round draws examples for every target from a seed that is printed. Hypothesis shrinks what
fails, and the command that finds it again is printed with it.
"""

import argparse
import csv
import datetime as dt
import io
import json
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

from polycomplete import LRMC, PMC, Landmark, TableCompleter, methods, persistence
from polycomplete.base import LARGEST
from polycomplete.cli import app as program
from polycomplete.cli.console import CommandError
from polycomplete.io import ReadOptions, read_table

EXAMPLES = 50  # of a target in a round
SECONDS = 60  # of processor time that one call may take
MEMORY = 8 * 2**30
RANGES = 10.0
#: Warnings of our own.
EXPECTED = ("Columns .* no observed entry", "Columns without any observed cell", ".*was saved with")


class TooSlowError(AssertionError):
    """A call that took longer than any small example may."""


refused: Counter[bool] = Counter()


def attempt(call):
    """Return what a call gives, None where it is refused in a sentence of our own."""
    with warnings.catch_warnings(), limited():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in EXPECTED:
            warnings.filterwarnings("ignore", message, UserWarning)
        try:
            found = call()
        except (ValueError, TypeError, CommandError) as error:
            if not is_ours(error):
                raise
            found = None
    refused[found is None] += 1
    return found


@contextmanager
def limited():
    """Raise where something takes too long."""

    def stop(*_):
        raise TooSlowError(f"more than {SECONDS} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def is_ours(error):
    """Return whether an error was raised on purpose, here or by scikit-learn's validation."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = "/polycomplete/" in last.filename and last.line.startswith("raise")
    return "\n" not in str(error) and (ours or "/sklearn/utils/" in last.filename)


# Arrays

ESTIMATORS = {name: methods.METHODS[name] for name in methods.names("completer")}
ESTIMATORS["landmark"] = partial(PMC, solver=Landmark())
MAGNITUDES = [1.0, 1.0, 1.0, 1e-3, 1e6, 1e-12, 1e12, 1e-150, 1e150, 1e-300, 1e300]
ODD = [0.0, -0.0, 5e-324, 1e-300, 1e16, 2.0**53 + 2, 1e100, -1e150, 1e300, 1.7e308, np.inf, -np.inf]
SAFE = 1e150  # whatever is larger may be refused


@st.composite
def arrays(draw, columns=None):
    """Small arrays with holes, whose columns are as bad as columns get."""
    n, m = draw(few(16, 40)), columns or draw(few(6, 20))
    X = draw(st.sampled_from([cells, curves, planes]))(draw, n, m)
    X *= draw(st.one_of(several(st.sampled_from(MAGNITUDES), m), st.sampled_from(MAGNITUDES)))
    X += draw(st.one_of(st.just(0.0), several(st.sampled_from([0.0, 1e3, 1e9]), m)))
    for column in draw(st.lists(st.integers(0, m - 1), max_size=2)):
        X[:, column] = draw(st.sampled_from([X[0, column], np.nan, X[0, 0]]))
    X[draw(hnp.arrays(np.int8, (n, m), elements=st.integers(0, 3))) == 3] = np.nan
    places = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1), st.sampled_from(ODD))
    for row, column, value in draw(st.lists(places, max_size=2)):
        X[row, column] = value
    for row in draw(st.lists(st.integers(0, n - 1), max_size=2)):
        X[row] = draw(st.sampled_from([np.nan, X[0]]))
    with np.errstate(over="ignore"):
        return np.asarray(X, dtype=draw(st.sampled_from([np.float64] * 9 + [np.float32])))


def few(usual, most):
    """Return a strategy for sizes."""
    return st.one_of(*[st.integers(1, usual)] * 4, st.integers(1, most))


def cells(draw, n, m):
    numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100))
    return draw(hnp.arrays(np.float64, (n, m), elements=numbers))


def curves(draw, n, m):
    noise = np.random.default_rng(draw(st.integers(0, 9))).standard_normal((n, m))
    t = np.linspace(-1, 1, n)[:, None]
    return t ** np.arange(1, m + 1) + draw(st.sampled_from([0.0, 0.05])) * noise


def planes(draw, n, m):
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    return rng.integers(-3, 4, (n, 2)).astype(float) @ rng.standard_normal((2, m))


def several(element, count):
    return st.lists(element, min_size=count, max_size=count).map(np.array)


def largest(X):
    return np.nanmax(np.abs(X.astype(np.float64)))


def far_out(X, given):
    """Return which entries lie more than ten ranges of their column outside of it."""
    # In small units: the range of ±1e308 is not a number.
    low, high = np.nanmin(given, axis=0) / 32, np.nanmax(given, axis=0) / 32
    reach = RANGES * (high - low) + 1e-9 * np.maximum(abs(low), abs(high))
    return (low - reach > X / 32) | (high + reach < X / 32)


def check_fit(name, data):
    X = data.draw(arrays(), "X")
    before, estimator = X.tobytes(), ESTIMATORS[name](random_state=0)
    done = attempt(lambda: estimator.fit_transform(X))
    assert X.tobytes() == before, "the input was changed"
    if np.isinf(X).any() or np.isnan(X).all():
        assert done is None, "this should be refused"
    if done is None:
        assert np.isnan(X).all() or largest(X) > SAFE, "this should not be refused"
        return
    seen = ~np.isnan(X).all(axis=0)
    X, there = X[:, seen], ~np.isnan(X[:, seen])
    assert done.dtype == X.dtype
    assert np.isfinite(done).all(), "not finite"
    assert done[there].tobytes() == X[there].tobytes(), "observed entries were changed"
    far = far_out(done, X).any(axis=1)
    assert not (far & estimator.row_determined_).any(), "a row ran away"
    for attribute in ("cell_std_",):
        found = getattr(estimator, attribute, np.zeros(1))
        assert np.isfinite(found[..., seen] if found.ndim > 1 else found).all(), attribute
    X = np.asfortranarray(np.where(there, X, np.nan))
    again = ESTIMATORS[name](random_state=0)
    again = attempt(lambda: again.fit_transform(X)) if seen.all() else done
    assert again.tobytes() == done.tobytes(), "the same seed gave other bits"


def check_rows(name, data):
    X = data.draw(arrays(), "X")
    estimator = ESTIMATORS[name](random_state=0, keep_empty_features=True)
    if attempt(lambda: estimator.fit(X)) is None:
        return
    odd = data.draw(arrays(columns=X.shape[1]), "rows")
    holes = data.draw(hnp.arrays(np.bool_, X.shape), "holes")
    rows = np.vstack([odd, np.where(holes, np.nan, X)])
    before = rows.tobytes()
    done = attempt(lambda: estimator.transform(rows))
    assert rows.tobytes() == before, "the input was changed"
    alone = [attempt(lambda row=row: estimator.transform(row[None])) for row in rows]
    left = np.array([row is None for row in alone])
    seen = ~np.isnan(X).all(axis=0)
    low, high = np.nanmin(X[:, seen], axis=0), np.nanmax(X[:, seen], axis=0)
    inside = ~((rows[:, seen] < low) | (rows[:, seen] > high)).any(axis=1)
    inside &= ~(np.abs(rows.astype(np.float64)) > LARGEST).any(axis=1)
    assert left.any() == (done is None), "a row is refused alone, or in company, only"
    assert not (left & inside).any(), "this should not be refused"
    if done is None:
        return
    there = ~np.isnan(rows)
    assert np.isfinite(done).all(), "not finite"
    assert done[there].tobytes() == rows[there].tobytes(), "observed entries were changed"
    assert np.vstack(alone).tobytes() == done.tobytes(), "a row depends on its company"
    far = far_out(done[:, seen], X[:, seen]).any(axis=1)
    assert not (far & inside).any(), "a new row ran away"


# Tables

WORDS = ["a", "b", "c", "", " ", "ä", "NA", "nan", "None", "1", "1.0", "x\0", "\n", '"', "<b>"]
DAYS = [dt.datetime(2020, 1, 1), dt.datetime(1, 1, 1), dt.datetime(2262, 4, 1, 3, 4, 5, 678901)]
LENGTHS = [dt.timedelta(1), dt.timedelta(0), dt.timedelta(-9, 7), dt.timedelta(microseconds=1)]
floats = st.one_of(
    st.floats(-100, 100),
    st.integers(-3, 3).map(float),
    st.sampled_from([float("nan"), 1e-300, 1e15, -1e100, float("inf")]),
)
small = st.floats(-100, 100, width=32)
bytes_ = st.integers(-128, 127)
whole = st.one_of(st.integers(-3, 3), st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1]))
words = st.one_of(st.sampled_from(WORDS[:3]), st.sampled_from(WORDS), st.text("abé€", max_size=2))
mixed = st.one_of(whole, floats, words, st.booleans(), st.sampled_from(["\ud800", b"x", (1,)]))
days, lengths = st.sampled_from(DAYS), st.sampled_from(LENGTHS)
near = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1))
LEVELS = ["a", "b", "c", "unused"]
PANDAS = [
    (floats, "float64"), (small, "float32"), (floats, "Float64"), (whole, "Int64"),
    (bytes_, "Int8"), (st.integers(0, 2**64 - 1), "UInt64"), (st.booleans(), "boolean"),
    (st.booleans(), object), (words, object), (whole, object), (floats, object), (mixed, object),
    (words, "str"), (words, "string"), (words, "category"), (whole, "category"),
    (st.sampled_from(LEVELS[:3]), pd.CategoricalDtype(LEVELS, ordered=True)),
    (near, "datetime64[ns]"), (days, "datetime64[s]"), (days, "datetime64[us]"),
    (near, "datetime64[ns, UTC]"), (lengths, "timedelta64[ns]"), (lengths, "timedelta64[s]"),
    (st.none(), object), (st.none(), "float64"), (days, object),
]  # fmt: skip
POLARS = [
    (floats, pl.Float64), (small, pl.Float32), (whole, pl.Int64), (bytes_, pl.Int8),
    (st.integers(0, 2**64 - 1), pl.UInt64), (st.booleans(), pl.Boolean), (words, pl.String),
    (words, pl.Categorical), (st.sampled_from(LEVELS[:3]), pl.Enum(LEVELS)),
    (days.map(dt.datetime.date), pl.Date), (days, pl.Datetime("us")), (days, pl.Datetime("ms")),
    (near, pl.Datetime("ns", "Europe/Berlin")), (lengths, pl.Duration("us")), (st.none(), pl.Null),
    (st.binary(max_size=2), pl.Binary), (st.lists(bytes_, max_size=2), pl.List(pl.Int64)),
    (bytes_, pl.Decimal(10, 2)), (days.map(dt.datetime.time), pl.Time),
]  # fmt: skip


@st.composite
def frames(draw):
    """Tables of pandas and polars with columns of every kind."""
    kinds, make = draw(st.sampled_from([(PANDAS, pd.Series), (POLARS, pl.Series)]))
    n, m = draw(st.integers(1, 14)), draw(st.integers(1, 5))
    names = draw(st.lists(st.sampled_from([*WORDS, "dd"]), min_size=m, max_size=m, unique=True))
    columns = {}
    for name in names:
        cell, dtype = draw(st.sampled_from(kinds))
        values = draw(st.lists(st.one_of(cell, cell, st.none()), min_size=n, max_size=n))
        columns[name] = make(values, dtype=dtype)
    if make is pl.Series:
        return pl.DataFrame(columns)
    frame = pd.DataFrame(columns)
    index = draw(st.sampled_from([None, "x", "twice"]))
    if index is not None:
        frame.index = pd.Index([f"{index}{i if index == 'x' else ''}" for i in range(n)])
    return frame


def snapshot(frame):
    """Return names, dtypes and cells of a table, to compare; floats to the bit."""
    return [
        (name, str(frame[name].dtype), [repr(cell) for cell in frame[name].to_list()])
        for name in frame.columns
    ]


MISSING = {"None", "nan", "<NA>", "NaT"}


def check_tables(data):
    frame = data.draw(frames(), "frame")
    method = data.draw(st.sampled_from([None, LRMC()]), "method")
    options = {"handle_unknown": "missing", "random_state": 0}
    completer = TableCompleter(method, **options)
    before = snapshot(frame)
    done = attempt(lambda: completer.fit_transform(frame))
    assert snapshot(frame) == before, "the input was changed"
    if done is None:
        return
    assert type(done) is type(frame)
    determined = getattr(completer.method_, "row_determined_", np.zeros(len(frame), dtype=bool))
    for (name, dtype, cells), (also, kept, found) in zip(before, snapshot(done), strict=True):
        assert (name, dtype) == (also, kept), "the dtype was changed"
        there = [cell not in MISSING for cell in cells]
        changed = [i for i, seen in enumerate(there) if seen and cells[i] != found[i]]
        assert not changed, f"present cells of {name!r} were changed"
        assert not any(there) or not MISSING & set(found), f"{name!r} has missing cells"
        assert "inf" not in found, f"{name!r} is not finite"
        if any(there) and pl.Series(found).cast(pl.Float64, strict=False).null_count() == 0:
            known = np.where(there, np.array(found, dtype=float), np.nan)[:, None]
            far = far_out(np.array(found, dtype=float)[:, None], known)[:, 0]
            assert not (far & determined).any(), f"{name!r} ran away"
    for name, found in completer.proba_.items():
        assert np.allclose(found.values.sum(axis=1), 1), f"probabilities of {name!r}"
    for name, found in (completer.cell_std_ or {}).items():
        assert np.isfinite(found).all(), f"deviations of {name!r}"
        assert (found >= 0).all(), f"deviations of {name!r}"
    again = attempt(lambda: TableCompleter(method, **options).fit_transform(frame))
    assert snapshot(again) == snapshot(done), "the same seed gave other bits"
    together = snapshot(completer.transform(frame))
    for i in range(min(3, len(frame))):
        one = snapshot(attempt(lambda i=i: completer.transform(frame[i : i + 1])))
        assert [(*facts, cells[i : i + 1]) for *facts, cells in together] == [
            (*facts, cells) for *facts, cells in one
        ], "a row depends on its company"


# Text files

NUMBERS = ["1", "2.5", "-3", "1e3", "0", "7", "1,5", "007", "1e300", "1e999", "9" * 25, "+1", "inf"]
BLANKS = ["", "", "NA", "?", "-", " ", "nan", "none", "unknown", "-999"]
DATES = ["2024-12-31", "2020-01-01", "2024-02-30", "0000-00-00"]
QUOTED = ['"a,b"', '"a\nb"', '"a""b"', '"', "'", "é", "\0", "\ufeff", "\u2028", "=1+1"]
junk = st.one_of(
    st.sampled_from([b"\n", b"\r", b",", b'"', b";", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"9"]),
    st.binary(max_size=3),
)


@st.composite
def texts(draw):
    """Bytes of CSV files, sound or damaged."""
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    kinds = [NUMBERS[:6], NUMBERS[:6], NUMBERS, WORDS[:3], DATES[:2], QUOTED, NUMBERS + WORDS]
    columns = [
        draw(
            st.lists(st.sampled_from(draw(st.sampled_from(kinds)) + BLANKS), min_size=n, max_size=n)
        )
        for _ in range(m)
    ]
    delimiter, end = draw(st.sampled_from(",,,;\t|")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    names = draw(st.lists(st.sampled_from([*"abcd", "", '"e f"', "1"]), min_size=m, max_size=m))
    lines = [delimiter.join(row) for row in [names, *zip(*columns, strict=True)]]
    text = end.join(lines) + draw(st.sampled_from([end, "", end * 2]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    return damaged(draw, text.encode(encoding, errors="replace"))


def damaged(draw, data):
    """Return bytes with some replaced, taken out, put in or doubled."""
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(start + draw(st.sampled_from([0, 1, 1, 2, 20])), len(data))
        kind = draw(st.sampled_from(["replace", "double", "cut"]))
        if kind == "cut":
            data = data[:start] if draw(st.booleans()) else data[:start] + data[end:]
        else:
            put = draw(junk) if kind == "replace" else 2 * data[start:end]
            data = data[:start] + put + data[end:]
    return data


def check_texts(data):
    content = data.draw(texts(), "content")
    command = data.draw(st.sampled_from(["complete", "complete", "check"]), "command")
    method = data.draw(st.sampled_from(["mean", "lrmc", "pmc-w"]), "method")
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "cp1252"]), "encoding")
    how = ReadOptions(
        encoding=encoding,
        decimal=data.draw(st.sampled_from("..,"), "decimal"),
        header=data.draw(st.sampled_from([True, True, False]), "header"),
        missing=("-999",),
    )
    options = ["--missing", "-999", "--encoding", encoding, "--decimal", how.decimal, "--debug"]
    options += [] if how.header else ["--no-header"]
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "in.csv"), Path(folder, "out.csv")
        given.write_bytes(content)
        if command == "complete":
            options += ["--output", str(made), "--method", method]
        done = attempt(lambda: invoke([command, str(given), *options]))
        assert given.read_bytes() == content, "the input was changed"
        left = {path.name for path in Path(folder).iterdir()} - {"in.csv"}
        assert left == ({"out.csv"} if done and command == "complete" else set()), "left behind"
        if left:
            check_cells(read_table(str(given), how), content, made.read_bytes())
            read_table(str(made), how)  # refuses what is infinite


def invoke(arguments):
    done = CliRunner().invoke(program.app, arguments, catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    assert " encountered in " not in done.output, done.output
    return True


def check_cells(table, content, made):
    """Compare the cells of two files, taken apart by Python's own reader."""

    def rows(data):
        text = data.decode(table.dialect.encoding).removeprefix(table.dialect.mark)
        found = csv.reader(io.StringIO(text, newline=""), delimiter=table.dialect.delimiter)
        return [row for row in found if len(row) > 1 or "".join(row).strip()]

    before, after = rows(content), rows(made)
    if table.frame.width == 1:  # its blank lines are cells
        return
    if table.dialect.header is not None:
        assert before.pop(0) == after.pop(0), "the header was changed"
    for j, column in enumerate(table.frame):
        for i, there in enumerate(column.is_not_null()):
            assert not there or before[i][j] == after[i][j], f"line {table.lines[i]} was changed"
    assert len(before) == len(after) == len(table.frame)


# Model files


@cache
def model(name):
    """Return the content of a model file, and rows with what the model makes of them."""
    X = np.c_[np.arange(8.0), np.arange(8.0) ** 2, np.ones(8)]
    rows = np.array([[2.5, np.nan, 1.0], [np.nan, 3.0, np.nan]])
    if name == "table":
        X = pl.DataFrame({"a": X[:, 0], "b": ["x", None, "y", "x"] * 2})
        rows = pl.DataFrame({"a": [2.5, None], "b": [None, "y"]})
    makers = {
        "table": lambda: TableCompleter(LRMC(), random_state=0),
        "pmc": lambda: PMC(smoothing=1e-2, scale="standard", random_state=0),
    }
    estimator = makers.get(name, lambda: methods.get(name))().fit(X)
    return persistence.dumps(estimator), rows, estimator.transform(rows)


def check_models(data):
    name = data.draw(st.sampled_from(["lrmc", "pmc", "table", "kfmc", "ladmc", "knn"]), "model")
    content, rows, expected = model(name)
    inside = data.draw(st.booleans(), "inside")
    content = repacked(data.draw, content) if inside else damaged(data.draw, content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.skops")
        path.write_bytes(content)
        loaded = attempt(lambda: persistence.load(path))
        assert [one.name for one in Path(folder).iterdir()] == ["a.skops"], "left behind"
    if loaded is None or inside:  # a model may have other numbers, whoever put them there
        return
    found = loaded.transform(rows)
    assert np.array_equal(found, expected), "a damaged model was loaded"


def repacked(draw, content):
    """Return an archive with one member changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw(st.sampled_from(sorted(parts)))
    if name.endswith(".json") and draw(st.booleans()):
        parts[name] = json.dumps(changed(draw, json.loads(parts[name]))).encode()
    else:
        parts[name] = damaged(draw, parts[name])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def changed(draw, state):
    """Return JSON with one value in it replaced."""
    if isinstance(state, dict | list) and state and draw(st.integers(0, 5)) < 5:
        keys = list(state) if isinstance(state, dict) else list(range(len(state)))
        key = draw(st.sampled_from(keys))
        state[key] = changed(draw, state[key])
        return state
    odd = [None, 0, -1, 10**9, 1.5, "", "x", [], {}, True, "-1", "1000000000", "NaN", "[]"]
    return draw(st.sampled_from(odd))


TARGETS = {
    **{f"fit-{name}": partial(check_fit, name) for name in ESTIMATORS},
    **{f"rows-{name}": partial(check_rows, name) for name in ESTIMATORS},
    "tables": check_tables,
    "texts": check_texts,
    "models": check_models,
}


def run(target, number, examples=EXAMPLES):
    """Raise the smallest example of a seed that breaks a promise."""
    plain = settings(
        max_examples=examples,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )

    @plain
    @seed(zlib.crc32(f"{target} {number}".encode()))
    @given(st.data())
    def check(data):
        TARGETS[target](data)

    check()


def main(arguments=None):
    """Run until the time is up, or one round of a seed; return how many targets failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="ten by default; one round with --seed")
    parser.add_argument("--seed", type=int, help="of the first round")
    parser.add_argument("--target", action="append", choices=TARGETS, help="all by default")
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="of a target in a round")
    told = parser.parse_args(arguments)
    sys.stdout.reconfigure(errors="backslashreplace")
    once = told.seed is not None and told.minutes is None
    number = random.randrange(10**6) if told.seed is None else told.seed
    end = time.monotonic() + 60 * (10 if told.minutes is None else told.minutes)
    targets, failed = list(told.target or TARGETS), []
    while targets:
        print(f"seed {number}", flush=True)
        for target in list(targets):
            if time.monotonic() > end and not once:
                targets = []
                break
            refused.clear()
            try:
                run(target, number, told.examples)
            except Exception:
                traceback.print_exc(limit=-4, file=sys.stdout)
                again = f"python tests/fuzz.py --seed {number} --target {target}"
                more = f" --examples {told.examples}" if told.examples != EXAMPLES else ""
                print(f"{target} failed; again: {again}{more}", flush=True)
                failed.append(target)
                targets.remove(target)  # it would find the same again
            else:
                print(f"  {target}: {refused[False]} calls answered, {refused[True]} refused")
        if once:
            break
        number += 1
    print(f"failed: {', '.join(failed)}" if failed else "nothing failed")
    return len(failed)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    raise SystemExit(main() > 0)
