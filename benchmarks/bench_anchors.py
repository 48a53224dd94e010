"""Every method against its authors' own code on the same instances: error and CPU seconds.

Families: a one polynomial manifold, b several, c motion capture, d hidden labels, e feature
trajectories. An instance counts for a method where the authors' code was run on it. Seconds are CPU
seconds on one BLAS thread; theirs are carried over to this machine by the time of a reference
eigendecomposition. Families c, d and e need the paper's datasets (POLYCOMPLETE_DATA).
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import experiments.published  # noqa: F401  (adds rivals' published algorithms to the registry)
from experiments.authors import lowest_counts
from experiments.machine import REFERENCE_EIGH, eigh_seconds, measure
from experiments.store import benchmark_store
from polycomplete import masks, methods, metrics

HERE = Path(__file__).resolve().parent / "anchors"
sys.path.insert(0, str(HERE))
from make_instances import instances  # noqa: E402

#: Ours by the name of the registry, and the authors' runs with which it is compared; where there
#: are several (sizes of a dictionary, ranks), with the best of them on each instance.
COMPARED = {
    "pmc-w": ["PMC-W"],
    "pmc-w-paper": ["PMC-W"],
    "pmc-w2-paper": ["PMC-W"],
    "pmc-w-authors": ["PMC-W"],
    "pmc-s": ["PMC-S"],
    "pmc-s-paper": ["PMC-S"],
    "pmc-s-authors": ["PMC-S"],
    "nlmc": ["NLMC"],
    "nlmc-paper": ["NLMC"],
    "nlmc-authors": ["NLMC"],
    "vmc-2": ["VMC-2"],
    "vmc-2-paper": ["VMC-2"],
    "vmc-3": ["VMC-3", "VMC-3c1"],
    "vmc-3-paper": ["VMC-3c1"],
    "vmc-3-authors": ["VMC-3"],
    "kfmc": ["KFMC-rbf-30", "KFMC-rbf-60", "KFMC-rbf-100"],
    "kfmc-paper": ["KFMC-rbf-30", "KFMC-rbf-60", "KFMC-rbf-100"],
    "ladmc": ["LADMC", "LADMC-r10"],
    "ladmc-paper": ["LADMC-r10"],
    "srmc": ["SRMC"],
    "srmc-authors": ["SRMC"],
    "lrmc": ["LRMC"],
    "lrmc-paper": ["LRMC"],
    "lrmc-authors": ["LRMC"],
}
#: Against all three of these on a cell, the best of them counts.
THREE = ("PMC-S", "PMC-W", "NLMC")


def authors(runs: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return the lowest error of these runs and its seconds, by instance."""
    found: dict[str, tuple[float, float]] = {}
    with (HERE / "results.csv").open() as file:
        for row in csv.DictReader(file):
            if row["method"] in runs:
                run = float(row["error"]), float(row["cpu_seconds"])
                found[row["instance"]] = min(run, found.get(row["instance"], run))
    return found


def chosen(families: str) -> Iterator[tuple[str, np.ndarray, np.ndarray, dict[str, Any]]]:
    """Yield the instances of these families."""
    data = Path(os.environ.get("POLYCOMPLETE_DATA", "data"))
    if not data.is_dir() and set(families) & set("cde"):
        print(f"no folder {data}: families c, d and e are left out", file=sys.stderr)
        families = "".join(sorted(set(families) & set("ab")))
    yield from instances(families, data=data)


def error_of(
    family: str, X: np.ndarray, completed: np.ndarray, mask: np.ndarray, extra: dict[str, Any]
) -> float:
    """Return the error in the family's own measure."""
    if family == "d":
        guess = np.argmax(completed[extra["test"]][:, extra["n_features"] :], axis=1)
        return 100 * float(np.mean(guess != extra["labels"][extra["test"]]))
    measure_of = metrics.rae if family == "c" else metrics.rse
    return float(measure_of(X, completed, mask))


def one(method: str, name: str, X: np.ndarray, mask: np.ndarray, extra: dict[str, Any]) -> dict:
    """Complete one instance by one method."""
    family, theirs = name[0], authors(COMPARED[method])[name]
    # The label columns of d weigh what they weigh in the paper's protocol.
    params = {"scale": None} if family == "d" else {}
    completer = methods.get(method, random_state=0, **params)
    given = masks.apply(X, mask)
    with threadpool_limits(1):
        ours = measure(lambda: completer.fit_transform(given))
    error = error_of(family, X, ours.value, mask, extra)
    print(f"  {method:14} {name:26} {error:.5f}  {ours.cpu:.2f} s", file=sys.stderr, flush=True)
    return {"method": method, "family": family, "instance": name, "cell": name.rsplit("_s", 1)[0],
            "error": error, "seconds": ours.cpu,
            "their error": theirs[0], "their seconds": theirs[1]}  # fmt: skip


def report_methods(rows: list[dict], scale: float) -> None:
    """Print one line for each method and family, and the seconds of each method."""
    print(f"{'method':18}{'family':>7}{'runs':>5}{'authors':>10}{'ours':>10}{'ratio':>7}"
          f"{'their s':>9}{'our s':>9}")  # fmt: skip
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        for family in dict.fromkeys(row["family"] for row in own):
            group = [row for row in own if row["family"] == family]
            ours, theirs = (
                np.mean([row[key] for row in group]) for key in ("error", "their error")
            )
            print(f"{methods.METHODS[method].label:18}{family:>7}{len(group):5}{theirs:10.4f}"
                  f"{ours:10.4f}{ours / theirs:7.2f}{_seconds(group, scale)}")  # fmt: skip
        print(f"{'':18}{'all':>7}{len(own):5}{'':27}{_seconds(own, scale)}")


def _seconds(rows: list[dict], scale: float) -> str:
    """Show the authors' CPU seconds, carried over to this machine, and ours."""
    theirs, ours = (sum(row[key] for row in rows) for key in ("their seconds", "seconds"))
    return f"{scale * theirs:9.1f}{ours:9.1f}"


def report_cells(rows: list[dict], scale: float) -> None:
    """Print our PMC against the best of the authors' three on each cell of a, b and c."""
    three = {name: authors([name]) for name in THREE}
    cells: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        complete = all(row["instance"] in theirs for theirs in three.values())
        if row["method"] == "pmc-w" and row["family"] in "abc" and complete:
            cells[row["cell"]].append(row)
    if not cells:
        return
    print(f"\n{'cell':16}{'PMC':>9}{'PMC-S':>9}{'PMC-W':>9}{'NLMC':>9}{'ratio':>8}"
          f"{'our s':>9}{'their s':>9}")  # fmt: skip
    ratios, spent = [], np.zeros(2)
    for cell, group in sorted(cells.items()):
        ours = np.mean([row["error"] for row in group])
        runs = {name: [three[name][row["instance"]] for row in group] for name in THREE}
        best = [np.mean([run[0] for run in runs[name]]) for name in THREE]
        theirs = scale * sum(run[1] for name in THREE for run in runs[name])
        seconds = sum(row["seconds"] for row in group)
        ratios.append(ours / min(best))
        spent += seconds, theirs
        print(f"{cell:16}{ours:9.5f}{best[0]:9.4f}{best[1]:9.4f}{best[2]:9.4f}{ratios[-1]:8.3f}"
              f"{seconds:9.2f}{theirs:9.2f}")  # fmt: skip
    won = sum(ratio < 1 for ratio in ratios)
    print(f"CPU seconds: ours {spent[0]:.0f}, the three together {spent[1]:.0f}")
    print(f"worst ratio {max(ratios):.3f}, geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, "
          f"cells won {won}/{len(ratios)}")  # fmt: skip


def report_order() -> None:
    """Print in how many instances the authors' PMC-S or PMC-W is lowest among the authors' runs."""
    told = [f"{won} of {count} ({what})" for what, won, count, _ in lowest_counts()]
    print(f"by the authors' code PMC-S or PMC-W is lowest in {', '.join(told)} instances")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--methods", nargs="+", choices=COMPARED, default=list(COMPARED))
    parser.add_argument("--families", default="abcde")
    parser.add_argument("--without", help="leave out instances with this in their name")
    parser.add_argument("--jobs", type=int, default=1, help="instances at a time, one thread each")
    parser.add_argument("--order", action="store_true", help="only count the authors' own runs")
    parser.add_argument("--resume", action="store_true", help="keep the runs of a broken-off call")
    args = parser.parse_args()
    if args.order:
        report_order()
        return
    scale = eigh_seconds() / REFERENCE_EIGH
    known = {method: authors(COMPARED[method]) for method in args.methods}
    kept = benchmark_store(args.out / "anchors.jsonl", args.resume)
    ran = {(row["method"], row["instance"]) for row in kept.results()}
    tasks = (
        delayed(one)(method, *instance)
        for method in args.methods
        for instance in chosen(args.families)
        if instance[0] in known[method] and (method, instance[0]) not in ran
        if args.without is None or args.without not in instance[0]
    )
    for row in Parallel(n_jobs=args.jobs, return_as="generator_unordered")(tasks):
        kept.add(**row)
    rows = sorted(
        (row for row in kept.results()
         if row["method"] in args.methods and row["family"] in args.families),
        key=lambda row: (args.methods.index(row["method"]), row["instance"]),
    )  # fmt: skip
    print(f"this machine takes {scale:.2f} times the seconds of the authors' code's")
    report_methods(rows, scale)
    report_cells(rows, scale)
    print(f"results and machine facts in {kept.path}")


if __name__ == "__main__":
    main()
