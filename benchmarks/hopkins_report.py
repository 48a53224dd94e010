"""The tables and the picture of bench_hopkins.py: from its runs to what a reader compares."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from polycomplete import methods

#: Mean clustering error (%) of Elhamifar & Vidal (2013, table 2) by number of motions.
TARGETS = {"2": 1.52, "3": 4.40, "all": 2.18}
OURS = ("pmc-s", "pmc-w")
KINDS = ("published", "default")


def mean(rows: list[dict], key: str) -> float:
    """Return the mean of a column, NaN without rows."""
    return float(np.mean([row[key] for row in rows])) if rows else float("nan")


def groups(rows: list[dict]) -> dict[str, list[dict]]:
    """Return the rows by the number of motions, and all of them."""
    few = {str(k): [row for row in rows if row["motions"] == k] for k in (2, 3)}
    return {**few, "all": rows}


def label(method: str) -> str:
    """Return how a method is called in a table."""
    return "zero fill" if method == "zero" else methods.METHODS[method].label


def report_ssc(rows: list[dict]) -> None:
    """Print the errors on complete data beside the published ones, and how motions are counted."""
    if not rows:
        return
    print("Complete data, mean clustering error in %: as printed in 2013; the published algorithm")
    print("with k-means and with cluster_qr; the default; the default without ridge")
    print("(ok: the first three of ours are less than half a point above the printed figure)")
    kinds = ("k-means", *KINDS, "no ridge")
    print(f"{'motions':>8}{'sequences':>10}{'printed':>10}" + "".join(f"{x:>10}" for x in kinds))
    for name, group in groups(rows).items():
        found = [100 * mean(group, kind) for kind in kinds]
        good = all(value < TARGETS[name] + 0.5 for value in found[:3])
        print(
            f"{name:>8}{len(group):10}{TARGETS[name]:10.2f}"
            + "".join(f"{value:10.2f}" for value in found)
            + ("  ok" if good else "  MISS")
        )
    seconds = [f"{kind} {mean(rows, f'{kind} seconds'):.2f}" for kind in KINDS]
    print(f"CPU seconds a sequence: {', '.join(seconds)}")
    for rule in ("ratio", "difference"):
        found = [f"{100 * mean(rows, f'{kind} {rule}'):.0f}" for kind in KINDS]
        print(
            f"motions counted rightly by the largest {rule} of eigenvalues, published and default: "
            f"{found[0]} and {found[1]} %"
        )


def report_speed(rows: list[dict]) -> None:
    """Print seconds and error of one thread."""
    if not rows:
        return
    print(f"\n{'data':>20}{'completer':>11}{'points':>8}{'CPU s':>8}{'error %':>9}")
    for row in rows:
        completer = "none" if row["name"] == "synthetic" else label(row["method"])
        print(f"{row['name']:>20}{completer:>11}{row['points']:8}{row['seconds']:8.1f}"
              f"{100 * row['error']:9.2f}")  # fmt: skip


def report_all(rows: list[dict], order: list[str]) -> None:
    """Print the errors over all sequences with 30 % missing, by the frames that are kept."""
    for frames in (6, None):
        part = [row for row in rows if row["frames"] == frames]
        if not part:
            continue
        kept = "all frames" if frames is None else f"{frames} frames"
        print(f"\n30 % missing, {kept}, mean clustering error in %")
        print(
            f"{'completer':>15}{'SSC':>11}{'2 motions':>11}{'3 motions':>11}{'all':>8}{'CPU s':>8}"
        )
        best: dict[str, float] = {}
        for method in order:
            own = [row for row in part if row["method"] == method]
            for kind in KINDS:
                found = [100 * mean(group, kind) for group in groups(own).values()]
                best[f"{method} {kind}"] = found[2]
                print(f"{label(method):>15}{kind:>11}{found[0]:11.2f}{found[1]:11.2f}"
                      f"{found[2]:8.2f}{mean(own, 'seconds'):8.1f}")  # fmt: skip
        for kind in KINDS:
            others = [best[f"{method} {kind}"] for method in order if method != "pmc-w"]
            if others and f"pmc-w {kind}" in best:
                verdict = "ok" if best[f"pmc-w {kind}"] < min(others) else "MISS"
                print(f"PMC-W below the others, {kind} SSC: {verdict}")


def report_figure(rows: list[dict], order: list[str], picture: Path) -> None:
    """Print and draw the curves of the paper's figure, and say where its ordering holds."""
    if not rows:
        return
    panels = list(dict.fromkeys((row["name"], row["frames"]) for row in rows))
    trials = len({row["seed"] for row in rows})
    kind_of_mask = "(x, y) pairs" if rows[0]["group"] == 2 else "entries"
    for kind in KINDS:
        verdicts = [_panel(rows, order, kind, panel, kind_of_mask) for panel in panels]
        print(f"\nMean over all panels and rates, {kind} SSC, in % ({trials} trials)")
        for method in order:
            own = [row for row in rows if row["method"] == method]
            print(f"{label(method):>15}{100 * mean(own, kind):8.2f}")
        for what, held in zip(
            ("defaults", "the paper's settings"), zip(*verdicts, strict=True), strict=True
        ):
            judged = [good for good in held if good is not None]
            print(
                f"PMC-S or PMC-W lowest, or level, in mean over missing rates, {kind} SSC, {what}: "
                f"{sum(judged)} of {len(judged)} panels"
            )
    _draw(rows, order, panels, picture)


def _panel(
    rows: list[dict], order: list[str], kind: str, panel: tuple[str, int], removed: str
) -> tuple[bool | None, bool | None]:
    """Print one panel; return whether our methods are lowest, and with the paper's settings."""
    own = [row for row in rows if (row["name"], row["frames"]) == panel]
    rates = sorted({row["missing"] for row in own})
    print(f"\n{panel[0]}, {panel[1]} frames, {kind} SSC: clustering error in %, {removed} missing")
    print(f"{'':>15}" + "".join(f"{rate:8.0%}" for rate in rates) + f"{'mean':>8}")
    overall = {}
    for method in order:
        line = _curve(own, method, kind, rates)
        overall[method] = float(np.mean(line))
        print(f"{label(method):>15}" + "".join(f"{100 * x:8.1f}" for x in line)
              + f"{100 * overall[method]:8.2f}")  # fmt: skip
    return _lowest(overall, ""), _lowest(overall, "-paper")


def _lowest(overall: dict[str, float], suffix: str) -> bool | None:
    """Return whether PMC-S or PMC-W is lowest among the methods with or without this suffix."""
    ours = [overall[name + suffix] for name in OURS if name + suffix in overall]
    others = [
        value
        for name, value in overall.items()
        if name.endswith("-paper") == bool(suffix) and name.removesuffix(suffix) not in OURS
    ]
    return min(ours) <= min(others) if ours and others else None


def _curve(rows: list[dict], method: str, kind: str, rates: list[float]) -> list[float]:
    own = [row for row in rows if row["method"] == method]
    return [mean([row for row in own if row["missing"] == rate], kind) for rate in rates]


def _draw(rows: list[dict], order: list[str], panels: list[tuple[str, int]], picture: Path) -> None:
    """Draw a panel for each sequence and number of frames; solid ours, dashed the paper's."""
    names, frames = (list(dict.fromkeys(panel[i] for panel in panels)) for i in (0, 1))
    figure, axes = plt.subplots(len(frames), len(names), squeeze=False, sharex=True, sharey=True,
                                figsize=(1.6 + 3 * len(names), 3 * len(frames)),
                                layout="constrained")  # fmt: skip
    for (name, count), ax in ((panel, axes[frames.index(panel[1]), names.index(panel[0])])
                              for panel in panels):  # fmt: skip
        own = [row for row in rows if (row["name"], row["frames"]) == (name, count)]
        rates = sorted({row["missing"] for row in own})
        for i, method in enumerate(order):
            kind = "published" if method.endswith("-paper") else "default"
            ax.plot(rates, [100 * x for x in _curve(own, method, kind, rates)], marker="o",
                    markersize=3, color=f"C{i % 10}", label=label(method),
                    linestyle="--" if kind == "published" else "-")  # fmt: skip
        ax.set_title(f"{name}, {count} frames", fontsize=9)
        ax.grid(alpha=0.3)
    figure.supxlabel("missing rate", fontsize=9)
    figure.supylabel("clustering error, %", fontsize=9)
    shown = axes[0, 0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside right center", fontsize=8)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=130)
    plt.close(figure)
    print(f"picture in {picture}")
