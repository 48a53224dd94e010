"""Complete handwritten digits with half of their pixels missing.

    python examples/digits.py [--rows 300] [--out out/demo]

takes scikit-learn's bundled digits, removes half of the pixels at random, completes them with PMC
and with three imputers of scikit-learn, and writes

* completed.csv: the completed table,
* digits.png: before, after and truth,
* index.html: both on one page, with the errors in a table.
"""

from __future__ import annotations

import argparse
import base64
import html
import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from polycomplete import PMC, masks, metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

METHODS = {
    "mean of the pixel": lambda: SimpleImputer(keep_empty_features=True),
    "KNNImputer": lambda: KNNImputer(keep_empty_features=True),
    "IterativeImputer": lambda: IterativeImputer(keep_empty_features=True, random_state=0),
    "polycomplete PMC": lambda: PMC(keep_empty_features=True, random_state=0),
}


def compare(X: np.ndarray, mask: np.ndarray) -> tuple[list[tuple[str, float, float]], np.ndarray]:
    """Return name, error and seconds of each method, and PMC's completion."""
    warnings.filterwarnings("ignore", message=".*IterativeImputer")  # ten rounds, its default
    given, rows = masks.apply(X, mask), []
    for name, make in METHODS.items():
        begin = time.perf_counter()
        completed = make().fit_transform(given)
        seconds = time.perf_counter() - begin
        rows.append((name, metrics.rse(X, completed, mask), seconds))
        print(f"{name:20} relative error {rows[-1][1]:.3f}   {seconds:5.1f} s", flush=True)
    return rows, completed


def picture(X: np.ndarray, mask: np.ndarray, completed: np.ndarray, path: Path) -> None:
    """Draw twelve digits: with holes, completed, as they were."""
    panels = {"half the pixels": masks.apply(X, mask), "completed": completed, "truth": X}
    colours = mpl.colormaps["gray_r"].with_extremes(bad="#f4a582")
    figure, axes = plt.subplots(3, 12, figsize=(9.6, 2.9), layout="constrained")
    for line, (title, images) in zip(axes, panels.items(), strict=True):
        for axis, image in zip(line, images, strict=False):
            axis.imshow(image.reshape(8, 8), cmap=colours, vmin=0, vmax=16)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(title, rotation=0, ha="right", va="center")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def page(rows: list[tuple[str, float, float]], shape: tuple[int, int], image: Path) -> str:
    """Return a page that needs nothing besides itself."""
    lines = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{error:.3f}</td><td>{seconds:.1f}</td></tr>"
        for name, error, seconds in rows
    )
    data = base64.b64encode(image.read_bytes()).decode()
    return f"""<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>polycomplete: digits</title>
<style>body {{ font: 1rem/1.5 system-ui; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
img {{ width: 100% }} td, th {{ padding: .2rem 1rem; text-align: left }}</style>
<h1>Digits with half of their pixels missing</h1>
<p>{shape[0]} images of {shape[1]} pixels; missing pixels are orange in the first line.</p>
<img alt="Twelve digits with holes, completed, and as they were"
 src="data:image/png;base64,{data}">
<table><tr><th>method</th><th>relative error on missing pixels</th><th>seconds</th></tr>
{lines}</table></html>
"""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300, help="how many of the 1797 images")
    parser.add_argument("--out", type=Path, default=Path("out/demo"))
    args = parser.parse_args()
    X = load_digits().data[: args.rows]
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    rows, completed = compare(X, mask)
    args.out.mkdir(parents=True, exist_ok=True)
    names = ",".join(f"pixel_{i // 8}_{i % 8}" for i in range(64))
    np.savetxt(args.out / "completed.csv", completed, "%.4g", ",", header=names, comments="")
    picture(X, mask, completed, args.out / "digits.png")
    text = page(rows, X.shape, args.out / "digits.png")
    (args.out / "index.html").write_text(text, encoding="utf-8")
    print(f"completed table, picture and page in {args.out}: open {args.out / 'index.html'}")


if __name__ == "__main__":
    main()
