"""How the paper's figures are shown; paper.toml says what is run, and in which words.

The paper prints its figures without numbers; what its authors' MATLAB code reaches on instances of
the same kind stands in for them (benchmarks/anchors/README.md tells how it was run).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from experiments import families, figures, limits, table1
from experiments.labels import LABELS
from experiments.methods import FORMS, OURS, PRINTED, RECOMMENDED, label, short
from experiments.report import (
    Report,
    by_form,
    labelled,
    means,
    overall,
    printed,
    shared,
    spoken,
    standard_errors,
)
from experiments.trials import Experiment, Family
from polycomplete import theory

HERE = Path(__file__).parent


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


#: Means and their standard errors, by the title of a panel.
Panels = Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]


def curves(report: Report, panels: Panels, axis: str, what: str, log: bool = True) -> None:
    """Draw panels of curves; say in words where they begin and end."""
    told = []
    for place in (0, -1):
        values = np.concatenate([lines.iloc[:, place] for lines, _ in panels.values()])
        level = next(iter(panels.values()))[0].columns[place]
        told.append(f"{np.nanmean(values):.3g} at {level:g}")
    facts = {"axis": axis, "what": what, "panels": "; ".join(panels)}
    picture = partial(figures.curves, panels, axis, what, log)
    report.figure(picture, "curves", **facts, start=told[0], end=told[1])


def one_curve(report: Report, results: pd.DataFrame, over: str, heading: str) -> pd.DataFrame:
    """Show the error over n or k, and who is lowest; return the means."""
    lines, bars = means(results, "rse", over), standard_errors(results, "rse", over)
    panels = {f"{heading}, {kind}": (own, bars) for kind, own in by_form(lines).items()}
    printed_too = lines.reindex(PRINTED).dropna(how="all")
    if len(printed_too):
        panels[f"{heading}, as printed"] = printed_too, bars
    curves(report, panels, {"n": "points n", "k": "manifolds k"}[over], "RSE")
    report.lines(lines, f"{over} = {{}}")
    report.order(overall(lines), f"mean RSE over all {over}")
    report.settings(lines)
    return lines


def single_columns(report: Report, results: pd.DataFrame) -> None:
    """Show the error over n, the authors' code and both masks, and whether errors fall by half."""
    per_sample = results[results["mask"] == families.MASKS[0]]
    lines = one_curve(report, per_sample, "n", "ρ = 0.5")
    report.authors(printed(report.name, "n"), lines, "n = {}")
    both_masks(report, results)
    few, many = lines.columns[0], lines.columns[-1]
    for kind, rows in FORMS.items():
        known = lines.reindex(rows[3:])[[few, many]].dropna()  # VMC, NLMC and PMC
        told = [f"{short(m)} {start:.3g} → {end:.3g}" for m, start, end in known.itertuples()]
        slow = [short(m) for m, start, end in known.itertuples() if not end < start / 2]
        judged = f"not by half: {', '.join(slow)}" if slow else "all fall by more than half"
        facts = {"few": few, "many": many, "errors": ", ".join(told), "slow": judged}
        if told:
            report.verdict("falling", not slow, kind, **facts)


def both_masks(report: Report, results: pd.DataFrame) -> None:
    """Show what was run with both kinds of masks."""
    lines = means(results, "rse", ["mask", "n"])
    if families.MASKS[1] not in lines:
        return
    sizes = [n for n in lines[families.MASKS[1]] if n in lines[families.MASKS[0]]]
    cells = [(kind, n) for n in sizes for kind in families.MASKS]
    chosen = lines[cells].dropna()
    header = ["method", *(f"n = {n}, {kind}" for kind, n in cells)]
    report.table(header, labelled(chosen), "-masks")


def multi_manifolds(report: Report, results: pd.DataFrame) -> None:
    """Show the error over k, and whether the linear methods fail with many manifolds."""
    lines = one_curve(report, results, "k", "ρ = 0.5")
    for kind, rows in FORMS.items():
        linear = lines.reindex(rows[:2]).iloc[:, -1].dropna()
        told = " and ".join(spoken(method, value) for method, value in linear.items())
        if told:  # an error of a third is no recovery
            failing = (linear > 0.3).all()
            report.verdict("failing", failing, kind, most=lines.columns[-1], errors=told)


def bound(n: int, k: int, q: int = 3) -> float:
    """Return the paper's lower bound on the sampling rate; with q = 3 rank(φ(X)) is 73 k."""
    rank_phi = theory.rank_phi_additive(families.LATENT, 4, q, k)
    return theory.sampling_bound(families.FEATURES, n * k, q, rank_phi)


def information_limit(n: int, k: int) -> float:
    """Return the rate at which there are as many observed entries as unknown numbers."""
    # The generator has a coefficient for each of four powers.
    latent = families.LATENT
    return theory.information_limit(families.FEATURES, n * k, latent, 4 * latent * k)


def heat_maps(report: Report, results: pd.DataFrame, over: str) -> None:
    """Show the error over n or k and the rate, and who is lowest over the whole grid."""
    # What is printed shares some settings, and would leave only these to a fair comparison.
    results = results[~results["method"].isin(PRINTED)]
    setting, axis = [over, "rate"], {"n": "points n", "k": "manifolds k"}[over]
    lines, fair = (means(some, "rse", setting) for some in (results, shared(results, setting)))
    sizes = results.groupby(over)[["n", "k"]].first()
    drawn = curves_of_bounds(sizes)
    found = overall(fair)
    order = [f"{label(m)} {v:.3g}" for m, v in found.sort_values(kind="stable").items()]
    maps = {method: lines.loc[method].unstack(over) for method in lines.index}
    picture = partial(figures.heat_maps, maps, drawn, axis)
    report.figure(picture, "maps", axis=axis.split()[0], order=", ".join(order))
    rows = [[*cell, *lines[cell]] for cell in lines]
    report.table([*setting, *map(label, lines.index)], rows)
    report.order(found, "mean RSE over the grid")
    report.settings(fair)
    readings = [f"{b:.2f}" for b in drawn.get(READING, ())]
    if readings:
        report.verdict("reading", None, "note", rates=", ".join(readings), over=over)
    first = pd.Series(drawn["lower bound of the paper"], sizes.index)
    recovered(report, results[results["method"] == OURS], over, first)


#: The bound that the paper states lies above one in Figure 4, where it nevertheless has a curve.
READING = "a reading of the bound: q = 2"


def curves_of_bounds(sizes: pd.DataFrame) -> dict[str, list[float]]:
    """Return the curves of Figures 3 and 4 for n and k; where q = 3 says nothing, q = 2 as well."""
    pairs = sizes.to_numpy().tolist()
    drawn = {"lower bound of the paper": [bound(n, k) for n, k in pairs]}
    if min(drawn["lower bound of the paper"]) > 1:
        drawn[READING] = [bound(n, k, q=2) for n, k in pairs]
    return drawn | {"information limit": [information_limit(n, k) for n, k in pairs]}


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
        report.verdict("below", cells, "beyond", cells=where)
    else:
        report.verdict("no-bound", None, "note", over=over, cells=where)


def multi_grid(report: Report, results: pd.DataFrame) -> None:
    """Show the error over k and the rate, and whether PMC-W is a little better than PMC-S."""
    heat_maps(report, results, "k")
    fair = shared(results, ["k", "rate"]).groupby("method")["rse"].mean()
    for kind, rows in FORMS.items():
        pair = rows[-2:]
        if {*pair} <= {*fair.index}:
            skip, weighted = fair[[*pair]]
            told = f"{spoken(pair[1], weighted)} and {spoken(pair[0], skip)}"
            report.verdict("weights", weighted <= skip, kind, errors=told)


def hopkins(report: Report, results: pd.DataFrame) -> None:
    """Show the clustering error in percent: panels for each matrix and form, and a table."""
    # Published methods are clustered by the published algorithm, ours by ours.
    ours = results["method"].isin(RECOMMENDED)
    results = results.assign(error=100 * results["default"].where(ours, results["published"]))
    published = results[results["method"] == OURS].assign(error=100 * results["published"])
    both = pd.concat([results, published.assign(method=f"{OURS}, published clustering")])
    setting = ["sequence", "frames", "missing"]
    lines, every = (means(some, "error", setting) for some in (results, both))
    bars, ran = standard_errors(results, "error", setting), lines.columns.droplevel("missing")
    matrices = [(s, f) for s in families.SEQUENCES for f in (6, 3) if (s, f) in ran]
    panels = {
        f"{s}, {f} frames, {kind}": (own, bars[s, f])
        for s, f in matrices
        for kind, own in by_form(lines[s, f]).items()
    }
    curves(report, panels, "share of missing entries", "clustering error in %", log=False)
    rates = sorted(results["missing"].unique())
    blocks = {cell: labelled(every[cell].reindex(columns=rates)) for cell in matrices}
    rows = [[*cell, *line] for cell, block in blocks.items() for line in block]
    report.table([*setting[:2], "method", *(f"{rate:.0%} missing" for rate in rates)], rows)
    report.order(overall(lines), "mean error in % over matrices and rates")
    errors = {f"{s}, {f} frames": overall(lines[s, f]) for s, f in matrices}
    everywhere(report, errors)


def everywhere(report: Report, errors: Mapping[str, pd.Series]) -> None:
    """Say on how many matrices PMC-S or PMC-W is lowest, or level, for each form."""
    for kind, methods in FORMS.items():
        ours, rivals = methods[-2:], methods[:-2]
        known = {
            name: e for name, e in errors.items() if {*e.index} & {*ours} and {*e.index} & {*rivals}
        }
        won = [n for n, e in known.items() if e.reindex(ours).min() <= e.reindex(rivals).min()]
        where = f": {'; '.join(won)}" if won else ""
        holds = len(won) == len(known) if known else None
        report.verdict("everywhere", holds, kind, won=len(won), number=len(known), where=where)


#: What this library's default should stay below, by recording and share of missing entries.
TARGETS = {"56_01": {0.1: 0.017, 0.3: 0.027, 0.5: 0.05, 0.7: 0.10}, "56_06": {0.5: 0.10}}


def mocap(report: Report, results: pd.DataFrame) -> None:
    """Show both recordings, and the authors' code beside this run."""
    groups = dict(iter(results.groupby("trial")))
    found = {f"56_{trial}": means(own, "rae", "missing") for trial, own in groups.items()}
    panels = {
        f"56_{trial}, {kind}": (lines, standard_errors(own, "rae", "missing"))
        for trial, own in groups.items()
        for kind, lines in by_form(found[f"56_{trial}"]).items()
    }
    curves(report, panels, "share of missing entries", "RAE")
    for name, lines in found.items():
        report.lines(lines, "{:.0%}", f"-{name.replace('_', '-')}")
        fair = lines.dropna(axis=1).mean(axis=1) if len(lines.dropna(axis=1).T) else overall(lines)
        report.order(fair, f"mean RAE on {name} over the rates that all were run on")
    if "56_01" in found:
        report.authors(printed(report.name, "missing"), found["56_01"], "{:.0%}")
    for name, lines in found.items():
        targets = pd.Series(TARGETS[name])
        errors = lines.reindex([OURS], columns=targets.index).loc[OURS].dropna()
        told = [f"{v:.4f} at {r:.0%} (target {targets[r]:g})" for r, v in errors.items()]
        reached = (errors <= targets[errors.index]).all()
        if told:
            report.verdict("targets", reached, "beyond", name=name, errors=", ".join(told))


#: How the trials of an experiment are made, and how they are shown, in the order of the paper.
SHOWN: dict[str, tuple[Family, Callable[[Report, pd.DataFrame], None]]] = {
    "manifolds": (families.MANIFOLDS, manifolds),
    "single-columns": (families.SYNTHETIC, single_columns),
    "multi-manifolds": (families.SYNTHETIC, multi_manifolds),
    "single-grid": (families.SYNTHETIC, partial(heat_maps, over="n")),
    "multi-grid": (families.SYNTHETIC, multi_grid),
    "hopkins": (families.TRAJECTORIES, hopkins),
    "mocap": (families.MOTION, mocap),
    "table1": (LABELS, table1.table1),
    "theory": (families.RANKS, limits.ranks),
    "transition": (families.TRANSITION, limits.transition),
    "sensitivity": (families.SENSITIVITY, limits.sensitivity),
}


#: What is run, and all the words of the page.
DECLARED = tomllib.loads((HERE / "paper.toml").read_text(encoding="utf-8"))
#: The words on the settings and on the statements of the paper.
ABOUT = DECLARED.pop("about")


def _declared() -> dict[str, Experiment]:
    words = {name: DECLARED["shared"] | DECLARED[name].pop("words") for name in SHOWN}
    return {
        name: Experiment(name, *parts, **DECLARED[name], words=words[name])
        for name, parts in SHOWN.items()
    }


EXPERIMENTS: Mapping[str, Experiment] = _declared()
