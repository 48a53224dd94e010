"""The options of the commands, each described once."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from polycomplete.cli.console import Console
from polycomplete.io.table import ReadOptions

#: The names of :mod:`polycomplete.methods`, here too because that one takes a second to load.
METHODS = (
    "pmc-w", "pmc-s", "nlmc", "vmc-2", "vmc-3", "kfmc", "ladmc", "srmc", "lrmc",
    "pmc-w-paper", "pmc-s-paper", "nlmc-paper", "lrmc-paper",
    "mean", "knn", "iterative", "forest",
)  # fmt: skip


def _known_method(value: str) -> str:
    if value.lower() not in METHODS:
        raise typer.BadParameter(f"there is no method {value!r}; there are {', '.join(METHODS)}.")
    return value.lower()


def _known_methods(text: str) -> str:
    for name in text.lower().split(","):
        if name != "all":
            _known_method(name.strip())
    return text.lower()


def _beginning_so(incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete.lower())]


def _kind_of_report(path: str | None) -> str | None:
    if path and not path.lower().endswith((".html", ".htm", ".json", ".txt")):
        raise typer.BadParameter(f"{path} must end with .html, .json or .txt.")
    return path


# Of several commands
Source = Annotated[str, typer.Argument(
    metavar="TABLE",
    help="The table: .csv, .tsv, .parquet, .arrow, .feather, .xlsx, .npy, .npz or .mat; "
    "- is standard input.")]  # fmt: skip
Output = Annotated[str | None, typer.Option(
    "--output", "-o", metavar="FILE",
    help="Where to write it; - is standard output. By default beside the table.")]  # fmt: skip
Method = Annotated[str, typer.Option(
    "--method", metavar="NAME", callback=_known_method, autocompletion=_beginning_so,
    help="Which method completes it, by its name in polycomplete.methods.")]  # fmt: skip
Ids = Annotated[list[str] | None, typer.Option(
    "--id", metavar="COLUMN",
    help="A column to leave alone: neither used nor completed. May be given several times.",
)]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", min=0, help="Everything random follows from it.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist already.")]

# Of complete and apply
_folders = partial(typer.Option, rich_help_panel="Folders of Parquet files")
ReportFile = Annotated[str | None, typer.Option(
    "--report", metavar="FILE", callback=_kind_of_report,
    help="Write a report too: a page (.html), JSON (.json) or text (.txt).")]  # fmt: skip
ModelFile = Annotated[str | None, typer.Option(
    "--save", metavar="FILE", help="Keep the model in this file, for the command apply.",
)]  # fmt: skip
Workers = Annotated[int | None, _folders("--workers", min=1, help="Processes on this machine.")]
Scheduler = Annotated[str | None, _folders(
    "--scheduler", metavar="ADDRESS",
    help="The Dask cluster to work on; its workers must see both folders.")]  # fmt: skip
Model = Annotated[str, typer.Argument(
    metavar="MODEL", help="A file that complete --save has written.")]  # fmt: skip

# Of check and compare
TriedRows = Annotated[int, typer.Option(
    "--rows", min=10, help="Try methods on so many rows at most, drawn at random.",
)]  # fmt: skip
Rows = Annotated[int, typer.Option(
    "--rows", min=10, help="Take so many rows at most, drawn at random.")]  # fmt: skip
Methods = Annotated[str, typer.Option(
    "--methods", metavar="NAMES", callback=_known_methods,
    help="Names of methods with commas between them; all for all of them.")]  # fmt: skip
Share = Annotated[float, typer.Option(
    "--share", min=0.001, max=0.9, help="Share of the cells to hide.")]  # fmt: skip
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="How often to hide and complete.")]

# Of classify and cluster
Target = Annotated[str, typer.Option(
    "--target", metavar="COLUMN",
    help="The column of labels; its missing cells are found.")]  # fmt: skip
Confidence = Annotated[str | None, typer.Option(
    "--confidence", metavar="COLUMN",
    help="Add a column of this name: the probability of each label that was found.",
)]  # fmt: skip
Clusters = Annotated[int | None, typer.Option(
    "--clusters", "-k", min=2, help="How many clusters; found from the data by default.",
)]  # fmt: skip
Column = Annotated[str, typer.Option(
    "--column", metavar="NAME", help="What the new column is called.")]  # fmt: skip

_reading = partial(typer.Option, rich_help_panel="How to read the table")
_saying = partial(typer.Option, rich_help_panel="What is said")


def shared_options(
    missing: Annotated[list[str] | None, _reading(
        "--missing", metavar="TEXT",
        help="Text or number that stands for a missing cell, besides the usual (nothing, NA, N/A, "
        "NaN, NULL, ?, -, --, .). May be given several times.")] = None,
    delimiter: Annotated[str | None, _reading(
        "--delimiter", metavar="LETTER",
        help="What stands between cells, by default what suits the file; tab is a tabulator.",
    )] = None,
    encoding: Annotated[str, _reading(
        "--encoding", metavar="NAME", help="How the letters of a text file are encoded.",
    )] = "utf-8",
    decimal: Annotated[str, _reading(
        "--decimal", metavar="LETTER", help="What stands before decimals.")] = ".",
    header: Annotated[bool, _reading(
        "--header/--no-header",
        help="Whether a text file begins with the names of its columns.")] = True,
    sheet: Annotated[str | None, _reading(
        "--sheet", metavar="NAME", help="The sheet of an Excel file; the first by default.",
    )] = None,
    variable: Annotated[str | None, _reading(
        "--variable", metavar="NAME",
        help="The array of a .mat or .npz file; by default the only one, or X.")] = None,
    quiet: Annotated[bool, _saying(
        "--quiet", "-q", help="Nothing but errors and results.")] = False,
    json: Annotated[bool, _saying(
        "--json", help="The result as JSON on standard output.")] = False,
    debug: Annotated[bool, _saying(
        "--debug", help="Show where in the program an error arose.")] = False,
) -> tuple[Console, ReadOptions]:  # fmt: skip
    """Return what the options of every command stand for: how to talk, and how to read a table."""
    delimiter = "\t" if delimiter in ("tab", r"\t") else delimiter
    options = ReadOptions(delimiter, tuple(missing or ()), encoding, decimal, header, sheet, variable)
    return Console(quiet, json, debug), options


def spelled(options: ReadOptions) -> list[str]:
    """Return the words of a command line that reads a table likewise, but for the defaults."""
    usual = ReadOptions()
    words = [word for text in options.missing for word in ("--missing", text)]
    for name in ("delimiter", "encoding", "decimal", "header", "sheet", "variable"):
        value = getattr(options, name)
        if value is False:
            words.append(f"--no-{name}")
        elif value != getattr(usual, name):
            words += [f"--{name}", "tab" if value == "\t" else value]
    return words
