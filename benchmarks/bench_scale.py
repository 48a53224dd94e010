"""How the landmark solver grows: seconds and memory over n, arithmetic, new rows, peers.

The paper's synthetic data (m = 20, d = 2), half of the entries missing. Operations of a row with k
holes in one step, r landmarks and q directions: ``2 r q k`` for the derivatives, ``2 q k²`` for the
matrix of the row, ``2 r q`` for the energy before and ``2 r q`` after the step, ``4 r m`` for the
two kernel rows. Rates are compared with the matrix product of the same machine on one thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from threadpoolctl import threadpool_limits

from experiments.machine import gemm_gflops, measure
from experiments.store import save
from polycomplete import LRMC, PMC, RBF, Exact, Landmark, datasets, masks, metrics
from polycomplete.rows import Holes, RowEnergy, learn, settle
from polycomplete.rows.energy import PRODUCTS, slices
from polycomplete.rows.steps import ITERATIONS, propose

sys.path.insert(0, str(Path(__file__).resolve().parent / "anchors"))
from make_instances import instances

DETERMINED = 4
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def instance(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the truth, what is given, and the mask."""
    X = datasets.make_polynomial_manifold(n, 20, random_state=seed)
    mask = masks.uniform(X.shape, 0.5, random_state=seed)
    return X, masks.apply(X, mask), mask


def resident() -> float:
    """Return the memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def workers() -> float:
    """Return the most that the processes took which this one has started, in MB."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":\t", 1) for line in path.read_text().splitlines())
        except (OSError, ValueError):
            continue
        if lines.get("PPid") == str(os.getpid()):
            total += float(lines.get("VmHWM", "0 kB").split()[0]) / 1e3
    return total


def growth(sizes: tuple[int, ...]) -> list[dict]:
    """Fit and complete more and more rows."""
    rows = []
    print(f"{'n':>9}{'seconds':>9}{'us a row':>10}{'MB beyond':>11}{'recovered':>11}")
    for n in sizes:
        X, given, mask = instance(n)
        before = resident()
        begin = time.perf_counter()
        completed = PMC(solver=Landmark(), random_state=0).fit_transform(given)
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 - before + workers()
        share = metrics.recovered_share(X, completed, mask, min_observed=DETERMINED)
        rows.append({"n": n, "seconds": seconds, "mb": peak, "share": share})
        print(f"{n:9}{seconds:9.1f}{1e6 * seconds / n:10.1f}{peak:11.0f}{share:11.4f}")
    logs = np.log([[row["n"], row["seconds"]] for row in rows])
    b = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    worst, last = min(row["share"] for row in rows), rows[-1]
    print(f"seconds grow as n^{b:.2f} (target 1.05); recovered at least {worst:.4f} (target .99)")
    print(f"n = {last['n']}: {last['seconds']:.0f} s (target 180 on 2 cores), "
          f"{last['mb']:.0f} MB beyond the data and their copy (target 1000)")  # fmt: skip
    return rows


def arithmetic() -> dict:
    """Return the rates of the row solver's products and of a whole step, as shares of dgemm."""
    X, given, mask = instance(20_000)
    pmc = PMC(solver=Landmark(), n_jobs=1, random_state=0).fit(given)
    energy = pmc.model_.posterior.energy
    r, q = energy.factor.shape
    rows = pmc.model_.scaler.apply(X)
    holes = Holes(mask)
    with threadpool_limits(1):
        best = gemm_gflops()
        step = partial(settle, energy, rows, holes, np.full(len(X), 0.1))
        step()  # sorts rows into blocks, once for all steps
        whole = min(measure(step).cpu for _ in range(5))  # of dgemm: the best of three
        # The products of a step, as it takes them: some rows of a block at a time.
        sizes = [
            next(slices(len(block.rows), block.n_holes, r)).stop * block.n_holes
            for block in holes.blocks
        ]
        pulls = [np.ones((size, r)) for size in sizes]
        products = sum(_quickest(partial(np.matmul, pull, energy.factor)) for pull in pulls)
    count = sum(
        len(block.rows) * (2 * r * q * k + 2 * q * k**2 + 4 * r * q + 4 * r * 20)
        for block in holes.blocks
        for k in [block.n_holes]
    )
    large = sum(2 * len(pull) * r * q for pull in pulls) / products / 1e9
    found = {
        "r": r,
        "q": q,
        "gemm": best,
        "products": large / best,
        "step": count / whole / 1e9 / best,
    }
    print(f"r = {r}, q = {q}: products at {found['products']:.0%} of dgemm's {best:.0f} GFLOP/s "
          f"(target 60 %), a whole step at {found['step']:.0%} (target 40 %)")  # fmt: skip
    return found


def gradients() -> list[dict]:
    """Compare a step by conjugate gradients with one by the matrices of rows, for wider rows."""
    print("columns, half of them missing: seconds of a step by conjugate gradients / by matrices")
    return [_both_steps(m) for m in (10, 20, 30, 40, 60, 100, 200)]


def _both_steps(m: int) -> dict:
    X = datasets.make_polynomial_manifold(600, m, n_dims=4, random_state=0)
    X = X / X.std() + 0.03 * np.random.default_rng(0).standard_normal(X.shape)
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    energy = learn(RBF(2 * np.sqrt(m)), X[:200], gamma=1e-5, in_place=False)
    block = Holes(mask[200:]).blocks[0]
    rows, damping = X[200:][block.rows], np.full(len(block.rows), 0.1)
    seconds = []
    taken = energy.prefers_products(block.n_holes, m)
    with threadpool_limits(1):
        for wide in (False, True):
            chosen = type("Chosen", (RowEnergy,), {"prefers_products": lambda *_, w=wide: w})
            model = chosen(energy.kernel, energy.landmarks, energy.factor, None)
            seconds.append(_quickest(partial(propose, model, rows, block, damping)))
    by_matrix, wide = seconds[0], seconds[1] * PRODUCTS / ITERATIONS
    print(f"{m:5}: {wide / by_matrix:.2f}{' (taken)' if taken else ''}")
    return {"columns": m, "ratio": wide / by_matrix, "taken": taken}


def _quickest(call: Callable[[], object]) -> float:
    call()
    return min(measure(call).wall for _ in range(20))


def motion(which: str = "auto") -> dict:
    """Complete a motion of 1696 frames, half of the entries missing, on one core.

    ``which`` is a number of landmarks, or "exact".
    """
    data = Path(os.environ.get("POLYCOMPLETE_DATA", "data"))
    if not data.is_dir():
        print(f"no folder {data}: motion capture is left out")
        return {}
    wanted = "c_56_06_miss0.5_s100"
    name, X, mask, _ = next(each for each in instances("c", data=data) if each[0] == wanted)
    number = int(which) if which.isdigit() else which
    solver = Exact() if which == "exact" else Landmark(n_landmarks=number)
    pmc, given = PMC(solver=solver, n_jobs=1, random_state=0), masks.apply(X, mask)
    with threadpool_limits(1):
        run = measure(lambda: pmc.fit_transform(given))
    error = metrics.rae(X, run.value, mask)
    kind = "exact solver" if which == "exact" else f"{which} landmarks"
    print(f"{name}, {kind}: RAE {error:.4f} (target .10) "
          f"in {run.cpu:.0f} s on one core (target 60)")  # fmt: skip
    return {"rae": error, "cpu": run.cpu}


def new_rows() -> dict:
    """Compare transform of new rows with completing them jointly."""
    X, given, mask = instance(103_000)
    pmc = PMC(solver=Landmark(), random_state=0).fit(given[:3000])
    joint = pmc.fit_transform(given[:3000])
    shares = [metrics.recovered_share(X[:3000], joint, mask[:3000], min_observed=DETERMINED)]
    seconds = []
    for n in (25_000, 50_000, 100_000):
        done = measure(lambda n=n: pmc.transform(given[3000 : 3000 + n]))
        seconds.append(done.wall)
        part = slice(3000, 3000 + n)
        shares.append(
            metrics.recovered_share(X[part], done.value, mask[part], min_observed=DETERMINED)
        )
    print(f"new rows: joint {shares[0]:.4f}, transform {shares[-1]:.4f} (target within .01); "
          f"seconds {', '.join(f'{s:.1f}' for s in seconds)} for 25, 50, 100 thousand")  # fmt: skip
    return {"joint": shares[0], "transform": shares[-1], "seconds": seconds}


def crossover() -> list[dict]:
    """Compare the exact with the landmark solver on few rows: where the default changes over."""
    rows = []
    for n in (100, 200, 400, 800):
        X, given, mask = instance(n)
        found = {"n": n}
        for name, solver in (("exact", Exact()), ("landmark", Landmark())):
            pmc = PMC(solver=solver, n_jobs=1, random_state=0)
            run = measure(lambda p=pmc, g=given: p.fit_transform(g))
            found |= {f"{name} s": run.cpu, name: metrics.rse(X, run.value, mask)}
        rows.append(found)
        print(f"n = {n:4}: exact {found['exact']:.5f} in {found['exact s']:5.1f} CPU s, "
              f"landmark {found['landmark']:.5f} in {found['landmark s']:5.1f}")  # fmt: skip
    return rows


def peers() -> list[dict]:
    """Compare with imputers on one instance."""
    X, given, mask = instance(20_000)
    known = mask.sum(axis=1) >= DETERMINED
    methods = {
        "PMC": PMC(random_state=0),
        "IterativeImputer": IterativeImputer(random_state=0),
        "KNNImputer": KNNImputer(),
        "LRMC": LRMC(random_state=0),
    }
    rows = []
    for name, method in methods.items():
        run = measure(lambda method=method: method.fit_transform(given))
        error = np.linalg.norm((run.value - X)[known]) / np.linalg.norm(X[known])
        rows.append({"method": name, "rse": error, "seconds": run.wall})
        print(f"{name:18} RSE of determined rows {error:8.4f}  {run.wall:7.1f} s")
    best = min(row["rse"] for row in rows[1:])
    print(f"times smaller than the best peer: {best / rows[0]['rse']:.0f} (target 20); "
          f"KNN's seconds / ours: {rows[2]['seconds'] / rows[0]['seconds']:.1f}")  # fmt: skip
    return rows


def draw(rows: list[dict], path: Path) -> None:
    """Draw seconds and memory over the number of rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    n = np.array([row["n"] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    left.loglog(n, seconds, "o-", color="tab:blue", label="fit and complete")
    left.loglog(n, seconds[-1] * n / n[-1], ":", color="black", label="linear")
    left.set_ylabel("seconds")
    right.semilogx(n, [row["mb"] for row in rows], "o-", color="tab:orange")
    right.set_ylabel("MB beyond the data")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xlabel("rows n (m = 20, half missing)")
        axes.grid(alpha=0.3)
    left.legend()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--picture", type=Path, help="draw the growth here")
    words = "complete the motion alone, with so many landmarks or the exact solver (40 minutes)"
    parser.add_argument("--motion", nargs="+", metavar="exact|NUMBER", help=words)
    args = parser.parse_args()
    if args.motion:
        save(args.out / "motion.jsonl", [motion(which) for which in args.motion])
        return
    print(f"{os.cpu_count()} cores")
    grown = growth(tuple(n for n in SIZES if n <= args.most))  # first: memory is the most so far
    parts = (arithmetic, gradients, crossover, motion, new_rows, peers)
    measured = {part.__name__: part() for part in parts}
    if args.picture:
        draw(grown, args.picture)
    save(args.out / "scale.jsonl", [measured, *grown])


if __name__ == "__main__":
    main()
