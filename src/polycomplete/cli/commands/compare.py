"""``polycomplete compare``: which method completes this table best."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from polycomplete.cli.app import command
from polycomplete.cli.options import METHODS, Ids, Seed, Source
from polycomplete.cli.talk import Talk
from polycomplete.files.table import Reading

__all__: list[str] = []

USUAL = "pmc-w,kfmc,lrmc,mean,knn,iterative,forest"


def _names(text: str) -> str:
    for name in text.lower().split(","):
        if name.strip() not in METHODS and name != "all":
            raise typer.BadParameter(
                f"there is no method {name!r}; there are {', '.join(METHODS)}."
            )
    return text.lower()


Methods = Annotated[
    str,
    typer.Option(
        "--methods",
        metavar="NAMES",
        callback=_names,
        help="Names of methods with commas between them; all for all of them.",
    ),
]
Share = Annotated[
    float, typer.Option("--share", min=0.001, max=0.9, help="Share of the cells to hide.")
]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="How often to hide and complete.")]
Rows = Annotated[
    int, typer.Option("--rows", min=10, help="Take so many rows at most, drawn at random.")
]


@command(
    "polycomplete compare data.csv",
    "polycomplete compare data.csv --methods pmc-w,knn,forest --repeats 10",
    "polycomplete compare data.csv --share 0.3 --json > ranking.json",
)
def compare(
    table: Source,
    how: Reading,
    talk: Talk,
    methods: Methods = USUAL,
    share: Share = 0.1,
    repeats: Repeats = 3,
    rows: Rows = 1000,
    ids: Ids = None,
    seed: Seed = 0,
) -> None:
    """Rank methods on your own table, those of scikit-learn included.

    A share of the cells that are there is hidden, each method completes the table, and what comes
    back is compared with what was hidden. Numbers count by their error in units of the column's
    spread (1 is about what the mean gives), texts by the share that is wrong.
    """
    from polycomplete.cli.columns import learned_from, sample, usable
    from polycomplete.cli.ranking import ranking
    from polycomplete.cli.reading import origin, read

    given = read(table, how, talk)
    used = usable(given, ids or (), talk)
    frame = sample(learned_from(given, used, talk), rows, seed, talk)
    names = (
        list(METHODS) if "all" in methods.split(",") else [n.strip() for n in methods.split(",")]
    )
    from polycomplete.cli import holdout  # a second: only when the table is a table

    scores = [holdout.Score(name) for name in names]
    facts = origin(given) | {"rows": len(frame), "share": share, "repeats": repeats}
    settings: dict[str, Any] = {"share": share, "repeats": repeats, "seed": seed}
    try:
        with talk.working("comparing", total=repeats * len(names)) as step:
            holdout.fill(scores, frame, step=step, **settings)
    finally:  # on an interrupt too: what is known is shown
        if any(one.errors or one.failure for one in scores):
            found = [one.facts() for one in holdout.ranked(scores)]
            talk.result(facts | {"ranking": found}, ranking(found))
