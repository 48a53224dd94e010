"""The picture and the figures of docs/tables.md: mixed tables, and how well they are filled.

    python docs/tables_picture.py [--repeats 3] [--missing 0.3]

The tables come with scikit-learn. They are numbers throughout, so every third column is cut at its
tertiles into "low", "middle" and "high", as text whose order nobody is told, and the class is a
column of text. Cells are missing completely at random.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.impute import KNNImputer

from polycomplete import PMC, TableCompleter, masks

TABLES = ("iris", "wine", "breast_cancer", "diabetes")
ROWS = 300
WORDS = np.array(["low", "middle", "high"])


def mixed(name: str, seed: int) -> pd.DataFrame:
    """Return a table of numbers and text."""
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    frame = bunch.data.copy()
    for column in frame.columns[1::3]:
        if frame[column].nunique() > 3:
            cuts = frame[column].quantile([1 / 3, 2 / 3])
            frame[column] = WORDS[np.digitize(frame[column], cuts)]
        else:
            frame[column] = frame[column].rank(method="dense").astype(int).astype(str)
    if "target_names" in bunch:
        frame["class"] = bunch.target_names[bunch.target]
    chosen = np.random.default_rng(seed).permutation(len(frame))[:ROWS]
    return frame.iloc[np.sort(chosen)].reset_index(drop=True)


def is_text(column: pd.Series) -> bool:
    """Return whether a column is one of categories."""
    return not pd.api.types.is_numeric_dtype(column)


def most_frequent(frame: pd.DataFrame) -> pd.DataFrame:
    """Fill in the most frequent level, and the mean of numbers."""
    return frame.apply(lambda c: c.fillna(c.mode()[0] if is_text(c) else c.mean()))


def knn_on_codes(frame: pd.DataFrame) -> pd.DataFrame:
    """Fill in by nearest neighbors of standardized numbers, levels numbered by the alphabet."""
    levels = {name: sorted(frame[name].dropna().unique()) for name in frame if is_text(frame[name])}
    codes = frame.copy()
    for name, known in levels.items():
        codes[name] = frame[name].map({level: i for i, level in enumerate(known)})
    codes = codes.astype(float)
    mean, spread = codes.mean(), codes.std()
    filled = KNNImputer().fit_transform((codes - mean) / spread)
    filled = pd.DataFrame(filled, columns=frame.columns) * spread + mean
    for name, known in levels.items():
        filled[name] = np.array(known)[filled[name].round().astype(int)]
    return filled


def expected_calibration_error(sure: np.ndarray, right: np.ndarray) -> float:
    """Return how far certainty and share of right answers differ, over ten bins of certainty."""
    bins = np.minimum((10 * sure).astype(int), 9)
    parts = [np.sum(bins == b) * abs(np.mean((sure - right)[bins == b])) for b in np.unique(bins)]
    return float(sum(parts) / len(sure))


def calibration_of(completer: TableCompleter, truth: pd.DataFrame) -> float:
    """Return the calibration error over all missing cells of text."""
    sure, right = [], []
    for name, (rows, levels, values) in completer.proba_.items():
        sure.append(values.max(axis=1))
        right.append(np.array(levels)[values.argmax(axis=1)] == truth[name].to_numpy()[rows])
    return expected_calibration_error(np.concatenate(sure), np.concatenate(right))


def errors(truth: pd.DataFrame, holes: pd.DataFrame, filled: pd.DataFrame) -> tuple[float, float]:
    """Return the share of wrong cells of text, and the RMSE of numbers in standard deviations."""
    text = [name for name in truth if is_text(truth[name])]
    wrong = np.concatenate([(filled[n] != truth[n])[holes[n].isna()] for n in text])
    numbers = [name for name in truth if name not in text]
    off = [((filled[n] - truth[n]) / truth[n].std())[holes[n].isna()] for n in numbers]
    return float(np.mean(wrong)), float(np.sqrt(np.mean(np.concatenate(off) ** 2)))


def measure(repeats: int, missing: float) -> pd.DataFrame:
    """Return the mean errors of every filler on every table."""
    fillers: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
        "most frequent": most_frequent,
        "KNN on codes": knn_on_codes,
    }
    inside = {"TableCompleter, KNN": KNNImputer(), "TableCompleter, PMC": PMC()}
    found = []
    for name in TABLES:
        for seed in range(repeats):
            truth = mixed(name, seed)
            holes = truth.mask(~masks.uniform(truth.shape, 1 - missing, random_state=seed))
            for label, fill in fillers.items():
                found.append((name, label, *errors(truth, holes, fill(holes)), np.nan))
            for label, method in inside.items():
                completer = TableCompleter(method, random_state=seed)
                pair = errors(truth, holes, completer.fit_transform(holes))
                found.append((name, label, *pair, calibration_of(completer, truth)))
    columns = ["table", "filler", "wrong %", "RMSE", "calibration error"]
    frame = pd.DataFrame(found, columns=columns)
    frame["wrong %"] *= 100
    return frame.groupby(["table", "filler"], sort=False).mean()


def example(missing: float) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, TableCompleter]:
    """Return some columns of the wines: the truth, with holes, completed, and the completer."""
    truth = mixed("wine", 0)
    names = ["alcohol", "malic_acid", "flavanoids", "proanthocyanins", "color_intensity", "class"]
    truth = truth[names].rename(columns={"malic_acid": "malic acid", "color_intensity": "colour",
                                         "proanthocyanins": "tannins"})  # fmt: skip
    holes = truth.mask(~masks.uniform(truth.shape, 1 - missing, random_state=0))
    completer = TableCompleter(random_state=0)
    return truth, holes, completer.fit_transform(holes), completer


def draw_table(ax: plt.Axes, missing: float, count: int = 12) -> None:
    """Draw rows with a missing text, evenly picked: what was filled in, and whether it is right."""
    truth, holes, completed, completer = example(missing)
    text = [name for name in truth if is_text(truth[name])]
    rows = np.flatnonzero(holes[text].isna().any(axis=1))
    rows = rows[:: len(rows) // count][:count]
    likely = {name: dict(zip(p.rows, p.values.max(axis=1), strict=True))
              for name, p in completer.proba_.items()}  # fmt: skip
    cells, colors = [], []
    for row in rows:
        line, paint = [], []
        for name in truth:
            cell, true = completed.loc[row, name], truth.loc[row, name]
            text = cell if isinstance(cell, str) else f"{cell:.2f}"
            if pd.notna(holes.loc[row, name]):
                paint.append("white")
            elif isinstance(cell, str):
                text += f"  {likely[name][row]:.0%}"
                paint.append("#bfe3bf" if cell == true else "#f3bcb4")
            else:
                text += f"  ({true:.2f})"
                paint.append("#c6dbef")
            line.append(text)
        cells.append(line)
        colors.append(paint)
    ax.axis("off")
    drawn = ax.table(cells, colors, colLabels=list(truth), loc="center", cellLoc="center")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.scale(1, 1.35)
    ax.set_title(
        "Filled in: text right (green) or wrong (red) with its probability,\n"
        "numbers (blue) with the truth in brackets",
        fontsize=9,
    )


def draw_errors(ax: plt.Axes, found: pd.DataFrame, missing: float, repeats: int) -> None:
    """Draw the share of wrong cells of text."""
    wrong = found["wrong %"].unstack("filler")[list(found.index.unique("filler"))].loc[list(TABLES)]
    wrong.plot.bar(ax=ax, width=0.8, color=["0.75", "C1", "C2", "C0"], rot=0)
    ax.legend(fontsize=8, frameon=False, ncols=2)
    ax.set(xlabel="", ylabel="wrong cells of text, %", ylim=(0, 95))
    ax.set_title(f"{missing:.0%} of the cells missing, mean of {repeats} draws", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xticks(range(len(TABLES)), [name.replace("_", " ") for name in TABLES], fontsize=9)


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--missing", type=float, default=0.3)
    args = parser.parse_args()
    found = measure(args.repeats, args.missing)
    print(found.round({"wrong %": 1, "RMSE": 2, "calibration error": 3}).to_string(na_rep="-"))
    figure, axes = plt.subplots(
        1, 2, figsize=(12.5, 4.4), layout="constrained", width_ratios=[1.35, 1]
    )
    draw_table(axes[0], args.missing)
    draw_errors(axes[1], found, args.missing, args.repeats)
    out = Path(__file__).resolve().with_name("tables.png")
    figure.savefig(out, dpi=100)
    print(f"picture in {out.name}")


if __name__ == "__main__":
    main()
