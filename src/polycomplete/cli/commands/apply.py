"""``polycomplete apply``: a saved model completes new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polycomplete.cli.app import command
from polycomplete.cli.options import Force, Output, Source
from polycomplete.cli.talk import Talk
from polycomplete.files.table import Reading

if TYPE_CHECKING:
    from polycomplete.files.table import Table

__all__: list[str] = []

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", show_default=False, help="A file that complete --save has written."
    ),
]


@command(
    "polycomplete apply model.skops new.csv -o out.csv",
    "cat new.csv | polycomplete apply model.skops - > out.csv",
)
def apply(
    model: Model,
    table: Source,
    how: Reading,
    talk: Talk,
    output: Output = None,
    force: Force = False,
) -> None:
    """Complete new rows by a saved model, without fitting it again.

    Each row is completed by itself: the answer does not depend on the other rows. Columns that the
    model does not know are left alone.
    """
    from polycomplete.cli.columns import learned_from
    from polycomplete.cli.outputs import beside, check_outputs
    from polycomplete.cli.reading import origin, read
    from polycomplete.files import write_table

    output = output or beside(table, "complete")
    check_outputs(talk, output, force=force, source=table, model=model)
    given = read(table, how, talk)
    estimator = _load(model)
    from polycomplete.cli import completing  # a second: only when both can be read

    columns = _fitting(given, estimator, model)
    given = replace(given, frame=given.frame.with_columns(columns))
    frame = learned_from(given, [column.name for column in columns], talk)
    missing = _missing(given)
    steps = -(-len(frame) // completing.BLOCK)
    with talk.working(f"completing {missing} cells", steps) as step:
        completed = completing.transform(estimator, frame, step)
    made = given.completed(completed)
    write_table(made, output, force=force)
    talk.wrote("output", output)
    done, left = missing - _missing(made), _missing(made)
    facts = {"model": model} | origin(given) | {"rows": len(frame), "completed": done}
    sentence = f"Completed {done} cells of {len(frame)} rows in {talk.seconds:.1f} s"
    where = ", ".join(column.name for column in made.frame if column.null_count())
    sentence += f"; {left} are still missing, in {where}." if left else "."
    talk.done(sentence, facts | {"still_missing": left})


def _missing(table: Table) -> int:
    return sum(table.frame.null_count().row(0))


def _load(path: str) -> Any:
    from polycomplete.cli.failures import UNREADABLE, Failure
    from polycomplete.persistence import load

    try:
        estimator = load(path)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", UNREADABLE) from None
    if not hasattr(estimator, "transform") or not hasattr(estimator, "n_features_in_"):
        name = type(estimator).__name__
        raise Failure(f"{path} holds a {name}, which does not complete rows.", UNREADABLE)
    return estimator


def _fitting(given: Table, estimator: Any, model: str) -> list[Any]:
    """Return the columns that a model knows, as what it knows them."""
    from polycomplete.cli.columns import find
    from polycomplete.cli.failures import Failure

    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        if given.frame.width != estimator.n_features_in_:
            raise Failure(
                f"{given.name} has {given.frame.width} columns, and {model} was fitted to "
                f"{estimator.n_features_in_} without names; leave out the others."
            )
        names = given.frame.columns
    names = find(given, map(str, names))
    kinds = {column.name: column.kind for column in getattr(estimator, "schema_", [])}
    return [_as_kind(given, name, kinds.get(name, "numeric")) for name in names]


def _as_kind(given: Table, name: str, kind: str) -> Any:
    """Return a column as the model takes it; say where it is something else."""
    import polars as pl

    from polycomplete.cli.failures import UNREADABLE, Failure
    from polycomplete.files.table import UNKNOWN, without

    column = given.frame[name]
    if kind in ("categorical", "ordered"):
        return given.text_of(name)
    if column.dtype == pl.String:  # among numbers and days these words are missing cells
        column = without(column, UNKNOWN)
    if kind not in ("numeric", "integer") or column.dtype.is_numeric():
        return column
    numbers = column.cast(pl.Float64, strict=False)
    odd = (numbers.is_null() & column.is_not_null()).arg_true()
    if len(odd):
        row = int(odd[0])
        raise Failure(f"{given.place(row, name)}: {column[row]!r} is not a number.", UNREADABLE)
    return numbers
