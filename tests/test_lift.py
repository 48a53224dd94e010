"""A polynomial kernel by its features: the same problem, in memory that is linear in n."""

import pickle
import tracemalloc
from math import comb

import numpy as np
import pytest

from polycomplete import datasets, masks
from polycomplete.diagnostics import check_gradient
from polycomplete.kernels import RBF, Linear, Polynomial
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
from polycomplete.rows import Posterior, learn, spreads
from polycomplete.solvers import AdamPlus, Exact
from polycomplete.solvers.exact import BLOCKS
from polycomplete.solvers.newton import SLIGHT, hessian, step
from polycomplete.solvers.problem import (
    ExactProblem,
    LiftProblem,
    PolynomialFeatures,
    row_energy,
)
from tests import naive

KERNELS = [Linear(), Polynomial(1, 2.5), Polynomial(2, 0.0), Polynomial(2, 2.5), Polynomial(3, 1.0)]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)
every_rule = pytest.mark.parametrize("rule", [Equal(), Skip(2), Ramp(), Inverse()], ids=str)


def data(n=40, m=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, m)), rng.random((n, m)) < 0.6


def both(kernel, rule=None, p=0.5, n=40, **options):
    """Return the same problem in both forms, a point, and a smoothing."""
    X, mask = data(n)
    parts = (X, mask, kernel, Schatten(p, rule or Equal()))
    exact, lift = ExactProblem(*parts, **options), LiftProblem(*parts, **options)
    z = exact.pack(0.5 * X)
    exact.reweigh(z, 0.1)
    lift.reweigh(z, 0.1)
    if exact.weights is not None:
        # The weight of an eigenvalue that is nil shows the fourth root of its rounding.
        np.testing.assert_allclose(lift.weights, exact.weights, atol=2e-2)
        lift.weights = exact.weights
    return exact, lift, z, 0.1 * exact.unit


def distance(found, expected):
    return np.max(np.abs(found - expected)) / np.max(np.abs(expected))


# The features


@every_kernel
@pytest.mark.parametrize("m", [1, 12])
def test_the_scalar_product_of_features_is_the_kernel(kernel, m):
    X, _ = data(m=m)
    F = PolynomialFeatures.of(kernel, m)(X)
    assert distance(F @ F.T, kernel.gram(X)) < 1e-12
    variables = m + (kernel.offset > 0)
    assert F.shape[1] == kernel.n_features(m) == comb(variables + kernel.degree - 1, kernel.degree)
    assert F.shape[1] == naive.monomials(X, kernel.degree, kernel.offset).shape[1]


@every_kernel
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_so_it_is_for_rows_of_any_length(kernel, size):
    X, _ = data(m=5)
    X, kernel = size * X, Polynomial(kernel.degree, size**2 * kernel.offset)
    F = PolynomialFeatures.of(kernel, 5)(X)
    assert distance(F @ F.T, kernel.gram(X)) < 1e-12


@every_kernel
def test_push_is_the_derivative_of_the_features(kernel):
    X, _ = data()
    V, step = np.random.default_rng(1).standard_normal(X.shape), 1e-5
    features = PolynomialFeatures.of(kernel, 3)
    ahead, behind = (features(X + sign * step * V) for sign in (1, -1))
    assert distance(features.push(X, V), (ahead - behind) / (2 * step)) < 1e-8


@every_kernel
def test_pull_is_the_transpose_of_push(kernel):
    X, _ = data()
    rng, features = np.random.default_rng(1), PolynomialFeatures.of(kernel, 3)
    V, C = rng.standard_normal(X.shape), rng.standard_normal((len(X), kernel.n_features(3)))
    expected = np.sum(C * features.push(X, V), axis=1)
    np.testing.assert_allclose(np.sum(features.pull(X, C) * V, axis=1), expected, atol=1e-10)


# The problem


@every_kernel
@every_rule
@pytest.mark.parametrize(("n", "noise"), [(5, None), (40, 3.0)])
def test_value_and_gradient_are_those_of_the_gram_matrix(kernel, rule, n, noise):
    exact, lift, z, gamma = both(kernel, rule, n=n, noise=noise)
    one, two = (problem.value_and_gradient(z, gamma) for problem in (exact, lift))
    assert two[0] == pytest.approx(one[0], rel=1e-9)
    assert distance(two[1], one[1]) < 1e-9


@pytest.mark.parametrize(
    ("p", "smoothing"), [(1.0, 1.0), (0.5, 1e-3), (0.0, 1e-6), (-0.5, 1e-3), (-0.5, 1e-6)]
)
def test_so_they_are_for_each_power_and_smoothing(p, smoothing):
    exact, lift, z, _ = both(Polynomial(2, 1.0), p=p)
    gamma = smoothing * exact.unit
    one, two = (problem.value_and_gradient(z, gamma) for problem in (exact, lift))
    assert two[0] == pytest.approx(one[0], rel=1e-8)
    # Eigenvalues that are nil come out as 1e-15 of the largest, which is 1e-8 of this smoothing.
    assert distance(two[1], one[1]) < 1e-7


@every_kernel
@pytest.mark.parametrize("noise", [None, 3.0])
def test_gradient_against_finite_differences(kernel, noise):
    _, lift, z, gamma = both(kernel, Ramp(), noise=noise)
    check = check_gradient(lambda at: lift.value_and_gradient(at, gamma), z, largest=0.3)
    assert 1.8 < check.slope < 2.2
    expected = naive.differences(lambda at: lift.value_and_gradient(at, gamma)[0], z)
    assert distance(lift.value_and_gradient(z, gamma)[1], expected) < 1e-7


@pytest.mark.parametrize(
    "solver",
    [
        AdamPlus(max_iter=20, step=0.01),
        Exact(algorithm="quasi-newton", max_iter=5, rounds=1, n_restarts=0, blend=False),
    ],
    ids=["adam", "quasi-newton"],
)
def test_every_solver_works_with_it(solver):
    exact, lift, _, _ = both(Polynomial(2, 1.0))
    one, two = (solver.solve(problem, 1e-2) for problem in (exact, lift))
    np.testing.assert_allclose(two.X, one.X, atol=1e-6)
    assert two.objective[-1] == pytest.approx(one.objective[-1], rel=1e-9)


# The energy of a row


@every_kernel
@pytest.mark.parametrize("gamma", [1.0, 1e-3])
def test_row_energy_is_the_same_in_both_forms(kernel, gamma):
    X, mask = data(80)
    one, two = learn(kernel, X, gamma), row_energy(kernel, X, gamma)
    assert len(two.landmarks) < 80
    Y, who = X + 0.1, np.arange(80)
    unit = np.max(kernel.diagonal(Y))
    for given in None, who:
        np.testing.assert_allclose(two.value(Y, given), one.value(Y, given), atol=1e-11 * unit)
        every = np.tile(np.arange(Y.shape[1]), (len(Y), 1))
        a, b = one.expand(Y, every, given), two.expand(Y, every, given)
        np.testing.assert_allclose(b.energy, a.energy, atol=1e-11 * unit)
        np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-10 * unit)
        H = a.hessian(mask, 0.0)
        np.testing.assert_allclose(b.hessian(mask, 0.0), H, atol=1e-11 * np.max(np.abs(H)))
    np.testing.assert_allclose(two.left_out(X), one.left_out(X), atol=1e-10 * unit)


def test_a_row_energy_for_new_rows_needs_nothing_of_the_old_ones_places():
    X, _ = data(80)
    energy = row_energy(Polynomial(2, 1.0), X, 1e-3, in_place=False)
    assert energy.own is None
    again = pickle.loads(pickle.dumps(energy))
    assert np.array_equal(again.value(X + 0.1), energy.value(X + 0.1))


def test_a_row_is_completed_alike_whatever_rows_come_along():
    X, mask = data(200)
    mask[:, 0] |= ~mask.any(axis=1)
    energy = row_energy(Polynomial(2, 1.0), X, 1e-3, in_place=False)
    posterior = Posterior(energy, X, spreads(X), 1e-3)
    every, some = posterior.complete(X, mask), posterior.complete(X[50:59], mask[50:59])
    for one, two in zip(every, some, strict=True):
        assert np.array_equal(one[50:59], two)


def test_few_rows_and_other_kernels_keep_the_plain_row_energy():
    for kernel, X in (Polynomial(2, 1.0), data(15)[0]), (RBF(2.0), np.tile(data(15)[0], (9, 1))):
        assert row_energy(kernel, X, 0.1).landmarks is X


# Which form, and its memory


@pytest.mark.parametrize(
    ("kernel", "n", "m", "expected"),
    [
        (Polynomial(2), 461, 20, (ExactProblem, "full")),
        (Polynomial(2), 463, 20, (LiftProblem, "full")),
        (Polynomial(3), 1000, 20, (ExactProblem, "partial")),
        (Polynomial(3), 599, 20, (ExactProblem, "full")),
        (Linear(), 100, 20, (LiftProblem, "full")),
        (RBF(2.0), 5000, 2, (ExactProblem, "full")),
    ],
)
@pytest.mark.parametrize("kind", [Exact, AdamPlus])
def test_the_form_follows_from_kernel_and_size_unless_it_is_given(kind, kernel, n, m, expected):
    parts = (np.zeros((n, m)), np.ones((n, m), bool), kernel, Schatten())
    found = kind(max_memory=1e12).pose(*parts)
    assert (type(found), found.eigen) == expected
    for eigen in ("full", "partial"):
        found = kind(eigen=eigen, max_memory=1e12).pose(*parts)
        assert (type(found), found.eigen) == (ExactProblem, eigen)


def test_a_problem_that_does_not_fit_is_refused():
    X = np.zeros((12_000, 30))
    with pytest.raises(MemoryError, match=r"12000 rows of 5456 monomials.*1\.00 GB.*max_memory"):
        Exact(max_memory=1e9).pose(X, X == 0, Polynomial(3, 1.0), Schatten())


def peak(n, m=8, newton=False):
    """Return the peak of an evaluation and a row energy, or of a Newton step, in bytes."""
    X = datasets.make_polynomial_manifold(n, m, random_state=0)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    problem = Exact().pose(X, mask, Polynomial(2, 1.0), Schatten(0.5))
    assert isinstance(problem, LiftProblem)
    z = problem.pack(X)
    tracemalloc.start()
    try:
        if newton:
            at = problem.evaluate(z, 1e-3)
            here = hessian(at, 1e-3)
            step(at, 1e-3, here, here.inverse(SLIGHT))
        else:
            problem.value_and_gradient(z, 1e-3)
            row_energy(problem.kernel, X, 1e-3)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("newton", [False, True])
def test_memory_is_linear_in_the_rows_and_as_stated(newton):
    small, large = peak(3000, newton=newton), peak(12_000, newton=newton)
    assert large < 4.4 * small
    assert large < 0.5 * 8 * 12_000**2  # far from n × n
    needed = Exact().memory_needed(12_000, 8, Polynomial(2, 1.0).n_features(8))
    assert large < needed
    assert needed - BLOCKS < 0.1 * 8 * 12_000**2
