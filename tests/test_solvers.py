"""Solvers: Algorithm 1 to the letter, continuation and second chances."""

import inspect
from itertools import groupby, pairwise

import numpy as np
import pytest

from polycomplete import datasets, masks
from polycomplete.diagnostics import check_gradient
from polycomplete.kernels import RBF, Kernel, Polynomial, typical_distance
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten
from polycomplete.solvers import AdamPlus, Exact, Progress, precondition
from polycomplete.solvers import exact as exact_module
from polycomplete.solvers.base import fill, stages
from polycomplete.solvers.exact import ExactRun, rescue
from polycomplete.solvers.problem import ExactProblem
from tests import naive

QUICK = {"n_restarts": 0, "blend": False}


def small(rule, p=0.5):
    """Return a problem small enough for the loops of the oracle."""
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((9, 3)), rng.random((9, 3)) < 0.6
    return ExactProblem(np.where(mask, X, 0), mask, RBF(width=2.0), Schatten(p, rule))


def curve(n=60, rate=0.7, rule=None, kernel=None, n_dims=1, p=-0.5, **options):
    """Return a problem on a curve in eight dimensions, and the truth."""
    X = datasets.make_polynomial_manifold(n, 8, n_dims=n_dims, random_state=0)
    mask = masks.uniform(X.shape, rate, random_state=0)
    given = np.where(mask, X, 0)
    kernel = (kernel or RBF()).resolve(given, mask)
    return ExactProblem(given, mask, kernel, Schatten(p, rule or Ramp()), **options), X


@pytest.mark.parametrize("name", ["equal", "ramp"])
@pytest.mark.parametrize("p", [1.0, 0.5])
def test_adam_plus_is_algorithm_1(name, p):
    problem = small({"equal": Equal(), "ramp": Ramp()}[name], p)
    evaluate = naive.rbf_objective(
        problem, lambda lam: np.array(naive.weights(name, lam, p)), p, 1e-2
    )
    x = np.zeros(problem.free.sum())
    iterates, objectives, steps = naive.adam_plus(evaluate, x, 30, step=0.1)
    ratios = {round(b / a, 12) for a, b in pairwise(steps)}
    assert ratios == {0.8, 1.1}  # both branches of the step rule are taken
    for t in 1, 2, 15, 30:
        result = AdamPlus(step=0.1, max_iter=t).solve(problem, 1e-2)
        np.testing.assert_allclose(problem.pack(result.X), iterates[t], atol=1e-10)
        np.testing.assert_allclose(result.objective, objectives[:t], rtol=1e-10)
        assert result.stop == "max_iter"
        assert result.iterations == t


def test_adam_plus_has_the_settings_of_the_paper():
    defaults = {k: v.default for k, v in inspect.signature(AdamPlus).parameters.items()}
    assert AdamPlus.default_smoothing == 1e-6
    paper = {"init": "zero", "step": 1e-4, "tol": 1e-6, "beta1": 0.9, "beta2": 0.999}
    assert paper | {"epsilon": 1e-8} == {k: defaults[k] for k in [*paper, "epsilon"]}


def test_adam_plus_ends_when_no_entry_moves_further_than_the_tolerance():
    problem = small(Ramp())
    result = AdamPlus(step=0.05, tol=0.02, max_iter=500).solve(problem, 1e-2)
    assert result.stop == "converged"
    evaluate = lambda z: problem.value_and_gradient(z, 1e-2)  # noqa: E731
    iterates = naive.adam_plus(evaluate, np.zeros(problem.free.sum()), 500, 0.05, tol=0.02)[0]
    moves = [np.max(np.abs(b - a)) for a, b in pairwise(iterates)]
    assert len(moves) == result.iterations < 500
    assert moves[-1] < 0.02 <= min(moves[:-1])


def test_inverse_weights_are_frozen_for_the_whole_second_round():
    problem, plain = small(Inverse()), small(Equal())
    first = AdamPlus(step=0.05, max_iter=20).solve(plain, 1e-2)
    result = AdamPlus(step=0.05, max_iter=20).solve(problem, 1e-2)
    assert result.iterations == 40
    assert result.objective[:20] == first.objective
    lam = np.linalg.eigvalsh(problem.kernel.gram(first.X))[::-1].clip(0)
    w = np.array(naive.weights("inverse", lam, 0.5))
    frozen = problem.fresh()
    frozen.reweigh(problem.pack(first.X), 1e-2)
    np.testing.assert_allclose(frozen.weights, w, rtol=1e-5)
    evaluate = naive.rbf_objective(problem, lambda lam: frozen.weights, 0.5, 1e-2)
    iterates, objectives, _ = naive.adam_plus(evaluate, plain.pack(first.X), 20, 0.05)
    np.testing.assert_allclose(result.objective[20:], objectives, rtol=1e-10)
    np.testing.assert_allclose(problem.pack(result.X), iterates[-1], atol=1e-10)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1.0, 1e-3, [1.0, 0.1, 0.01, 0.001]),
        (0.1, 0.1, [0.1]),
        (1e-1, 3e-3, [0.1, 0.01, 3e-3]),
        (1e-3, 1e-1, [1e-1]),
        (1e-6, 1e-9, [1e-6, 1e-7, 1e-8, 1e-9]),
    ],
)
def test_stages_fall_by_tens_and_end_at_the_last(first, last, expected):
    assert stages(first, last) == expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(1.0, 0.1, [1.0, 0.5, 0.25, 0.125, 0.1]), (1.0, 1.0, [1.0]), (0.1, 1.0, [1.0])],
)
def test_stages_fall_by_any_factor(first, last, expected):
    assert stages(first, last, factor=2.0) == expected


@pytest.mark.parametrize("rule", [Equal(), Ramp()], ids=str)
@pytest.mark.parametrize("kernel", [RBF(), Polynomial(2, 1.0)], ids=str)
@pytest.mark.parametrize("noise", [None, 10.0])
def test_objective_falls_within_each_stage(rule, kernel, noise):
    problem, _ = curve(rule=rule, kernel=kernel, noise=noise)
    solver = Exact(initial_smoothing=0.1, algorithm="quasi-newton", max_iter=10, rounds=2, **QUICK)
    result = solver.solve(problem, 1e-4)
    together = zip(result.smoothings, result.objective, strict=True)
    seen = []
    for gamma, group in groupby(together, key=lambda pair: pair[0]):
        values = [value for _, value in group]
        assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))
        assert len(values) > 1
        seen.append(gamma)
    assert seen == [0.1, 0.01, 0.001, 0.0001]


@pytest.mark.parametrize("rule", [Equal(), Ramp()], ids=str)
@pytest.mark.parametrize("kernel", [RBF(), Polynomial(2, 1.0)], ids=str)
@pytest.mark.parametrize("noise", [None, 10.0])
def test_every_newton_step_lowers_the_objective_at_its_smoothing(rule, kernel, noise):
    problem, _ = curve(rule=rule, kernel=kernel, noise=noise)
    run = ExactRun(Exact(), problem)
    assert run.second_order
    for smoothing in (*stages(1.0, 1e-4, 10 ** (1 / 3)), 1e-4, 1e-4):
        gamma = smoothing * problem.unit
        before = problem.value_and_gradient(run.z, gamma)[0]
        run.newton_step(smoothing)
        after = problem.value_and_gradient(run.z, gamma)[0]
        assert after <= before
        assert run.monitor.objective[-1] == pytest.approx(after, rel=1e-12)


class Cauchy(Kernel):
    """A kernel of a user's own, of which the first derivatives alone are stated."""

    def gram(self, X, Y=None):
        Y = X if Y is None else Y
        return 1 / (1 + np.sum((X[:, None] - Y[None]) ** 2, axis=2))

    def slopes(self, X, Y, K):
        return 2 * K**2, 2 * K**2

    def diagonal(self, X):
        return np.ones(len(X))

    def diagonal_slope(self, X):
        return np.zeros(len(X))

    def metric(self, X):
        return 2 * np.ones(len(X)), np.zeros(len(X))


@pytest.mark.parametrize("columns", [8, 70])
def test_every_kernel_gets_newton_steps_at_any_width(columns):
    X = datasets.make_polynomial_manifold(40, columns, random_state=0)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    X = X / (3 * typical_distance(X, mask))
    problem = ExactProblem(X, mask, Cauchy(), Schatten(-0.5))
    result = Exact(n_restarts=0, rounds=1).solve(problem, 1e-3)
    assert min(result.gains) >= 0
    quasi = Exact(algorithm="quasi-newton", n_restarts=0, rounds=1).solve(problem, 1e-3)
    assert result.objective[-1] < 1.001 * quasi.objective[-1]


def test_quasi_newton_steps_are_taken_where_they_are_asked_for(monkeypatch):
    called = []
    monkeypatch.setattr(exact_module, "minimize", lambda *_, **__: called.append(1))
    ExactRun(Exact(algorithm="quasi-newton"), curve()[0]).stage(1e-2)
    assert called == [1]


def test_gains_are_the_shares_by_which_newton_steps_lower_the_objective():
    result = Exact(**QUICK).solve(curve()[0], 1e-3)
    assert len(result.gains) == result.iterations
    assert min(result.gains) >= 0
    assert result.gains[-1] < 1e-3 * max(result.gains)
    assert not Exact(algorithm="quasi-newton", **QUICK).solve(curve()[0], 1e-3).gains


def test_both_kinds_of_steps_come_to_the_same_place():
    problem, X = curve(p=0.0, rule=Equal())
    one, two = (
        Exact(algorithm=algorithm, tol=1e-7, **QUICK).solve(problem, 1e-5)
        for algorithm in ("newton", "quasi-newton")
    )
    assert one.converged
    assert two.converged
    assert one.objective[-1] == pytest.approx(two.objective[-1], rel=1e-6)
    assert np.abs(one.X - two.X).max() < 1e-3 * X.std()


def test_objective_is_that_of_the_returned_matrix():
    problem, _ = curve()
    result = Exact(**QUICK).solve(problem, 1e-3)
    value = problem.value_and_gradient(problem.pack(result.X), 1e-3)[0]
    assert result.objective[-1] == pytest.approx(value, rel=1e-12)
    assert result.smoothing == 1e-3


def test_exact_completes_a_curve_and_converges():
    problem, X = curve()
    result = Exact().solve(problem, 1e-9)
    assert result.stop == "converged"
    assert np.abs(result.X - X).max() < 0.01 * X.std()
    assert not result.ambiguous.any()
    assert result.kernel.width == 1.5 * problem.kernel.width


def test_the_kernel_is_widened_only_below_1e_7():
    problem, _ = curve(n=30)
    result = Exact(initial_smoothing=1e-3, max_iter=2, rounds=1, **QUICK).solve(problem, 1e-7)
    assert result.kernel.width == problem.kernel.width


def test_gradient_is_nearly_nil_where_the_solver_has_converged():
    problem, _ = curve(rule=Equal(), p=0.0)
    result = Exact(tol=1e-6, **QUICK).solve(problem, 1e-2)
    start = fill(problem.X, problem.mask, "mean")
    assert result.converged
    at_start, at_end = (
        np.linalg.norm(problem.value_and_gradient(problem.pack(at), 1e-2)[1])
        for at in (start, result.X)
    )
    assert at_end < 1e-5 * at_start


def test_starts_are_their_definition():
    X = np.array([[1.0, 5.0, np.nan], [3.0, np.nan, 2.0]])
    mask = ~np.isnan(X)
    assert np.array_equal(fill(X, mask, "zero"), [[1, 5, 0], [3, 0, 2]])
    assert np.array_equal(fill(X, mask, "mean"), [[1, 5, 2], [3, 5, 2]])
    assert np.array_equal(fill(X, mask, "row-column"), [[1, 5, 2.5], [3, 3.75, 2]])
    with pytest.raises(ValueError, match=r"'mean', 'row-column', 'zero'.*got 'ones'"):
        fill(X, mask, "ones")


@pytest.mark.parametrize("kind", [AdamPlus, Exact])
@pytest.mark.parametrize("count", [1, 7])
def test_a_callback_hears_of_each_iteration_and_can_end_the_run(kind, count):
    heard = []

    def callback(progress):
        heard.append(progress)
        return len(heard) == count

    result = kind(callback=callback).solve(curve()[0], 1e-3)
    assert result.stop == "callback"
    assert [each.iteration for each in heard] == list(range(1, count + 1))
    assert all(isinstance(each, Progress) and each.seconds > 0 for each in heard)
    assert [each.objective for each in heard] == result.objective
    assert [each.smoothing for each in heard] == result.smoothings


@pytest.mark.parametrize("kind", [AdamPlus, Exact])
def test_a_time_limit_ends_the_run_with_what_it_has(kind):
    problem, _ = curve()
    result = kind(init="mean", time_limit=1e-9).solve(problem, 1e-3)
    assert result.stop == "time_limit"
    assert result.iterations == 1
    assert not np.array_equal(result.X, fill(problem.X, problem.mask, "mean"))


@pytest.mark.parametrize("value", ["soon", -1.0])
def test_a_wrong_time_limit_is_named(value):
    with pytest.raises(ValueError, match=r"Exact\(time_limit=\.\.\.\).*got"):
        Exact(time_limit=value).solve(curve()[0], 1e-3)


def test_too_few_rounds_say_so():
    result = Exact(rounds=1, tol=1e-300, **QUICK).solve(curve()[0], 1e-3)
    assert result.stop == "max_iter"


@pytest.mark.parametrize(
    "solver",
    [AdamPlus(max_iter=5), Exact(rounds=1), Exact(algorithm="quasi-newton")],
    ids=["adam", "newton", "quasi-newton"],
)
@pytest.mark.parametrize("rule", [Ramp(), Inverse()], ids=str)
def test_the_same_problem_gives_the_same_answer_and_keeps_observed_entries(solver, rule):
    one, two = (solver.solve(curve(rule=rule, p=0.5)[0], 1e-3) for _ in range(2))
    problem = curve()[0]
    assert np.array_equal(one.X, two.X)
    assert one.objective == two.objective
    assert not one.ambiguous.any()
    assert np.array_equal(one.X[problem.mask], problem.X[problem.mask])


@pytest.mark.parametrize("kind", [AdamPlus, Exact])
def test_complete_data_leave_nothing_to_do(kind):
    problem, X = curve(n=20, rate=1.0)
    result = kind().solve(problem, 1e-3)
    assert (result.stop, result.iterations) == ("converged", 0)
    assert np.array_equal(result.X, X)


def test_what_stands_in_missing_cells_does_not_matter():
    problem, _ = curve()
    junk = ExactProblem(
        np.where(problem.mask, problem.X, 1e3), problem.mask, problem.kernel, problem.penalty
    )
    one, two = (Exact(rounds=1).solve(each, 1e-3).X for each in (problem, junk))
    assert np.array_equal(one, two)


def test_path_yields_the_completion_at_shrinking_smoothing():
    problem, X = curve()
    smoothings, completed = zip(*Exact(initial_smoothing=0.1).path(problem), strict=True)
    assert sorted(set(smoothings), reverse=True) == stages(0.1, 1e-7)
    assert all(b <= a for a, b in pairwise(smoothings))
    errors = [np.abs(each - X).max() for each in completed]
    assert errors[-1] < 0.1 * errors[0]


def stuck(problem, X, row):
    """Return X with the missing entries of a row taken from the row farthest away."""
    moved = X.copy()
    far = np.argmax(np.sum((X - X[row]) ** 2, axis=1))
    moved[row, ~problem.mask[row]] = X[far, ~problem.mask[row]]
    return moved


@pytest.mark.parametrize("row", [7, 11, 30])
def test_rescue_brings_a_stuck_row_back_and_leaves_the_others(row):
    problem, X = curve()
    moved = stuck(problem, X, row)
    assert np.abs(moved - X).max() > 0.5
    found, count = rescue(problem, moved, 1e-6)
    assert count == 1
    assert np.abs(found - X).max() < 1e-3
    assert np.array_equal(np.delete(found, row, 0), np.delete(moved, row, 0))
    assert np.array_equal(found[problem.mask], moved[problem.mask])


def test_rescue_finds_nothing_to_do_on_a_completed_curve():
    problem, X = curve()
    found, count = rescue(problem, X, 1e-6)
    assert count == 0
    assert np.array_equal(found, X)


@pytest.mark.parametrize("better", [True, False])
def test_second_chances_are_kept_only_if_the_objective_falls(monkeypatch, better):
    problem, X = curve()
    moved = stuck(problem, X, 7)
    before, after = (moved, X) if better else (X, moved)
    monkeypatch.setattr(exact_module, "rescue", lambda *_: (after, 1))
    monkeypatch.setattr(ExactRun, "stage", lambda *_: 0.0)
    run = ExactRun(Exact(n_restarts=1), problem)
    run.z = problem.pack(before)
    run.restart(1e-6)
    assert np.array_equal(run.z, problem.pack(X))


@pytest.mark.parametrize("wide", [False, True])
def test_the_function_given_to_the_optimiser_has_its_right_gradient(monkeypatch, wide):
    checks = []
    if wide:  # then there is no preconditioner
        monkeypatch.setattr(precondition, "WIDE", 7)

    def minimize(fun, x, **_):
        checks.append(check_gradient(fun, x, largest=1e-2 * np.linalg.norm(x)))

    monkeypatch.setattr(exact_module, "minimize", minimize)
    problem, _ = curve(rule=Equal())
    ExactRun(Exact(algorithm="quasi-newton"), problem).stage(1e-2)
    assert [check.passed for check in checks] == [True]
    assert np.isfinite(checks[0].slope)


@pytest.mark.parametrize("algorithm", ["newton", "quasi-newton"])
def test_converged_means_that_the_last_round_moved_less_than_the_tolerance(monkeypatch, algorithm):
    rounds, once = [], ExactRun._round
    monkeypatch.setattr(
        ExactRun, "_round", lambda *given: rounds.append(once(*given)) or rounds[-1]
    )
    solver = Exact(algorithm=algorithm, max_iter=3, rounds=100, tol=1e-4, **QUICK)
    result = solver.solve(curve()[0], 1e-3)
    assert result.stop == "converged"
    assert rounds[-1] < 1e-4 <= min(rounds[:-1], default=1.0)


def test_a_solve_leaves_nothing_behind_in_the_problem():
    problem = small(Inverse())
    once = AdamPlus(step=0.05, max_iter=10).solve(problem, 1e-2)
    again = AdamPlus(step=0.05, max_iter=10).solve(problem, 1e-2)
    assert problem.weights is None
    np.testing.assert_array_equal(once.X, again.X)


def test_a_path_out_of_time_ends_early_with_what_it_has():
    problem = small(Ramp())
    path = list(Exact().path(problem, time_limit=0.0))
    assert len(path) == 1
    assert path[0][0] == Exact().initial_smoothing
    np.testing.assert_array_equal(path[0][1][problem.mask], problem.X[problem.mask])
