"""How well methods complete a table, and what can be seen of it before it is completed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import rich.table
from sklearn.exceptions import ConvergenceWarning

from polycomplete import masks
from polycomplete.cli.console import Console, one_line
from polycomplete.cli.models import completer_of
from polycomplete.cli.session import Session, first_of
from polycomplete.diagnostics import intrinsic_dimension
from polycomplete.io.table import blanked
from polycomplete.metrics import nrmse
from polycomplete.report.findings import counted
from polycomplete.scaling import ColumnScaler
from polycomplete.tables.codecs import is_measured

#: What ``check`` tries, and how often; two holdouts suffice to choose by.
CANDIDATES, REPEATS = ("pmc-w", "lrmc", "knn", "mean"), 2
Facts = dict[str, Any]


# Observed cells are held out, completed, and compared


def try_methods(
    frame: pl.DataFrame, methods: Sequence[str], share: float, repeats: int, seed: int,
    console: Console,
) -> Iterator[Facts]:  # fmt: skip
    """Yield the result of each method on each holdout; a method that fails is not tried again."""
    failed: set[str] = set()
    with console.working("trying methods", repeats * len(methods)) as step:
        for repeat in range(repeats):
            visible, held_out = hold_out_cells(frame, share, seed + repeat)
            for method in methods:
                if method not in failed:
                    trial = _trial(method, frame, visible, held_out, seed + repeat)
                    if "failure" in trial:
                        failed.add(method)
                    yield trial
                step(f"{method} done")


def hold_out_cells(frame: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Return a table without a share of its observed cells, and the mask of these.

    At least one cell of each row and column stays visible.
    """
    held_out = masks.hide(observed(frame), share, random_state=seed)[1]
    pairs = zip(frame, held_out.T, strict=True)
    return frame.with_columns(blanked(column, pl.Series(new)) for column, new in pairs), held_out


def observed(frame: pl.DataFrame) -> np.ndarray:
    """Return which cells are observed."""
    return frame.select(pl.all().is_not_null()).to_numpy(order="c")


def _trial(
    method: str, frame: pl.DataFrame, visible: pl.DataFrame, held_out: np.ndarray, seed: int
) -> Facts:
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it shows in the error
            completed = completer_of(method, seed).fit_transform(visible)
        error, wrong = score(frame, completed, held_out)
    except (ValueError, TypeError, ArithmeticError, MemoryError) as raised:
        return {"method": method, "failure": one_line(raised)}
    seconds = time.perf_counter() - begin
    return {"method": method, "error": error, "share_wrong": wrong, "seconds": seconds}


def score(
    truth: pl.DataFrame, completed: pl.DataFrame, held_out: np.ndarray
) -> tuple[float | None, float | None]:
    """Return the error of held-out numbers, and the share of held-out labels that is wrong.

    The error is a root mean square in units of each column's spread; dates count as numbers. None
    means that there are no such cells.
    """
    measured = np.array([is_measured(column.dtype) for column in truth])
    numbers, labels = held_out & measured, held_out & ~measured
    error = wrong = None
    if numbers.any():
        X, found = (_matrix(frame[:, measured.tolist()]) for frame in (truth, completed))
        error = nrmse(X, found, ~numbers[:, measured])
    if labels.any():
        same = [(completed[one.name] == one).fill_null(False) for one in truth]
        wrong = 1.0 - float(np.column_stack(same)[labels].mean())
    return error, wrong


def _matrix(frame: pl.DataFrame) -> np.ndarray:
    """Return columns of numbers or dates as floats, NaN where missing."""
    floats = pl.all().to_physical().cast(pl.Float64).fill_null(float("nan"))
    return frame.select(floats).to_numpy(order="c")


def ranking(trials: Iterable[Facts]) -> list[Facts]:
    """Return the mean results of each method, from best to worst, failures last.

    The rank follows from the mean of error and share wrong, or from the one that is known.
    """
    text, number = ("method", "failure"), ("error", "share_wrong", "seconds")
    schema: Any = dict.fromkeys(text, pl.String()) | dict.fromkeys(number, pl.Float64())
    found = (
        pl.DataFrame(list(trials), schema=schema)
        .group_by("method", maintain_order=True)
        .agg(
            pl.col("failure").drop_nulls().first(),
            pl.col(number).mean(),
            pl.col("error", "share_wrong").std().name.suffix("_spread"),
        )
        .with_columns(loss=pl.mean_horizontal("error", "share_wrong"))
    )
    order = [pl.col("failure").is_not_null(), pl.col("loss")]
    return found.sort(order, nulls_last=True, maintain_order=True).to_dicts()


def shown_ranking(ranked: list[Facts]) -> rich.table.Table:
    """Return a ranking as a table for people to read."""
    forms = {"error": ".3f", "share_wrong": ".1%", "seconds": ".1f"}
    if all(one["share_wrong"] is None for one in ranked):
        del forms["share_wrong"]
    shown = _grid(["", "method"], [name.removeprefix("share_") for name in forms])
    for place, one in enumerate(ranked, 1):
        cells = [_with_spread(one, name, form) for name, form in forms.items()]
        shown.add_row(str(place), one["method"], *cells, one["failure"] or "")
    return shown


def _with_spread(one: Facts, name: str, form: str) -> str:
    value, spread = one[name], one.get(f"{name}_spread")
    shown = "-" if value is None else f"{value:{form}}"
    return shown if spread is None else f"{shown} ± {spread:{form}}"


def _grid(first: list[str], numbers: list[str], last: str = "") -> rich.table.Table:
    """Return an empty table, whose columns in the middle are aligned to the right."""
    middle = [rich.table.Column(title, justify="right") for title in numbers]
    return rich.table.Table(*first, *middle, last, box=None, header_style="bold")


def recommend(frame: pl.DataFrame, seed: int, console: Console) -> tuple[Facts, pl.DataFrame]:
    """Return how methods did and which one to use, and the table as completed by it."""
    ranked = ranking(try_methods(frame, CANDIDATES, 0.1, REPEATS, seed, console))
    best, mean = ranked[0], next(one for one in ranked if one["method"] == "mean")
    estimator = completer_of(best["method"], seed)
    with console.working(f"completing by {best['method']}"):
        completed = estimator.fit_transform(frame)
    chosen = {name: getattr(estimator.method_, f"{name}_", None) for name in ("scale", "smoothing")}
    settings = {name: value for name, value in chosen.items() if value is not None}
    worthwhile = mean["loss"] is None or best["loss"] < 0.95 * mean["loss"]
    advice = {"method": best["method"], "settings": settings, "worthwhile": worthwhile}
    return {"holdout": ranked, "recommended": advice}, completed


def dimension_of(completed: pl.DataFrame) -> float | None:
    """Return the intrinsic dimension of the columns of numbers, each in units of its spread."""
    numbers = completed.select(column for column in completed if column.dtype.is_numeric())
    if not numbers.width:
        return None
    X = _matrix(numbers)
    X = ColumnScaler.fit(X, np.ones(X.shape, dtype=bool), "standard").apply(X)
    X = X[:, (X[0] != X).any(axis=0)]
    if len(np.unique(X, axis=0)) < 4:
        return None
    found = intrinsic_dimension(X)
    # Estimates may exceed the number of columns.
    return None if np.isnan(found) else round(min(found, X.shape[1]), 2)


# What is missing


def missing_cells(job: Session, used: list[str], completed: pl.DataFrame) -> Facts:
    """Return what is missing by column, by row and together, and the intrinsic dimension.

    A row needs one cell more than that.
    """
    frame, dimension = job.table.frame[used], dimension_of(completed)
    mask, needed = observed(frame), 1 if dimension is None else round(dimension) + 1
    return {
        "rows": frame.height,
        "columns": job.table.frame.width,
        "missing": int((~mask).sum()),
        "share": float((~mask).mean()),
        "by_column": by_column(frame),
        "by_row": by_row(mask, needed, *job.rows()),
        "patterns": patterns(frame),
        "intrinsic_dimension": dimension,
    }


def by_column(frame: pl.DataFrame) -> list[Facts]:
    """Return the kind of each column, how much of it is missing, and the values in it."""
    return [
        {
            "column": column.name,
            "kind": _kind(column),
            "missing": column.null_count(),
            "share": column.null_count() / len(column),
            "holds": _holds(column.drop_nulls()),
        }
        for column in frame
    ]


def _kind(column: pl.Series) -> str:
    if column.null_count() == len(column):
        return "empty"
    if column.dtype.is_numeric():
        return "whole number" if column.dtype.is_integer() else "number"
    if column.dtype.is_temporal():
        return "date"
    return "boolean" if column.dtype == pl.Boolean else "text"


def _holds(values: pl.Series) -> str:
    if not len(values):
        return "nothing"
    if not is_measured(values.dtype):
        count = values.n_unique()
        return f"{count} different" if count > 1 else f"only {values[0]!r:.40}"
    ends = (values.min(), values.max())
    low, high = (f"{end:.6g}" if isinstance(end, float) else str(end) for end in ends)
    return low if low == high else f"{low} to {high}"


def by_row(mask: np.ndarray, needed: int, word: str, labels: Any) -> Facts:
    """Return how many cells are missing by row, and which rows have fewer than needed."""
    count = mask.sum(axis=1)
    poor = np.flatnonzero(count < min(needed, mask.shape[1])).tolist()
    return {
        "complete": int((count == mask.shape[1]).sum()),
        "empty": int((count == 0).sum()),
        "missing_quartiles": np.quantile((~mask).sum(axis=1), [0.25, 0.5, 0.75]).tolist(),
        "needed": needed,
        "too_empty": len(poor),
        "first_too_empty": [labels[i] for i in poor[:5]],
        "rows_by": word,
    }


def patterns(frame: pl.DataFrame, most: int = 5) -> list[Facts]:
    """Return which columns are missing together in how many rows, the most frequent first."""
    found, counts = np.unique(~observed(frame), axis=0, return_counts=True)
    order = [i for i in np.argsort(-counts, kind="stable") if found[i].any()][:most]
    names = np.array(frame.columns, dtype=object)
    return [{"columns": names[found[i]].tolist(), "rows": int(counts[i])} for i in order]


# For people to read


def shown_check(facts: Facts) -> list[Any]:
    """Return the result of ``check`` for people to read."""
    size = f"{counted(facts['rows'], 'row')}, {counted(facts['columns'], 'column')}"
    head = (
        f"{facts['input']}: {size}, "
        f"{len(facts['used_columns'])} of them used; {facts['missing']} of their cells "
        f"({facts['share']:.1%}) are missing."
    )
    columns = _grid(["column", "kind"], ["missing", ""], "values")
    for one in facts["by_column"]:
        share = f"{one['share']:.1%}"
        columns.add_row(one["column"], one["kind"], str(one["missing"]), share, one["holds"])
    lines = [f"  {one['rows']:6} rows  {first_of(one['columns'], 6)}" for one in facts["patterns"]]
    together = ["", "Missing together:", *lines] if lines else []
    return [head, "", columns, "", *_on_rows(facts), *together, "", *_on_methods(facts)]


def _on_rows(facts: Facts) -> list[str]:
    """Return the lines on rows."""
    rows, dimension = facts["by_row"], facts["intrinsic_dimension"]
    lines = [f"Rows: {rows['complete']} complete, {rows['empty']} empty."]
    if dimension is not None:
        lines.append(f"The rows seem to have {dimension:.1f} dimensions.")
    if rows["too_empty"]:
        more = ", ..." if rows["too_empty"] > len(rows["first_too_empty"]) else ""
        lines.append(
            f"Rows with fewer than {rows['needed']} cells, too few to be determined: "
            f"{rows['too_empty']} ({rows['rows_by']} {first_of(rows['first_too_empty'])}{more})."
        )
    return lines


def _on_methods(facts: Facts) -> list[Any]:
    """Return the lines on methods."""
    advice = facts["recommended"]
    if advice is None:
        return ["Nothing is missing in these columns: there is nothing to complete."]
    chosen = ", ".join(f"{key} {value!r}" for key, value in advice["settings"].items())
    settings = f" (it chose {chosen})" if chosen else ""
    lines = ["Expected error, on held-out cells:", shown_ranking(facts["holdout"]), ""]
    if not advice["worthwhile"]:
        lines.append("The columns say little about each other: the mean is about as good.")
    return [*lines, f"Recommended: {advice['method']}{settings}", f"  $ {advice['command']}"]
