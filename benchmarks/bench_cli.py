"""The command line: seconds until it answers, and the memory of completing a large CSV file.

The table is drawn from a polynomial manifold, 20 columns, a fifth of the cells missing. Seconds of
start-up are the least of several runs, memory is the peak of the whole process (resident set).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.store import save
from polycomplete import datasets, masks

PROGRAM = Path(sys.executable).with_name("polycomplete")


def cost(*command: str | Path) -> tuple[float, float, float]:
    """Run a command; return wall seconds, CPU seconds and the peak of its memory in MB."""
    begin = time.perf_counter()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed with exit code {process.returncode}")
    wall = time.perf_counter() - begin
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def least(times: int, *command: str | Path) -> tuple[float, float]:
    """Return the least wall and CPU seconds of several runs."""
    walls, cpus, _ = zip(*(cost(*command) for _ in range(times)), strict=True)
    return min(walls), min(cpus)


def table(path: Path, n: int, m: int = 20) -> None:
    """Write a CSV file with a fifth of its cells missing."""
    X = datasets.make_polynomial_manifold(n, m, random_state=0)
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    with path.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(m)) + "\n")
        for row, seen in zip(X, mask, strict=True):
            file.write(",".join(f"{v:.6g}" if s else "" for v, s in zip(row, seen, strict=True)))
            file.write("\n")


def start_up() -> list[dict[str, float | str]]:
    """Measure how long it takes until something happens."""
    commands: dict[str, list[str | Path]] = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "polycomplete --help": [PROGRAM, "--help"],
        "polycomplete complete --help": [PROGRAM, "complete", "--help"],
        "import polycomplete": [sys.executable, "-c", "import polycomplete"],
        "import sklearn": [sys.executable, "-c", "import sklearn"],
        "from sklearn.impute import KNNImputer": [
            sys.executable, "-c", "from sklearn.impute import KNNImputer"],
        "from polycomplete import PMC": [sys.executable, "-c", "from polycomplete import PMC"],
    }  # fmt: skip
    rows: list[dict[str, float | str]] = []
    print(f"{'':40}{'wall s':>9}{'CPU s':>9}")
    for name, command in commands.items():
        wall, cpu = least(5, *command)
        rows.append({"command": name, "wall": wall, "cpu": cpu})
        print(f"{name:40}{wall:9.2f}{cpu:9.2f}")
    return rows


def large(sizes: list[int], method: str) -> list[dict[str, float | str]]:
    """Measure what completing files of these sizes takes."""
    rows: list[dict[str, float | str]] = []
    print(f"{'rows':>8}{'file MB':>9}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder) / f"{n}.csv"
            table(path, n)
            command = [PROGRAM, "complete", path, "--method", method, "--quiet"]
            wall, cpu, peak = cost(*command)
            size = path.stat().st_size / 1e6
            rows.append({"n": n, "method": method, "file_mb": size, "wall": wall, "cpu": cpu,
                         "peak_mb": peak})  # fmt: skip
            print(f"{n:8}{size:9.1f}{wall:9.1f}{cpu:9.1f}{peak:9.0f}")
    return rows


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--rows", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--method", default="pmc-w")
    args = parser.parse_args()
    rows = start_up()
    save(args.out / "cli.jsonl", rows + large(args.rows, args.method))


if __name__ == "__main__":
    main()
