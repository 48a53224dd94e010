"""``polycomplete classify``: the labels that some rows lack."""

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

Target = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="COLUMN",
        show_default=False,
        help="The column of labels; its missing cells are found.",
    ),
]
Confidence = Annotated[
    str | None,
    typer.Option(
        "--confidence",
        metavar="COLUMN",
        show_default=False,
        help="Add a column of this name: the probability of each label that was found.",
    ),
]


@command(
    "polycomplete classify data.csv --target label -o labelled.csv",
    "polycomplete classify data.csv --target label --id name --confidence sure",
)
def classify(
    table: Source,
    target: Target,
    how: Reading,
    talk: Talk,
    output: Output = None,
    confidence: Confidence = None,
    method: Method = "pmc-w",
    ids: Ids = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Find the missing labels of a table from its columns of numbers.

    Rows with and without a label are looked at together, and may have missing cells of their own,
    which stay missing in the result.
    """
    import polars as pl

    from polycomplete.cli.columns import check_new, find, learned_from, numbers
    from polycomplete.cli.outputs import beside, check_outputs
    from polycomplete.cli.reading import read
    from polycomplete.files import write_table

    output = output or beside(table, "classify")
    check_outputs(talk, output, force=force, source=table)
    given = read(table, how, talk)
    find(given, [target])
    if confidence is not None:
        check_new(given, confidence, "--confidence")
    frame = numbers(given, [*(ids or ()), target], talk)
    missing = given.frame[target].null_count()
    labels = learned_from(given, [target], talk)[target]
    _check_labels(given, labels, missing, talk)
    with talk.working(f"finding {missing} labels"):
        found, sure = _found(labels, frame, method, seed)
    made = given.completed(found.to_frame())
    if confidence is not None:
        sure = pl.select(pl.when(given.frame[target].is_null()).then(sure)).to_series()
        made = made.with_column(sure.alias(confidence))
    write_table(made, output, force=force)
    talk.wrote("output", output)
    _tell(talk, given, found)


def _check_labels(given: Table, labels: Any, missing: int, talk: Talk) -> None:
    from polycomplete.cli.failures import Failure

    classes = labels.drop_nulls().n_unique()
    if classes < 2:
        name = f"{labels.name!r} of {given.name}"
        raise Failure(f"Column {name} holds {classes} label; it needs two.")
    if not missing:
        talk.note(f"column {labels.name!r} lacks no label.")


def _found(labels: Any, frame: Any, method: str, seed: int) -> tuple[Any, Any]:
    """Return the labels of all rows, and their probabilities."""
    import polars as pl

    from polycomplete.cli.completing import as_input, method_of
    from polycomplete.transduction import TransductiveClassifier

    completer = method_of(method, seed)
    named = {str(one): one for one in labels.drop_nulls().unique()}
    texts = [None if one is None else str(one) for one in labels]
    classifier = TransductiveClassifier(completer, random_state=seed)
    classifier.fit(as_input(completer, frame), texts)
    answers = [named[str(one)] for one in classifier.transduction_]
    sure = pl.Series(classifier.label_distributions_.max(axis=1))
    return pl.Series(labels.name, answers, labels.dtype), sure


def _tell(talk: Talk, given: Table, found: Any) -> None:
    """Say how many labels of each kind were found."""
    from polycomplete.cli.reading import origin

    new = found.filter(given.frame[found.name].is_null())
    counts = dict(new.alias("label").value_counts().sort("label").rows())
    facts = origin(given) | {"target": found.name, "rows": len(found), "found": len(new)}
    said = ", ".join(f"{count} {label}" for label, count in counts.items()) or "none"
    talk.done(f"Found {len(new)} labels: {said}.", facts | {"labels": counts})
