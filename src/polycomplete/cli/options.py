"""The options that commands share, each described once.

A command that takes ``how: Reading`` or ``talk: Talk`` gets the options of that group on the
command line, and the object made of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from polycomplete.cli.talk import Talk
from polycomplete.files.table import Reading

#: The names of :mod:`polycomplete.methods`, here too because that one takes a second to load.
METHODS = (
    "pmc-w", "pmc-s", "nlmc", "vmc-2", "vmc-3", "kfmc", "ladmc", "srmc", "lrmc",
    "pmc-w-paper", "pmc-s-paper", "nlmc-paper", "lrmc-paper",
    "mean", "knn", "iterative", "forest",
)  # fmt: skip


def _method(value: str) -> str:
    if value.lower() not in METHODS:
        raise typer.BadParameter(f"there is no method {value!r}; there are {', '.join(METHODS)}.")
    return value.lower()


def _beginning_so(incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete.lower())]


Source = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        show_default=False,
        help="The table: .csv, .tsv, .parquet, .arrow, .feather, .xlsx, .npy, .npz or .mat; "
        "- is standard input.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="Where to write it; - is standard output. By default beside the table.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        callback=_method,
        autocompletion=_beginning_so,
        help="Which method completes it, by its name in polycomplete.methods.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Everything random follows from it.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist already.")]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        show_default=False,
        help="A column to leave alone: neither used nor completed. May be given several times.",
    ),
]
_Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        show_default=False,
        help="Text or number that stands for a missing cell, besides the usual (nothing, NA, N/A, "
        "NaN, NULL, ?, -, --, .). May be given several times.",
        rich_help_panel="How to read the table",
    ),
]
_Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="LETTER",
        show_default=False,
        help="What stands between cells, by default what suits the file; tab is a tabulator.",
        rich_help_panel="How to read the table",
    ),
]
_Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="How the letters of a text file are encoded.",
        rich_help_panel="How to read the table",
    ),
]
_Decimal = Annotated[
    str,
    typer.Option(
        "--decimal",
        metavar="LETTER",
        help="What stands before decimals.",
        rich_help_panel="How to read the table",
    ),
]
_Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header",
        help="Whether a text file begins with the names of its columns.",
        rich_help_panel="How to read the table",
    ),
]
_Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        show_default=False,
        help="The sheet of an Excel file; the first by default.",
        rich_help_panel="How to read the table",
    ),
]
_Variable = Annotated[
    str | None,
    typer.Option(
        "--variable",
        metavar="NAME",
        show_default=False,
        help="The array of a .mat or .npz file; by default the only one, or X.",
        rich_help_panel="How to read the table",
    ),
]
_Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Nothing but errors and results.", rich_help_panel="What is said"
    ),
]
_Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="The result as JSON on standard output.",
        rich_help_panel="What is said",
    ),
]
_Debug = Annotated[
    bool,
    typer.Option(
        "--debug", help="Show where in the program an error arose.", rich_help_panel="What is said"
    ),
]


def _reading(
    missing: _Missing = None,
    delimiter: _Delimiter = None,
    encoding: _Encoding = "utf-8",
    decimal: _Decimal = ".",
    header: _Header = True,
    sheet: _Sheet = None,
    variable: _Variable = None,
) -> Reading:
    delimiter = "\t" if delimiter in ("tab", r"\t") else delimiter
    return Reading(delimiter, tuple(missing or ()), encoding, decimal, header, sheet, variable)


def spelled(how: Reading) -> list[str]:
    r"""Return the options of the command line that read a table in the same way.

    Parameters
    ----------
    how : Reading
        How a table was read.

    Returns
    -------
    list of str
        Without those that are as by default.

    Examples
    --------
    >>> spelled(Reading(delimiter="\t", missing=("-9",)))
    ['--missing', '-9', '--delimiter', 'tab']
    """
    usual = Reading()
    words = [word for text in how.missing for word in ("--missing", text)]
    if how.delimiter is not None:
        words += ["--delimiter", "tab" if how.delimiter == "\t" else how.delimiter]
    if how.encoding != usual.encoding:
        words += ["--encoding", how.encoding]
    if how.decimal != usual.decimal:
        words += ["--decimal", how.decimal]
    if not how.header:
        words.append("--no-header")
    if how.sheet is not None:
        words += ["--sheet", how.sheet]
    if how.variable is not None:
        words += ["--variable", how.variable]
    return words


def _talk(quiet: _Quiet = False, json: _Json = False, debug: _Debug = False) -> Talk:
    return Talk(quiet, json, debug)


#: Which parameters of a command are made of a group of options.
GROUPS: dict[str, Callable[..., Any]] = {"how": _reading, "talk": _talk}


def _directly(function: Callable[..., None], **values: Any) -> None:
    function(**values)


def grouped(
    function: Callable[..., None], call: Callable[..., None] = _directly
) -> Callable[..., None]:
    """Return a command whose groups of options are spelled out for typer.

    Parameters
    ----------
    function : callable
        A command; its parameters ``how`` and ``talk`` stand for groups.
    call : callable
        Takes the function and its arguments, and runs it.

    Returns
    -------
    callable
        Takes the options one by one.

    Examples
    --------
    >>> def shout(name: str, talk: Talk) -> None: ...
    >>> list(inspect.signature(grouped(shout)).parameters)
    ['name', 'quiet', 'json', 'debug']
    """
    wanted = [name for name in inspect.signature(function).parameters if name in GROUPS]
    parts = {name: _parameters(GROUPS[name]) for name in wanted}
    own = [p for p in _parameters(function) if p.name not in GROUPS]
    every = [*own, *(p for part in parts.values() for p in part)]

    def command(**values: Any) -> None:
        made = {
            name: GROUPS[name](**{p.name: values.pop(p.name) for p in part})
            for name, part in parts.items()
        }
        call(function, **values, **made)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in every}
    return command


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function with their types instead of the names of these."""
    types = get_type_hints(function, include_extras=True)
    found = inspect.signature(function).parameters.values()
    return [p.replace(annotation=types[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in found]
