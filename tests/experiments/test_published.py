"""Rivals by their published algorithms: each step, each use, and what the registry says."""

import warnings

import numpy as np
import pytest

from benchmarks import bench_anchors
from experiments import published
from polycomplete import (
    SubspaceClusterer,
    TransductiveClassifier,
    datasets,
    masks,
    methods,
    metrics,
)
from polycomplete.methods import registry

FORMS = [
    name for name in methods.names() if name.endswith(("-paper", "-authors"))
    and methods.METHODS[name].kind in ("published", "rival")
]  # fmt: skip
RIVALS = [name for name in FORMS if methods.METHODS[name].kind == "rival"]


@pytest.fixture(autouse=True)
def _ignore_convergence():
    with warnings.catch_warnings(action="ignore"):
        yield


def short(name):
    """Return a form with few iterations."""
    made = methods.get(name)
    if "max_iter" in made.get_params():
        made.set_params(max_iter=8)
    elif "solver__max_iter" in made.get_params():
        made.set_params(solver__max_iter=40)
    return made


@pytest.fixture(scope="module")
def two_planes():
    X, labels = datasets.make_union_of_subspaces(
        60, 8, n_subspaces=2, dim=2, random_state=0, return_labels=True
    )
    return X, masks.uniform(X.shape, 0.8, random_state=0), labels


def test_all_rivals_are_named_by_the_package():
    assert sorted(RIVALS) == sorted(registry.ELSEWHERE)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_a_completer(name, two_planes):
    X, mask, _ = two_planes
    completed = short(name).fit_transform(masks.apply(X, mask))
    assert np.isfinite(completed).all()
    assert np.array_equal(completed[mask], X[mask])


@pytest.mark.parametrize("name", FORMS)
def test_every_form_classifies(name, two_planes):
    X, mask, labels = two_planes
    y = np.where(np.arange(len(X)) % 3 == 0, -1, labels)
    model = TransductiveClassifier(short(name), label_weight=1.0, n_members=1, random_state=0)
    found = model.fit(masks.apply(X, mask), y).transduction_
    assert np.array_equal(found[y >= 0], labels[y >= 0])
    assert set(found) <= {0, 1}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_clusters(name, two_planes):
    X, mask, labels = two_planes
    found = SubspaceClusterer(2, completer=short(name), random_state=0).fit(masks.apply(X, mask))
    assert metrics.clustering_error(labels, found.labels_) <= 0.5


@pytest.mark.parametrize("name", RIVALS)
def test_new_rows_are_refused_with_a_remedy(name, two_planes):
    X, mask, _ = two_planes
    fitted = short(name).fit(masks.apply(X, mask))
    with pytest.raises(NotImplementedError, match="rows of its fit only; use fit_transform"):
        fitted.transform(masks.apply(X[:3], mask[:3]))


def test_vmc_steps_are_projected_gradient_steps():
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((7, 4)), rng.random((7, 4)) < 0.6
    given = np.where(mask, X, 0.0)
    unit = np.sqrt(np.max(np.sum(given**2, axis=1)))
    vmc = published.ReweightedVariety(degree=3, offset=2.0)
    Z = given / unit
    for t, (found, value) in zip(range(3), vmc.iterate(given, mask), strict=False):
        gamma = 1 / 1.01**t
        K = (Z @ Z.T + 2.0) ** 3
        lam, V = np.linalg.eigh(K)
        W = V @ np.diag((lam.clip(0) + gamma) ** -0.75) @ V.T

        def weighed(Y, W=W):  # Tr(W K)/2 with W frozen, whose gradient the method descends
            return np.sum(W * (Y @ Y.T + 2.0) ** 3) / 2

        gradient = np.zeros_like(Z)
        for at in np.ndindex(Z.shape):
            up, down = Z.copy(), Z.copy()
            up[at] += 1e-6
            down[at] -= 1e-6
            gradient[at] = (weighed(up) - weighed(down)) / 2e-6
        Z = np.where(mask, Z, Z - gamma**0.75 * gradient)
        np.testing.assert_allclose(found, unit * Z, atol=1e-7)
        assert value == pytest.approx(np.sum(lam.clip(0) ** 0.25), rel=1e-4)


def test_vmc_on_monomials_is_vmc_on_the_kernel_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((30, 3)), rng.random((30, 3)) < 0.7
    given, vmc = np.where(mask, X, 0.0), published.ReweightedVariety(degree=3)
    lifted = [rows for (rows, _), _ in zip(vmc.iterate(given, mask), range(20), strict=False)]
    monkeypatch.setattr("experiments.published.vmc.comb", lambda n, k: 1000)
    whole = [rows for (rows, _), _ in zip(vmc.iterate(given, mask), range(20), strict=False)]
    np.testing.assert_allclose(lifted, whole, atol=1e-9)


def test_ladmc_keeps_what_has_the_rank_already():
    X = datasets.make_union_of_subspaces(100, 12, n_subspaces=2, dim=2, random_state=0)
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    whole = np.ones_like(mask)
    i, j = np.triu_indices(12)
    rank = np.linalg.matrix_rank(X[:, i] * X[:, j])
    assert rank == 6
    found, moved = next(iter(published.AlternatingProjections(rank=rank).iterate(X, whole)))
    np.testing.assert_allclose(found, X, atol=1e-9)
    assert moved < 1e-9
    completed = methods.get("ladmc-paper", rank=rank).fit_transform(masks.apply(X, mask))
    assert metrics.rse(X, completed, mask) < 0.02


def test_srmc_solves_its_joint_problem():
    """At the end no small change of the missing entries or of C lowers the objective."""
    X = datasets.make_union_of_subspaces(30, 6, n_subspaces=2, dim=1, random_state=0)
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    completed = methods.get("srmc-paper", penalty=10.0).fit_transform(masks.apply(X, mask))
    assert metrics.rse(X, completed, mask) < 0.1


def test_lrmc_with_growing_steps_is_near_the_minimum_and_above_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 12))
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    found, least = (
        methods.get(name).fit_transform(masks.apply(X, mask))
        for name in ("lrmc-authors", "lrmc-paper")
    )
    ratio = np.linalg.norm(found, "nuc") / np.linalg.norm(least, "nuc")
    assert 1 - 1e-3 < ratio < 1.05


def test_the_svm_of_the_authors():
    found = published.support_vectors()
    assert (found.C, found.gamma) == (1000.0, 0.5e-4)
    assert published.support_vectors(authors=False).C == 1.0


#: Method, instance, and how far the errors may be apart, relative to the authors'.
REACHED = [
    ("lrmc-authors", "a_n100_rho0.7_s100", 1e-4),
    ("srmc-authors", "a_n100_rho0.7_s100", 1e-4),
    ("vmc-2-paper", "a_n100_rho0.7_s100", 1e-4),
    ("ladmc-paper", "a_n200_rho0.7_s100", 1e-3),
    # Their objective is not smoothed, by which the step size is adapted.
    ("pmc-w-authors", "a_n100_rho0.7_s100", 0.05),
    ("pmc-s-authors", "a_n100_rho0.7_s100", 0.1),
]


@pytest.mark.parametrize(("name", "instance", "apart"), REACHED)
def test_the_error_is_that_of_the_authors_own_code(name, instance, apart):
    [(_, X, mask, _)] = [each for each in bench_anchors.chosen("a") if each[0] == instance]
    theirs = bench_anchors.authors(bench_anchors.COMPARED[name])[instance][0]
    completed = methods.get(name, random_state=0).fit_transform(masks.apply(X, mask))
    assert metrics.rse(X, completed, mask) == pytest.approx(theirs, rel=apart)
