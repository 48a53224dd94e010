"""Complete a Spark data frame with a saved completer (needs pyspark and polycomplete[models])."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyspark
from pyspark.sql import SparkSession

import polycomplete
from polycomplete import PMC, Landmark, datasets, masks

NAMES = ["a", "b", "c", "d", "e", "f"]


def completing(path: str) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Return what a Spark task does: load the completer once, complete batch after batch."""

    def complete(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        completer = polycomplete.load(path)
        for batch in batches:
            yield batch.assign(**completer.transform(batch[NAMES]))

    return complete


def main(folder: Path) -> None:
    """Write incomplete rows, learn, complete them with Spark, compare."""
    X = datasets.make_polynomial_manifold(1200, 6, random_state=0)
    X = masks.apply(X, masks.uniform(X.shape, 0.7, random_state=0))
    frame = pd.DataFrame(X, columns=NAMES).assign(number=np.arange(1200))
    frame.to_parquet(folder / "rows.parquet")
    model = str(folder / "model.skops")
    solver = Landmark(max_samples=200)
    completer = PMC(solver=solver, smoothing=1e-4, n_jobs=1, random_state=0)
    completer.fit(frame[NAMES]).save(model)

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    )
    rows = spark.read.parquet(str(folder / "rows.parquet"))
    done = rows.mapInPandas(completing(model), rows.schema).toPandas()
    found = done.sort_values("number")[NAMES].to_numpy(dtype=float)
    print(f"PySpark {pyspark.__version__}, identical to transform:",
          np.array_equal(found, completer.transform(frame[NAMES])))  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
