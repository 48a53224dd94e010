"""Reports: tables as text, and verdicts that follow from the numbers."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from experiments.figures import curves
from experiments.methods import OURS, PAPER, ROWS
from experiments.paper import EXPERIMENTS
from experiments.report import Report, Table, Verdict, counted, means, overall, shared


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
    cases = ((True, False), (False, False), (True, True), (False, True), (None, True))
    assert [Verdict(holds, "", beyond).word for holds, beyond in cases] == [
        "agrees", "does not agree", "reached", "not reached", "not decided"
    ]  # fmt: skip


def test_the_order_follows_the_numbers(report):
    errors = dict.fromkeys(ROWS, 0.5) | {"pmc-w-paper": 0.1, OURS: 0.2, "vmc-2": 0.15}
    report.order(pd.Series(errors), "mean")
    report.order(pd.Series(errors | {"lrmc-paper": 0.05, OURS: 0.01}), "mean")
    report.order(pd.Series({OURS: 0.1}), "mean")
    assert [verdict.holds for verdict in report.verdicts] == [True, False, False, True, None]
    assert "the better is PMC-W with 0.1" in report.verdicts[0].sentence
    assert "the best of the others VMC-2 with 0.15" in report.verdicts[0].sentence
    assert "the order of the paper does not hold." in report.verdicts[2].sentence


def test_absent_methods_are_named(report):
    report.order(pd.Series({"srmc": 0.3, "pmc-s-paper": 0.2, "pmc-w-paper": 0.1}), "mean")
    assert "among those that were run (not LRMC, LADMC, VMC-2" in report.verdicts[0].sentence


def test_settings_are_counted_one_by_one(report):
    errors = {
        1: dict.fromkeys(PAPER, 0.5) | {"pmc-s-paper": 0.4},
        2: dict.fromkeys(PAPER, 0.5) | {"vmc-3": 0.4},
        3: dict.fromkeys(PAPER[1:], 0.5),  # not all were run
    }
    report.settings(means(trials(errors), "rse", "n"))
    assert report.verdicts[0].sentence.endswith("in 1 of 2; VMC-3 in 1.")
    assert report.verdicts[0].holds is False


def test_no_setting_decides_nothing(report):
    report.settings(means(trials({1: {OURS: 0.1}}), "rse", "n"))
    assert report.verdicts[0].word == "not decided"


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
    panels = {"a": pd.DataFrame({0: [1.0], 1: [2.0]}, ["srmc"]),
              "b": pd.DataFrame({0: [5.0], 1: [90.0]}, ["srmc"])}  # fmt: skip
    for log in (True, False):
        axes = curves(panels, "x", "y", log=log).axes
        assert len({ax.get_ylim() for ax in axes}) == 1
        low, high = axes[0].get_ylim()
        assert low < 1
        assert high > 90
        assert {ax.get_yscale() for ax in axes} == {"log" if log else "linear"}
