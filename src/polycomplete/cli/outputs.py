"""Where results go: checked before the work begins, written after it."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

from polycomplete.cli.failures import MISUSED, UNWRITABLE, Failure
from polycomplete.cli.talk import Talk
from polycomplete.files import FORMS, form_of


def beside(source: str, word: str) -> str:
    """Return the name of the result where the user gives none: beside the table.

    Parameters
    ----------
    source : str
        The table; "-" for standard input, beside which, as beside other pipes, there is nothing.
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
    path = Path(source)
    if source == "-" or source.startswith(("/dev/", "/proc/")) or path.is_fifo():
        return "-"
    suffix = path.suffix if form_of(source) else ".csv"
    return str(path.with_name(f"{path.stem}-{word}{suffix}"))


def check_outputs(
    talk: Talk,
    table: str,
    *others: str | None,
    force: bool,
    source: str | None = None,
    model: str | None = None,
) -> None:
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
    source, model : str or None
        What is read: the table, which only the table that is written may replace, and a model,
        which nothing may.

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
    rest = [name for name in others if name]
    _check_roles([table, *rest], [(source, rest), (model, [table, *rest])])
    for name in (table, *rest):
        if name != "-":
            _check_free(Path(name), force)


def check_outside(name: str, *folders: str) -> None:
    """Raise where a file would come into a folder of tables, or replace another.

    Parameters
    ----------
    name : str
        The file.
    *folders : str
        The tables that are read and written.

    Returns
    -------
    None

    Examples
    --------
    >>> check_outside("parts/model.skops", "parts")
    Traceback (most recent call last):
    polycomplete.cli.failures.Failure: parts/model.skops lies among the tables of parts; ...
    """
    for folder in folders:
        if Path(os.path.realpath(name)).is_relative_to(os.path.realpath(folder)):
            raise Failure(
                f"{name} lies among the tables of {folder}; choose another folder.", MISUSED
            )
    _check_free(Path(name), force=False)


def _check_roles(written: list[str], read: list[tuple[str | None, list[str]]]) -> None:
    """Raise where two things would go into one file, or into one that is read."""
    for one, other in combinations(written, 2):
        if _same(one, other, 1):
            names = one if one == other else f"{one} and {other}"
            raise Failure(
                f"{names}: two results would go into one file; give each a file of its own.",
                MISUSED,
            )
    for given, results in read:
        for one in results:
            if given and _same(given, one, 0):
                known = "" if one == given else f", {given}"
                raise Failure(
                    f"{one} is the file that is read{known}, and would be replaced by something "
                    "else; choose another name.",
                    MISUSED,
                )


def _same(one: str, other: str, standard: int) -> bool:
    """Return whether two names stand for one file; "-" stands for a file that is open already."""
    if "-" not in (one, other) and os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(*(standard if name == "-" else name for name in (one, other)))
    except OSError:  # one of them is not there yet
        return False


def _check_free(path: Path, force: bool) -> None:
    if path.is_dir():
        raise Failure(f"{path} is a folder; name a file in it.", UNWRITABLE)
    if not path.parent.is_dir():
        raise Failure(f"There is no folder {path.parent} to write {path.name} to.", UNWRITABLE)
    if path.is_file() and not force:
        raise Failure(f"{path} exists already; choose another name or --force.", UNWRITABLE)
