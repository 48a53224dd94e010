"""Complete a Ray dataset with a saved completer (needs ray and polycomplete[models])."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import ray

import polycomplete
from polycomplete import PMC, Landmark, datasets, masks

NAMES = ["a", "b", "c", "d", "e", "f"]


class Complete:
    """What a Ray actor does: load the completer once, complete batch after batch."""

    def __init__(self, path: str):
        self.completer = polycomplete.load(path)

    def __call__(self, batch: pd.DataFrame) -> pd.DataFrame:
        """Return the batch completed, with the columns that are not to be completed as they are."""
        return batch.assign(**self.completer.transform(batch[NAMES]))


def main(folder: Path) -> None:
    """Write incomplete rows, learn, complete them with Ray, compare."""
    X = datasets.make_polynomial_manifold(1200, 6, random_state=0)
    X = masks.apply(X, masks.uniform(X.shape, 0.7, random_state=0))
    frame = pd.DataFrame(X, columns=NAMES).assign(number=np.arange(1200))
    frame.to_parquet(folder / "rows.parquet")
    model = str(folder / "model.skops")
    solver = Landmark(max_samples=200)
    completer = PMC(solver=solver, smoothing=1e-4, n_jobs=1, random_state=0)
    completer.fit(frame[NAMES]).save(model)

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    rows = ray.data.read_parquet(str(folder / "rows.parquet"))
    done = rows.map_batches(
        Complete, fn_constructor_args=(model,), batch_format="pandas", batch_size=256, concurrency=1
    )
    found = done.to_pandas().sort_values("number")[NAMES].to_numpy(dtype=float)
    print(f"Ray {ray.__version__}, identical to transform:",
          np.array_equal(found, completer.transform(frame[NAMES])))  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
