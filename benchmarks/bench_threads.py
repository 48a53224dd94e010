"""Small problems and BLAS threads: seconds of one evaluation, one thread against the default.

Measured on a quiet machine and with other processes keeping its cores busy: a multi-threaded BLAS
then waits for threads that are not running. The library keeps to one thread below
``polycomplete._resources.SMALL`` rows.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.store import save
from polycomplete import RBF, Ramp, Schatten, datasets, masks
from polycomplete.solvers.problem import ExactProblem


def _burn() -> None:
    A = np.random.default_rng(0).standard_normal((300, 300))
    while True:
        A @ A


def seconds_per_step(n: int, threads: int | None) -> float:
    """Return the median time of an evaluation of value and gradient."""
    X = datasets.make_polynomial_manifold(n, random_state=0)
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    X = np.where(mask, X, 0)
    problem = ExactProblem(X, mask, RBF().resolve(X, mask), Schatten(-0.5, Ramp()))
    z, times = problem.pack(X), []
    with threadpool_limits(threads):
        for _ in range(15 if n < 500 else 5):
            begin = time.perf_counter()
            problem.value_and_gradient(z, 1e-6)
            times.append(time.perf_counter() - begin)
    return float(np.median(times))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    args = parser.parse_args()
    rows = []
    print(f"{'rows':>6}{'machine':>9}{'1 thread ms':>13}{'default ms':>12}{'ratio':>8}")
    for load in ("quiet", "busy"):
        others = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(
            os.cpu_count() if load == "busy" else 0)]  # fmt: skip
        for process in others:
            process.start()
        for n in (50, 100, 200, 400, 800, 1200):
            one, default = seconds_per_step(n, 1), seconds_per_step(n, None)
            rows.append({"n": n, "load": load, "one": one, "default": default})
            print(f"{n:6}{load:>9}{1e3 * one:13.2f}{1e3 * default:12.2f}{default / one:8.2f}")
        for process in others:
            process.kill()
    save(args.out / "threads.jsonl", rows)


if __name__ == "__main__":
    main()
