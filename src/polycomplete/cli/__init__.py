"""The command line. A new command is a file in ``commands``, named in its list."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 130


def main() -> None:
    """Run the command line; end the process with one of the exit codes of the manual.

    Returns
    -------
    None

    Examples
    --------
    >>> import subprocess, sys
    >>> command = [sys.executable, "-c", "from polycomplete.cli import main; main()", "--version"]
    >>> subprocess.run(command, capture_output=True, text=True).stdout.split()[0]
    'polycomplete'
    """
    _ready_streams()
    try:
        from polycomplete.cli.app import run

        with _stoppable():
            run()
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
        raise SystemExit(INTERRUPTED) from None


def _ready_streams() -> None:
    """Put something in the place of closed streams; replace letters that standard output lacks."""
    for name, mode, flag in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),  # a result that cannot be written is an error
        ("stderr", "w", os.O_WRONLY),
    ):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flag), mode, closefd=False))
        elif getattr(stream, "errors", "") == "strict" and name == "stdout":
            stream.reconfigure(errors="replace")


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let a program that is told to end do so as after an error: without leaving files behind."""

    def stop(number: int, _: object) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # the second time at once
        raise SystemExit(128 + number)

    known = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    before = {one: signal.getsignal(one) for one in known if one is not None}
    # Who ignores a signal, as nohup does, means it.
    heard = [one for one, handler in before.items() if handler == signal.SIG_DFL]
    if current_thread() is not main_thread():
        heard = []
    for one in heard:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one in heard:
            signal.signal(one, before[one])
