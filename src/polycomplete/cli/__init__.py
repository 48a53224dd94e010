"""The command line. A new command is a file in ``commands``, named in its list."""

from __future__ import annotations

import sys

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
    try:
        from polycomplete.cli.app import run

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
