"""Table 1 of the paper: classification with missing features, all rows, beside the printed errors.

Quick: three trials of our default and of fast peers on all rows, one trial of every method on 300
rows. Full: twenty trials of each, the methods that need the cube of the rows on 1000 rows; a broken
run goes on where it was. Needs the paper's datasets (POLYCOMPLETE_DATA).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments import Plan, reproduce
from experiments.experiment import Cell
from experiments.families.labels import LABELS, LOADERS
from experiments.paper.table1 import EXPERIMENT, FAST, SMALL, THETAS, ours, table
from experiments.results import Results
from experiments.rows import OURS
from experiments.store import Store

CALIBRATED = 0.05  # expected calibration error on the small tables


def cells(scale: str, tables: list[str], subsets: bool) -> list[Cell]:
    """Return all rows for the fast ones, and a subset for all methods unless not wanted."""
    fast, every, subset = (3, 1, 300) if scale == "quick" else (20, 20, 1000)
    settings = [{"data": data, "theta": theta} for data in tables for theta in THETAS]
    whole = [Cell({**setting, "rows": 0}, fast, FAST) for setting in settings]
    return whole + [Cell({**setting, "rows": subset}, every) for setting in settings if subsets]


def print_ours(results: Results, tables: list[str]) -> None:
    """Print how far our probabilities can be trusted, and the time."""
    for data in [each for each in SMALL if each in tables]:
        errors = [results.mean("calibration", OURS, data=data, theta=t, rows=0) for t in THETAS]
        shown = ", ".join(f"{error:.3f}" for error in errors)
        held = "ok" if max(errors) < CALIBRATED else "MISSED"
        print(f"expected calibration error, {data}: {shown}  (below {CALIBRATED}) {held}")
    for data in tables:
        seconds = max(results.mean("seconds", OURS, data=data, theta=t, rows=0) for t in THETAS)
        print(f"CPU seconds of one trial, {data}: {seconds:.0f}")


def main() -> int:
    """Run what is missing, print the table and what holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/table1"))
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time, one thread each")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--trials", type=int, help="so many of every setting instead")
    parser.add_argument("--methods", nargs="+", help="only these rows")
    parser.add_argument("--data", nargs="+", choices=LOADERS, default=list(LOADERS))
    parser.add_argument("--whole", action="store_true", help="no subsets for the slow methods")
    args = parser.parse_args()
    plan = Plan(
        names=["table1"],
        scale="full" if args.full else "quick",
        trials=args.trials,
        methods=args.methods,
        jobs=args.jobs,
        out=args.out,
        resume=True,
    )
    wanted = partial(cells, tables=args.data, subsets=not args.whole)
    outcome = reproduce(plan, {"table1": replace(EXPERIMENT, cells=wanted)})
    if outcome.without_data:
        sys.exit(outcome.without_data["table1"])
    results = Store(args.out / "trials.sqlite").results(LABELS)
    print(table(results).markdown())
    print(ours(results).sentence)
    if args.methods is None or OURS in args.methods:
        print_ours(results, args.data)
    print("\n".join(outcome.failures))
    return bool(outcome.failures)


if __name__ == "__main__":
    sys.exit(main())
