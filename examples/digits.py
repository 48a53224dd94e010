"""Complete handwritten digits with half of their pixels missing.

    python examples/digits.py [--rows 500] [--out out/demo]

takes scikit-learn's bundled digits, removes half of the pixels at random, completes them with PMC
and with three imputers of scikit-learn, and writes

* completed.csv: the completed table,
* digits.png: before, after and truth,
* report.html: what was missing, what was filled in, and how far to trust it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from polycomplete import PMC, masks, metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

NAMES = [f"pixel_{i // 8}_{i % 8}" for i in range(64)]
OTHERS = {
    "mean of the pixel": SimpleImputer(keep_empty_features=True),
    "KNNImputer": KNNImputer(keep_empty_features=True),
    "IterativeImputer": IterativeImputer(keep_empty_features=True, random_state=0),
}


def complete(name: str, method: Any, given: Any, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the completion by a method; print its error and seconds."""
    begin = time.perf_counter()
    completed = np.asarray(method.fit_transform(given))
    seconds = time.perf_counter() - begin
    error = metrics.rse(X, completed, mask)
    print(f"{name:20} relative error {error:.3f}   {seconds:5.1f} s", flush=True)
    return completed


def picture(X: np.ndarray, mask: np.ndarray, completed: np.ndarray, path: Path) -> None:
    """Draw twelve digits: incomplete, completed, as they were."""
    panels = {"half the pixels": masks.apply(X, mask), "completed": completed, "truth": X}
    colors = mpl.colormaps["gray_r"].with_extremes(bad="#f4a582")
    figure, axes = plt.subplots(3, 12, figsize=(9.6, 2.9), layout="constrained")
    for line, (title, images) in zip(axes, panels.items(), strict=True):
        for axis, image in zip(line, images, strict=False):
            axis.imshow(image.reshape(8, 8), cmap=colors, vmin=0, vmax=16)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(title, rotation=0, ha="right", va="center")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500, help="how many of the 1797 images")
    parser.add_argument("--out", type=Path, default=Path("out/demo"))
    args = parser.parse_args()
    X = load_digits().data[: args.rows]
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    given = masks.apply(X, mask)
    warnings.filterwarnings("ignore", message=".*IterativeImputer")  # ten rounds, its default
    for name, method in OTHERS.items():
        complete(name, method, given, X, mask)
    pmc, table = PMC(keep_empty_features=True, random_state=0), pd.DataFrame(given, columns=NAMES)
    completed = complete("polycomplete PMC", pmc, table, X, mask)
    args.out.mkdir(parents=True, exist_ok=True)
    header = ",".join(NAMES)
    np.savetxt(args.out / "completed.csv", completed, "%.4g", ",", header=header, comments="")
    picture(X, mask, completed, args.out / "digits.png")
    pmc.report(table, completed).write(args.out / "report.html")
    print(f"completed table, picture and report in {args.out}: open {args.out / 'report.html'}")


if __name__ == "__main__":
    main()
