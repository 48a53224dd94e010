"""The entry point of the command line. The commands are in ``commands``."""

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
    _prepare_streams()
    try:
        from polycomplete.cli.app import app

        with _cleaning_up_on_signals():
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


@contextmanager
def _cleaning_up_on_signals() -> Iterator[None]:
    """End on SIGTERM and SIGHUP as on an error, so that no temporary files stay behind."""

    def stop(number: int, _: object) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
        raise SystemExit(128 + number)

    numbers = []
    if current_thread() is main_thread():
        known = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
        # A signal that is ignored, as under nohup, stays ignored.
        numbers = [one for one in known if one and signal.getsignal(one) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
