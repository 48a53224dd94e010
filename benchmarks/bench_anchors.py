"""Our defaults against the authors' own code on the same instances, cell by cell.

A cell is a family and a setting (single manifold n, ρ; k manifolds, ρ); its error is the mean over
its instances. Each cell is compared with the *best* of the authors' PMC-S, PMC-W and NLMC, and our
CPU seconds (one BLAS thread) with the sum of the three, carried over to this machine by the time of
a reference eigendecomposition.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from machine import REFERENCE_EIGH, eigh_seconds, measure, store
from threadpoolctl import threadpool_limits

from polycomplete import NLMC, PMC, AdamPlus, masks, metrics

HERE = Path(__file__).resolve().parent / "anchors"
sys.path.insert(0, str(HERE))
from make_instances import instances  # noqa: E402

AUTHORS = ("PMC-S", "PMC-W", "NLMC")
METHODS = {
    "PMC": lambda: PMC(random_state=0),
    "PMC-S": lambda: PMC(variant="S", random_state=0),
    "NLMC": lambda: NLMC(random_state=0),
    # The paper's own algorithm and settings: Adam+, p = ½, γ = 1e-6, zero start, data as they are.
    "paper-PMC-W": lambda: PMC(solver=AdamPlus(), scale=None),
    "paper-NLMC": lambda: NLMC(solver=AdamPlus(), scale=None),
}


def authors() -> dict[str, dict[str, tuple[float, float]]]:
    """Return error and seconds of the authors' three methods, by instance."""
    found: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    with (HERE / "results.csv").open() as file:
        for row in csv.DictReader(file):
            if row["method"] in AUTHORS and row["instance"][0] in "ab":
                found[row["instance"]][row["method"]] = (
                    float(row["error"]),
                    float(row["cpu_seconds"]),
                )
    return {name: runs for name, runs in found.items() if len(runs) == len(AUTHORS)}


def run(method: str, limit: int | None) -> list[dict]:
    """Complete every instance the authors' code was run on."""
    theirs, rows = authors(), []
    for name, X, mask, _ in instances("ab"):
        if name not in theirs or (limit is not None and len(rows) >= limit):
            continue
        given = masks.apply(X, mask)
        ours = measure(lambda given=given: METHODS[method]().fit_transform(given))
        row = {"instance": name, "cell": name.rsplit("_s", 1)[0]}
        row["error"] = metrics.rse(X, ours.value, mask)
        row["seconds"] = ours.cpu
        row |= {f"{key} error": value[0] for key, value in theirs[name].items()}
        row["their seconds"] = sum(value[1] for value in theirs[name].values())
        rows.append(row)
        print(f"  {name:22} {row['error']:.5f}  {row['seconds']:.2f} s", file=sys.stderr)
    return rows


def report(rows: list[dict]) -> None:
    """Print the cells, the geometric mean and the cells won."""
    scale = eigh_seconds() / REFERENCE_EIGH
    cells: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        cells[row["cell"]].append(row)
    print(f"{'cell':15}{'ours':>9}{'PMC-S':>9}{'PMC-W':>9}{'NLMC':>9}{'ratio':>8}"
          f"{'our s':>9}{'their s':>9}")  # fmt: skip
    ratios = []
    for cell, group in sorted(cells.items()):
        ours = np.mean([row["error"] for row in group])
        best = [np.mean([row[f"{name} error"] for row in group]) for name in AUTHORS]
        seconds = sum(row["seconds"] for row in group)
        theirs = scale * sum(row["their seconds"] for row in group)
        ratios.append(ours / min(best))
        print(f"{cell:15}{ours:9.5f}{best[0]:9.4f}{best[1]:9.4f}{best[2]:9.4f}{ratios[-1]:8.3f}"
              f"{seconds:9.2f}{theirs:9.2f}")  # fmt: skip
    ours, theirs = (sum(row[key] for row in rows) for key in ("seconds", "their seconds"))
    won = sum(ratio < 1 for ratio in ratios)
    print(f"CPU seconds: ours {ours:.0f}, the three together {scale * theirs:.0f} "
          f"(this machine takes {scale:.2f} times the reference's seconds)")  # fmt: skip
    print(f"worst ratio: {max(ratios):.3f}")
    print(f"geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.3f}")
    print(f"cells won: {won}/{len(ratios)}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--method", choices=METHODS, default="PMC")
    parser.add_argument("--limit", type=int, help="stop after so many instances")
    args = parser.parse_args()
    with threadpool_limits(1):
        rows = run(args.method, args.limit)
    report(rows)
    store(args.out, f"anchors-{args.method}", rows)


if __name__ == "__main__":
    main()
