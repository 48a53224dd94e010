"""The program: its commands, the options that they share, and what happens on failure."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from polycomplete._version import __version__
from polycomplete.cli import commands
from polycomplete.cli.console import INTERRUPTED, Console, code_of, one_line
from polycomplete.io.atomic import STANDARD_OUTPUT
from polycomplete.io.table import ReadOptions

app = typer.Typer(
    name="polycomplete",
    help="Fill in the missing cells of tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    verbose: Annotated[bool, typer.Option(
        "--verbose", help="With --version: everything that a bug report needs.")] = False,
) -> None:  # fmt: skip
    """Fill in the missing cells of tables whose rows lie on curved surfaces."""
    if version and verbose:
        from polycomplete import show_versions

        show_versions()
    elif version:
        sys.stdout.write(f"polycomplete {__version__}\n")
    elif context.invoked_subcommand is None:
        context.fail("Missing command.")
    if version:
        raise typer.Exit


#: Shared options that a command does not have.
LACKING = {
    "apply": {"method", "ids", "seed"},
    "check": {"output", "method", "force"},
    "compare": {"output", "method", "force"},
}
_reading = partial(typer.Option, rich_help_panel="Reading the table")
_output = partial(typer.Option, rich_help_panel="Messages")


def _shared(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE",
        help="Where to write the result; - is standard output. By default beside the table.",
    )] = "",
    method: Annotated[commands.MethodName, typer.Option(metavar="NAME", case_sensitive=False,
        help="pmc-w, pmc-s, nlmc, vmc-2, vmc-3, kfmc, ladmc, srmc, lrmc; of scikit-learn mean, "
        "knn, iterative, forest.")] = "pmc-w",
    ids: Annotated[list[str] | None, typer.Option("--id", metavar="COLUMN",
        help="A column to exclude: neither used nor completed. May be given several times.",
    )] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace existing files.")] = False,
    missing: Annotated[list[str] | None, _reading("--missing", metavar="TEXT",
        help="Text or number that stands for a missing cell, in addition to nothing, NA, N/A, "
        "NaN, NULL, ?, -, -- and a single dot. May be given several times.")] = None,
    delimiter: Annotated[str | None, _reading(metavar="CHARACTER",
        help="Character between cells, or tab; by default the one that fits the file.")] = None,
    encoding: Annotated[str, _reading(metavar="NAME", help="Encoding of a text file.")] = "utf-8",
    decimal: Annotated[str, _reading(metavar="CHARACTER", help="Decimal separator.")] = ".",
    header: Annotated[bool, _reading(
        help="Whether a text file begins with the names of its columns.")] = True,
    sheet: Annotated[str | None, _reading(metavar="NAME",
        help="Sheet of an Excel file; the first by default.")] = None,
    variable: Annotated[str | None, _reading(metavar="NAME",
        help="Array of a .mat or .npz file; by default the only one, or X.")] = None,
    quiet: Annotated[bool, _output("--quiet", "-q", help="Only errors and results.")] = False,
    json: Annotated[bool, _output("--json", help="The result as JSON on standard output.")] = False,
    debug: Annotated[bool, _output("--debug", help="Show the traceback of an error.")] = False,
) -> tuple[Console, dict[str, Any]]:  # fmt: skip
    """Return the console and the settings of a session that the shared options stand for."""
    delimiter = "\t" if delimiter in ("tab", r"\t") else delimiter
    options = ReadOptions(
        delimiter, tuple(missing or ()), encoding, decimal, header, sheet, variable
    )
    choices = {"output": output, "method": method, "seed": seed, "force": force, "ids": ids or []}
    return Console(quiet, json, debug), {"options": options, **choices}


_alone = typer.Typer(add_completion=False)
_alone.command()(_shared)


class Command(TyperCommand):
    """A command with the shared options, a session of them as ``context.obj``, and short errors."""

    shared = typer.main.get_command(_alone).params

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        lacking = LACKING.get(str(self.name), set())
        self.params += [one for one in self.shared if one.name not in lacking]

    def invoke(self, context: Any) -> None:
        """Run the command."""
        names = {one.name for one in self.shared} & context.params.keys()
        console, settings = _shared(**{name: context.params.pop(name) for name in names})
        with _failing_in_one_line(console), warnings.catch_warnings():
            from polycomplete.cli.session import Session  # slow to load, and not for the help

            warnings.simplefilter("always")
            warnings.showwarning = console.note_warning
            context.obj = Session(console, **settings)
            super().invoke(context)


@contextmanager
def _failing_in_one_line(console: Console) -> Iterator[None]:
    """End a command that fails with one line and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        console.interrupted()
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader of our output, such as head, has ended
        _drop_output()
        raise typer.Exit(0) from None
    except Exception as error:
        if console.debug:
            raise
        if isinstance(error, OSError) and error.filename == STANDARD_OUTPUT:
            _drop_output()
        console.error(f"polycomplete: {one_line(error)}")
        raise typer.Exit(code_of(error)) from None


def _drop_output() -> None:
    """Discard what could not be written: Python would try again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


for function in (
    commands.complete, commands.apply_model, commands.check,
    commands.compare, commands.classify, commands.cluster,
):  # fmt: skip
    app.command(function.__name__.removesuffix("_model"), cls=Command)(function)
