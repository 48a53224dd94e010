"""Table 1 of the paper: classification with missing features, all rows, beside the printed errors.

Quick: three trials of our default and of fast peers on all rows, one trial of every method on 300
rows. Full: twenty trials of each, the methods that need the cube of the rows on 1000 rows; a broken
run goes on where it was. Needs the paper's datasets (POLYCOMPLETE_DATA).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from experiments.labels import LOADERS
from experiments.methods import OURS
from experiments.paper import EXPERIMENTS
from experiments.store import Store
from experiments.trials import failures, results_of, run

FAST = [
    *("SVM (authors)", "lrmc-authors", "LRMC+SVM (authors)", "SVM", "lrmc", "LRMC+SVM"),
    *("imputed + boosted", "boosted trees", OURS),
]
SMALL = ("Mice protein", "Dermatology")
CALIBRATED = 0.05  # expected calibration error on the small tables


def grids(tables: list[str], subsets: bool) -> list[dict]:
    """Return all rows for the fast ones, and a subset for all methods unless not wanted."""
    where = {"data": tables, "theta": [0.1, 0.5]}
    whole = {**where, "rows": 0, "trials": {"quick": 3, "full": 20}, "methods": FAST}
    some = [
        {**where, "rows": 300, "trials": {"quick": 1}},
        {**where, "rows": 1000, "trials": {"full": 20}},
    ]
    return [whole, *(some if subsets else [])]


def print_ours(results: pd.DataFrame, tables: list[str]) -> None:
    """Print how far our probabilities can be trusted, and the time."""
    ours = results[(results["method"] == OURS) & (results["rows"] == 0)]
    means = ours.groupby(["data", "theta"])[["calibration", "seconds"]].mean()
    for data in [each for each in SMALL if each in tables]:
        errors = means.loc[data, "calibration"]
        shown = ", ".join(f"{error:.3f}" for error in errors)
        held = "ok" if errors.max() < CALIBRATED else "MISSED"
        print(f"expected calibration error, {data}: {shown}  (below {CALIBRATED}) {held}")
    for data in tables:
        print(f"CPU seconds of one trial, {data}: {means.loc[data, 'seconds'].max():.0f}")


def main() -> int:
    """Run what is missing, print the table and what holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/table1"))
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time, one thread each")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--trials", type=int, help="this number of every setting instead")
    parser.add_argument("--methods", nargs="+", help="only these rows")
    parser.add_argument("--data", nargs="+", choices=LOADERS, default=list(LOADERS))
    parser.add_argument("--whole", action="store_true", help="no subsets for the slow methods")
    args = parser.parse_args()
    table1 = replace(EXPERIMENTS["table1"], grids=grids(args.data, not args.whole))
    store = Store(args.out / "trials.jsonl")
    run([table1], store, not args.full, args.trials, args.methods, args.jobs)
    for reason in store.runs()[-1]["lacking"].values():
        sys.exit(reason)
    results = results_of(store, table1.family)
    report = table1.report(results)
    print(report.tables[0].markdown())
    print(*(verdict.sentence for verdict in report.verdicts if verdict.kind == "beyond"))
    if args.methods is None or OURS in args.methods:
        print_ours(results, args.data)
    print("\n".join(failures(store)))
    return bool(failures(store))


if __name__ == "__main__":
    sys.exit(main())
