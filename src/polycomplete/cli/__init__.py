"""The command line: its entry point. What the commands do is in ``commands``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import NoReturn


def main() -> None:
    """Run the command line; end the process with one of the exit codes of the manual."""
    _ready_streams()
    try:
        from polycomplete.cli.app import app

        with _stoppable():
            app()
    except ModuleNotFoundError as error:
        library = (error.name or "").split(".")[0]
        if library not in ("typer", "rich"):
            raise
        sys.stderr.write(
            f"The command line needs {library}; install it by "
            "python -m pip install 'polycomplete[cli]'.\n"
        )
        raise SystemExit(1) from None
    except KeyboardInterrupt:  # before or after a command: there is nothing to say
        raise SystemExit(128 + signal.SIGINT) from None


def _ready_streams() -> None:
    """Replace closed streams by the null device, and letters that standard output lacks."""
    for name, mode, flag in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),  # a result that cannot be written is an error
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flag), mode, closefd=False))
    if getattr(sys.stdout, "errors", "") == "strict":
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let a program that is told to end do so as after an error: without leaving files behind."""

    def stop(number: int, _: object) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # the second time at once
        raise SystemExit(128 + number)

    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Who ignores a signal, as nohup does, means it.
    heard = [number for number in known if signal.getsignal(number) == signal.SIG_DFL]
    if current_thread() is not main_thread():
        heard = []
    for number in heard:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)
