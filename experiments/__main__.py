"""``python -m experiments``: the figures and tables of the paper."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments import EXPERIMENTS, Plan, listing, reproduce
from experiments.experiment import Scale


def main() -> int:
    """Run what is asked for; return 1 where a trial failed."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"{', '.join(EXPERIMENTS)}, all; "
                        "list shows them")  # fmt: skip
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", action="store_true", help="few trials, marked subsets (default)")
    scale.add_argument("--full", action="store_true", help="the paper's numbers of trials")
    parser.add_argument("--trials", type=int, help="this number of every setting instead")
    parser.add_argument("--methods", help="only these, separated by commas")
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time, one thread each")
    parser.add_argument("--out", type=Path, default=Path("out/reproduce"))
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    if args.names == ["list"]:
        print(listing())
        return 0
    methods = args.methods.split(",") if args.methods else None
    scale_name: Scale = "full" if args.full else "quick"
    plan = Plan(args.names, scale_name, args.trials, methods, args.jobs, args.out, args.resume)
    outcome = reproduce(plan)
    for name, reason in outcome.without_data.items():
        print(f"{name} was not run: {reason}", file=sys.stderr)
    for failure in outcome.failures:
        print(f"failed: {failure}", file=sys.stderr)
    print(f"page: {outcome.page}")
    return bool(outcome.failures)


if __name__ == "__main__":
    sys.exit(main())
