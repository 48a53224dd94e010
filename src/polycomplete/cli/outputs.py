"""Where results go: checked before the work begins, written after it."""

from __future__ import annotations

from pathlib import Path

from polycomplete.cli.failures import MISUSED, UNWRITABLE, Failure
from polycomplete.cli.talk import Talk
from polycomplete.files.formats import FORMS, form_of

__all__ = ["beside", "check_outputs"]


def beside(source: str, word: str) -> str:
    """Return the name of the result where the user gives none: beside the table.

    Parameters
    ----------
    source : str
        The table; "-" for standard input.
    word : str
        What was done to it.

    Returns
    -------
    str

    Examples
    --------
    >>> beside("data/people.csv", "complete"), beside("-", "complete"), beside("iris.data", "x")
    ('data/people-complete.csv', '-', 'iris-x.csv')
    """
    if source == "-":
        return "-"
    path = Path(source)
    suffix = path.suffix if form_of(source) else ".csv"
    return str(path.with_name(f"{path.stem}-{word}{suffix}"))


def check_outputs(talk: Talk, table: str, *others: str | None, force: bool) -> None:
    """Raise where a result could not be written: better before hours of work than after.

    Parameters
    ----------
    talk : Talk
        Whether JSON goes to standard output too.
    table : str
        The table that will be written; "-" is standard output.
    *others : str or None
        What else will be written.
    force : bool
        Whether files may be replaced.

    Returns
    -------
    None

    Examples
    --------
    >>> check_outputs(Talk(), "-", None, force=False)
    """
    if talk.json and table == "-":
        raise Failure("--json and the table both go to standard output; use -o FILE.", MISUSED)
    if table != "-" and form_of(table) is None:
        ends = " ".join(FORMS)
        raise Failure(
            f"{table} does not say what kind of table to write; let it end in {ends}.", MISUSED
        )
    for name in (table, *others):
        if name not in (None, "-"):
            _check_free(Path(name), force)


def _check_free(path: Path, force: bool) -> None:
    if path.is_dir():
        raise Failure(f"{path} is a folder; name a file in it.", UNWRITABLE)
    if not path.parent.is_dir():
        raise Failure(f"There is no folder {path.parent} to write {path.name} to.", UNWRITABLE)
    if path.is_file() and not force:
        raise Failure(f"{path} exists already; choose another name or --force.", UNWRITABLE)
