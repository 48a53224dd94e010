"""The program: its commands, and what happens when one of them fails."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from polycomplete._version import __version__
from polycomplete.cli.commands import apply, check, classify, cluster, compare, complete
from polycomplete.cli.console import INTERRUPTED, Console, code_of, one_line
from polycomplete.cli.options import shared_options
from polycomplete.io.atomic import STANDARD_OUTPUT

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
        "--verbose", help="With --version: all that a bug report should say.")] = False,
) -> None:  # fmt: skip
    """Fill in the missing cells of tables whose rows lie on curved surfaces."""
    if version and verbose:
        from polycomplete._resources import show_versions

        show_versions()
    elif version:
        sys.stdout.write(f"polycomplete {__version__}\n")
    if version:
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")


def _parameters_of(function: Any) -> list[Any]:
    alone = typer.Typer(add_completion=False)
    alone.command()(function)
    return list(typer.main.get_command(alone).params)


class Command(TyperCommand):
    """A command that takes the shared options too: they become ``context.obj``.

    Where it fails, its error becomes one line and an exit code.
    """

    shared = _parameters_of(shared_options)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.params += self.shared

    def invoke(self, context: Any) -> None:
        """Run the command."""
        given = {option.name: context.params.pop(option.name) for option in self.shared}
        context.obj = shared_options(**given)
        with _failing_in_one_line(context.obj[0]):
            super().invoke(context)


@contextmanager
def _failing_in_one_line(console: Console) -> Iterator[None]:
    """End a command that fails with one line and an exit code."""
    try:
        with _noting(console):
            yield
    except KeyboardInterrupt:
        console.interrupted()
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has seen enough
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
    """Forget what could not be written: Python would try again in the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _noting(console: Console) -> Iterator[None]:
    """Say what the library warns of as notes, each once."""

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in console.notes:
            console.note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield


for function in (complete, apply, check, compare, classify, cluster):
    app.command(cls=Command)(function)
