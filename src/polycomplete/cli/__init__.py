"""The entry point of the command line. The commands are in ``commands``."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from polycomplete._optional import need


def main() -> None:
    """Run the command line; end the process with one of the exit codes of the manual."""
    _prepare_streams()
    try:
        for library in ("typer", "rich"):
            need(library, "cli", "The command line")
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(1) from None
    try:
        from polycomplete.cli.app import app

        _end_on_signals()
        app()
    except KeyboardInterrupt:  # before or after a command
        raise SystemExit(128 + signal.SIGINT) from None


def _prepare_streams() -> None:
    """Replace closed streams by the null device, and characters that standard output lacks."""
    # Writing a result to a closed standard output must be an error: it is open for reading only.
    for name, flag in ("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(os.open(os.devnull, flag), mode, closefd=False))
    if getattr(sys.stdout, "errors", "") == "strict":
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


def _end_on_signals() -> None:
    """End on SIGTERM and SIGHUP as on an error, so that no temporary files stay behind."""

    def stop(number: int, _: object) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A signal that is ignored, as under nohup, stays ignored.
        if number and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, stop)
