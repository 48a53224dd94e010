"""Compute the figures and tables of the paper anew, and put both side by side on a page.

Trials are stored as they finish: a run that was broken off goes on where it stood.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

try:
    from experiments.labels import CLASSIFIERS
    from experiments.page import write_page
    from experiments.paper import EXPERIMENTS
    from experiments.store import Store
    from experiments.trials import failures, run
except ImportError as error:
    sys.exit(f"{error}; install what the experiments need by pip install '.[reproduce]'")
from polycomplete.methods import METHODS


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser("python -m experiments", description=__doc__)
    add, known = parser.add_argument, ["all", "list", "page", *EXPERIMENTS]
    add("names", metavar="NAME", nargs="+", choices=known,
        help="experiments, or all; list names them, page shows anew what is stored")  # fmt: skip
    scale = parser.add_mutually_exclusive_group().add_argument
    scale("--quick", action="store_true", help="few trials and marked subsets (the default)")
    scale("--full", action="store_true", help="the paper's numbers of trials: days")
    add("--trials", metavar="N", type=int, help="N trials of every setting instead")
    add("--methods", metavar="A,B", type=lambda text: text.split(","),
        help="only these: names in polycomplete.methods, or polycomplete, the default")  # fmt: skip
    add("--jobs", metavar="N", type=int, default=1, help="trials at a time, one thread each")
    add("--out", metavar="DIR", type=Path, default=Path("out/reproduce"))
    args = parser.parse_args(words)
    methods = [*METHODS, *CLASSIFIERS]
    if unknown := {*(args.methods or [])} - {*methods}:
        parser.error(f"there is no method {min(unknown)!r}; there are {', '.join(methods)}")
    return args


def main(words: Sequence[str] | None = None) -> int:
    """Run what is asked for; return 1 if a trial failed."""
    args = parsed(words)
    if "list" in args.names:
        print("\n".join(f"{e.name:17}{e.place:36}{e.title}" for e in EXPERIMENTS.values()))
        return 0
    store = Store(args.out / "trials.jsonl")
    if "page" not in args.names:
        chosen = [e for e in EXPERIMENTS.values() if {e.name, "all"} & {*args.names}]
        run(chosen, store, not args.full, args.trials, args.methods, args.jobs)
        for name, reason in store.runs()[-1]["lacking"].items():
            print(f"{name} was not run: {reason}", file=sys.stderr)
    failed = failures(store)
    for failure in failed:
        print(f"failed: {failure}", file=sys.stderr)
    print(f"page: {write_page(store, EXPERIMENTS.values(), args.out)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
