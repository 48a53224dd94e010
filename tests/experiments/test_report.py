"""Reports: tables as text, and verdicts that follow from the numbers."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from experiments.figures import curves
from experiments.methods import OURS, PRINTED, PUBLISHED, RECOMMENDED, ROWS, label, short
from experiments.paper import EXPERIMENTS
from experiments.report import (
    Report,
    Table,
    Verdict,
    by_form,
    counted,
    means,
    overall,
    shared,
    standard_errors,
)


@pytest.fixture
def report():
    return Report("toy", EXPERIMENTS["single-columns"].words)


def trials(errors):
    """Return trials of one seed from errors by n and method."""
    return pd.DataFrame(
        {"n": n, "method": method, "seed": 0, "rse": error}
        for n, by_method in errors.items()
        for method, error in by_method.items()
    )


def test_tables_are_valid_csv_and_markdown():
    table = Table("t", "Two | three.", ["a|b", "c"], [["x,y", 0.123456], [None, float("nan")]])
    assert list(csv.reader(io.StringIO(table.csv()))) == [["a|b", "c"], ["x,y", "0.123"], ["–"] * 2]
    assert table.markdown().splitlines()[2] == "| a\\|b | c |"


def test_verdicts_have_their_words():
    kinds = ("published", "recommended", "beyond")
    words = [[Verdict(holds, "", kind).word for holds in (True, False, None)] for kind in kinds]
    agrees = ["agrees", "does not agree", "not decided"]
    assert words == [agrees, agrees, ["reached", "not reached", "not decided"]]
    assert Verdict(None, "", "note").word == "note"


def test_the_order_is_judged_twice_and_follows_the_numbers(report):
    errors = dict.fromkeys(ROWS, 0.5) | {"pmc-w-authors": 0.1, OURS: 0.2, "vmc-2": 0.15}
    report.order(pd.Series(errors), "mean")
    report.order(pd.Series(errors | {"lrmc-authors": 0.05, OURS: 0.01}), "mean")
    report.order(pd.Series({OURS: 0.1}), "mean")
    notes = [v.sentence for v in report.verdicts if v.kind == "note"]
    assert len(notes) == 2
    assert "0.5 (PMC, degree 2 (paper)), 0.5 (PMC, degree 2)" in notes[0]
    judged = [verdict for verdict in report.verdicts if verdict.kind != "note"]
    assert [(v.kind, v.holds) for v in judged] == [
        ("published", True), ("recommended", False), ("published", False), ("recommended", True),
        ("published", None), ("recommended", None),
    ]  # fmt: skip
    first, second, third, *_ = (verdict.sentence for verdict in judged)
    assert first.startswith("As published: the better of PMC-S and PMC-W is PMC-W with 0.1, the ")
    assert "As recommended: the better of PMC-S and PMC-W is PMC-W with 0.2" in second
    assert "the best of the others VMC-2 with 0.15" in second
    assert "the order of the paper does not hold." in third


def test_absent_methods_are_named(report):
    errors = {"srmc-authors": 0.3, "pmc-s-authors": 0.2, "pmc-w-authors": 0.1}
    report.order(pd.Series(errors), "mean")
    assert "among those that were run (not LRMC, LADMC, VMC-2" in report.verdicts[0].sentence


def test_settings_are_counted_one_by_one_for_each_form(report):
    errors = {
        1: dict.fromkeys(ROWS, 0.5) | {"pmc-s-authors": 0.4, "vmc-2": 0.4},
        2: dict.fromkeys(ROWS, 0.5) | {"vmc-3-authors": 0.4},
        3: dict.fromkeys([*PUBLISHED[1:], *RECOMMENDED[1:]], 0.5),  # not all were run
    }
    report.settings(means(trials(errors), "rse", "n"))
    published, recommended = report.verdicts
    assert published.sentence.endswith("in 1 of 2; VMC-3 in 1.")
    assert recommended.sentence.endswith("in 1 of 2; VMC-2 in 1.")
    assert (published.holds, recommended.holds) == (False, False)


def test_no_setting_decides_nothing(report):
    report.settings(means(trials({1: {OURS: 0.1}}), "rse", "n"))
    assert {verdict.word for verdict in report.verdicts} == {"not decided"}


def test_forms_are_apart_and_named():
    lines = pd.DataFrame({1: dict.fromkeys([*ROWS, *PRINTED], 0.5)})
    assert {kind: [*own.index] for kind, own in by_form(lines).items()} == {
        "as published": [*PUBLISHED, "pmc-poly-paper"],
        "as recommended": [*RECOMMENDED, "pmc-poly"],
    }
    assert [*by_form(lines.loc[["pmc-w2-paper"]])] == ["all"]
    assert [short(m) for m in PUBLISHED] == [short(m) for m in RECOMMENDED]
    assert len({label(m) for m in (*ROWS, *PRINTED)}) == len({*ROWS, *PRINTED})


def test_standard_errors_are_those_of_means():
    results = pd.DataFrame({"n": [1, 1, 1, 2], "method": "srmc", "rse": [1.0, 2.0, 6.0, 4.0]})
    found = standard_errors(results, "rse", "n").loc["srmc"]
    assert found[1] == pytest.approx(np.sqrt(7 / 3))
    assert np.isnan(found[2])


def test_means_are_of_trials_then_of_settings():
    results = pd.DataFrame(
        {"n": n, "method": method, "seed": seed, "rse": float(n + seed)}
        for n in (1, 2) for method in ("zebra", "srmc", OURS) for seed in range(3)
        if (n, method) != (2, "zebra") and (n, method, seed) != (2, "srmc", 2)
    )  # fmt: skip
    lines = means(results, "rse", "n")
    assert lines.index.tolist() == ["srmc", OURS, "zebra"]  # ours in order, then others
    np.testing.assert_allclose(lines.loc["srmc"], [2.0, 2.5])
    assert overall(lines).to_dict() == {"srmc": 2.25, OURS: 2.5}
    assert counted(results) == "3 trials"
    assert counted(results.query("seed == 0")) == "one trial"
    both = shared(results.query("method != 'zebra'"), ["n"])
    assert both.groupby("method").size().tolist() == [5, 5]


def test_panels_show_all_of_their_lines():
    none = pd.DataFrame({0: [np.nan], 1: [0.1]}, ["srmc"])
    panels = {"a": (pd.DataFrame({0: [1.0], 1: [2.0]}, ["srmc"]), none),
              "b": (pd.DataFrame({0: [5.0], 1: [90.0]}, ["srmc"]), none)}  # fmt: skip
    for log in (True, False):
        axes = curves(panels, "x", "y", log=log).axes
        assert len({ax.get_ylim() for ax in axes}) == 1
        low, high = axes[0].get_ylim()
        assert low < 1
        assert high > 90
        assert {ax.get_yscale() for ax in axes} == {"log" if log else "linear"}
