"""``polycomplete cluster``: which rows lie on the same subspace."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from polycomplete.cli.app import command
from polycomplete.cli.options import Force, Ids, Method, Output, Seed, Source
from polycomplete.cli.talk import Talk
from polycomplete.files.reading import Reading

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
    one more column: the number of the cluster, from 1. Rows without any number get none.
    """
    from polycomplete.cli.columns import check_new, numbers
    from polycomplete.cli.outputs import beside, check_outputs
    from polycomplete.files import read_table, write_table

    output = output or beside(table, "cluster")
    check_outputs(talk, output, force=force, source=table)
    given = read_table(table, how)
    check_new(given, column, "--column")
    frame = numbers(given, ids or (), talk)
    with talk.working(f"clustering {len(frame)} rows"):
        labels = _labels(frame, clusters, method, seed)
    made = given.with_column(_numbered(column, labels))
    write_table(made, output, force=force)
    talk.wrote("output", output)
    sizes = [int((labels == one).sum()) for one in range(labels.max() + 1)]
    facts = {"input": given.name, "rows": len(frame), "clusters": len(sizes), "sizes": sizes}
    talk.done(f"Found {len(sizes)} clusters of {', '.join(map(str, sizes))} rows.", facts)


def _labels(frame: Any, clusters: int | None, method: str, seed: int) -> Any:
    from polycomplete.cli.completing import as_input, make
    from polycomplete.clustering import SubspaceClusterer

    completer = make(method, frame, seed)
    clusterer = SubspaceClusterer(clusters or "auto", completer=completer, random_state=seed)
    return clusterer.fit(as_input(completer, frame)).labels_


def _numbered(column: str, labels: Any) -> Any:
    """Return a column of numbers from 1; null where there is no label."""
    import polars as pl

    return pl.Series(column, [int(label) + 1 if label >= 0 else None for label in labels], pl.Int64)
