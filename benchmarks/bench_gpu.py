"""What a GPU is worth: the same answer, growth to ten million rows, time by stage, memory.

The paper's synthetic data (m = 20, d = 2), half of the entries missing, float64, from host memory
to host memory. Everything is run once before it is timed. Operations of a step are counted as in
bench_scale.py and compared with the matrix product of the same card.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.bench_scale import DETERMINED, instance
from experiments.store import save
from polycomplete import PMC, AdamPlus, Landmark, metrics
from polycomplete._devices import any_gpu, find_device
from polycomplete._resources import Resources
from polycomplete.rows import Holes
from polycomplete.rows.posterior import STEPS

PARTS = ("same", "growth", "stages", "memory", "exact")
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)


class Watch:
    """Seconds and memory of the card."""

    def __init__(self) -> None:
        import torch

        self.cuda, self.torch = torch.cuda, torch
        self.name = torch.cuda.get_device_name()

    def seconds(self, call: Callable[[], Any], times: int = 1) -> tuple[Any, float]:
        """Return the value of a call, and its seconds with everything queued done: the median."""
        found = []
        for _ in range(times):
            self.cuda.synchronize()
            begin = time.perf_counter()
            value = call()
            self.cuda.synchronize()
            found.append(time.perf_counter() - begin)
        return value, median(found)

    def tflops(self, n: int = 8192) -> float:
        """Return the rate of the matrix product in float64."""
        A = self.torch.randn(n, n, dtype=self.torch.float64, device="cuda")
        return 2 * n**3 / self.seconds(lambda: A @ A, 5)[1] / 1e12


def same_answer() -> dict:
    """Complete by a frozen model on CPU and GPU, and fit on both."""
    X, given, mask = instance(100_000)
    known = mask.sum(axis=1) >= DETERMINED
    cpu = PMC(solver=Landmark(), device="cpu", random_state=0).fit(given[:3000])
    gpu = PMC(solver=Landmark(), device="cuda", random_state=0).fit(given[:3000])
    frozen = [
        replace(cpu.model_, resources=Resources(device=name)).complete(given, mask)
        for name in ("cpu", "cuda")
    ]
    sure = known & frozen[0].determined
    size = np.linalg.norm(frozen[0].rows[sure], axis=1)
    far = np.linalg.norm((frozen[1].rows - frozen[0].rows)[sure], axis=1) / size
    shares = [
        metrics.recovered_share(X, each.transform(given), mask, min_observed=DETERMINED)
        for each in (cpu, gpu)
    ]
    print(f"frozen model, {sure.sum()} determined rows: GPU and CPU differ by {np.median(far):.1e} "
          f"in the median row, above 1e-6 in {np.mean(far > 1e-6):.2%} (target: none)")  # fmt: skip
    print(
        f"whole fits: recovered {shares[0]:.4%} by CPU, {shares[1]:.4%} by GPU (target: .1 point)"
    )
    return {"median": float(np.median(far)), "above": float(np.mean(far > 1e-6)), "shares": shares}


def growth(watch: Watch, sizes: tuple[int, ...]) -> list[dict]:
    """Fit and complete more and more rows, by the GPU and, while it is quick, by the CPU."""
    rows = []
    print(f"{'n':>9}{'CPU s':>8}{'GPU s':>8}{'us a row':>10}{'card GB':>9}{'recovered':>11}")
    for n in sizes:
        X, given, mask = instance(n)
        watch.cuda.reset_peak_memory_stats()
        pmc = PMC(solver=Landmark(), device="cuda", random_state=0)
        completed, seconds = watch.seconds(lambda p=pmc, g=given: p.fit_transform(g))
        peak = watch.cuda.max_memory_allocated() / 1e9
        share = metrics.recovered_share(X, completed, mask, min_observed=DETERMINED)
        host = float("nan")
        if n <= 300_000:
            slow = PMC(solver=Landmark(), device="cpu", random_state=0)
            host = watch.seconds(lambda p=slow, g=given: p.fit_transform(g))[1]
        rows.append({"n": n, "cpu": host, "gpu": seconds, "gb": peak, "share": share})
        print(f"{n:9}{host:8.1f}{seconds:8.1f}{1e6 * seconds / n:10.2f}{peak:9.1f}{share:11.5f}",
              flush=True)  # fmt: skip
    logs = np.log([[row["n"], row["gpu"]] for row in rows])
    b = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    last = rows[-1]
    print(f"seconds grow as n^{b:.2f} (target 1.05); {last['n']} rows in {last['gpu']:.1f} s "
          f"(target 20), recovered {last['share']:.5f} (target .99)")  # fmt: skip
    return rows


def stages(watch: Watch, tflops: float) -> dict:
    """Time the parts of completing a million rows by a frozen model."""
    _, given, mask = instance(1_000_000)
    pmc = PMC(solver=Landmark(), device="cuda", random_state=0).fit(given[:100_000])
    place = find_device("cuda")
    model, found, flops = pmc.model_.on(place), {}, 0
    clean = np.where(mask, given, 0.0)
    (X, seen), found["to the card"] = watch.seconds(lambda: (place.put(clean), place.put(mask)), 3)
    X = model.scaler.apply_observed(X, seen)
    posterior = model.posterior
    minima, found["minima"] = watch.seconds(lambda: posterior.minima(X, seen), 3)
    found["mixture"] = watch.seconds(lambda: posterior.read(minima, seen), 3)[1]
    found["to the host"] = watch.seconds(lambda: (place.get(X), place.get(X)), 3)[1]
    r, q = posterior.energy.factor.shape
    for g, k in (block.padding.shape for block in Holes(seen, posterior.packing).blocks):
        flops += (
            sum(STEPS[:1]) * g * (2 * r * q * k + 2 * q * k**2 + 4 * r * q + 4 * r * X.shape[1])
        )
    whole = watch.seconds(lambda: pmc.model_.complete(clean, mask), 3)[1]
    for name, seconds in found.items():
        print(f"  {name:16} {seconds:6.3f} s a million rows")
    print(f"  {'all, overlapped':16} {whole:6.3f} s, restarts included")
    share = flops / found["minima"] / 1e12 / tflops
    print(f"  steps: {flops / 1e12:.2f} TFLOP, {share:.0%} of the matrix product's rate")
    return found | {"whole": whole, "flops": flops, "share": share}


def bounded(watch: Watch) -> dict:
    """Complete with little memory of the card."""
    _, given, _ = instance(1_000_000)
    most = 2e9
    pmc = PMC(solver=Landmark(max_memory=most), device="cuda", random_state=0)
    watch.cuda.empty_cache()
    watch.cuda.reset_peak_memory_stats()
    seconds = watch.seconds(lambda: pmc.fit_transform(given))[1]
    peak = watch.cuda.max_memory_allocated()
    print(f"max_memory={most:.0e}: {peak / 1e9:.2f} GB of the card, {seconds:.1f} s for a million")
    return {"most": most, "peak": peak, "seconds": seconds}


def exact(watch: Watch, n: int = 8000) -> dict:
    """Take 100 iterations of the exact problem."""
    _, given, _ = instance(n)
    solver = AdamPlus(max_iter=100, tol=1e-300)
    problem = {"kernel__multiple": 3.0, "scale": "sqrt", "smoothing": 1e-3}

    def run() -> PMC:
        pmc = PMC(solver=solver, device="cuda", random_state=0)
        return pmc.set_params(**problem).fit(given)

    fitted, seconds = watch.seconds(run)
    print(f"exact problem, n = {n}: {fitted.n_iter_} iterations in {seconds:.0f} s (target 120)")
    return {"n": n, "iterations": fitted.n_iter_, "seconds": seconds}


def main() -> None:
    """Print the lines, with their targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument(
        "--parts", nargs="+", default=["same", "growth", "stages", "memory", "exact"]
    )
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    args = parser.parse_args()
    if any_gpu() is None:
        parser.error("this needs a GPU and a build of PyTorch for it.")
    watch = Watch()
    tflops = watch.tflops()
    print(f"{watch.name}: matrix product in float64 at {tflops:.1f} TFLOP/s")
    PMC(solver=Landmark(), device="cuda", random_state=0).fit(instance(60_000)[1])  # warm-up
    parts: dict[str, Callable[[], Any]] = {
        "same": same_answer,
        "growth": lambda: growth(watch, tuple(args.sizes)),
        "stages": lambda: stages(watch, tflops),
        "memory": lambda: bounded(watch),
        "exact": lambda: exact(watch),
    }
    found = {name: parts[name]() for name in args.parts}
    save(args.out / "gpu.jsonl", [found | {"card": watch.name, "tflops": tflops}])


if __name__ == "__main__":
    main()
