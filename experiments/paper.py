"""How the paper's figures and tables are shown; paper.toml says what is run, and in which words.

The paper prints its figures without numbers; what its authors' MATLAB code reaches on instances of
the same kind stands in for them. printed/ has these numbers and Table 1 (docs/benchmarks.md tells
how the authors' code was run).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from experiments import families, figures
from experiments.labels import LABELS, LOADERS
from experiments.methods import OURS, PAPER, PMC, label
from experiments.report import Report, Value, labelled, means, overall, shared, spoken
from experiments.trials import Experiment, Family
from polycomplete import datasets, theory

HERE = Path(__file__).parent


def printed(name: str, index: str | list[str]) -> pd.DataFrame:
    """Return numbers of the paper, or of its authors' code: a column for each method."""
    return pd.read_csv(HERE / "printed" / f"{name}.csv").set_index(index)


def manifolds(report: Report, results: pd.DataFrame) -> None:
    """Show points in space, and that their matrices have full rank."""
    # With these seeds no plane is seen from its edge.
    shown = {"subspaces": ("(a) several subspaces", 5), "manifold": ("(b) one curved manifold", 0),
             "manifolds": ("(c) several curved manifolds", 0)}  # fmt: skip
    points = {title: families.points_in_space(kind, seed) for kind, (title, seed) in shown.items()}
    report.figure(partial(figures.surfaces, points))
    ranks = results.groupby("kind")[["rank", "part"]].mean().reindex([*shown])
    rows = [[shown[kind][0], *values] for kind, values in ranks.iterrows()]
    report.table(["data", "rank", "rank of a part"], rows)
    full = None if ranks.isna().any(axis=None) else (ranks["rank"] == 3).all()
    report.verdict("full", full, ranks=", ".join(f"{rank:g}" for rank in ranks["rank"]))


def curves(
    report: Report, panels: Mapping[str, pd.DataFrame], axis: str, what: str, log: bool = True
) -> None:
    """Draw panels of curves; say in words where they begin and end."""
    told = []
    for place in (0, -1):
        values = np.concatenate([lines.iloc[:, place] for lines in panels.values()])
        level = next(iter(panels.values())).columns[place]
        told.append(f"{np.nanmean(values):.3g} at {level:g}")
    facts = {"axis": axis, "what": what, "panels": "; ".join(panels)}
    picture = partial(figures.curves, panels, axis, what, log)
    report.figure(picture, "curves", **facts, start=told[0], end=told[1])


def one_curve(report: Report, results: pd.DataFrame, over: str, heading: str) -> pd.DataFrame:
    """Show the error over n or k, and who is lowest; return the means."""
    lines = means(results, "rse", over)
    curves(report, {heading: lines}, {"n": "points n", "k": "manifolds k"}[over], "RSE")
    report.lines(lines, f"{over} = {{}}")
    report.order(overall(lines), f"mean RSE over all {over}")
    report.settings(lines)
    return lines


def single_columns(report: Report, results: pd.DataFrame) -> None:
    """Show the error over n, the authors' code beside this run, and whether errors fall by half."""
    lines = one_curve(report, results, "n", "One manifold, ρ = 0.5")
    report.authors(printed(report.name, "n"), lines, "n = {}")
    few, many = lines.columns[0], lines.columns[-1]
    known = lines.reindex(PAPER[3:])[[few, many]].dropna()  # VMC, NLMC and PMC
    told = [f"{label(m)} {start:.3g} → {end:.3g}" for m, start, end in known.itertuples()]
    slow = [label(m) for m, start, end in known.itertuples() if not end < start / 2]
    judged = f"not by half: {', '.join(slow)}" if slow else "all fall by more than half"
    facts = {"few": few, "many": many, "errors": ", ".join(told), "slow": judged}
    if told:
        report.verdict("falling", not slow, **facts)


def multi_manifolds(report: Report, results: pd.DataFrame) -> None:
    """Show the error over k, and whether the linear methods fail with many manifolds."""
    lines = one_curve(report, results, "k", "Manifolds of 50 points each, ρ = 0.5")
    linear = lines.reindex(["lrmc-paper", "srmc"]).iloc[:, -1].dropna()
    told = " and ".join(spoken(method, value) for method, value in linear.items())
    if told:  # an error of a third is no recovery
        report.verdict("failing", (linear > 0.3).all(), most=lines.columns[-1], errors=told)


def bound(n: int, k: int) -> float:
    """Return the paper's lower bound on the sampling rate; rank(φ(X)) is 73 a manifold."""
    return theory.sampling_bound(families.FEATURES, n * k, 3, 73 * k)


def information_limit(n: int, k: int) -> float:
    """Return the rate at which there are as many observed entries as unknown numbers."""
    # The generator has a coefficient for each of four powers.
    latent = families.LATENT
    return theory.information_limit(families.FEATURES, n * k, latent, 4 * latent * k)


def heat_maps(report: Report, results: pd.DataFrame, over: str) -> None:
    """Show the error over n or k and the rate, and who is lowest over the whole grid."""
    setting, axis = [over, "rate"], {"n": "points n", "k": "manifolds k"}[over]
    lines, fair = (means(some, "rse", setting) for some in (results, shared(results, setting)))
    sizes = results.groupby(over)[["n", "k"]].first()
    bounds = [bound(n, k) for n, k in sizes.to_numpy().tolist()]
    limits = [information_limit(n, k) for n, k in sizes.to_numpy().tolist()]
    found = overall(fair)
    order = [f"{label(m)} {v:.3g}" for m, v in found.sort_values(kind="stable").items()]
    maps = {method: lines.loc[method].unstack(over) for method in lines.index}
    drawn = {"lower bound of the paper": bounds, "information limit": limits}
    picture = partial(figures.heat_maps, maps, drawn, axis)
    report.figure(picture, "maps", axis=axis.split()[0], order=", ".join(order))
    rows = [[*cell, *lines[cell]] for cell in lines]
    report.table([*setting, *map(label, lines.index)], rows)
    report.order(found, "mean RSE over the grid")
    report.settings(fair)
    recovered(report, results[results["method"] == OURS], over, pd.Series(bounds, sizes.index))


def recovered(report: Report, ours: pd.DataFrame, over: str, bounds: pd.Series) -> None:
    """Say where the default recovers although the paper's bound forbids it."""
    medians = ours.groupby([over, "rate"])["rse"].median()
    cells = [cell for cell, median in medians.items() if median < figures.RECOVERED]
    useful = (bounds < 1).any()
    if useful:
        cells = [(x, rate) for x, rate in cells if rate < bounds[x] < 1]
    lowest = dict(sorted(cells, reverse=True))
    told = [f"from ρ = {rate:g} at {over} = {x}" for x, rate in sorted(lowest.items())]
    where = f"in {len(cells)} cells: {', '.join(told)}" if cells else "in no cell"
    if useful:
        report.verdict("below", cells, beyond=True, cells=where)
    else:
        report.verdict("no-bound", None, beyond=True, over=over, cells=where)


def multi_grid(report: Report, results: pd.DataFrame) -> None:
    """Show the error over k and the rate, and whether PMC-W is a little better than PMC-S."""
    heat_maps(report, results, "k")
    fair = shared(results, ["k", "rate"]).groupby("method")["rse"].mean()
    if {*PMC} <= {*fair.index}:
        skip, weighted = fair[[*PMC]]
        told = f"{spoken(PMC[1], weighted)} and {spoken(PMC[0], skip)}"
        report.verdict("weights", weighted <= skip, errors=told)


def hopkins(report: Report, results: pd.DataFrame) -> None:
    """Show the clustering error in percent: a panel and a block of the table for each matrix."""
    # The published clustering counts with the paper's methods, ours with ours.
    ours = results["method"] == OURS
    results = results.assign(error=100 * results["default"].where(ours, results["published"]))
    published = results[ours].assign(error=100 * results["published"])
    both = pd.concat([results, published.assign(method=f"{OURS}, published clustering")])
    setting = ["sequence", "frames", "missing"]
    lines, every = (means(some, "error", setting) for some in (results, both))
    ran = lines.columns.droplevel("missing")
    matrices = [(s, f) for s in families.SEQUENCES for f in (6, 3) if (s, f) in ran]
    panels = {f"{s}, {f} frames": lines[s, f] for s, f in matrices}
    curves(report, panels, "share of missing entries", "clustering error in %", log=False)
    rates = sorted(results["missing"].unique())
    blocks = {cell: labelled(every[cell].reindex(columns=rates)) for cell in matrices}
    rows = [[*cell, *line] for cell, block in blocks.items() for line in block]
    report.table([*setting[:2], "method", *(f"{rate:.0%} missing" for rate in rates)], rows)
    report.order(overall(lines), "mean error in % over matrices and rates")
    errors = {name: overall(panel).drop(OURS, errors="ignore") for name, panel in panels.items()}
    won = [name for name, e in errors.items()
           if e.reindex(PMC).min() <= e.drop([*PMC], errors="ignore").min()]  # fmt: skip
    everywhere = len(won) == len(panels) if {*PMC} & {*lines.index} else None
    where = f": {'; '.join(won)}" if won else ""
    report.verdict("everywhere", everywhere, won=len(won), number=len(panels), where=where)


#: What this library's default should stay below, by recording and share of missing entries.
TARGETS = {"56_01": {0.1: 0.017, 0.3: 0.027, 0.5: 0.05, 0.7: 0.10}, "56_06": {0.5: 0.10}}


def mocap(report: Report, results: pd.DataFrame) -> None:
    """Show both recordings, and the authors' code beside this run."""
    groups = results.groupby("trial")
    panels = {f"56_{trial}": means(own, "rae", "missing") for trial, own in groups}
    curves(report, panels, "share of missing entries", "RAE")
    for name, lines in panels.items():
        report.lines(lines, "{:.0%}", f"-{name.replace('_', '-')}")
        report.order(overall(lines), f"mean RAE over rates on {name}")
    if "56_01" in panels:
        report.authors(printed(report.name, "missing"), panels["56_01"], "{:.0%}")
    for name, lines in panels.items():
        targets = pd.Series(TARGETS[name])
        errors = lines.reindex([OURS], columns=targets.index).loc[OURS].dropna()
        told = [f"{v:.4f} at {r:.0%} (target {targets[r]:g})" for r, v in errors.items()]
        reached = (errors <= targets[errors.index]).all()
        if told:
            report.verdict("targets", reached, beyond=True, name=name, errors=", ".join(told))


TABLE1 = printed("table1", ["data", "theta"])


def table1(report: Report, results: pd.DataFrame) -> None:
    """Show our classification errors beside the printed ones, for every size that was run."""
    order = [*TABLE1, "imputed + boosted", "boosted trees", OURS]
    lines = means(results, "error", ["data", "theta", "rows"], order)
    tables = [*LOADERS]
    lines = lines[sorted(lines, key=lambda c: (tables.index(c[0]), c[1], c[2] or math.inf))]
    errors = results.groupby(["data", "theta", "rows", "method"])["error"]
    spread = errors.std().unstack("method").reindex(columns=lines.index)
    rows: dict[tuple[str, str, str], list[Value]] = {}
    for data, theta, count in lines:
        theirs = TABLE1.loc[(data, theta)].reindex(lines.index)
        rows[data, f"{theta:.0%}", "paper"] = [None if math.isnan(v) else f"{v:g}" for v in theirs]
        found = lines[data, theta, count], spread.loc[data, theta, count]
        size = f"here, {count or 'all'} rows"
        rows[data, f"{theta:.0%}", size] = [*map(with_deviation, *found)]
    header = ["data", "θ", "source", *map(label, lines.index)]
    report.table(header, [[*where, *values] for where, values in rows.items()])
    complete = lines.reindex([*TABLE1]).dropna(axis=1)
    won = (complete.loc[[*PMC]].min() <= complete.drop([*PMC]).min()).sum()
    number = complete.shape[1]
    report.verdict("cells", won > number / 2 if number else None, won=won, number=number)
    goals = TABLE1[[*PMC]].min(axis=1)
    ours = lines.reindex([OURS]).loc[OURS].dropna()
    largest = {(data, theta): error for (data, theta, _), error in ours.items()}
    reached = [error <= goals[cell] for cell, error in largest.items()]
    told = [f"{d} {t:.0%}: {e:.2f} (paper {goals[d, t]:g})" for (d, t), e in largest.items()]
    facts = {"reached": sum(reached), "number": len(told), "errors": "; ".join(told)}
    if told:
        report.verdict("goals", all(reached), beyond=True, **facts)


def with_deviation(mean: float, deviation: float) -> Value:
    """Return a mean and, if there were several trials, the standard deviation."""
    if math.isnan(mean):
        return None
    return f"{mean:.2f}" if math.isnan(deviation) else f"{mean:.2f} ({deviation:.2f})"


def ranks(report: Report, results: pd.DataFrame) -> None:
    """Show the numerical examples, and the largest ranks that were found beside the bounds."""
    examples = numerical_examples()
    report.table(["quantity", "paper", "here"], examples, "-examples")
    keys = ["d", "alpha", "q", "m", "n", "k"]
    titles = {"general": "all monomials", "generator": "the paper's generator"}
    largest = results.groupby(["method", *keys])[["rank", "rank_phi"]].max()
    rows = []
    for (kind, d, alpha, q, m, n, k), rank, rank_phi in largest.itertuples():
        setting = {"d": d, "alpha": alpha, "m": m, "n": n, "k": k}
        limits = theory.rank_bound(**setting), theory.rank_phi_bound(q=q, **setting)
        rows.append([titles[kind], d, alpha, q, m, n, k, rank, limits[0], rank_phi, limits[1]])
    header = ["maps", "d", "α", "q", "m", "n", "k", "rank(X)", "bound", "rank(φ(X))", "bound"]
    report.table(header, rows, "-ranks")
    wrong = [name for name, stated, computed in examples if stated != computed]
    number, told = len(examples), f"; not: {', '.join(wrong)}" if wrong else ""
    report.verdict("examples", not wrong, right=number - len(wrong), number=number, wrong=told)
    broken = sum(row[-4] > row[-3] or row[-2] > row[-1] for row in rows)
    report.verdict("bounds", not broken, broken=broken, number=len(rows))


def numerical_examples() -> list[tuple[str, int, int]]:
    """Return what the paper states, its number, and ours."""
    small, big = {"d": 2, "alpha": 3, "m": 10, "n": 50}, {"d": 3, "alpha": 2, "m": 100, "n": 1000}
    phi, phi_3 = (theory.rank_phi_bound(q=3, k=k, **big) for k in (1, 3))
    drawn = datasets.make_polynomial_manifold(200, 20, random_state=0)
    additive = theory.rank_phi_additive(d=2, alpha=4, q=3)
    return [
        ("Example 1: rank(X), m = 10, d = 2, n = 50, α = 3", 10, theory.rank_bound(**small)),
        ("Example 1: rank(φ(X)), q = 2", 28, theory.rank_phi_bound(q=2, **small)),
        ("Example 2: r, d = 3, p = 2", 10, theory.rank_bound(**big)),
        ("Example 2: r̃, q = 3", 6, theory.r_tilde(phi, q=3)),
        ("Example 3: r, d = 3, p = 2, k = 3", 30, theory.rank_bound(k=3, **big)),
        ("Example 3: r̃, q = 3", 10, theory.r_tilde(phi_3, q=3)),
        ("Synthetic data: d̃, d = 2, α = 4, q = 3", 73, additive),
        ("Synthetic data: r̃", 6, theory.r_tilde(73, q=3)),
        ("Synthetic data: rank(X)", 8, int(np.linalg.matrix_rank(drawn))),
    ]


#: How the trials of an experiment are made, and how they are shown, in the order of the paper.
SHOWN: dict[str, tuple[Family, Callable[[Report, pd.DataFrame], None]]] = {
    "manifolds": (families.MANIFOLDS, manifolds),
    "single-columns": (families.SYNTHETIC, single_columns),
    "multi-manifolds": (families.SYNTHETIC, multi_manifolds),
    "single-grid": (families.SYNTHETIC, partial(heat_maps, over="n")),
    "multi-grid": (families.SYNTHETIC, multi_grid),
    "hopkins": (families.TRAJECTORIES, hopkins),
    "mocap": (families.MOTION, mocap),
    "table1": (LABELS, table1),
    "theory": (families.RANKS, ranks),
}


def _declared() -> dict[str, Experiment]:
    declared = tomllib.loads((HERE / "paper.toml").read_text(encoding="utf-8"))
    for name in SHOWN:
        declared[name]["words"] = declared["shared"] | declared[name]["words"]
    return {name: Experiment(name, *parts, **declared[name]) for name, parts in SHOWN.items()}


EXPERIMENTS: Mapping[str, Experiment] = _declared()
