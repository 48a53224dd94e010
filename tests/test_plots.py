"""Pictures: axes in, axes out, and what they show."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone

from polycomplete import LRMC, PMC, SRMC, Exact, diagnostics

T = np.linspace(-1, 1, 40)
X = np.c_[T, T**2, T**3]
X[::4, 1] = np.nan


@pytest.fixture(autouse=True)
def _quiet():
    plt.close("all")
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def pmc():
    return PMC(smoothing=1e-3, scale="standard", random_state=0).fit(X)


@pytest.fixture
def ax():
    return Figure().subplots()


def draws(pmc):
    after = np.nan_to_num(X)
    return {
        "plot_missingness": lambda ax: diagnostics.plot_missingness(X, ax=ax),
        "plot_convergence": lambda ax: diagnostics.plot_convergence(pmc, ax=ax),
        "plot_spectrum": lambda ax: diagnostics.plot_spectrum(pmc, ax=ax),
        "plot_before_after": lambda ax: diagnostics.plot_before_after(X, after, 1, ax=ax),
        "plot_phase_diagram": lambda ax: diagnostics.plot_phase_diagram(
            [[0.0, 1.0], [0.4, 0.6]], [0.2, 0.4], [10, 20], bounds={"limit": [0.3, 0.25]}, ax=ax
        ),
    }


@pytest.mark.parametrize("name", [n for n in diagnostics.__all__ if n.startswith("plot_")])
def test_axes_in_axes_out(name, pmc, ax):
    draw = draws(pmc)[name]
    before = plt.get_fignums()
    assert draw(ax) is ax
    assert plt.get_fignums() == before
    ax.figure.canvas.draw()
    assert draw(None) is not ax  # new ones


def test_missing_cells_are_where_they_are(ax):
    diagnostics.plot_missingness(X, ax=ax)
    assert np.array_equal(ax.images[0].get_array(), np.isnan(X))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_names_are_written_as_they_are(make, ax):
    frame = make({"$x$": [1.0, None], "a" * 50: ["b", None]})
    diagnostics.plot_missingness(frame, ax=ax)
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["$x$", "a" * 19 + "…"]


def test_convergence_shows_each_stage_coming_down(pmc, ax):
    staged = clone(pmc).set_params(solver=Exact(algorithm="quasi-newton")).fit(X)
    diagnostics.plot_convergence(staged.result_, ax=ax)
    curves = [line for line in ax.lines if line.get_zorder() > 0]
    assert len(curves) == len(set(staged.result_.smoothings)) > 1
    assert all(line.get_ydata()[0] == max(line.get_ydata()) for line in curves)  # it falls
    assert ax.get_yscale() == "log"


def test_convergence_shows_what_newton_steps_gained(pmc, ax):
    diagnostics.plot_convergence(pmc, ax=ax)
    (line,) = ax.lines
    gains = [gain for gain in pmc.result_.gains if gain > 0]
    np.testing.assert_array_equal(line.get_ydata(), gains)
    assert (ax.get_ylabel(), ax.get_yscale()) == ("share gained", "log")


def test_spectra_show_rank_and_smoothing(pmc, ax):
    diagnostics.plot_spectrum(pmc, ax=ax)
    assert ax.get_title().startswith("rank ")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rank", "smoothing"]


def test_before_and_after_by_name_and_of_labels(ax):
    before = pd.DataFrame({"n": [1.0, None, 3.0], "c": ["red", None, "blue"]})
    after = before.fillna({"n": 2.0, "c": "red"})
    diagnostics.plot_before_after(before, after, "n")
    diagnostics.plot_before_after(before, after, "c", ax=ax)
    assert [bar.get_height() for bar in ax.patches] == [0.5, 0.5, 0.0, 1.0]
    with pytest.raises(ValueError, match="no column 'x'; there are n, c"):
        diagnostics.plot_before_after(before, after, "x")


def test_what_cannot_be_drawn_says_why():
    with pytest.raises(ValueError, match="no spectrum"):
        diagnostics.plot_spectrum(SRMC().fit(X))
    with pytest.raises(ValueError, match="Nothing was iterated"):
        diagnostics.plot_convergence(LRMC().fit(np.ones((3, 2))))
