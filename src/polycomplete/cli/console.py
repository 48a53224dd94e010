"""What a command says, and how it fails: results on standard output, all else on standard error."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import rich.console
from rich import progress as bars

from polycomplete.io.atomic import STANDARD_OUTPUT, naming_file

#: Exit codes; 0 is success.
FAILED, MISUSED, UNREADABLE, UNWRITABLE, INTERRUPTED = 1, 2, 3, 4, 130
#: Tables that go into a file or a pipe are not cut to the usual 80 letters.
WIDE = 120
Step = Callable[[str], None]


class CommandError(Exception):
    """Ends a command with one sentence and an exit code."""

    def __init__(self, message: str, code: int = FAILED):
        super().__init__(message)
        self.code = code


def code_of(error: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(error, CommandError):
        return error.code
    if type(error).__name__ in ("TableFileError", "ModelFileError"):
        return UNREADABLE
    # Whatever is read is read by our own functions, which say so: what is left is writing.
    return UNWRITABLE if isinstance(error, OSError) else FAILED


def one_line(error: BaseException) -> str:
    """Return what an error says, on one line."""
    if isinstance(error, MemoryError) and not str(error):
        return "There is not enough memory for this; use fewer rows."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split()) or f"{type(error).__name__}."


class _Stages(logging.Handler):
    """Hands the messages of the library on."""

    def __init__(self, tell: Step):
        super().__init__(logging.INFO)
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self.tell(record.getMessage())


def _dumped(facts: dict[str, Any], encoding: str | None) -> str:
    """Return JSON, with letters that an encoding lacks written as numbers."""
    text = json.dumps(facts, ensure_ascii=False, indent=1)
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(facts, indent=1)
    return text


@dataclass
class Console:
    """What a command says, where, and how much of it.

    Attributes
    ----------
    quiet, json, debug : bool
        Neither notes nor progress; the result as JSON; errors with their traceback.
    notes : list of str
        What was noted.
    written : dict
        From what was written to the name of its file.
    stage : str
        What is being done.
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
        """How long the command has been running."""
        return time.perf_counter() - self.begin

    def note(self, message: str, always: bool = False) -> None:
        """Say something worth knowing; ``always`` where also a quiet command must say it."""
        self.notes.append(message)
        if always or not self.quiet:
            self.error(f"note: {message}")

    def wrote(self, what: str, path: str) -> None:
        """Remember a file that is complete."""
        if path != "-":
            self.written[what] = path

    def done(self, sentence: str, facts: dict[str, Any]) -> None:
        """Say that the work is done, and which files were written; or all of it as JSON."""
        if self.json:
            self.result(facts | self.written)
        elif not self.quiet:
            files = (f"{what.capitalize()}: {path}" for what, path in self.written.items())
            for line in (sentence, *files):
                self.error(line)

    def interrupted(self) -> None:
        """Say how far it came."""
        stage = f" while {self.stage}" if self.stage else ""
        written = ", ".join(self.written.values()) or "nothing"
        self.error(f"Interrupted after {self.seconds:.1f} s{stage}; {written} was written.")

    def error(self, message: str) -> None:
        """Write a line to standard error; where that is full or closed, nowhere."""
        try:
            sys.stderr.write(message + "\n")
            sys.stderr.flush()
        except OSError:
            # For all that follows, and for what Python does with it in the end.
            sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)

    def result(self, facts: dict[str, Any], *renderings: Any) -> None:
        """Show a result: as JSON, or as something for people to read."""
        with naming_file(STANDARD_OUTPUT):
            if self.json:
                facts = facts | {"seconds": round(self.seconds, 3), "notes": self.notes}
                sys.stdout.write(_dumped(facts, sys.stdout.encoding) + "\n")
            else:
                self._show(*renderings)
            sys.stdout.flush()

    def _show(self, *renderings: Any) -> None:
        # What stands in square brackets or between colons is somebody's data, not markup.
        width = None if sys.stdout.isatty() else WIDE
        console = rich.console.Console(width=width, highlight=False, markup=False, emoji=False)
        for rendering in renderings:
            # A line stays one, so that a command in it can be pasted.
            console.print(rendering, soft_wrap=isinstance(rendering, str))

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Step]:
        """Show that something goes on, how far it is, and how long it will take if that is known.

        Gives a function to be called after each of the steps with what comes next.
        """
        from polycomplete._messages import listening  # a second: only when there is work

        hidden = self.quiet or not sys.stderr.isatty()
        console = rich.console.Console(stderr=True, quiet=hidden)
        text = bars.TextColumn(
            "{task.description}", markup=False
        )  # what it says may be anybody's data
        known = [] if total is None else [bars.BarColumn(), bars.TimeRemainingColumn()]
        columns = [bars.SpinnerColumn(), text, *known, bars.TimeElapsedColumn()]
        with bars.Progress(*columns, console=console, transient=True, disable=hidden) as progress:
            task = progress.add_task(what, total=total)
            self.stage = what

            def tell(message: str) -> None:
                self.stage = f"{what}: {message}" if message else what
                progress.update(task, description=self.stage)

            def step(message: str) -> None:
                tell(message)
                progress.advance(task)

            with listening(_Stages(tell), logging.INFO):
                yield step
