"""``python -m polycomplete.experiments``: the same as ``polycomplete reproduce``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polycomplete.experiments.command import listing, perform
from polycomplete.experiments.reproduce import Plan

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and run; return the exit code."""
    parser = argparse.ArgumentParser(prog="polycomplete reproduce")
    parser.add_argument("names", nargs="+", help="experiments, 'all', or 'list'")
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", dest="scale", action="store_const", const="quick")
    scale.add_argument("--full", dest="scale", action="store_const", const="full")
    parser.add_argument("--trials", type=int)
    parser.add_argument("--methods", type=lambda text: text.split(","))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/reproduce"))
    parser.add_argument("--resume", action="store_true")
    given = vars(parser.parse_args(arguments))
    if given["names"] == ["list"]:
        sys.stdout.write(listing())
        return 0
    return perform(Plan(**{**given, "scale": given["scale"] or "quick"}), sys.stdout.write)


if __name__ == "__main__":
    raise SystemExit(main())
