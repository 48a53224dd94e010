"""Dask on one machine: a folder of Parquet files completed by one and by two worker processes.

The paper's synthetic data (m = 20, d = 2), half of the entries missing. The whole job is timed:
choosing the rows to learn from on the workers, learning in this process, completing on the
workers, file to file. Memory is the peak of a worker beyond what it takes with everything imported
and beyond one file of rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.store import save
from polycomplete import PMC, datasets, masks, metrics
from polycomplete.dask import complete_parquet, connected

DETERMINED = 4
NAMES = [f"x{j}" for j in range(20)]


def write(folder: Path, X: np.ndarray, n_files: int) -> None:
    """Punch holes into the rows and write them into a folder of files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, part in enumerate(np.array_split(X, n_files)):
        mask = masks.uniform(part.shape, 0.5, random_state=number)
        frame = pd.DataFrame(masks.apply(part, mask), columns=NAMES)
        frame.to_parquet(folder / f"part.{number:04d}.parquet")


def memory(entry: str) -> float:
    """Return what this process takes now (VmRSS) or took at most (VmHWM), in MB."""
    import polycomplete.landmarks  # noqa: F401  what a worker needs anyway

    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(entry))) / 1e3


def job(source: Path, target: Path, workers: int) -> dict:
    """Run the whole job; return seconds and the memory of the worker that took most."""
    shutil.rmtree(target, ignore_errors=True)
    with connected(workers) as client:
        before = client.run(memory, "VmRSS")
        begin = time.perf_counter()
        complete_parquet(source, target, PMC(random_state=0))
        seconds = time.perf_counter() - begin
        after = client.run(memory, "VmHWM")
        beyond = max(after[name] - before[name] for name in after)
    return {"workers": workers, "seconds": seconds, "mb": beyond}


def recovered(X: np.ndarray, source: Path, target: Path) -> float:
    """Return the share of determined rows that came back."""
    files = sorted(source.glob("*.parquet"))
    shares, counts = [], []
    for number, (part, path) in enumerate(zip(np.array_split(X, len(files)), files, strict=True)):
        mask = pd.read_parquet(path).notna().to_numpy()
        found = pd.read_parquet(target / f"part-{number:05d}.parquet").to_numpy()
        shares.append(metrics.recovered_share(part, found, mask, min_observed=DETERMINED))
        counts.append(len(part))
    return float(np.average(shares, weights=counts))


def same(one: Path, two: Path) -> bool:
    """Return whether two folders hold the same files."""
    paths = sorted(one.glob("*.parquet"))
    return all(path.read_bytes() == (two / path.name).read_bytes() for path in paths)


def verdict(holds: bool) -> str:
    """Return a word."""
    return "holds" if holds else "MISSED"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=50)
    args = parser.parse_args()
    folder = args.out / "dask"
    X = datasets.make_polynomial_manifold(args.rows, 20, random_state=0)
    write(folder / "source", X, args.files)
    partition = X.nbytes / args.files / 1e6
    print(f"{args.rows} x 20 rows in {args.files} files of {partition:.0f} MB, "
          f"{os.cpu_count()} cores")  # fmt: skip
    rows = []
    for workers in (1, 2):
        row = job(folder / "source", folder / f"by{workers}", workers)
        row["mb"] -= partition
        rows.append(row)
        print(f"{workers} workers: {row['seconds']:.1f} s, {1e6 * row['seconds'] / args.rows:.1f} "
              f"us a row; {row['mb']:.0f} MB a worker beyond its partition "
              f"(target 1000: {verdict(row['mb'] < 1000)})")  # fmt: skip
    efficiency = rows[0]["seconds"] / (2 * rows[1]["seconds"])
    share = recovered(X, folder / "source", folder / "by2")
    print(f"2 workers against 1: efficiency {efficiency:.2f} "
          f"(target .80: {verdict(efficiency >= 0.8)})")  # fmt: skip
    print(f"determined rows recovered {share:.4f} (target .99: {verdict(share >= 0.99)})")
    alike = same(folder / "by1", folder / "by2")
    print(f"the same files from 1 and 2 workers: {'yes' if alike else 'NO'}")
    rows.append({"efficiency": efficiency, "share": share, "same": alike, "rows": args.rows})
    save(args.out / "dask.jsonl", rows)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
