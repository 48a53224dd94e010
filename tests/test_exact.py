"""The exact problem: gradients, the naive oracle, partial eigenpairs, memory."""

import re
import tracemalloc

import numpy as np
import pytest

from polycomplete import Completer, datasets, masks
from polycomplete.diagnostics import check_gradient
from polycomplete.kernels import RBF, Linear, Polynomial
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
from polycomplete.solvers.exact import BLOCKS, Exact
from polycomplete.solvers.newton import SLIGHT, hessian, step
from polycomplete.solvers.problem import ExactProblem, leading_pairs
from tests import naive

KERNELS = {
    "rbf": RBF(width=2.0),
    "polynomial 2": Polynomial(2, 1.0),
    "polynomial 3": Polynomial(3, 1.0),
    "linear": Linear(),
    "product": naive.Product(),
}
RULES = {"equal": Equal(), 3: Skip(3), "ramp": Ramp(), "inverse": Inverse()}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=map(str, RULES))
every_power = pytest.mark.parametrize("p", [1.0, 0.5, 0.1, 0.0, -0.5])


def pose(kernel, rule, p=0.5, smoothing=1.0, **options):
    """Return a small problem with frozen weights, a point and the smoothing."""
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((14, 4)), rng.random((14, 4)) < 0.6
    problem = ExactProblem(X, mask, kernel, Schatten(p, rule), **options)
    gamma = smoothing * problem.unit
    z = problem.pack(0.5 * X)
    problem.reweigh(z, gamma)
    return problem, z, gamma


def manifold(rule, p, eigen="full", kernel=None):
    """Return a problem on 200 rows of a smooth surface, and a point."""
    X = datasets.make_polynomial_manifold(200, 6, random_state=0)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    kernel = RBF().resolve(X, mask) if kernel is None else kernel
    problem = ExactProblem(np.where(mask, X, 0), mask, kernel, Schatten(p, rule), eigen)
    return problem, 0.5 * X[~mask]


def distance(found, expected):
    """Return the largest error of a gradient relative to its largest entry."""
    return np.max(np.abs(found - expected)) / np.max(np.abs(expected))


def assert_gradient_fits_value(problem, z, gamma):
    check = check_gradient(lambda at: problem.value_and_gradient(at, gamma), z, largest=0.3)
    assert 1.85 < check.slope < 2.15
    expected = naive.differences(lambda at: problem.value_and_gradient(at, gamma)[0], z)
    assert distance(problem.value_and_gradient(z, gamma)[1], expected) < 1e-7


@every_kernel
@every_rule
def test_gradient_for_each_kernel_and_rule(kernel, rule):
    assert_gradient_fits_value(*pose(kernel, rule))


@every_power
@pytest.mark.parametrize("rule", [Equal(), Ramp(), Skip(3)], ids=str)
def test_gradient_for_each_power(p, rule):
    assert_gradient_fits_value(*pose(RBF(width=2.0), rule, p, smoothing=0.1))


@every_kernel
@pytest.mark.parametrize("p", [0.5, -0.5])
def test_gradient_with_noise_moves_every_entry(kernel, p):
    problem, z, gamma = pose(kernel, Ramp(), p, noise=3.0)
    assert z.size == problem.X.size
    assert_gradient_fits_value(problem, z, gamma)


@every_kernel
@pytest.mark.parametrize(("name", "rule"), RULES.items(), ids=map(str, RULES))
def test_value_is_that_of_the_oracle(kernel, name, rule):
    for p in 1.0, 0.5:
        problem, z, gamma = pose(kernel, rule, p)
        expected = naive.objective(kernel, problem.unpack(z), name, p, gamma)
        assert problem.value_and_gradient(z, gamma)[0] == pytest.approx(expected, rel=1e-12)


def test_noise_adds_half_its_square_on_observed_entries():
    problem, z, gamma = pose(RBF(width=2.0), Ramp(), noise=3.0)
    X = problem.unpack(z)
    residual = sum((X[i, j] - problem.X[i, j]) ** 2 for i, j in np.argwhere(problem.mask))
    plain = pose(RBF(width=2.0), Ramp())[0]
    plain.X = X
    expected = plain.value_and_gradient(plain.pack(X), gamma)[0] + 1.5 * residual
    assert problem.value_and_gradient(z, gamma)[0] == pytest.approx(expected, rel=1e-13)


def test_unpack_leaves_observed_entries_alone():
    problem, z, _ = pose(RBF(width=2.0), Equal())
    X = problem.unpack(z + 1)
    assert np.array_equal(X[problem.mask], problem.X[problem.mask])
    assert np.array_equal(problem.pack(X), z + 1)


def test_only_missing_cells_count_as_unknown():
    problem, z, gamma = pose(RBF(width=2.0), Equal())
    junk = ExactProblem(
        np.where(problem.mask, problem.X, np.nan), problem.mask, problem.kernel, problem.penalty
    )
    one, two = (each.value_and_gradient(z, gamma) for each in (problem, junk))
    assert one[0] == two[0]
    assert np.array_equal(one[1], two[1])


def test_adaptive_weights_are_equal_until_frozen_and_then_stay():
    X, mask = np.random.default_rng(0).standard_normal((12, 3)), np.zeros((12, 3), bool)
    problem = ExactProblem(X, mask, RBF(width=2.0), Schatten(0.5, Inverse()))
    plain = ExactProblem(X, mask, RBF(width=2.0), Schatten(0.5))
    z = problem.pack(X)
    assert problem.value_and_gradient(z, 0.1)[0] == plain.value_and_gradient(z, 0.1)[0]
    problem.reweigh(z, 0.1)
    frozen = problem.weights.copy()
    assert problem.value_and_gradient(z, 0.1)[0] < plain.value_and_gradient(z, 0.1)[0]
    problem.value_and_gradient(2 * z, 0.1)
    assert np.array_equal(problem.weights, frozen)


def test_reweigh_leaves_fixed_rules_alone():
    problem, z, gamma = pose(RBF(width=2.0), Ramp())
    problem.reweigh(z, gamma)
    assert problem.weights is None


@pytest.mark.parametrize("p", [1.0, 0.0, -0.5])
@pytest.mark.parametrize("rule", [Equal(), Skip(3)], ids=str)
@pytest.mark.parametrize(("gamma", "calls"), [(1e-1, 3), (1e-3, 1)])
def test_partial_is_full_up_to_the_square_of_the_tail(p, rule, gamma, calls):
    """The first call starts from random vectors, the others from those of the call before."""
    full, z = manifold(rule, p)
    partial, _ = manifold(rule, p, "partial")
    for _ in range(calls):
        value, gradient = partial.value_and_gradient(z, gamma)
    exact, expected = full.value_and_gradient(z, gamma)
    tail = partial.evaluate(z, gamma).spectrum.tail
    assert tail < 0.01 * gamma
    # The penalty is concave: charging the tail its slope at zero can only be too much.
    excess = value - exact
    assert -1e-12 * exact < excess < gamma ** (p / 2 - 1) * tail**2 / gamma
    assert distance(gradient, expected) < 1e-5


@pytest.mark.parametrize("gamma", [1e-1, 1e-3])
def test_partial_with_ramp_errs_by_no_more_than_the_tail_pays(gamma):
    """One weight stands for those of the whole tail, between that of its first and 1."""
    full, z = manifold(Ramp(), 0.5)
    partial, _ = manifold(Ramp(), 0.5, "partial")
    spectrum = partial.evaluate(z, gamma).spectrum
    share = 1 - len(spectrum.eigenvalues) / 200
    gap = partial.value_and_gradient(z, gamma)[0] - full.value_and_gradient(z, gamma)[0]
    assert abs(gap) < share * gamma ** (0.5 / 2 - 1) * spectrum.tail


@every_rule
@every_power
def test_partial_is_exact_where_the_rank_is_low(rule, p):
    full, z = manifold(rule, p, kernel=Linear())
    partial, _ = manifold(rule, p, "partial", Linear())
    for each in full, partial:
        each.reweigh(z, 1.0)
    one, two = (each.value_and_gradient(z, 1.0) for each in (full, partial))
    # 194 eigenvalues that should be 0 are so up to 200 roundings of the largest, about 1000.
    assert two[0] == pytest.approx(one[0], rel=1e-10)
    assert distance(two[1], one[1]) < 1e-10


def test_frozen_weights_outlive_a_larger_block_of_pairs():
    full, z = manifold(Inverse(), 0.5)
    partial, _ = manifold(Inverse(), 0.5, "partial")
    partial.reweigh(z, 1e-1)
    full.weights = partial.weights
    assert partial.weights.shape == (200,)
    assert len(partial.evaluate(z, 1e-1).spectrum.eigenvalues) == 32
    value, gradient = partial.value_and_gradient(z, 1e-3)
    assert len(partial.evaluate(z, 1e-3).spectrum.eigenvalues) == 64
    exact, expected = full.value_and_gradient(z, 1e-3)
    assert value == pytest.approx(exact, rel=1e-6)
    assert distance(gradient, expected) < 1e-5


def test_pairs_that_would_be_more_than_half_of_all_are_computed_in_full():
    assert leading_pairs(np.eye(50), 1e-3, None) is None
    problem, z = manifold(Equal(), 0.5, "partial")
    values = problem.evaluate(z, 1e-12).spectrum.eigenvalues
    np.testing.assert_array_equal(
        values, manifold(Equal(), 0.5)[0].evaluate(z, 1e-12).spectrum.eigenvalues
    )


def test_partial_gives_the_leading_pairs_and_the_trace_of_the_rest():
    problem, z = manifold(Equal(), 0.5, "partial")
    at = problem.evaluate(z, 1e-1)
    K, spectrum = at.K, at.spectrum
    values = np.linalg.eigvalsh(K)[::-1]
    assert spectrum.vectors.shape == (200, 32)
    np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(32), atol=1e-13)
    np.testing.assert_allclose(spectrum.eigenvalues[:5], values[:5], rtol=1e-6)
    assert spectrum.tail == pytest.approx(np.trace(K) - spectrum.eigenvalues.sum(), rel=1e-12)


def test_full_spectrum_is_descending_and_not_negative():
    problem, z = manifold(Equal(), 0.5)
    at = problem.evaluate(z, 1e-6)
    K, spectrum = at.K, at.spectrum
    assert np.all(np.diff(spectrum.eigenvalues) <= 0)
    assert spectrum.eigenvalues[-1] >= 0
    assert spectrum.tail == 0
    rebuilt = (spectrum.vectors * spectrum.eigenvalues) @ spectrum.vectors.T
    np.testing.assert_allclose(rebuilt, K, atol=1e-12)


def test_an_unknown_kind_of_eigenpairs_is_named():
    with pytest.raises(ValueError, match=r"'auto', 'full', 'partial'.*got 'some'"):
        Exact(eigen="some").check(10, 3)


def test_a_problem_that_does_not_fit_is_refused_with_a_way_out():
    solver = Exact(max_memory=1e9)
    with pytest.raises(MemoryError, match=r"12\.21 GB for 10000 rows.*1\.00 GB") as refused:
        solver.check(10_000, 20)
    message = str(refused.value)
    assert "max_memory" in message
    assert "transform" in message
    fits = int(re.search(r"X\[:(\d+)\]", message)[1])
    solver.check(fits, 20)
    with pytest.raises(MemoryError):
        solver.check(fits + 1, 20)


def test_refusal_comes_before_anything_is_allocated():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    X[::2, 0] = np.nan
    completer = Completer(solver=Exact(max_memory=1e6))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError):
            completer.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2e6  # a Gram matrix would be 72e6


@pytest.mark.parametrize(
    "kernel",
    [RBF(width=3.0), Polynomial(3), Linear()],
    ids=str,
)
@pytest.mark.parametrize("eigen", ["full", "partial"])
def test_one_evaluation_stays_within_the_memory_it_announces(kernel, eigen):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((1500, 6)), rng.random((1500, 6)) < 0.7
    problem = ExactProblem(X, mask, kernel, Schatten(0.5, Ramp()), eigen)
    z = problem.pack(X)
    tracemalloc.start()
    try:
        problem.value_and_gradient(z, 1e-2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    announced = Exact().memory_needed(1500, 6) - BLOCKS
    assert announced / 8 < peak < announced


@pytest.mark.parametrize("kernel", [RBF(1.0), Polynomial(2)], ids=str)
def test_a_newton_step_stays_within_the_memory_it_announces(kernel):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((800, 6)), rng.random((800, 6)) < 0.7
    problem = ExactProblem(X, mask, kernel, Schatten(-0.5, Ramp()))
    tracemalloc.start()
    try:
        at = problem.evaluate(problem.pack(X), 1e-4)
        here = hessian(at, 1e-4)
        step(at, 1e-4, here, here.inverse(SLIGHT))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    announced = Exact().memory_needed(800, 6) - BLOCKS
    assert announced / 2 < peak < announced
