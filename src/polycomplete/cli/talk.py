"""What a command says: results on standard output, everything else on standard error."""

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

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from polycomplete.files.whole import STANDARD_OUTPUT, naming_file

#: Tables that go into a file or a pipe are not cut to the usual 80 letters.
WIDE = 120
Step = Callable[[str], None]


class _Stages(logging.Handler):
    """Hands the messages of the library on."""

    def __init__(self, tell: Callable[[str], None]):
        super().__init__(logging.INFO)
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self.tell(record.getMessage())


def _dumped(plain: dict[str, Any], encoding: str | None) -> str:
    """Return JSON, with letters that an encoding lacks written as numbers."""
    text = json.dumps(plain, ensure_ascii=False, indent=1)
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=1)
    return text


@dataclass
class Talk:
    """What is said, where, and how much of it.

    Attributes
    ----------
    quiet : bool
        Neither notes nor progress.
    json : bool
        The result as JSON.
    debug : bool
        Errors with all that Python knows of them.
    notes : list of str
        What was noted.
    written : dict
        From what was written to the name of its file.
    stage : str
        What is being done.

    Examples
    --------
    >>> talk = Talk(quiet=True)
    >>> talk.note("column 'a' is empty")
    >>> talk.notes
    ["column 'a' is empty"]
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
            return
        for line in (
            sentence,
            *(f"{what.capitalize()}: {path}" for what, path in self.written.items()),
        ):
            if not self.quiet:
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

    def result(self, summary: dict[str, Any], *renderings: Any) -> None:
        """Show a result: as JSON, or as something for people to read."""
        with naming_file(STANDARD_OUTPUT):
            self._show(summary, *renderings)
            sys.stdout.flush()

    def _show(self, summary: dict[str, Any], *renderings: Any) -> None:
        if self.json:
            plain = summary | {"seconds": round(self.seconds, 3), "notes": self.notes}
            sys.stdout.write(_dumped(plain, sys.stdout.encoding) + "\n")
            return
        # What stands in square brackets or between colons is somebody's data, not markup.
        width = None if sys.stdout.isatty() else WIDE
        console = Console(width=width, highlight=False, markup=False, emoji=False)
        for rendering in renderings:
            # A line stays one, so that a command in it can be pasted.
            console.print(rendering, soft_wrap=isinstance(rendering, str))

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Step]:
        """Show that something goes on, how far it is, and how long it will take if that is known.

        Gives a function to be called after each of the steps with what comes next.
        """
        self.stage = what
        if self.quiet or not sys.stderr.isatty():
            with self._listening(self._keep(what)):
                yield self._keep(what)
            return
        known = [] if total is None else [BarColumn(), TimeRemainingColumn()]
        text = TextColumn("{task.description}", markup=False)  # what it says may be anybody's data
        columns = [SpinnerColumn(), text, *known, TimeElapsedColumn()]
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(what, total=total)
            keep = self._keep(what)

            def describe(message: str) -> None:
                keep(message)
                progress.update(task, description=self.stage)

            def step(message: str) -> None:
                describe(message)
                progress.advance(task)

            with self._listening(describe):
                yield step

    def _keep(self, what: str) -> Step:
        def keep(message: str) -> None:
            self.stage = f"{what}: {message}" if message else what

        return keep

    @contextmanager
    def _listening(self, tell: Step) -> Iterator[None]:
        """Follow what the library says of its progress."""
        logger = logging.getLogger("polycomplete")
        handler, level = _Stages(tell), logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
