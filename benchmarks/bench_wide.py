"""Wide rows: 5000 pictures of 28 × 28 pixels, half of the pixels lost, against low-rank completion.

The digits that come with scikit-learn (8 × 8), enlarged, turned and shifted a little at random: so
there are more pictures than originals, on a surface of a few dimensions more. Prints the error on
the lost pixels and seconds, and draws some pictures.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import ndimage
from sklearn.datasets import load_digits

from experiments.machine import measure
from experiments.store import save
from polycomplete import LRMC, PMC, RBF, Landmark, masks, metrics

SIDE = 28
#: Pixels have one unit; the surface has many dimensions and bends little: a wide kernel, and the
#: penalty that is kind to many small directions.
METHODS = {
    "LRMC": LRMC(scale=None),
    "PMC": PMC(
        kernel=RBF(multiple=20.0),
        p=1.0,
        scale=None,
        solver=Landmark(max_samples=5000),
        random_state=0,
    ),
}
GREY = {"cmap": "gray_r", "vmin": 0, "vmax": 16}


def pictures(count: int, seed: int) -> np.ndarray:
    """Return so many digits as rows of pixels, each enlarged, turned and shifted on its own."""
    rng, originals = np.random.default_rng(seed), load_digits().images
    rows = np.empty((count, SIDE * SIDE))
    for row in rows:
        # In the coordinates of the original: a turn about its middle, a shift, and the enlargement.
        turn = np.deg2rad(rng.uniform(-10, 10))
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) * 7 / 27
        middle, shift = np.array([3.5, 3.5]), rng.uniform(-0.3, 0.3, 2)
        offset = middle - matrix @ np.array([13.5, 13.5]) + shift
        original = originals[rng.integers(len(originals))]
        large = ndimage.affine_transform(original, matrix, offset, (SIDE, SIDE), order=1)
        row[:] = large.ravel()
    return rows


def draw(X: np.ndarray, mask: np.ndarray, found: dict[str, np.ndarray], path: Path) -> None:
    """Draw some pictures: true, as given, and completed by each method."""
    import matplotlib.pyplot as plt

    shown = {"true": X, "given": masks.apply(X, mask), **found}
    figure, axes = plt.subplots(len(shown), 12, figsize=(9, 0.8 * len(shown)))
    for (name, rows), line in zip(shown.items(), axes, strict=True):
        for ax, row in zip(line, rows, strict=False):
            ax.imshow(row.reshape(SIDE, SIDE), **GREY)
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    figure.tight_layout(pad=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--picture", type=Path, help="where to draw some of the pictures")
    args = parser.parse_args()
    X = pictures(args.rows, seed=0)
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    given, found, rows = masks.apply(X, mask), {}, []
    print(f"{args.rows} x {X.shape[1]}, half missing")
    for name, method in METHODS.items():
        run = measure(lambda method=method: method.fit_transform(given))
        found[name] = run.value
        error = metrics.rse(X, run.value, mask)
        rows.append({"method": name, "rse": error, "seconds": run.wall, "cpu": run.cpu})
        print(f"{name:6} RSE {error:.4f} in {run.wall:6.1f} s", flush=True)
    print(f"PMC's error is {rows[1]['rse'] / rows[0]['rse']:.2f} of LRMC's")
    save(args.out / "wide.jsonl", rows)
    if args.picture:
        draw(X, mask, found, args.picture)


if __name__ == "__main__":
    main()
