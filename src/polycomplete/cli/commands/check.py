"""``polycomplete check``: what is missing, and what can be expected of completing it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polycomplete.cli.app import command
from polycomplete.cli.options import Ids, Seed, Source
from polycomplete.cli.talk import Talk
from polycomplete.files.table import Reading

if TYPE_CHECKING:
    from polycomplete.files.table import Table

__all__: list[str] = []

CANDIDATES = ["pmc-w", "lrmc", "knn", "mean"]
REPEATS, SHARE = 2, 0.1
Rows = Annotated[
    int,
    typer.Option("--rows", min=10, help="Try methods on so many rows at most, drawn at random."),
]


@command(
    "polycomplete check data.csv",
    "polycomplete check data.csv --id name --missing -999",
    "polycomplete check data.csv --json > check.json",
)
def check(
    table: Source,
    how: Reading,
    talk: Talk,
    rows: Rows = 300,
    ids: Ids = None,
    seed: Seed = 0,
) -> None:
    """Look at a table before completing it.

    Says what is missing, by column, by row and together; which rows are too empty; how many
    dimensions the rows seem to have; what error to expect, from cells that are hidden and
    completed; and which method to take.
    """
    from polycomplete.cli.columns import learned_from, sample, usable
    from polycomplete.cli.options import spelled
    from polycomplete.cli.reading import origin, read

    given = read(table, how, talk)
    used = usable(given, ids or (), talk)
    frame = given.frame[used]
    part = sample(learned_from(given, used, talk), rows, seed, talk)
    methods = CANDIDATES if any(frame.null_count().row(0)) else []
    from polycomplete.cli.checking import measure  # a second: only when the table is a table

    with talk.working("trying methods", total=REPEATS * len(methods)) as step:
        tried = measure(part, methods, share=SHARE, repeats=REPEATS, seed=seed, step=step)
    if methods:
        named = [word for name in ids or () for word in ("--id", name)]
        best = tried["recommended"]["method"]
        hint = ["polycomplete", "complete", table, *named, *spelled(how), "--method", best]
        tried["recommended"]["command"] = shlex.join(hint)
    facts = origin(given) | {"ids": ids or [], "used_columns": used}
    facts |= _facts(given, frame, tried, ids or []) | tried
    talk.result(facts, *_shown(facts))


def _facts(given: Table, frame: Any, tried: dict[str, Any], ids: list[str]) -> dict[str, Any]:
    """Return what is missing."""
    from polycomplete.cli.missingness import by_column, by_row, mask_of, patterns
    from polycomplete.cli.reading import row_labels

    mask = mask_of(frame)
    rows = by_row(mask, tried["needed"])
    word, labels = row_labels(given, ids)
    first = [labels[i] for i in rows["first_too_empty"]]
    rows["first_too_empty"] = [one if isinstance(one, str) else int(one) for one in first]
    return {
        "rows": given.frame.height,
        "columns": given.frame.width,
        "missing": int((~mask).sum()),
        "share": float((~mask).mean()),
        "by_column": by_column(frame),
        "by_row": rows | {"rows_by": word},
        "patterns": patterns(frame),
    }


def _shown(facts: dict[str, Any]) -> list[Any]:
    """Return all of it for people to read."""
    from rich.table import Table as Shown

    columns = Shown("column", "kind", box=None, header_style="bold")
    columns.add_column("missing", justify="right")
    columns.add_column("", justify="right")
    columns.add_column("holds")
    for one in facts["by_column"]:
        share = f"{one['share']:.1%}"
        columns.add_row(one["column"], one["kind"], str(one["missing"]), share, one["holds"])
    head = (
        f"{facts['input']}: {facts['rows']} rows, {facts['columns']} columns, "
        f"{len(facts['used_columns'])} of them used; {facts['missing']} of their cells "
        f"({facts['share']:.1%}) are missing."
    )
    return [
        head,
        "",
        columns,
        "",
        *_on_rows(facts),
        *_on_patterns(facts),
        *_on_methods(facts),
    ]


def _on_rows(facts: dict[str, Any]) -> list[str]:
    rows, dimension = facts["by_row"], facts["intrinsic_dimension"]
    lines = [f"Rows: {rows['complete']} are complete, {rows['empty']} are empty."]
    if dimension is not None:
        lines.append(f"The rows seem to have {dimension:.1f} dimensions.")
    if rows["too_empty"]:
        first = rows["first_too_empty"]
        more = ", ..." if rows["too_empty"] > len(first) else ""
        lines.append(
            f"Rows with fewer than {rows['needed']} cells, too few to be determined: "
            f"{rows['too_empty']} ({rows['rows_by']} {', '.join(map(str, first))}{more})."
        )
    return lines


def _on_patterns(facts: dict[str, Any]) -> list[str]:
    if not facts["patterns"]:
        return []
    lines = ["", "Missing together:"]
    for one in facts["patterns"]:
        names = ", ".join(one["columns"][:6]) + (", ..." if len(one["columns"]) > 6 else "")
        lines.append(f"  {one['rows']:6} rows  {names}")
    return lines


def _on_methods(facts: dict[str, Any]) -> list[Any]:
    from polycomplete.cli.ranking import ranking

    advice = facts["recommended"]
    if advice is None:
        return ["", "Nothing is missing in these columns: there is nothing to complete."]
    chosen = ", ".join(f"{key} {value!r}" for key, value in advice["settings"].items())
    settings = f" (it chose {chosen})" if chosen else ""
    lines = ["", "Expected error, on hidden cells:", ranking(facts["holdout"]), ""]
    if not advice["worthwhile"]:
        lines.append("The columns tell little of each other: the mean is about as good as any.")
    return [*lines, f"Recommended: {advice['method']}{settings}", f"  $ {advice['command']}"]
