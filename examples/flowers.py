"""Write flowers.csv, the table of the command-line guide: Fisher's irises with missing cells.

150 flowers, four lengths and a name each; one cell in six is missing, and three names in ten.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris


def main() -> None:
    """Write it beside this file."""
    iris, rng = load_iris(), np.random.default_rng(0)
    seen = rng.random(iris.data.shape) > 1 / 6
    named = rng.random(len(iris.data)) > 0.3
    with Path(__file__).with_name("flowers.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["plant", "sepal length", "sepal width", "petal length", "petal width", "kind"]
        )
        for i, row in enumerate(iris.data):
            cells = [
                f"{value:.1f}" if here else "NA" for value, here in zip(row, seen[i], strict=True)
            ]
            kind = str(iris.target_names[iris.target[i]]) if named[i] else ""
            writer.writerow([f"p{i + 1:03}", *cells, kind])


if __name__ == "__main__":
    main()
