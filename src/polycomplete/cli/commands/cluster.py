"""``polycomplete cluster``: which rows lie on the same subspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polycomplete.cli.app import command
from polycomplete.cli.options import Force, Ids, Method, Output, Seed, Source
from polycomplete.cli.talk import Talk
from polycomplete.files.table import Reading

if TYPE_CHECKING:
    from polycomplete.files.table import Table

__all__: list[str] = []

Clusters = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        "-k",
        min=2,
        show_default=False,
        help="How many clusters; found from the data by default.",
    ),
]
Column = Annotated[
    str, typer.Option("--column", metavar="NAME", help="What the new column is called.")
]


@command(
    "polycomplete cluster points.csv -k 3 -o clustered.csv",
    "polycomplete cluster points.csv --id frame --column group",
)
def cluster(
    table: Source,
    how: Reading,
    talk: Talk,
    clusters: Clusters = None,
    output: Output = None,
    column: Column = "cluster",
    method: Method = "pmc-w",
    ids: Ids = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Group the rows of a table by the subspaces on which they lie.

    Missing cells are completed for that, but stay missing in the result, which is the table with
    one more column: the number of the cluster, from 1. Where a row has no number at all, that cell
    is empty.
    """
    from polycomplete.cli.columns import check_new, numbers
    from polycomplete.cli.outputs import beside, check_outputs
    from polycomplete.cli.reading import origin, read
    from polycomplete.files import write_table

    output = output or beside(table, "cluster")
    check_outputs(talk, output, force=force, source=table)
    given = read(table, how, talk)
    check_new(given, column, "--column")
    frame = numbers(given, ids or (), talk)
    there = _clustered(given, frame, ids or [], talk)
    with talk.working(f"clustering {there.sum()} rows"):
        labels = _labels(frame.filter(there), clusters, method, seed)
    made = given.with_column(_numbered(column, labels, there))
    write_table(made, output, force=force)
    talk.wrote("output", output)
    sizes = [int((labels == one).sum()) for one in range(labels.max() + 1)]
    facts = origin(given) | {"rows": len(frame), "clusters": len(sizes), "sizes": sizes}
    facts["not_clustered"] = len(frame) - len(labels)
    talk.done(f"Found {len(sizes)} clusters of {', '.join(map(str, sizes))} rows.", facts)


def _clustered(given: Table, frame: Any, ids: list[str], talk: Talk) -> Any:
    """Return which rows have a number; say which have none."""
    import polars as pl

    from polycomplete.cli.failures import Failure
    from polycomplete.cli.reading import row_labels

    there = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    if there.sum() < 2:
        raise Failure(f"{given.name}: {there.sum()} rows have a number; clustering needs two.")
    empty = (~there).arg_true()
    if len(empty):
        word, labels = row_labels(given, ids)
        first = ", ".join(str(labels[i]) for i in empty[:5]) + (", ..." if len(empty) > 5 else "")
        talk.note(f"rows without any number get no cluster: {len(empty)} ({word} {first}).")
    return there


def _labels(frame: Any, clusters: int | None, method: str, seed: int) -> Any:
    from polycomplete.cli.completing import as_input, method_of
    from polycomplete.clustering import SubspaceClusterer

    completer = method_of(method, seed)
    clusterer = SubspaceClusterer(clusters or "auto", completer=completer, random_state=seed)
    return clusterer.fit(as_input(completer, frame)).labels_


def _numbered(column: str, labels: Any, there: Any) -> Any:
    """Return a column of numbers from 1 for the rows that are there; null for the others."""
    import polars as pl

    left = iter(labels)
    return pl.Series(column, [int(next(left)) + 1 if one else None for one in there], pl.Int64)
