"""The program: its commands, and what happens when one of them fails."""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

import typer

from polycomplete._version import __version__
from polycomplete.cli import commands
from polycomplete.cli.failures import INTERRUPTED, code_of, one_line
from polycomplete.cli.options import grouped
from polycomplete.cli.talk import Talk
from polycomplete.files.whole import STANDARD_OUTPUT

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
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="With --version: all that a bug report should say."),
    ] = False,
) -> None:
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


def command(*examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a command to the program; decorate a function with this.

    The function's name is that of the command, its docstring the help. Groups of options are
    spelled out (see :mod:`polycomplete.cli.options`), and errors become one line and an exit code.

    Parameters
    ----------
    *examples : str
        Command lines for the help.

    Returns
    -------
    callable
        A decorator; it returns the function as it was.

    Examples
    --------
    >>> callable(command("polycomplete apply model.skops new.csv"))
    True
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        shown = "\n".join(f"  $ {example}" for example in examples)
        text = f"{inspect.cleandoc(function.__doc__ or '')}\n\n\b\nExamples:\n{shown}\n"
        app.command(function.__name__, help=text)(grouped(function, _guarded))
        return function

    return add


def _guarded(function: Callable[..., None], talk: Talk, **values: Any) -> None:
    """Run a command; where it fails, end with one line."""
    try:
        with _noting(talk):
            function(talk=talk, **values)
    except KeyboardInterrupt:
        talk.interrupted()
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        _drop_output()
        raise typer.Exit(0) from None
    except (typer.Exit, typer.BadParameter):
        raise
    except Exception as error:
        if talk.debug:
            raise
        if isinstance(error, OSError) and error.filename == STANDARD_OUTPUT:
            _drop_output()
        talk.error(f"polycomplete: {one_line(error)}")
        raise typer.Exit(code_of(error)) from None


def _drop_output() -> None:
    """Forget what could not be written: Python would try again in the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _noting(talk: Talk) -> Iterator[None]:
    """Say what the library warns of as notes, each once."""
    said: set[str] = set()

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            talk.note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield


def run() -> None:
    """Load the commands and run the one that is asked for.

    Returns
    -------
    None

    Examples
    --------
    >>> callable(run)
    True
    """
    found = [module.name for module in iter_modules(commands.__path__)]
    for name in sorted(found, key=lambda name: (commands.FIRST + found).index(name)):
        import_module(f"{commands.__name__}.{name}")
    app()
