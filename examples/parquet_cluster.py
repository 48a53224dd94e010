"""Complete a folder of Parquet files with two worker processes.

Writes 20 000 incomplete rows into eight files and completes them. Takes half a minute.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from polycomplete import PMC, datasets, masks, metrics
from polycomplete.dask import complete_parquet


def write(X: np.ndarray, mask: np.ndarray, folder: Path) -> None:
    """Write incomplete rows into eight files."""
    folder.mkdir()
    frame = pd.DataFrame(masks.apply(X, mask)).add_prefix("x")
    for number, rows in enumerate(np.array_split(np.arange(len(X)), 8)):
        frame.iloc[rows].to_parquet(folder / f"part.{number}.parquet")


def run(folder: Path, workers: int) -> None:
    """Write and complete."""
    X = datasets.make_polynomial_manifold(20_000, 12, random_state=0)
    mask = masks.uniform(X.shape, 0.6, random_state=0)
    write(X, mask, folder / "given")

    complete_parquet(folder / "given", folder / "done", PMC(random_state=0), workers=workers)
    names = sorted(path.name for path in (folder / "done").glob("*.parquet"))
    print(f"completed by {workers} workers: {names[0]} to {names[-1]}")
    found = pd.read_parquet(folder / "done").to_numpy()
    share = metrics.recovered_share(X, found, mask, min_observed=4)
    print(f"rows with an error below 1 %: {100 * share:.2f} %")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    with tempfile.TemporaryDirectory() as name:
        run(Path(name), parser.parse_args().workers)
