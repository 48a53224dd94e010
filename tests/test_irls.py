"""IRLS: the curvature against an oracle, steps that lower the objective, where it ends."""

from itertools import groupby, pairwise

import numpy as np
import pytest

from polycomplete import datasets, masks, metrics
from polycomplete.solvers.exact import Exact
from polycomplete.solvers.problem import ExactProblem
from polycomplete.kernels import RBF, Kernel, Linear, Polynomial
from polycomplete.solvers.lift import Lift
from polycomplete.monomials import Monomials
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip
from polycomplete.solvers import Exact, Progress, curvature
from polycomplete.solvers.hessian import bend, look
from polycomplete.solvers.irls import IRLS, _Run
from polycomplete.solvers.newton import DAMPING, direction
from polycomplete.solvers.base import stages
from polycomplete.solvers.base import fill

ENGINES = {"exact": Exact(), "lift": Lift(), "partial": Exact(eigen="partial")}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
KERNELS = [
    Linear(),
    Polynomial(2, 0.0),
    Polynomial(3, 5.0),
    RBF(width=3.0),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def small(kernel=None, p=0.5, rule=None, engine=None, n=14, noise=None):
    """Return a problem without structure, and a point."""
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((n, 3)), rng.random((n, 3)) < 0.6
    parts = (X, mask, kernel or Polynomial(2, 5.0), Schatten(p, rule or Equal()), noise)
    problem = (engine or Exact()).pose(*parts)
    return problem, problem.pack(0.7 * X)


def curve(n=60, rate=0.7, degree=2, p=0.5, engine=None, rule=None, m=8, **options):
    """Return a problem on a curve in eight dimensions, and the truth."""
    X = datasets.make_polynomial_manifold(n, m, n_dims=1, random_state=0)
    mask = masks.uniform(X.shape, rate, random_state=0)
    offset = 10 * float(np.sum(X[:, None] ** 2) / n)
    kernel, penalty = Polynomial(degree, offset), Schatten(p, rule or Equal())
    return (engine or Exact()).pose(np.where(mask, X, 0), mask, kernel, penalty, **options), X


def curvature_oracle(problem, z, gamma):
    """Return the curvature as a dense matrix: singular vectors of all features, entry by entry."""
    X, kernel, p = problem.unpack(z), problem.kernel, problem.penalty.p
    lifted = Monomials(X.shape[1], kernel.degree, kernel.offset)
    U, sigma, R = np.linalg.svd(lifted.features(X).T)
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
        moves.append(np.sqrt(W) * (U.T @ lifted.push(X, V).T @ R.T))
    flat = np.array(moves).reshape(z.size, -1)
    return 2 * flat @ flat.T


def dense(here, problem, size, damping=0.0):
    """Return the curvature of the solver as a matrix, column by column."""
    columns = []
    for k in range(size):
        V = np.zeros(problem.free.shape)
        V[problem.free] = np.eye(size)[k]
        columns.append(problem.pack(here.product(V, damping)))
    return np.array(columns)


@pytest.mark.parametrize("engine", [Exact(), Lift()], ids=str)
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 0.0), Polynomial(3, 5.0)], ids=str)
@pytest.mark.parametrize("p", [1.0, 0.5])
@pytest.mark.parametrize("smoothing", [1.0, 1e-3])
def test_curvature_is_that_of_the_oracle(engine, kernel, p, smoothing):
    problem, z = small(kernel, p, engine=engine)
    gamma = smoothing * problem.unit
    found = dense(bend(look(problem, z, gamma), gamma, unused=0.0), problem, z.size)
    expected = curvature_oracle(problem, z, gamma)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.max(np.abs(expected)))


@every_kernel
@pytest.mark.parametrize("rule", [Equal(), Ramp(), Skip(2)], ids=str)
@pytest.mark.parametrize("noise", [None, 3.0])
def test_curvature_is_symmetric_and_not_negative(kernel, rule, noise):
    problem, z = small(kernel, rule=rule, noise=noise)
    H = dense(bend(look(problem, z, 0.1), 0.1), problem, z.size)
    np.testing.assert_allclose(H, H.T, atol=1e-10 * np.max(np.abs(H)))
    assert np.linalg.eigvalsh(H)[0] >= -1e-10 * np.max(np.abs(H))


@every_kernel
@pytest.mark.parametrize("rule", [Equal(), Ramp()], ids=str)
@pytest.mark.parametrize("noise", [None, 3.0])
def test_gradient_and_value_are_those_of_the_problem(kernel, rule, noise):
    problem, z = small(kernel, rule=rule, noise=noise)
    point = look(problem, z, 0.1)
    value, gradient = problem.value_and_gradient(z, 0.1)
    assert point.value(0.1) == pytest.approx(value, rel=1e-12)
    found = bend(point, 0.1).gradient
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


@pytest.mark.parametrize("engine", [Exact(), Lift()], ids=str)
@pytest.mark.parametrize("noise", [None, 3.0])
@pytest.mark.parametrize("widest", [256, 2])
@pytest.mark.parametrize("solved", [0.1, 0.01])
def test_direction_solves_the_least_squares_problem(monkeypatch, engine, noise, widest, solved):
    monkeypatch.setattr(curvature, "WIDE", widest)
    problem, z = small(engine=engine, noise=noise)
    here = bend(look(problem, z, 1.0), 1.0)
    solve = here.inverse(DAMPING)
    V = direction(here, solve, solved)
    assert not V[~problem.free].any()
    residual = here.product(V, DAMPING) + here.gradient
    left, first = (np.sum(r * solve(r)) for r in (residual, here.gradient))
    assert left <= solved**2 * first
    exact = -np.linalg.solve(dense(here, problem, z.size, DAMPING), problem.pack(here.gradient))
    assert np.linalg.norm(problem.pack(V) - exact) < 0.5 * np.linalg.norm(exact)


def test_blocks_are_those_of_the_curvature_where_rows_do_not_share_a_direction():
    """A single row has nothing but its own block, up to what both sides count together."""
    X, mask = np.array([[1.0, 2.0, 0.5]]), np.array([[True, False, False]])
    problem = ExactProblem(X, mask, Polynomial(2, 1.0), Schatten(1.0))
    gamma = 1e3 * problem.unit  # so large that no direction is used
    here = bend(look(problem, problem.pack(X), gamma), gamma)
    H = dense(here, problem, 2)
    R = np.array([[0.0, 3.0, -1.0]])
    np.testing.assert_allclose(H @ here.inverse(0.0)(R)[0, 1:], R[0, 1:], rtol=1e-10)


@pytest.mark.parametrize(
    ("first", "last", "factor", "expected"),
    [
        (1.0, 0.1, 2.0, [1.0, 0.5, 0.25, 0.125, 0.1]),
        (1.0, 1.0, 2.0, [1.0]),
        (0.1, 1.0, 2.0, [1.0]),
        (1.0, 0.01, 10.0, [1.0, 0.1, 0.01]),
    ],
)
def test_the_schedule_divides_and_ends_at_the_last(first, last, factor, expected):
    np.testing.assert_allclose(stages(first, last, factor), expected)


@every_engine
@pytest.mark.parametrize("p", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("rule", [Equal(), Ramp()], ids=str)
@pytest.mark.parametrize("noise", [None, 10.0])
def test_every_step_lowers_the_objective_at_its_smoothing(engine, p, rule, noise):
    problem, _ = curve(engine=engine, rule=rule, p=p, noise=noise)
    run = _Run(IRLS(), problem)
    for smoothing in (*stages(1.0, 1e-4, 4.0), 1e-4, 1e-4, 1e-4):
        gamma = smoothing * problem.unit
        before = problem.value_and_gradient(run.at.z, gamma)[0]
        run.step(smoothing)
        after = problem.value_and_gradient(run.at.z, gamma)[0]
        # Partial eigenpairs leave a tail, whose price is exact to a small share of itself.
        assert after <= before * (1 + (1e-4 if engine.eigen == "partial" else 1e-12))
        assert run.monitor.objective[-1] == pytest.approx(after, rel=1e-4)


def test_steps_that_do_not_lower_the_objective_are_shortened(monkeypatch):
    problem, _ = curve()
    run = _Run(IRLS(), problem)
    far = 50 * direction(bend(run.at, 1e-2 * run.unit), lambda R: R)
    for factor, expected in (1.0, True), (-1.0, False):
        monkeypatch.setattr("polycomplete.solvers.newton.direction", lambda *_, f=factor: f * far)
        before, value = run.at.z, run.at.value(1e-2 * run.unit)
        moved = run.step(1e-2)
        assert (moved > 0) == expected  # uphill nothing moves, however short the step
        assert run.at.value(1e-2 * run.unit) <= value
        assert np.array_equal(run.at.z, before) != expected
        assert np.abs(run.at.z - before).max() < 0.5 * np.abs(far).max()


def test_objective_falls_while_the_smoothing_rests_and_is_that_of_the_result():
    problem, _ = curve(p=0.25)
    result = IRLS(tol=1e-5, n_restarts=0).solve(problem, 1e-3)
    together = zip(result.smoothings, result.objective, strict=True)
    for _, group in groupby(together, key=lambda pair: pair[0]):
        values = [value for _, value in group]
        assert all(b <= a for a, b in pairwise(values))
    assert result.smoothings[: len(stages(1.0, 1e-3, 2.0))] == stages(1.0, 1e-3, 2.0)
    gamma = 1e-3 * problem.unit
    value = problem.value_and_gradient(problem.pack(result.X), gamma)[0]
    assert result.objective[-1] == pytest.approx(value, rel=1e-12)


@every_engine
@pytest.mark.parametrize("p", [1.0, 0.5])
def test_a_tight_tolerance_is_reached_and_the_gradient_vanishes(engine, p):
    problem, _ = curve(n=40, p=p, engine=engine)
    result = IRLS(tol=1e-7, n_restarts=0).solve(problem, 1e-2)
    assert result.stop == "converged"
    gamma = 1e-2 * problem.unit
    at_start, at_end = (
        np.linalg.norm(problem.value_and_gradient(problem.pack(X), gamma)[1])
        for X in (fill(problem.X, problem.mask, "mean"), result.X)
    )
    assert at_end < 1e-5 * at_start


def test_converged_means_that_the_last_step_moved_less_than_the_tolerance(monkeypatch):
    moves, step = [], _Run.step
    monkeypatch.setattr(_Run, "step", lambda *given: moves.append(step(*given)) or moves[-1])
    result = IRLS(tol=1e-4, n_restarts=0).solve(curve()[0], 1e-3)
    repeated = moves[len(stages(1.0, 1e-3, 2.0)) :]
    assert result.stop == "converged"
    assert repeated[-1] < 1e-4 <= min(repeated[:-1])


def test_too_few_iterations_say_so():
    result = IRLS(max_iter=2, tol=1e-300, n_restarts=0).solve(curve()[0], 1e-3)
    assert result.stop == "max_iter"
    assert result.iterations == len(stages(1.0, 1e-3, 2.0)) + 2


def test_the_engines_give_the_same_completion():
    found = {name: IRLS().solve(curve(n=150, engine=e)[0], 1e-6) for name, e in ENGINES.items()}
    exact = found.pop("exact")
    for each in found.values():
        assert each.iterations == exact.iterations
        np.testing.assert_allclose(each.X, exact.X, atol=1e-4)


@pytest.mark.parametrize("p", [1.0, 0.5])
def test_degree_one_is_the_linear_method_of_the_other_solver(p):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 10))
    mask = rng.random(X.shape) < 0.7
    problem = ExactProblem(np.where(mask, X, 0), mask, Linear(), Schatten(p))
    gamma = 1e-4
    mine = IRLS(tol=1e-8, n_restarts=0).solve(problem, gamma)
    other = Exact(tol=1e-6, n_restarts=0, blend=False).solve(problem, gamma)
    values = [
        problem.value_and_gradient(problem.pack(r.X), gamma * problem.unit)[0]
        for r in (mine, other)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    if p == 0.5:
        assert metrics.rse(X, mine.X, mask) < 0.05


@pytest.mark.parametrize(("degree", "bound"), [(2, 1e-3), (3, 5e-3)])
def test_a_curve_is_recovered(degree, bound):
    problem, X = curve(n=80, degree=degree)
    result = IRLS().solve(problem, 1e-9)
    assert result.stop == "converged"
    assert metrics.rse(X, result.X, problem.mask) < bound
    assert not result.ambiguous.any()


def test_a_union_of_subspaces_is_recovered():
    X = datasets.make_union_of_subspaces(150, 12, n_subspaces=3, dim=2, random_state=0)
    mask = masks.uniform(X.shape, 0.75, random_state=0)
    problem = ExactProblem(np.where(mask, X, 0), mask, Polynomial(2, 0.0), Schatten(0.5))
    plain, rescued = (IRLS(n_restarts=k).solve(problem, 1e-9) for k in (0, 3))
    assert metrics.rse(X, rescued.X, mask) < 1e-2
    assert rescued.objective[-1] <= plain.objective[-1] * (1 + 1e-9)


@pytest.mark.parametrize("better", [True, False])
def test_second_chances_are_kept_only_if_the_objective_falls(monkeypatch, better):
    problem, X = curve()
    stuck = X.copy()
    stuck[7, ~problem.mask[7]] += 1.0
    before, after = (stuck, X) if better else (X, stuck)
    monkeypatch.setattr("polycomplete.solvers.irls.rescue", lambda *_: (after, 1))
    monkeypatch.setattr(_Run, "step", lambda *_: 0.0)
    run = _Run(IRLS(n_restarts=1), problem)
    run.at = look(run.problem, problem.pack(before), 1e-6)
    run.rescue(1e-6)
    assert np.array_equal(run.at.z, problem.pack(X))


def permuted(problem, rows, columns):
    """Return the problem with its rows and columns in another order."""
    X, mask = problem.X[rows][:, columns], problem.mask[rows][:, columns]
    return ExactProblem(X, mask, problem.kernel, problem.penalty)


def test_the_order_of_rows_and_columns_does_not_matter():
    problem, _ = curve()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(60), rng.permutation(8)
    one = IRLS().solve(problem, 1e-4).X
    two = IRLS().solve(permuted(problem, rows, columns), 1e-4).X
    np.testing.assert_allclose(two, one[rows][:, columns], atol=1e-6)


def test_the_unit_does_not_matter_where_the_offset_follows_it():
    problem, _ = curve()
    kernel = Polynomial(2, 1e6 * problem.kernel.offset)
    large = ExactProblem(1e3 * problem.X, problem.mask, kernel, problem.penalty)
    one, two = (IRLS().solve(each, 1e-4).X for each in (problem, large))
    np.testing.assert_allclose(two, 1e3 * one, atol=1e-3)


@every_engine
def test_turning_all_rows_turns_gradient_and_curvature(engine):
    """A polynomial kernel knows nothing of the axes; where all entries are free it shows."""
    problem, X = curve(engine=engine, noise=1e-9)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8))).Q
    V = np.random.default_rng(1).standard_normal(X.shape)
    turned = engine.pose(problem.X @ Q, problem.mask, problem.kernel, problem.penalty, 1e-9)
    gamma = 1e-2 * problem.unit
    one = bend(look(problem, problem.pack(X), gamma), gamma)
    two = bend(look(turned, turned.pack(X @ Q), gamma), gamma)
    for a, b in (
        (one.gradient, two.gradient),
        (one.product(V, DAMPING), two.product(V @ Q, DAMPING)),
        (one.inverse(DAMPING)(V), two.inverse(DAMPING)(V @ Q)),
    ):
        np.testing.assert_allclose(b, a @ Q, atol=1e-6 * np.max(np.abs(a)))


@every_engine
@pytest.mark.parametrize("rule", [Ramp(), Inverse(), Skip(2)], ids=str)
def test_the_same_problem_gives_the_same_answer_and_keeps_observed_entries(engine, rule):
    one, two = (IRLS().solve(curve(rule=rule, engine=engine)[0], 1e-3) for _ in range(2))
    problem = curve()[0]
    assert np.array_equal(one.X, two.X)
    assert one.objective == two.objective
    assert np.array_equal(one.X[problem.mask], problem.X[problem.mask])


def test_what_stands_in_missing_cells_does_not_matter():
    problem, _ = curve()
    run, other = (_Run(IRLS(), each) for each in (problem, _filled(problem, 1e3)))
    assert np.array_equal(run.at.X, other.at.X)
    other.unit = run.unit  # what stands there counts in the mean of k(x, x) alone
    for each in run, other:
        each.step(1e-2)
    assert np.array_equal(run.at.X, other.at.X)


def _filled(problem, value):
    X = np.where(problem.mask, problem.X, value)
    return ExactProblem(X, problem.mask, problem.kernel, problem.penalty)


@every_engine
def test_complete_data_leave_nothing_to_do(engine):
    problem, X = curve(n=20, rate=1.0, engine=engine)
    result = IRLS().solve(problem, 1e-3)
    assert (result.stop, result.iterations) == ("converged", 0)
    assert np.array_equal(result.X, X)


@every_engine
@pytest.mark.parametrize("shape", [(1, 5), (6, 1), (4, 12), (90, 2)])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_odd_shapes(engine, shape, offset):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal(shape), rng.random(shape) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)
    problem = engine.pose(np.where(mask, X, 0), mask, Polynomial(2, offset), Schatten(0.5))
    result = IRLS().solve(problem, 1e-9)
    assert np.isfinite(result.X).all()
    assert np.array_equal(result.X[mask], X[mask])


def test_data_wider_than_blocks_allow(monkeypatch):
    problem, X = curve()
    monkeypatch.setattr(curvature, "WIDE", 4)
    result = IRLS(n_restarts=0).solve(problem, 1e-6)
    assert metrics.rse(X, result.X, problem.mask) < 0.05


@pytest.mark.parametrize("count", [1, 7])
def test_a_callback_hears_of_each_iteration_and_can_end_the_run(count):
    heard = []

    def callback(progress):
        heard.append(progress)
        return len(heard) == count

    result = IRLS(callback=callback).solve(curve()[0], 1e-3)
    assert result.stop == "callback"
    assert [each.iteration for each in heard] == list(range(1, count + 1))
    assert all(isinstance(each, Progress) and each.seconds > 0 for each in heard)
    assert [each.objective for each in heard] == result.objective
    assert [each.smoothing for each in heard] == result.smoothings


def test_a_time_limit_ends_the_run_with_what_it_has():
    problem, _ = curve()
    result = IRLS(time_limit=1e-9).solve(problem, 1e-3)
    assert (result.stop, result.iterations) == ("time_limit", 1)
    assert not np.array_equal(result.X, fill(problem.X, problem.mask, "mean"))
    path = list(IRLS().path(problem, time_limit=0.0))
    assert [smoothing for smoothing, _ in path] == [1.0]


def test_path_yields_the_completion_at_shrinking_smoothing():
    problem, X = curve()
    smoothings, completed = zip(*IRLS(initial_smoothing=0.1).path(problem), strict=True)
    assert smoothings[0] == 0.1
    assert smoothings[-1] == IRLS.path_end
    assert all(b < a for a, b in pairwise(smoothings))
    errors = [metrics.rse(X, each, problem.mask) for each in completed]
    assert errors[-1] < 0.1 * errors[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [("factor", 1.0), ("first", 0.0), ("max_iter", -1), ("tol", -1.0), ("time_limit", "soon")],
)
def test_wrong_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=rf"IRLS\({name}=\.\.\.\).*got"):
        IRLS(**{name: value}).solve(curve()[0], 1e-3)
