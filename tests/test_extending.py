"""What docs/extending.md shows and fits, with landmarks, on new rows and in reports."""

import doctest
from pathlib import Path

import numpy as np
import pytest

from polycomplete import Completer, Exact, Landmark, Schatten, methods, metrics
from polycomplete.diagnostics import check_gradient
from polycomplete.methods import registry
from tests.conftest import drawn

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extending.md"
TRUTH, MASK, GIVEN = drawn(80, 8, rate=0.7, seed=0)


@pytest.fixture(scope="module")
def shown():
    """Give the classes of the page by their names."""
    space = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        if example.source.startswith(("import ", "from ", "class ")):
            exec(example.source, space)
    return space


@pytest.mark.parametrize("solver", [Exact(), Landmark()], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_part_or_a_named_method_is_one_class(shown, solver):
    for make, parts in (
        (Completer, {"kernel": shown["Cauchy"]()}),
        (Completer, {"penalty": shown["Rational"]()}),
        (shown["Named"], {}),
    ):
        one = make(**parts, solver=solver, smoothing=1e-5, scale="standard", random_state=0)
        completed = one.fit_transform(GIVEN)
        assert np.array_equal(completed[MASK], TRUTH[MASK])
        assert metrics.rse(TRUTH, completed, MASK) < 0.02
        assert np.isfinite(one.cell_std_).all()
        again = one.transform(GIVEN[:20])
        assert metrics.rse(TRUTH[:20], again, MASK[:20]) < 0.05
        assert str(one.report(GIVEN, completed)).startswith("<report of ")


def test_their_gradients_are_right(shown):
    given, kernel = np.where(MASK, TRUTH, 0), shown["Cauchy"]()
    for penalty in Schatten(), shown["Rational"]():
        parts = kernel.resolve(given, MASK), penalty.resolve(given, MASK)
        problem = Exact().pose(given, MASK, *parts)
        start = problem.pack(given)
        assert check_gradient(lambda x, of=problem: of.value_and_gradient(x, 1e-2), start).passed


def test_a_name_is_one_entry(shown, monkeypatch):
    entry = methods.Method("named", "Named", shown["Named"], "nowhere", {"noise": 10.0})
    monkeypatch.setattr(registry, "METHODS", {**methods.METHODS, "named": entry})
    assert "named" in methods.names("completer")
    named = methods.get("Named", smoothing=1e-3)
    assert (type(named), named.noise, named.smoothing) == (shown["Named"], 10.0, 1e-3)
