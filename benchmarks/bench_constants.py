"""What each hand-set number of the numerical core is worth: halved and doubled, on fixed cases.

A number that changes neither errors nor seconds should go. Each change runs in processes of its
own, on a copy of the package in which that number alone differs; what has run is kept, so that a
call that was broken off goes on. Error and seconds are geometric means over the cases, relative to
the numbers as they are.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import polycomplete
from experiments.machine import measure
from experiments.store import Store
from polycomplete import PMC, datasets, masks, metrics

PACKAGE = Path(polycomplete.__file__).parent
#: Where the numbers are looked for.
CORE = (
    "kernels.py",
    "penalties.py",
    "scaling.py",
    "rows",
    "landmarks",
    "solvers",
    "model_selection.py",
    "surface.py",
    "methods/completer.py",
)
#: Instances of the paper's generator: rows, surfaces, observed share, noise.
CURVED = [
    (100, 1, 0.4, 0.0),
    (100, 1, 0.6, 0.0),
    (200, 1, 0.4, 0.0),
    (100, 2, 0.5, 0.0),
    (150, 3, 0.6, 0.0),
    (200, 1, 0.6, 0.02),
    (700, 1, 0.3, 0.0),
    (700, 1, 0.35, 0.02),
    (600, 3, 0.5, 0.0),
]
#: Tables of the data folder, and how many of their rows; the last is a motion.
TABLES = {"m3/blood": 250, "m3/wine": 178, "m3/concrete": 250, "m3/housing": 450, "motion": 300}


def cases() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name of each case, its complete matrix and what is observed of it."""
    for n, k, rho, noise in CURVED:
        X = datasets.make_polynomial_manifold(n, 20, n_manifolds=k, random_state=n + k)
        X = X + noise * X.std() * np.random.default_rng(1).standard_normal(X.shape)
        yield f"curved {n} {k} {rho} {noise}", X, masks.uniform(X.shape, rho, random_state=k)
    folder = Path(os.environ.get("POLYCOMPLETE_DATA", "data"))
    for name, rows in TABLES.items():
        if not folder.is_dir():
            return
        if name == "motion":
            X = np.load(folder / "cmu_mocap/mocap_56_01.npz")["X"].astype(float)[:, ::3].T
        else:
            X = np.load(folder / f"imputation/{name}.npz")["X"].astype(float)
        X = X[~np.isnan(X).any(axis=1)]
        X = X[np.random.default_rng(0).permutation(len(X))[:rows]]
        yield (
            name,
            X[:, X.std(axis=0) > 0],
            masks.uniform(X[:, X.std(axis=0) > 0].shape, 0.7, random_state=2),
        )


def run_cases() -> dict[str, list[float]]:
    """Return error and CPU seconds of each case."""
    found = {}
    for name, X, mask in cases():
        done = measure(
            lambda X=X, mask=mask: PMC(random_state=0).fit_transform(masks.apply(X, mask))
        )
        found[name] = [float(metrics.nrmse(X, done.value, mask)), done.cpu]
    return found


def numbers() -> Iterator[tuple[str, str, float, tuple[int, int, int]]]:
    """Yield file, name, value and place of each number that a module of the core states."""
    files = [
        f
        for part in CORE
        for f in ([PACKAGE / part] if part.endswith(".py") else (PACKAGE / part).glob("*.py"))
    ]
    for path in sorted(files):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                pairs = (
                    zip(target.elts, value.elts, strict=True)
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                    else [(target, value)]
                )
                for name, number in pairs:
                    if isinstance(number, ast.Constant) and isinstance(number.value, int | float):
                        place = (number.lineno, number.col_offset, number.end_col_offset or 0)
                        yield str(path.relative_to(PACKAGE)), ast.unparse(name), number.value, place


def changed(
    file: str, value: float, place: tuple[int, int, int], factor: float
) -> dict[str, list[float]] | str:
    """Run the cases with one number multiplied; return what they give, or why they fail."""
    other = type(value)(max(1, round(value * factor))) if isinstance(value, int) else value * factor
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "polycomplete"
        shutil.copytree(PACKAGE, copy)
        lines = (copy / file).read_text().splitlines(keepends=True)
        line, begin, end = place
        lines[line - 1] = lines[line - 1][:begin] + repr(other) + lines[line - 1][end:]
        (copy / file).write_text("".join(lines))
        return in_process(folder)


def in_process(folder: str) -> dict[str, list[float]] | str:
    """Run the cases with the package of a folder."""
    path = os.pathsep.join([folder, str(Path(__file__).parent.parent), *sys.path])
    settings = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_constants", "--cases"],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def ratio(found: dict[str, list[float]], base: dict[str, list[float]], which: int) -> float:
    """Return the geometric mean of the errors (0) or seconds (1) over those of the base."""
    return float(np.exp(np.mean([np.log(found[case][which] / base[case][which]) for case in base])))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], help="names, or files, of numbers")
    parser.add_argument(
        "--cases", action="store_true", help="run the cases once and print what they give"
    )
    args = parser.parse_args()
    if args.cases:
        print(json.dumps(run_cases()))
        return
    store = Store(args.out / "constants.jsonl")
    store.begin()
    known = {line["change"]: line["found"] for line in store.results()}
    wanted = [
        (f"{file}:{name}={value} x {factor}", file, value, place, factor)
        for file, name, value, place in numbers()
        for factor in (0.5, 2.0)
        if not args.only or name in args.only or file in args.only
    ]
    with ThreadPoolExecutor(args.jobs) as executor:
        jobs = {} if "base" in known else {"base": executor.submit(in_process, str(PACKAGE.parent))}
        jobs |= {
            change: executor.submit(changed, *rest)
            for change, *rest in wanted
            if change not in known
        }
        for change, job in jobs.items():
            known[change] = job.result()
            store.add(change=change, found=known[change])
            show(change, known[change], known["base"])


def show(change: str, found: dict[str, list[float]] | str, base: dict[str, list[float]]) -> None:
    """Print a line of the table."""
    if isinstance(found, str):
        print(f"{change:60} {found}", flush=True)
        return
    worst = max(base, key=lambda case: abs(np.log(found[case][0] / base[case][0])))
    print(
        f"{change:60} error {ratio(found, base, 0):.3f}  seconds {ratio(found, base, 1):.2f}  "
        f"most {found[worst][0] / base[worst][0]:.3f} ({worst})",
        flush=True,
    )


if __name__ == "__main__":
    main()
