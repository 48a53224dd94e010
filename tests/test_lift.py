"""The lift engine: monomials, the same problem as the exact engine, memory that is linear in n."""

import pickle
import tracemalloc
from math import comb

import numpy as np
import pytest

from polycomplete import datasets, masks
from polycomplete.diagnostics import check_gradient
from polycomplete.exact import Exact, ExactProblem
from polycomplete.kernels import RBF, Linear, Polynomial
from polycomplete.lift import Lift, LiftEnergy, LiftProblem, pick, row_energy
from polycomplete.monomials import Monomials
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
from polycomplete.rows import Posterior, learn, spreads
from polycomplete.solvers import Continuation
from tests import naive

KERNELS = [Linear(), Polynomial(1, 2.5), Polynomial(2, 0.0), Polynomial(2, 2.5), Polynomial(3, 1.0)]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)
every_rule = pytest.mark.parametrize("rule", [Equal(), Skip(2), Ramp(), Inverse()], ids=str)


def data(n=40, m=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, m)), rng.random((n, m)) < 0.6


def both(kernel, rule=None, p=0.5, n=40, **options):
    """Return the same problem of both engines, a point, and a smoothing."""
    X, mask = data(n)
    parts = (X, mask, kernel, Schatten(p, rule or Equal()))
    exact, lift = ExactProblem(*parts, **options), LiftProblem(*parts, Lift(), **options)
    z = exact.pack(0.5 * X)
    exact.reweigh(z, 0.1)
    lift.reweigh(z, 0.1)
    if exact.weights is not None:
        # The weight of an eigenvalue that is nil shows the fourth root of its rounding.
        np.testing.assert_allclose(lift.weights, exact.weights, atol=2e-2)
        lift.weights = exact.weights
    return exact, lift, z, 0.1 * exact.unit


def monomials(kernel, m=3):
    return Monomials(m, kernel.degree, kernel.offset)


def distance(found, expected):
    return np.max(np.abs(found - expected)) / np.max(np.abs(expected))


@every_kernel
def test_features_make_the_kernel(kernel):
    X, _ = data()
    F = monomials(kernel).features(X)
    assert distance(F.T @ F, kernel.gram(X)) < 1e-14
    variables = 3 + (kernel.offset > 0)
    assert len(F) == len(monomials(kernel)) == comb(variables + kernel.degree - 1, kernel.degree)


@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_features_of_two_columns_are_the_textbook_ones(offset):
    a, b = 3.0, -2.0
    found = Monomials(2, 2, offset).features(np.array([[a, b]]))[:, 0]
    expected = [a * a, 2**0.5 * a * b, b * b]
    if offset:
        expected += [offset, (2 * offset) ** 0.5 * a, (2 * offset) ** 0.5 * b]
    np.testing.assert_allclose(sorted(found), sorted(expected))


@every_kernel
def test_push_is_the_derivative_of_the_features(kernel):
    X, _ = data()
    V, step = np.random.default_rng(1).standard_normal(X.shape), 1e-5
    lifted = monomials(kernel)
    ahead, behind = (lifted.features(X + sign * step * V) for sign in (1, -1))
    assert distance(lifted.push(X, V), (ahead - behind) / (2 * step)) < 1e-8


@every_kernel
def test_pull_is_the_transpose_of_push(kernel):
    X, _ = data()
    rng, lifted = np.random.default_rng(1), monomials(kernel)
    V, C = rng.standard_normal(X.shape), rng.standard_normal((len(lifted), len(X)))
    expected = np.sum(C * lifted.push(X, V), axis=0)
    np.testing.assert_allclose(np.sum(lifted.pull(X, C) * V, axis=1), expected, atol=1e-10)


@every_kernel
def test_jacobian_is_push_through_the_coefficients(kernel):
    X, _ = data()
    rng, lifted = np.random.default_rng(1), monomials(kernel)
    V, A = rng.standard_normal(X.shape), rng.standard_normal((len(lifted), 4))
    found = np.einsum("nmq,nm->nq", lifted.jacobian(X, A), V)
    np.testing.assert_allclose(found, lifted.push(X, V).T @ A, atol=1e-10)


@every_kernel
@every_rule
@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("noise", [None, 3.0])
def test_value_and_gradient_are_those_of_the_exact_engine(kernel, rule, n, noise):
    exact, lift, z, gamma = both(kernel, rule, n=n, noise=noise)
    one, two = (problem.value_and_gradient(z, gamma) for problem in (exact, lift))
    assert two[0] == pytest.approx(one[0], rel=1e-9)
    assert distance(two[1], one[1]) < 1e-9


@pytest.mark.parametrize("p", [1.0, 0.5, 0.0, -0.5])
@pytest.mark.parametrize("smoothing", [1.0, 1e-3, 1e-6])
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


def test_other_solvers_work_with_it():
    exact, lift, _, _ = both(Polynomial(2, 1.0))
    solver = Continuation(first=0.1, max_iter=5, rounds=1, rescues=0, blend=False)
    one, two = (solver.solve(problem, 1e-2) for problem in (exact, lift))
    np.testing.assert_allclose(two.X, one.X, atol=1e-6)
    assert two.objective[-1] == pytest.approx(one.objective[-1], rel=1e-9)


@every_kernel
@pytest.mark.parametrize("gamma", [1.0, 1e-3])
def test_row_energy_is_the_same_in_both_forms(kernel, gamma):
    X, mask = data(80)
    one, two = learn(kernel, X, gamma), row_energy(kernel, X, gamma)
    assert isinstance(two, LiftEnergy)
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
    np.testing.assert_allclose(two.left_out(), one.left_out(), atol=1e-10 * unit)


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
    X, _ = data(15)
    assert not isinstance(row_energy(Polynomial(2, 1.0), X, 0.1), LiftEnergy)
    assert not isinstance(row_energy(RBF(2.0), np.tile(X, (9, 1)), 0.1), LiftEnergy)


@pytest.mark.parametrize(
    ("kernel", "n", "m", "expected"),
    [
        (Polynomial(2), 461, 20, Exact()),
        (Polynomial(2), 463, 20, Lift()),
        (Polynomial(3), 1000, 20, Exact(eigen="partial")),
        (Polynomial(3), 599, 20, Exact()),
        (Linear(), 100, 20, Lift()),
        (RBF(2.0), 5000, 2, Exact()),
    ],
)
def test_the_engine_is_picked_by_kernel_and_size(kernel, n, m, expected):
    assert str(pick(None, kernel, n, m)) == str(expected)
    given = Exact()
    assert pick(given, kernel, n, m) is given


def test_a_problem_that_does_not_fit_is_refused():
    X = np.zeros((1000, 30))
    with pytest.raises(MemoryError, match=r"lift engine.*1000 rows of 5456 monomials.*0\.10 GB"):
        Lift(max_memory=1e8).pose(X, X == 0, Polynomial(3, 1.0), Schatten())
    with pytest.raises(ValueError, match=r"Lift\(max_memory=\.\.\.\).*got -1"):
        Lift(max_memory=-1).check(10, 2)


def test_only_polynomials_can_be_lifted():
    X, mask = data()
    with pytest.raises(TypeError, match=r"needs a Polynomial kernel, got RBF"):
        Lift().pose(X, mask, RBF(2.0), Schatten())


def peak(n, m=8):
    """Return the bytes that an evaluation takes at its peak."""
    X = datasets.make_polynomial_manifold(n, m, random_state=0)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    problem = Lift().pose(X, mask, Polynomial(2, 1.0), Schatten(0.5))
    z = problem.pack(X)
    tracemalloc.start()
    try:
        problem.value_and_gradient(z, 1e-3)
        row_energy(problem.kernel, X, 1e-3)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_linear_in_the_rows_and_as_stated():
    small, large = peak(3000), peak(12_000)
    assert large < 4.4 * small
    assert large < 0.5 * 8 * 12_000**2  # far from n × n
    assert large < Lift().memory_needed(12_000, 8)
