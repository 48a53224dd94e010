"""Whether rows come back as well as they say: deviations, determined rows, of the fit and new.

A row is wrong where its error, as a root mean square over its holes in units of the columns'
spreads, is above three of its deviations; it misleads where it is called determined and its error
is above half a spread. Covered are the held-out entries within 1.645 deviations: nine in ten, if
these are those of a Gaussian.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.anchors.make_instances import instances
from polycomplete import PMC, masks

TABLES = ("m3/blood", "m3/wine", "m3/concrete", "m3/diabetes", "m3/housing", "grzesiak/fat")
ANCHORS = (
    "a_n100_rho0.5",
    "a_n100_rho0.7",
    "a_n200_rho0.3",
    "a_n200_rho0.4",
    "a_n200_rho0.5",
    "a_n200_rho0.6",
    "a_n200_rho0.7",
    "a_n60_rho0.5",
    "b_k1_rho0.5",
    "b_k2_rho0.5",
    "b_k2_rho0.6",
    "b_k3_rho0.5",
    "b_k3_rho0.6",
    "b_k5_rho0.5",
    "b_k5_rho0.7",
)


def cases() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name of each case, its matrix and what is observed."""
    folder = Path(os.environ.get("POLYCOMPLETE_DATA", "data"))
    if folder.is_dir():
        X = np.load(folder / "cmu_mocap/mocap_56_01.npz")["X"].astype(float).T[:1000]
        X = X[:, X.std(axis=0) > 1e-3]  # six joints do not move but for rounding
        mask = masks.uniform(X.shape, 0.7, random_state=0)
        yield "motion", X, mask
        yield "motion, standardized", (X - X.mean(axis=0)) / X.std(axis=0), mask
        yield "motion, 1.01-fold", 1.01 * X, mask
        for name in TABLES:
            X = np.load(folder / f"imputation/{name}.npz")["X"].astype(float)
            X = X[~np.isnan(X).any(axis=1)][:400]
            X = X[:, X.std(axis=0) > 0]
            yield name, X, masks.uniform(X.shape, 0.7, random_state=0)
    for name, X, mask, _ in instances("ab", seeds=(100,)):
        if name.removesuffix("_s100") in ANCHORS:
            yield name, X, mask


def told(completer: PMC, X: np.ndarray, mask: np.ndarray, new: bool) -> tuple[np.ndarray, ...]:
    """Return completed rows, deviations and which rows are determined, of the fit or of others."""
    given = masks.apply(X, mask)
    if not new:
        return completer.fit_transform(given), completer.cell_std_, completer.row_determined_
    columns, completed = completer._columns, completer.transform(given)
    found = completer.model_.complete(given[:, columns], mask[:, columns])
    std = np.zeros(X.shape)
    if len(found) > 2:
        std[:, columns] = found[1]
        return completed, std, found[3]
    return completed, std + np.inf, ~found[1]  # version 0.1.0 says nothing of new rows


def measured(name: str, X: np.ndarray, mask: np.ndarray) -> list[dict[str, Any]]:
    """Return what is found for rows of a fit on two thirds of the rows, and for the others."""
    rows, spread = [], X.std(axis=0)
    spread = np.where(spread > 0, spread, 1)
    first = np.random.default_rng(0).permutation(len(X)) < (2 * len(X)) // 3
    with threadpool_limits(1):
        completer = PMC(random_state=0)
        whole = PMC(random_state=0)
        parts = [("fit", whole, np.ones(len(X), bool), False)]
        completer.fit(masks.apply(X[first], mask[first]))
        parts.append(("new", completer, ~first, True))
        for kind, each, which, new in parts:
            completed, std, determined = told(each, X[which], mask[which], new)
            hole = ~mask[which]
            off = np.where(hole, np.abs(completed - X[which]), 0)
            count = np.maximum(hole.sum(axis=1), 1)
            error = np.sqrt(np.sum((off / spread) ** 2, axis=1) / count)
            finite = np.where(hole, std, 0)
            deviation = np.sqrt(np.sum((finite / spread) ** 2, axis=1) / count)
            some = hole.any(axis=1)
            rows.append(
                {
                    "case": name,
                    "rows": kind,
                    "wrong": int(np.sum(some & (error > 3 * deviation))),
                    "misleading": int(np.sum(some & determined & (error > 0.5))),
                    "determined": float(determined.mean()),
                    "right": int(np.sum(some & determined & (error <= 0.5))),
                    "rmse": float(np.sqrt(np.mean((off / spread)[hole] ** 2))),
                    "covered": float(np.mean(off[hole] <= 1.645 * std[hole])),
                }
            )
    return rows


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="cases with this in their name")
    args = parser.parse_args()
    jobs = Parallel(n_jobs=args.jobs, return_as="generator")
    some = [case for case in cases() if args.only in case[0]]
    print(
        f"{'case':24}{'rows':>6}{'wrong':>7}{'misleading':>12}{'determined':>12}{'right':>7}{'rmse':>9}{'covered':>9}"
    )
    rows = []
    for found in jobs(delayed(measured)(*case) for case in some):
        rows += found
        for row in found:
            print(
                f"{row['case']:24}{row['rows']:>6}{row['wrong']:7}{row['misleading']:12}{row['determined']:12.2f}"
                f"{row['right']:7}{row['rmse']:9.4f}{row['covered']:9.3f}",
                flush=True,
            )
    for kind in ("fit", "new"):
        own = [row for row in rows if row["rows"] == kind]
        print(
            f"{kind}: wrong {sum(row['wrong'] for row in own)}, "
            f"misleading {sum(row['misleading'] for row in own)}, "
            f"rmse {np.exp(np.mean(np.log([row['rmse'] for row in own]))):.4f}"
        )


if __name__ == "__main__":
    main()
