"""The settings of every form of every method side by side, and the list of the paper's statements.

Settings are read from the estimators that the registry makes, so that the page shows what runs;
the words on what the paper leaves open are in paper.toml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.methods import OURS, label, make
from experiments.published import (
    AlternatingProjections,
    GrowingMultipliers,
    JointRepresentation,
    Published,
    ReweightedVariety,
)
from experiments.report import Table, Value
from polycomplete import KFMC, LADMC, LRMC, NLMC, PMC, RBF, SRMC, VMC, AdamPlus
from polycomplete.kernels import Kernel
from polycomplete.penalties import Equal, Inverse, Ramp, Skip

#: Every form, by the method's name in the paper.
LISTED: Mapping[str, tuple[str, ...]] = {
    "PMC-S": ("pmc-s-paper", "pmc-s-authors", "pmc-s"),
    "PMC-W": ("pmc-w-paper", "pmc-w2-paper", "pmc-w-authors", OURS),
    "PMC, polynomial": ("pmc-poly-paper", "pmc-poly"),
    "NLMC": ("nlmc-paper", "nlmc-authors", "nlmc"),
    "VMC-2": ("vmc-2-paper", "vmc-2"),
    "VMC-3": ("vmc-3-paper", "vmc-3-authors", "vmc-3"),
    "LADMC": ("ladmc-paper", "ladmc"),
    "SRMC": ("srmc-paper", "srmc-authors", "srmc"),
    "LRMC": ("lrmc-paper", "lrmc-authors", "lrmc"),
    "KFMC": ("kfmc-paper", "kfmc"),
}
HEADER = ("form", "kernel and width", "p", "s or weights", "smoothing or penalty", "start", "step",
          "iterations, stopping", "scaling", "not said, so assumed")  # fmt: skip
STATEMENTS = Path(__file__).parents[1] / "docs" / "from-paper-to-code.md"


def side_by_side(assumed: Mapping[str, str], caption: str) -> Table:
    """Return the table of settings."""
    rows: list[list[Value]] = []
    for methods in LISTED.values():
        for method in methods:
            estimator = make(method, 0)
            rows.append([label(method), *described(estimator), assumed.get(method, "–")])
    return Table("settings", caption, HEADER, rows)


def described(estimator: Any) -> list[str]:
    """Return kernel, p, weights, smoothing, start, step, iterations and scaling of an estimator."""
    if isinstance(estimator, Published):
        return [*_published(estimator), f"{estimator.max_iter} at most", "none"]
    own = [_kernel(estimator), *_penalty(estimator)]
    scale = {None: "none", "auto": "held-out entries"}.get(estimator.scale, estimator.scale)
    solver = getattr(estimator, "solver", None)
    if isinstance(solver, AdamPlus):
        gamma = solver.default_smoothing if estimator.smoothing == "auto" else estimator.smoothing
        moments = "" if solver.correct_bias else ", moments not corrected"
        ends = f"{solver.max_iter} at most, moves below {solver.tol:g}"
        return [*own, f"γ = {gamma:g}", solver.init, f"Adam+ from {solver.step:g}{moments}", ends,
                scale]  # fmt: skip
    chosen = "held-out entries"
    if isinstance(estimator, KFMC):
        beta = chosen if estimator.beta == "auto" else f"β = {estimator.beta:g}"
        ends = f"{estimator.max_iter} at most, objective within {estimator.tol:g}"
        return [*own, beta, "atoms from rows", "Newton, in turns", ends, scale]
    if isinstance(estimator, LRMC):
        return [*own, "exact", "mean", "augmented Lagrangian, balanced", "duality gap 1e-4", scale]
    if isinstance(estimator, SRMC | LADMC):
        what = "λ" if isinstance(estimator, SRMC) else "rank"
        return [*own, f"{what} by {chosen}", "mean", "a path from coarse to fine",
                f"{getattr(estimator, 'max_iter', 'path')}, {getattr(estimator, 'tol', 'its end')}",
                scale]  # fmt: skip
    return [*own, f"γ by {chosen}", "mean", "Newton, falling γ",
            "until rows move less than 1e-3", scale]  # fmt: skip


def _kernel(estimator: Any) -> str:
    """Return a kernel in words."""
    if isinstance(estimator, VMC):
        return f"polynomial, degree {estimator.degree}, b = {estimator.offset:g} × mean |x|²"
    if isinstance(estimator, LRMC):
        return "linear"
    if isinstance(estimator, SRMC | LADMC):
        return "none" if isinstance(estimator, SRMC) else "products of two entries"
    kernel: Kernel = estimator.kernel or RBF()
    if isinstance(kernel, RBF):
        unit = {"observed": "RMS distance", "zero-filled": "mean zero-filled distance"}
        return f"Gaussian, {kernel.multiple:g} × {unit[kernel.unit]}"
    params = kernel.get_params()
    relative = " × mean |x|²" if params["relative"] else ""
    return f"polynomial, degree {params['degree']}, b = {params['offset']:g}{relative}"


def _penalty(estimator: Any) -> tuple[str, str]:
    """Return p and the weights in words."""
    if isinstance(estimator, LRMC | SRMC | LADMC | KFMC):
        return ("1" if isinstance(estimator, LRMC) else "–"), "–"
    by_adam = isinstance(estimator.solver, AdamPlus)
    p = ("0.5" if by_adam else "-0.5") if estimator.p == "auto" else f"{estimator.p:g}"
    if not isinstance(estimator, PMC):
        assert isinstance(estimator, NLMC | VMC)
        return p, "equal"
    rules = {"ramp": Ramp(), "skip": Skip(estimator.s)}
    rule = rules.get(estimator.weights, estimator.weights)
    if isinstance(rule, Skip):
        return p, {"columns": "s = m", "auto": "s = estimated rank"}[str(rule.s)]
    if isinstance(rule, Inverse):
        power = "λᵖ" if rule.power == 2 else "σᵖ"
        when = "of a first fit" if rule.frozen else "anew in each iteration"
        return p, f"1/({power} + {rule.epsilon:g}), {when}"
    return p, "equal" if isinstance(rule, Equal) else "i/n"


def _published(estimator: Published) -> list[str]:
    """Return kernel to step of a rival's published algorithm."""
    if isinstance(estimator, ReweightedVariety):
        kernel = (
            f"polynomial, degree {estimator.degree}, c = {estimator.offset:g}, rows of length ≤ 1"
        )
        step = f"γ^(1−p/2), γ falls by {estimator.eta:g}"
        return [kernel, f"{estimator.p:g}", "equal", f"γ from {estimator.gamma:g}", "zero", step]
    if isinstance(estimator, AlternatingProjections):
        step = f"{estimator.inner} projections, then rows"
        return ["products of two entries", "–", "–", f"rank {estimator.rank}", "zero", step]
    if isinstance(estimator, JointRepresentation):
        given = estimator.penalty
        penalty = "λ = 100/missing rate" if given is None else f"λ = {given:g}"
        step = f"u from {estimator.step:g}, grows by {estimator.growth:g}"
        return ["none", "–", "–", penalty, "zero", step]
    assert isinstance(estimator, GrowingMultipliers)
    step = f"μ from {estimator.step:g}, grows by {estimator.growth:g}"
    return ["linear", "1", "–", "exact", "zero", step]


def statements(caption: str) -> Table:
    """Return every numbered statement of the paper with its place, from the documentation."""
    rows: list[list[Value]] = []
    for line in STATEMENTS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 3 and re.match(NUMBERED, cells[0]):
            rows.append([cell.replace("`", "").replace("polycomplete.", "") for cell in cells])
    return Table("statements", caption, ("in the paper", "symbol or content", "here"), rows)


#: How a line of the list begins.
NUMBERED = (
    r"(Assumption|Definition|Theorem|Lemma|Corollary|Remark|Example|eq\.|Algorithm|Figure|Table|"
    r"weights|the polynomial|a partial|synthetic|supplement|constants|proofs)"
)
