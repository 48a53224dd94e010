"""How far a run is, and how long it will still take."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]

#: Seconds between two lines where the output is no terminal.
EVERY = 30.0


class Progress:
    """A line that tells how many trials are done and what is left.

    Parameters
    ----------
    total, done : int
        Trials in all, and how many were there before.
    stream : text file, optional
        Where to write, standard error by default.
    quiet : bool
        Write nothing.
    """

    def __init__(
        self, total: int, done: int = 0, stream: TextIO | None = None, quiet: bool = False
    ):
        self.total, self.before, self.count = total, done, done
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.began = time.monotonic()
        self.told = self.began
        self.live = self.stream.isatty()

    def step(self, what: str) -> None:
        """Count a trial that has finished."""
        self.count += 1
        if self.quiet:
            return
        now = time.monotonic()
        last = self.count == self.total
        if self.live:
            end = "\n" if last else ""
            self.stream.write(f"\r\x1b[2K{self.line(now)}  {what[:50]}{end}")
        elif last or now - self.told >= EVERY:
            self.told = now
            self.stream.write(f"{self.line(now)}\n")
        self.stream.flush()

    def line(self, now: float) -> str:
        """Return the state in words."""
        spent = now - self.began
        left = spent / max(self.count - self.before, 1) * (self.total - self.count)
        return f"{self.count}/{self.total} trials, {duration(spent)} so far, {duration(left)} left"


def duration(seconds: float) -> str:
    """Return seconds as a person says them."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
