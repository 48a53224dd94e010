"""The registry: every method by name, nothing listed twice by hand."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import polycomplete
from polycomplete import methods
from polycomplete.base import BaseCompleter
from polycomplete.masks import apply
from polycomplete.methods import registry

#: What the paper compares, and the field's earlier answer to scale.
PAPER = {"pmc-s", "pmc-w", "nlmc", "lrmc", "srmc", "ladmc", "vmc-2", "vmc-3", "kfmc"}
WRONG = {"pmcw": "'pmc-w'", "KNNN": "'knn'", "": "there are"}
KINDS = ["completer", "published", "baseline"]
OURS = [name for kind in KINDS for name in methods.names(kind)]


def test_every_method_of_the_paper_is_there():
    assert set(methods.names("completer")) >= PAPER
    assert {"mean", "knn", "iterative", "forest"} == set(methods.names("baseline"))
    forms = {"pmc-s", "pmc-w", "nlmc"}
    published = set(methods.names("published"))
    assert {f"{name}-{form}" for name in forms for form in ("paper", "authors")} <= published
    assert {"pmc-w2-paper", "pmc-poly-paper", "lrmc-paper", "kfmc-paper"} <= published


def test_every_completer_of_the_package_is_registered():
    public = {one for _, one in inspect.getmembers(polycomplete, inspect.isclass)
              if issubclass(one, BaseCompleter) and one is not polycomplete.Completer}  # fmt: skip
    assert public == {type(methods.get(name)) for name in methods.names("completer")}


def test_every_entry_says_what_it_is():
    for name, entry in methods.METHODS.items():
        assert entry.name == name == name.lower()
        assert entry.label
        assert entry.citation.endswith((".", ")"))
        assert any(year in entry.citation for year in map(str, range(1990, 2030)))
        assert isinstance(methods.get(name), BaseEstimator)


def test_kinds_are_disjoint_and_labels_are_unique():
    rivals = {name for name, method in methods.METHODS.items() if method.kind == "rival"}
    assert sorted(OURS) == sorted(set(methods.names()) - rivals)
    labels = [entry.label for entry in methods.METHODS.values()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", methods.names("baseline"))
def test_baselines_complete_a_table(name, problem):
    params = {"random_state": 0} if name in ("iterative", "forest") else {}
    if name == "forest":
        params["tol"] = 1.0  # a few rounds are enough to see that it works
    completed = methods.get(name, **params).fit_transform(problem.X)
    assert np.isfinite(completed).all()
    np.testing.assert_array_equal(completed[problem.mask], problem.X[problem.mask])


@pytest.mark.filterwarnings("ignore:The solver did not converge")
@pytest.mark.parametrize("name", methods.names("published"))
def test_published_settings_complete_a_table(name, problem):
    completed = methods.get(name, random_state=0).fit_transform(problem.X)
    assert np.isfinite(completed).all()


def test_parameters_go_on_top_of_what_makes_the_method():
    given = methods.get("PMC-S", p=0.1)
    assert (given.weights, given.p) == ("skip", 0.1)
    assert repr(clone(given)) == repr(given)


def test_two_of_the_same_name_share_nothing_that_fitting_changes():
    first, second = methods.get("nlmc-paper"), methods.get("nlmc-paper")
    first.set_params(solver__max_iter=3)
    assert second.solver.max_iter == methods.get("nlmc-paper").solver.max_iter == 500


@pytest.mark.parametrize(("wrong", "hint"), WRONG.items())
def test_an_unknown_name_is_refused_with_the_known_ones(wrong, hint):
    with pytest.raises(ValueError, match=f"no method {wrong!r}") as caught:
        methods.get(wrong)
    assert hint in str(caught.value)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"kind must be one of .*baseline.*got 'ours'"):
        methods.names("ours")


def test_the_registry_cannot_be_changed_by_accident():
    with pytest.raises(TypeError):
        methods.METHODS["mine"] = methods.METHODS["knn"]


def test_a_method_can_be_registered(monkeypatch):
    monkeypatch.setattr(registry, "_methods", own := dict(registry._methods))
    monkeypatch.setattr(registry, "METHODS", own)
    entry = methods.Method(
        "pmc-mine", "PMC-mine", polycomplete.PMC, "Nobody (2026).", {"p": 0.0}, "rival"
    )
    assert methods.register(entry) is methods.register(entry)
    assert methods.get("PMC-mine", s=3).get_params()["p"] == 0.0
    assert methods.names("rival")[-1] == "pmc-mine"
    with pytest.raises(ValueError, match="There is a method 'pmc-w' already"):
        methods.register(replace(entry, name="pmc-w"))
    with pytest.raises(ValueError, match="must be in lower case"):
        methods.register(replace(entry, name="PMC-mine"))


@pytest.mark.parametrize("name", registry.ELSEWHERE)
def test_what_only_the_repository_has_names_the_remedy(name, monkeypatch):
    own = {key: entry for key, entry in methods.METHODS.items() if entry.kind != "rival"}
    monkeypatch.setattr(registry, "METHODS", own)
    with pytest.raises(ValueError, match=r"clone the repository .*import\s+experiments.published"):
        methods.get(name)


@pytest.mark.parametrize(
    ("name", "factor"), [("pmc-s-paper", 4.0), ("pmc-w-paper", 0.4), ("nlmc-authors", 4.0)]
)
def test_published_forms_take_the_papers_lambda_and_epsilon(name, factor):
    made = methods.get(name, noise=0.5)
    assert made.noise == pytest.approx(factor * 0.5)
    assert made.solver.epsilon == pytest.approx(factor * 1e-8)
    assert methods.get(name).noise is None
    assert methods.get("nlmc-paper", p=1).solver.epsilon == pytest.approx(2e-8)
    with pytest.raises(ValueError, match=r"penalties have 0 < p <= 1, got 0\.0"):
        methods.get(name, p=0.0)


def test_the_authors_start_width_and_weights():
    authors = methods.get("pmc-w-authors")
    solver, weights = authors.solver, authors.weights
    assert (solver.init, solver.correct_bias, solver.step) == ("row-column", False, 1e-4)
    assert (authors.kernel.unit, authors.kernel.multiple, authors.smoothing) == (
        "zero-filled", 3.0, 1e-7
    )  # fmt: skip
    assert (weights.power, weights.epsilon, weights.frozen) == (2, 0.1, False)
    assert methods.get("nlmc-authors").solver.step == 1e-3


def test_the_paper_skips_as_many_as_there_are_columns(problem):
    X = apply(problem.truth, problem.mask)
    paper = methods.get("pmc-s-paper")
    penalty = paper._penalty(paper.solver).resolve(X, problem.mask)
    assert (penalty.p, penalty.weights.s) == (0.5, X.shape[1])
