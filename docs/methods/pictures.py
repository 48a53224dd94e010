"""The pictures of the method pages: each method on data where it shines and where it fails.

    python docs/methods/pictures.py [name ...]

Rows lie in R^12; two of the columns are shown. Grey: the data. Coloured: rows of which a shown
entry was missing, where the method put them. Beside the error of the method stands that of column
means.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from polycomplete import masks, methods, metrics

HERE = Path(__file__).resolve().parent
COLUMNS = 12


def embed(curves: np.ndarray, seed: int) -> np.ndarray:
    """Return rows of two coordinates, and further columns that are combinations of them."""
    mixed = curves @ np.random.default_rng(seed).standard_normal((curves.shape[1], COLUMNS - 2))
    return np.hstack([curves[:, :2], mixed])


def line(n: int, seed: int = 0) -> np.ndarray:
    """Return one line through the origin: a matrix of rank one."""
    t = np.random.default_rng(seed).uniform(-1, 1, n)
    return embed(np.c_[t, 0.6 * t], seed)


def lines(n: int, seed: int = 0) -> np.ndarray:
    """Return four lines through the origin, each with its own direction in R^12."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((4, COLUMNS))
    directions[:, :2] = [[1, 0.3], [0.4, 1], [-0.5, 1], [-1, 0.4]]
    t = rng.uniform(0.1, 1, n) * rng.choice([-1, 1], n)
    return t[:, None] * directions[np.arange(n) % 4]


def spiral(n: int, seed: int = 0) -> np.ndarray:
    """Return a spiral whose other columns bend in their own ways."""
    t = np.sort(np.random.default_rng(seed).uniform(0.5, 3, n)) * np.pi
    others = [np.sin(k * t / 4 + k) for k in range(1, COLUMNS - 1)]
    return np.column_stack([t * np.cos(t) / 9, t * np.sin(t) / 9, *others])


def cloud(n: int, seed: int = 0) -> np.ndarray:
    """Return independent columns: nothing to learn."""
    return np.random.default_rng(seed).standard_normal((n, COLUMNS))


Data = Callable[..., np.ndarray]
#: For each method: where it shines and where it fails (data, rows, share observed, caption).
CASES: dict[str, list[tuple[Data, int, float, str]]] = {
    "lrmc": [(line, 120, 0.5, "one line"), (spiral, 120, 0.5, "a spiral")],
    "srmc": [(lines, 200, 0.7, "four lines"), (spiral, 120, 0.5, "a spiral")],
    "ladmc": [(lines, 200, 0.5, "four lines"), (spiral, 30, 0.5, "thirty rows of a spiral")],
    "vmc-2": [(spiral, 120, 0.5, "a spiral"), (spiral, 25, 0.5, "25 rows of it")],
    "nlmc": [(spiral, 150, 0.6, "a spiral"), (spiral, 20, 0.6, "twenty rows of it")],
    "kfmc": [(spiral, 1500, 0.6, "a spiral, 1500 rows"), (spiral, 20, 0.6, "twenty rows of it")],
    "pmc-w": [(spiral, 150, 0.6, "a spiral"), (cloud, 150, 0.6, "independent columns")],
}


def panel(ax: plt.Axes, name: str, make: Data, n: int, rate: float, caption: str) -> None:
    """Complete one data set and show it."""
    X = make(n)
    mask = masks.uniform(X.shape, rate, random_state=1)
    given = masks.apply(X, mask)
    completed = methods.get(name, random_state=0).fit_transform(given)
    means = methods.get("mean").fit_transform(given)
    filled = ~mask[:, :2].all(axis=1)
    ax.scatter(*X[:, :2].T, s=9, c="0.75", label="the data")
    ax.scatter(*completed[filled][:, :2].T, s=9, c="C3", alpha=0.7, label="completed rows")
    ax.set_title(f"{caption}, {rate:.0%} observed\nrelative error "
                 f"{metrics.rse(X, completed, mask):.3f} (means {metrics.rse(X, means, mask):.2f})",
                 fontsize=9)  # fmt: skip
    ax.set(xticks=[], yticks=[], aspect="equal")


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES))
    for name in parser.parse_args().names:
        figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
        for ax, case in zip(axes, CASES[name], strict=True):
            panel(ax, name, *case)
        shown = axes[0].get_legend_handles_labels()
        figure.legend(*shown, loc="outside lower center", ncols=2, fontsize=8)
        figure.suptitle(methods.METHODS[name].label)
        figure.savefig(HERE / f"{name}.png", dpi=110)
        plt.close(figure)
        print(HERE.name, f"{name}.png")


if __name__ == "__main__":
    main()
