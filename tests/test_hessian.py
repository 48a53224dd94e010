"""The Hessian against an oracle, the Newton direction, and what no step may depend on."""

import numpy as np
import pytest

from polycomplete import datasets, masks, metrics
from polycomplete.kernels import RBF, Kernel, Linear, Polynomial
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
from polycomplete.solvers import Exact
from polycomplete.solvers import newton as newton_module
from polycomplete.solvers.base import fill, stages
from polycomplete.solvers.exact import ExactRun
from polycomplete.solvers.newton import SLIGHT, direction, hessian, step
from polycomplete.solvers.problem import ExactProblem, LiftProblem
from tests import naive

#: The same problem in its three forms.
FORMS = {"full": ExactProblem, "features": LiftProblem, "partial": ExactProblem}
every_form = pytest.mark.parametrize("form", FORMS)
KERNELS = [Linear(), Polynomial(2, 0.0), Polynomial(3, 5.0), RBF(width=3.0)]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def pose(form, *parts, noise=None):
    """Return a problem in one of its forms."""
    return FORMS[form](*parts, eigen="partial" if form == "partial" else "full", noise=noise)


def small(kernel=None, p=0.5, rule=None, form="full", n=14, noise=None):
    """Return a problem without structure, and a point."""
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((n, 3)), rng.random((n, 3)) < 0.6
    parts = (X, mask, kernel or Polynomial(2, 5.0), Schatten(p, rule or Equal()))
    problem = pose(form, *parts, noise=noise)
    return problem, problem.pack(0.7 * X)


def curve(n=60, rate=0.7, degree=2, p=0.5, form="full", rule=None, m=8, noise=None):
    """Return a problem on a curve in eight dimensions, and the truth."""
    X = datasets.make_polynomial_manifold(n, m, n_dims=1, random_state=0)
    mask = masks.uniform(X.shape, rate, random_state=0)
    offset = 10 * float(np.sum(X[:, None] ** 2) / n)
    parts = (np.where(mask, X, 0), mask, Polynomial(degree, offset), Schatten(p, rule or Equal()))
    return pose(form, *parts, noise=noise), X


def oracle(problem, z, gamma):
    """Return the Hessian as a dense matrix: singular vectors of all features, entry by entry."""
    X, kernel, p = problem.unpack(z), problem.kernel, problem.penalty.p
    U, sigma, R = np.linalg.svd(naive.monomials(X, kernel.degree, kernel.offset).T)
    lam = [np.r_[sigma**2, np.zeros(len(side) - len(sigma))] for side in (U, R)]
    W = np.empty((len(U), len(R)))
    for i, a in enumerate(lam[0]):
        for j, b in enumerate(lam[1]):
            rise = [x * (gamma / (x + gamma)) ** (1 - p / 2) for x in (a, b)]
            level = (gamma / (a + gamma)) ** (1 - p / 2) * (1 - (1 - p / 2) * a / (a + gamma))
            W[i, j] = level if abs(a - b) < 1e-9 else (rise[0] - rise[1]) / (a - b)
    moves = []
    for k in range(z.size):
        V = np.zeros_like(X)
        V[tuple(np.argwhere(problem.free)[k])] = 1.0
        # The derivative of a polynomial by a complex step, which nothing cancels in.
        pushed = naive.monomials(X + 1e-30j * V, kernel.degree, kernel.offset).imag / 1e-30
        moves.append(np.sqrt(W) * (U.T @ pushed.T @ R.T))
    flat = np.array(moves).reshape(z.size, -1)
    return 2 * flat @ flat.T


def dense(here, problem, size, damping=0.0):
    """Return the Hessian of the solver as a matrix, column by column."""
    columns = []
    for k in range(size):
        V = np.zeros(problem.free.shape)
        V[problem.free] = np.eye(size)[k]
        columns.append(problem.pack(here.product(V, damping)))
    return np.array(columns)


@pytest.mark.parametrize("form", ["full", "features"])
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=str)
@pytest.mark.parametrize(("p", "smoothing"), [(1.0, 1e-3), (0.5, 1.0)])
def test_the_hessian_is_that_of_the_oracle(form, kernel, p, smoothing):
    problem, z = small(kernel, p, form=form)
    gamma = smoothing * problem.unit
    found = dense(hessian(problem.evaluate(z, gamma), gamma, unused=0.0), problem, z.size)
    expected = oracle(problem, z, gamma)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.max(np.abs(expected)))


@every_kernel
@pytest.mark.parametrize(
    ("rule", "noise"), [(Equal(), None), (Ramp(), 3.0), (Skip(2), None)], ids=str
)
def test_the_hessian_is_symmetric_and_not_negative(kernel, rule, noise):
    problem, z = small(kernel, rule=rule, noise=noise)
    H = dense(hessian(problem.evaluate(z, 0.1), 0.1), problem, z.size)
    np.testing.assert_allclose(H, H.T, atol=1e-10 * np.max(np.abs(H)))
    assert np.linalg.eigvalsh(H)[0] >= -1e-10 * np.max(np.abs(H))


@every_kernel
@pytest.mark.parametrize("rule", [Equal(), Ramp()], ids=str)
@pytest.mark.parametrize("noise", [None, 3.0])
def test_gradient_and_value_are_those_of_the_problem(kernel, rule, noise):
    problem, z = small(kernel, rule=rule, noise=noise)
    point = problem.evaluate(z, 0.1)
    value, gradient = problem.value_and_gradient(z, 0.1)
    assert point.value(0.1) == pytest.approx(value, rel=1e-12)
    found = hessian(point, 0.1).gradient
    np.testing.assert_allclose(problem.pack(found), gradient * 0.1**0.75, rtol=1e-9, atol=1e-10)
    assert not found[~problem.free].any()


@every_kernel
def test_cross_is_the_second_derivative_of_the_kernel(kernel):
    rng = np.random.default_rng(1)
    X, V, M = rng.standard_normal((6, 3)), rng.standard_normal((6, 3)), rng.standard_normal((6, 6))
    M = M + M.T
    step = 1e-4

    def slope(j, a, Y):
        """Return the derivative of Σₖ Mⱼₖ k(xⱼ, yₖ) in entry a of row j."""
        near = [X[j : j + 1] + sign * step * np.eye(3)[a] for sign in (1, -1)]
        up, down = ((kernel.gram(x, Y) @ M[j]).item() for x in near)
        return (up - down) / (2 * step)

    expected = np.array(
        [
            [(slope(j, a, X + step * V) - slope(j, a, X - step * V)) / (2 * step) for a in range(3)]
            for j in range(6)
        ]
    )
    for found in (kernel.cross(X, kernel.gram(X), M)(V), Kernel.cross(kernel, X, None, M)(V)):
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.max(np.abs(expected)))


@pytest.mark.parametrize("form", ["full", "features"])
@pytest.mark.parametrize("noise", [None, 3.0])
@pytest.mark.parametrize(("widest", "solved"), [(256, 0.01), (2, 0.1)])
def test_direction_solves_the_least_squares_problem(monkeypatch, form, noise, widest, solved):
    monkeypatch.setattr(newton_module, "WIDE", widest)
    problem, z = small(form=form, noise=noise)
    here = hessian(problem.evaluate(z, 1.0), 1.0)
    solve = here.inverse(SLIGHT)
    V = direction(here, solve, solved)
    assert not V[~problem.free].any()
    residual = here.product(V, SLIGHT) + here.gradient
    left, first = (np.sum(r * solve(r)) for r in (residual, here.gradient))
    assert left <= solved**2 * first
    exact = -np.linalg.solve(dense(here, problem, z.size, SLIGHT), problem.pack(here.gradient))
    assert np.linalg.norm(problem.pack(V) - exact) < 0.5 * np.linalg.norm(exact)


def test_blocks_are_those_of_the_hessian_where_rows_do_not_share_a_direction():
    """A single row has nothing but its own block, up to what both sides count together."""
    X, mask = np.array([[1.0, 2.0, 0.5]]), np.array([[True, False, False]])
    problem = ExactProblem(X, mask, Polynomial(2, 1.0), Schatten(1.0))
    gamma = 1e3 * problem.unit  # so large that no direction is used
    here = hessian(problem.evaluate(problem.pack(X), gamma), gamma)
    H = dense(here, problem, 2)
    R = np.array([[0.0, 3.0, -1.0]])
    np.testing.assert_allclose(H @ here.inverse(0.0)(R)[0, 1:], R[0, 1:], rtol=1e-10)


# Steps


@every_form
@pytest.mark.parametrize(
    ("p", "rule", "noise"),
    [(1.0, Equal(), None), (0.5, Ramp(), 10.0), (0.0, Equal(), 10.0), (0.0, Ramp(), None)],
)
def test_every_step_lowers_the_objective_at_its_smoothing(form, p, rule, noise):
    problem, _ = curve(form=form, rule=rule, p=p, noise=noise)
    run = ExactRun(Exact(), problem)
    for smoothing in (*stages(1.0, 1e-4, 4.0), 1e-4, 1e-4, 1e-4):
        gamma = smoothing * problem.unit
        before = problem.value_and_gradient(run.z, gamma)[0]
        run.newton_step(smoothing)
        after = problem.value_and_gradient(run.z, gamma)[0]
        # Partial eigenpairs leave a tail, whose price is exact to a small share of itself.
        assert after <= before * (1 + (1e-4 if form == "partial" else 1e-12))
        assert run.monitor.objective[-1] == pytest.approx(after, rel=1e-4)


def test_steps_that_do_not_lower_the_objective_are_shortened(monkeypatch):
    problem, _ = curve()
    gamma = 1e-2 * problem.unit
    at = problem.evaluate(problem.pack(fill(problem.X, problem.mask, "mean")), gamma)
    here = hessian(at, gamma)
    far = 50 * direction(here, lambda R: R)
    for factor, lower in (1.0, True), (-1.0, False):
        monkeypatch.setattr("polycomplete.solvers.newton.direction", lambda *_, f=factor: f * far)
        after = step(at, gamma, here, lambda R: R)
        assert (after.value(gamma) < at.value(gamma)) == lower
        assert (after is at) != lower  # uphill nothing moves, however short the step
        assert np.abs(after.z - at.z).max() < 0.5 * np.abs(far).max()


@every_form
@pytest.mark.parametrize("p", [1.0, 0.5])
def test_a_tight_tolerance_is_reached_and_the_gradient_vanishes(form, p):
    problem, _ = curve(n=40, p=p, form=form)
    result = Exact(tol=1e-7, rounds=30, n_restarts=0, blend=False).solve(problem, 1e-2)
    assert result.stop == "converged"
    gamma = 1e-2 * problem.unit
    at_start, at_end = (
        np.linalg.norm(problem.value_and_gradient(problem.pack(X), gamma)[1])
        for X in (fill(problem.X, problem.mask, "mean"), result.X)
    )
    assert at_end < 1e-5 * at_start


def test_the_forms_give_the_same_completion():
    found = {form: Exact().solve(curve(n=150, form=form)[0], 1e-6) for form in FORMS}
    full = found.pop("full")
    for each in found.values():
        assert each.iterations == full.iterations
        np.testing.assert_allclose(each.X, full.X, atol=1e-4)


# What comes back


@pytest.mark.parametrize(("degree", "bound"), [(2, 1e-3), (3, 5e-3)])
def test_a_curve_is_recovered(degree, bound):
    problem, X = curve(n=80, degree=degree)
    result = Exact(blend=False).solve(problem, 1e-9)
    assert result.stop == "converged"
    assert metrics.rse(X, result.X, problem.mask) < bound


def test_a_matrix_of_low_rank_is_recovered():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 10))
    mask = rng.random(X.shape) < 0.7
    problem = ExactProblem(np.where(mask, X, 0), mask, Linear(), Schatten(0.5))
    result = Exact(tol=1e-6, n_restarts=0, blend=False).solve(problem, 1e-4)
    assert metrics.rse(X, result.X, mask) < 0.05


def test_a_union_of_subspaces_is_recovered_and_restarts_do_no_harm():
    X = datasets.make_union_of_subspaces(150, 12, n_subspaces=3, dim=2, random_state=0)
    mask = masks.uniform(X.shape, 0.75, random_state=0)
    problem = ExactProblem(np.where(mask, X, 0), mask, Polynomial(2, 0.0), Schatten(0.5))
    plain, restarted = (Exact(n_restarts=k, blend=False).solve(problem, 1e-9) for k in (0, 3))
    assert metrics.rse(X, restarted.X, mask) < 1e-2
    assert restarted.objective[-1] <= plain.objective[-1] * (1 + 1e-9)


def test_data_wider_than_blocks_allow(monkeypatch):
    problem, X = curve()
    monkeypatch.setattr(newton_module, "WIDE", 4)
    result = Exact(n_restarts=0, blend=False).solve(problem, 1e-6)
    assert metrics.rse(X, result.X, problem.mask) < 0.05


# What does not matter


def permuted(problem, rows, columns):
    """Return the problem with its rows and columns in another order."""
    X, mask = problem.X[rows][:, columns], problem.mask[rows][:, columns]
    return ExactProblem(X, mask, problem.kernel, problem.penalty)


def test_the_order_of_rows_and_columns_does_not_matter():
    problem, _ = curve()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(60), rng.permutation(8)
    one = Exact(blend=False).solve(problem, 1e-4).X
    two = Exact(blend=False).solve(permuted(problem, rows, columns), 1e-4).X
    np.testing.assert_allclose(two, one[rows][:, columns], atol=1e-6)


def test_the_unit_does_not_matter_where_the_offset_follows_it():
    problem, _ = curve()
    kernel = Polynomial(2, 1e6 * problem.kernel.offset)
    large = ExactProblem(1e3 * problem.X, problem.mask, kernel, problem.penalty)
    one, two = (Exact(blend=False).solve(each, 1e-4).X for each in (problem, large))
    np.testing.assert_allclose(two, 1e3 * one, atol=1e-3)


@every_form
def test_turning_all_rows_turns_gradient_and_hessian(form):
    """A polynomial kernel knows nothing of the axes; where all entries are free it shows."""
    problem, X = curve(form=form, noise=1e-9)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8))).Q
    V = np.random.default_rng(1).standard_normal(X.shape)
    parts = (problem.X @ Q, problem.mask, problem.kernel, problem.penalty)
    turned = pose(form, *parts, noise=1e-9)
    gamma = 1e-2 * problem.unit
    one = hessian(problem.evaluate(problem.pack(X), gamma), gamma)
    two = hessian(turned.evaluate(turned.pack(X @ Q), gamma), gamma)
    for a, b in (
        (one.gradient, two.gradient),
        (one.product(V, SLIGHT), two.product(V @ Q, SLIGHT)),
        (one.inverse(SLIGHT)(V), two.inverse(SLIGHT)(V @ Q)),
    ):
        np.testing.assert_allclose(b, a @ Q, atol=1e-6 * np.max(np.abs(a)))


@every_form
@pytest.mark.parametrize("rule", [Ramp(), Inverse(), Skip(2)], ids=str)
def test_the_same_problem_gives_the_same_answer_and_keeps_observed_entries(form, rule):
    one, two = (Exact().solve(curve(rule=rule, form=form)[0], 1e-3) for _ in range(2))
    problem = curve()[0]
    assert np.array_equal(one.X, two.X)
    assert one.objective == two.objective
    assert np.array_equal(one.X[problem.mask], problem.X[problem.mask])


@every_form
def test_complete_data_leave_nothing_to_do(form):
    problem, X = curve(n=20, rate=1.0, form=form)
    result = Exact().solve(problem, 1e-3)
    assert (result.stop, result.iterations) == ("converged", 0)
    assert np.array_equal(result.X, X)


@every_form
@pytest.mark.parametrize(
    ("shape", "offset"), [((1, 5), 0.0), ((6, 1), 3.0), ((4, 12), 0.0), ((90, 2), 3.0)]
)
def test_odd_shapes(form, shape, offset):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal(shape), rng.random(shape) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)
    problem = pose(form, np.where(mask, X, 0), mask, Polynomial(2, offset), Schatten(0.5))
    result = Exact().solve(problem, 1e-9)
    assert np.isfinite(result.X).all()
    assert np.array_equal(result.X[mask], X[mask])
