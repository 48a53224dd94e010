"""How well methods complete a table, and what else is to be seen of it before it is completed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import rich.table
from sklearn.exceptions import ConvergenceWarning

from polycomplete import masks
from polycomplete.cli.completing import make
from polycomplete.cli.console import Console
from polycomplete.cli.tables import first_of, row_labels
from polycomplete.diagnostics import intrinsic_dimension
from polycomplete.io.table import Table
from polycomplete.scaling import column_spread

CANDIDATES = ["pmc-w", "lrmc", "knn", "mean"]
CHOSEN = ("scale", "smoothing")  # by a method itself, where it has them
REPEATS, SHARE = 2, 0.1
#: A method must have less than this share of the mean's error to be worth its while.
WORTHWHILE = 0.95


# Observed cells are hidden, completed, and compared


@dataclass
class Score:
    """How a method did.

    Attributes
    ----------
    method : str
        Its name.
    errors : list of float
        For each repeat the root mean squared error on hidden numbers, in units of their column's
        spread; NaN where no number was hidden.
    wrong : list of float
        For each repeat the share of hidden texts that came back wrong; NaN likewise.
    seconds : list of float
        Of each repeat.
    failure : str
        Why it gave nothing.
    """

    method: str
    errors: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def loss(self) -> float:
        """What is ranked by: the mean of error and share wrong, of what there is."""
        means = (_mean_and_spread(values)[0] for values in (self.errors, self.wrong))
        parts = [mean for mean in means if mean is not None]
        return float(np.mean(parts)) if parts else float("inf")

    def facts(self) -> dict[str, Any]:
        """Return it as plain numbers; None where there is none."""
        error, error_spread = _mean_and_spread(self.errors)
        wrong, wrong_spread = _mean_and_spread(self.wrong)
        return {
            "method": self.method,
            "error": error,
            "error_spread": error_spread,
            "share_wrong": wrong,
            "share_wrong_spread": wrong_spread,
            "seconds": _mean_and_spread(self.seconds)[0],
            "failure": self.failure or None,
        }


def _mean_and_spread(values: list[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation, None where there is none."""
    if not values or np.isnan(values).any():
        return None, None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def mask_of(frame: pl.DataFrame) -> np.ndarray:
    """Return which cells are observed."""
    return np.column_stack([column.is_not_null().to_numpy() for column in frame])


def hide(frame: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Hide a share of the observed cells, none that is the last of its row or column.

    Returns the table with more holes, and the mask of the new ones.
    """
    hidden = masks.hide(mask_of(frame), share, random_state=seed)[1]
    left = {
        column.name: pl.select(pl.when(pl.Series(~hidden[:, j])).then(column)).to_series()
        for j, column in enumerate(frame)
    }
    return pl.DataFrame(left), hidden


def score(truth: pl.DataFrame, completed: pl.DataFrame, hidden: np.ndarray) -> tuple[float, float]:
    """Return the error on hidden numbers, and the share of hidden texts that is wrong.

    The error is a root mean square, in units of each column's spread; dates count as numbers.
    """
    errors, wrong = [np.empty(0)], [np.empty(0)]
    for j, column in enumerate(truth):
        at = np.flatnonzero(hidden[:, j])
        if column.dtype.is_numeric() or column.dtype.is_temporal():
            numbers, found = _numbers(column), _numbers(completed[column.name])
            spread = column_spread(numbers[:, None], ~np.isnan(numbers[:, None]))[1][0]
            if spread > 0:
                errors.append((found - numbers)[at] / spread)
        else:
            same = (completed[column.name] == column).fill_null(False)
            wrong.append(1.0 - same.to_numpy()[at])
    squares, misses = np.concatenate(errors) ** 2, np.concatenate(wrong)
    return (
        float(np.sqrt(squares.mean())) if len(squares) else np.nan,
        float(misses.mean()) if len(misses) else np.nan,
    )


def _numbers(column: pl.Series) -> np.ndarray:
    """Return a column of numbers or dates as floats, NaN where missing."""
    plain = column.to_physical() if column.dtype.is_temporal() else column
    return np.asarray(plain.cast(pl.Float64).fill_null(float("nan")).to_numpy())


def fill(
    scores: list[Score], frame: pl.DataFrame, *,
    share: float, repeats: int, seed: int, step: Callable[[str], None],
) -> None:  # fmt: skip
    """Hide, complete and score, again and again.

    Every method sees the same holes; one that fails is not tried again. The scores are filled bit
    by bit, so that an interrupt leaves what is known.
    """
    for repeat in range(repeats):
        holes, hidden = hide(frame, share, seed + repeat)
        for one in scores:
            if not one.failure:
                _try(one, frame, holes, hidden, seed + repeat)
            step(f"{one.method} {repeat + 1} of {repeats} done")


def _try(
    one: Score, frame: pl.DataFrame, holes: pl.DataFrame, hidden: np.ndarray, seed: int
) -> None:
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # How far each method came is what is measured here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            completed = make(one.method, seed).fit_transform(holes)
        error, wrong = score(frame, completed, hidden)
    except (ValueError, TypeError, ArithmeticError, MemoryError) as failure:
        one.failure = " ".join(str(failure).split()) or type(failure).__name__
        return
    one.errors.append(error)
    one.wrong.append(wrong)
    one.seconds.append(time.perf_counter() - begin)


def ranked(scores: Iterable[Score]) -> list[Score]:
    """Return scores from best to worst, failures last."""
    return sorted(scores, key=lambda one: (bool(one.failure), one.loss))


def ranking(scores: list[dict[str, Any]]) -> rich.table.Table:
    """Return the facts of scores, best first, as a table for people to read."""
    text = any(one["share_wrong"] is not None for one in scores)
    shown = rich.table.Table("", "method", box=None, header_style="bold")
    for title in ("error", *(["wrong"] if text else []), "seconds"):
        shown.add_column(title, justify="right")
    shown.add_column("")
    for place, one in enumerate(scores, 1):
        error = _pair(one["error"], one["error_spread"], "{:.3f}")
        wrong = [_pair(one["share_wrong"], one["share_wrong_spread"], "{:.1%}")] if text else []
        seconds = "-" if one["seconds"] is None else f"{one['seconds']:.1f}"
        shown.add_row(str(place), one["method"], error, *wrong, seconds, one["failure"] or "")
    return shown


def _pair(value: float | None, spread: float | None, form: str) -> str:
    if value is None:
        return "-"
    return form.format(value) + ("" if spread is None else f" ± {form.format(spread)}")


def measure(frame: pl.DataFrame, incomplete: bool, seed: int, console: Console) -> dict[str, Any]:
    """Try methods on an incomplete table, and look at what the best one makes of it.

    Returns the ranking, the recommendation (None for a complete table), the intrinsic dimension
    (None where it cannot be told), and how many cells a row needs.
    """
    scores = [Score(name) for name in (CANDIDATES if incomplete else [])]
    recommended, completed = None, frame
    with console.working("trying methods", total=REPEATS * len(scores)) as step:
        if scores:
            fill(scores, frame, share=SHARE, repeats=REPEATS, seed=seed, step=step)
            best, *others = ranked(scores)
            plain = next((one.loss for one in others if one.method == "mean"), np.inf)
            estimator = make(best.method, seed)
            completed = estimator.fit_transform(frame)
            chosen = {name: getattr(estimator.method_, f"{name}_", None) for name in CHOSEN}
            recommended = {
                "method": best.method,
                "settings": {name: value for name, value in chosen.items() if value is not None},
                "worthwhile": bool(best.loss < WORTHWHILE * plain),
            }
        dimension = dimension_of(completed)
    return {
        "holdout": [one.facts() for one in ranked(scores)],
        "recommended": recommended,
        "intrinsic_dimension": dimension,
        "needed": 1 if dimension is None else round(dimension) + 1,
    }


def dimension_of(completed: pl.DataFrame) -> float | None:
    """Return the dimension of the columns of numbers, each in units of its spread."""
    numbers = completed.select(column for column in completed if column.dtype.is_numeric())
    if not numbers.width:
        return None
    X = np.asarray(numbers.to_numpy(), dtype=np.float64)
    spread = column_spread(X, np.ones(X.shape, dtype=bool))[1]
    X = X[:, spread > 0] / spread[spread > 0]
    if X.shape[1] == 0 or len(np.unique(X, axis=0)) < 4:
        return None
    found = intrinsic_dimension(X)
    # Rows cannot have more dimensions than columns, however evenly they are spread.
    return None if np.isnan(found) else round(min(found, X.shape[1]), 2)


# What is missing


def missing_cells(
    given: Table, used: list[str], needed: int, ids: list[str] | None
) -> dict[str, Any]:
    """Return what is missing by column, by row and together; rows need so many cells."""
    frame = given.frame[used]
    mask = mask_of(frame)
    return {
        "rows": given.frame.height,
        "columns": given.frame.width,
        "missing": int((~mask).sum()),
        "share": float((~mask).mean()),
        "by_column": by_column(frame),
        "by_row": by_row(mask, needed, *row_labels(given, ids)),
        "patterns": patterns(frame),
    }


def by_column(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return of each column what it is, how much of it is missing, and what it holds."""
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
    return "truth value" if column.dtype == pl.Boolean else "text"


def _holds(values: pl.Series) -> str:
    if not len(values):
        return "nothing"
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        count = values.n_unique()
        return f"{count} different" if count > 1 else f"only {values[0]!r:.40}"
    ends = (values.min(), values.max())
    low, high = (f"{end:.6g}" if isinstance(end, float) else str(end) for end in ends)
    return low if low == high else f"{low} to {high}"


def by_row(mask: np.ndarray, needed: int, word: str, labels: Any) -> dict[str, Any]:
    """Return how many cells rows miss; those with fewer than needed are too empty."""
    observed = mask.sum(axis=1)
    poor = np.flatnonzero(observed < min(needed, mask.shape[1]))
    first = [labels[i] for i in poor[:5].tolist()]
    return {
        "complete": int((observed == mask.shape[1]).sum()),
        "empty": int((observed == 0).sum()),
        "missing_quartiles": np.quantile((~mask).sum(axis=1), [0.25, 0.5, 0.75]).tolist(),
        "needed": needed,
        "too_empty": len(poor),
        "first_too_empty": [one if isinstance(one, str) else int(one) for one in first],
        "rows_by": word,
    }


def patterns(frame: pl.DataFrame, most: int = 5) -> list[dict[str, Any]]:
    """Return which columns are missing together, the most frequent first, and in how many rows."""
    found, counts = np.unique(~mask_of(frame), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    holed = [i for i in order if found[i].any()][:most]
    names = np.array(frame.columns, dtype=object)
    return [{"columns": names[found[i]].tolist(), "rows": int(counts[i])} for i in holed]


# For people to read


def shown(facts: dict[str, Any]) -> list[Any]:
    """Return all of it for people to read."""
    head = (
        f"{facts['input']}: {facts['rows']} rows, {facts['columns']} columns, "
        f"{len(facts['used_columns'])} of them used; {facts['missing']} of their cells "
        f"({facts['share']:.1%}) are missing."
    )
    columns = rich.table.Table("column", "kind", box=None, header_style="bold")
    columns.add_column("missing", justify="right")
    columns.add_column("", justify="right")
    columns.add_column("holds")
    for one in facts["by_column"]:
        share = f"{one['share']:.1%}"
        columns.add_row(one["column"], one["kind"], str(one["missing"]), share, one["holds"])
    found = [(one["rows"], first_of(one["columns"], 6)) for one in facts["patterns"]]
    together = [f"  {count:6} rows  {names}" for count, names in found]
    if together:
        together = ["", "Missing together:", *together]
    return [head, "", columns, "", *_on_rows(facts), *together, *_on_methods(facts)]


def _on_rows(facts: dict[str, Any]) -> list[str]:
    rows, dimension = facts["by_row"], facts["intrinsic_dimension"]
    lines = [f"Rows: {rows['complete']} are complete, {rows['empty']} are empty."]
    if dimension is not None:
        lines.append(f"The rows seem to have {dimension:.1f} dimensions.")
    if rows["too_empty"]:
        more = ", ..." if rows["too_empty"] > len(rows["first_too_empty"]) else ""
        lines.append(
            f"Rows with fewer than {rows['needed']} cells, too few to be determined: "
            f"{rows['too_empty']} ({rows['rows_by']} {first_of(rows['first_too_empty'])}{more})."
        )
    return lines


def _on_methods(facts: dict[str, Any]) -> list[Any]:
    advice = facts["recommended"]
    if advice is None:
        return ["", "Nothing is missing in these columns: there is nothing to complete."]
    chosen = ", ".join(f"{key} {value!r}" for key, value in advice["settings"].items())
    settings = f" (it chose {chosen})" if chosen else ""
    lines = ["", "Expected error, on hidden cells:", ranking(facts["holdout"]), ""]
    if not advice["worthwhile"]:
        lines.append("The columns tell little of each other: the mean is about as good as any.")
    return [*lines, f"Recommended: {advice['method']}{settings}", f"  $ {advice['command']}"]
