"""What a command says, and how it fails: results on standard output, all else on standard error."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import rich.console
from rich import progress

from polycomplete.io.atomic import STANDARD_OUTPUT, naming_file

#: Exit codes; 0 is success.
FAILED, MISUSED, UNREADABLE, UNWRITABLE, INTERRUPTED = 1, 2, 3, 4, 130
#: Called after each step with a message, and the number of steps where that is not one.
Step = Callable[..., None]


class CommandError(Exception):
    """Ends a command with one sentence and an exit code."""

    code = FAILED


class MisuseError(CommandError):
    """The command line is wrong."""

    code = MISUSED


def code_of(error: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(error, CommandError):
        return error.code
    if type(error).__name__ in ("TableFileError", "ModelFileError"):
        return UNREADABLE
    # Our own functions turn errors of reading into the above: what is left is writing.
    return UNWRITABLE if isinstance(error, OSError) else FAILED


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line."""
    if isinstance(error, MemoryError) and not str(error):
        return "There is not enough memory for this; use fewer rows."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split()) or f"{type(error).__name__}."


class _Messages(logging.Handler):
    """Shows the log messages of the library as progress."""

    def __init__(self, step: Step):
        super().__init__(logging.INFO)
        self.step = step

    def emit(self, record: logging.LogRecord) -> None:
        self.step(record.getMessage(), 0)


@dataclass
class Console:
    """What a command says, and where.

    ``quiet``: neither notes nor progress; ``json``: the result as JSON; ``debug``: errors with
    their traceback. ``written`` maps what was written to its file.
    """

    quiet: bool = False
    json: bool = False
    debug: bool = False
    notes: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    stage: str = ""
    begin: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self.begin

    def note(self, message: str, always: bool = False) -> None:
        """Say something worth knowing; ``always``: even if the command is quiet."""
        self.notes.append(message)
        if always or not self.quiet:
            self.error(f"note: {message}")

    def note_warning(self, message: Warning | str, *_: Any, **__: Any) -> None:
        """Note a warning of the library, once."""
        text = " ".join(str(message).split())
        if text not in self.notes:
            self.note(text)

    def wrote(self, what: str, path: str | None) -> None:
        """Remember a file that is complete."""
        if path not in (None, "", "-"):
            self.written[what] = path

    def done(self, sentence: str, facts: dict[str, Any]) -> None:
        """Say that the work is done, and which files were written; or all of it as JSON."""
        if self.json:
            self.result(facts | self.written)
        elif not self.quiet:
            files = (f"{what.capitalize()}: {path}" for what, path in self.written.items())
            self.error("\n".join([sentence, *files]))

    def interrupted(self) -> None:
        """Say how far the command came."""
        stage = f" while {self.stage}" if self.stage else ""
        written = ", ".join(self.written.values()) or "nothing"
        self.error(f"Interrupted after {self.seconds:.1f} s{stage}; {written} was written.")

    def error(self, message: str) -> None:
        """Write to standard error; drop the message where that is full or closed."""
        try:
            sys.stderr.write(message + "\n")
            sys.stderr.flush()
        except OSError:  # drop later messages too, also those of Python on exit
            sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)

    @contextmanager
    def only_noting(self, what: str) -> Iterator[None]:
        """Turn any error into a note, so that hours of work are not lost for it."""
        try:
            yield
        except Exception as error:
            if self.debug:
                traceback.print_exception(error)
            why = one_line(error).rstrip(".")
            self.note(f"{what} could not be made ({why}); all else is written.", always=True)

    def result(self, facts: dict[str, Any], *renderings: Any) -> None:
        """Show a result: as JSON, or as something for people to read."""
        with naming_file(STANDARD_OUTPUT):
            if self.json:
                facts = facts | {"seconds": round(self.seconds, 3), "notes": self.notes}
                plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
                sys.stdout.write(json.dumps(facts, ensure_ascii=plain, indent=1) + "\n")
            else:
                # Files and pipes get more than the usual 80 columns. Brackets and colons in data
                # are not markup.
                width = None if sys.stdout.isatty() else 120
                out = rich.console.Console(width=width, highlight=False, markup=False, emoji=False)
                for one in renderings:
                    # Lines are not wrapped, so that a command can be copied.
                    out.print(one, soft_wrap=isinstance(one, str))
            sys.stdout.flush()

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Step]:
        """Show progress, and the remaining time where the number of steps is known."""
        from polycomplete._messages import listening  # slow to load

        hidden = self.quiet or not sys.stderr.isatty()
        known = [] if total is None else [progress.BarColumn(), progress.TimeRemainingColumn()]
        with progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),  # may contain data
            *known,
            progress.TimeElapsedColumn(),
            console=rich.console.Console(stderr=True, quiet=hidden),
            transient=True,
            disable=hidden,
        ) as bar:
            task = bar.add_task(what, total=total)
            self.stage = what

            def step(message: str, count: int = 1) -> None:
                self.stage = f"{what}: {message}" if message else what
                bar.update(task, description=self.stage, advance=count)

            with listening(_Messages(step), logging.INFO):
                yield step
